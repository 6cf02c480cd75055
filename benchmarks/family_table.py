"""The table of all families as a page of the documentation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autoeval.runtime.files import write_text

HEAD = """# What runs of each family of MMDetection

One stock config of each of the {total} directories of detectors in MMDetection 3.3 (trackers and
re-identification left out), with random weights and small inputs, on a CPU, without a compiled mmcv
and without torchvision. Made by

```bash
python -m benchmarks.mmdet_families --results families/ --table docs/reference/mmdet-families.md
```

with scikit-image installed, which BoxInst needs, and transformers, which GLIP and Grounding DINO
need (`pip install 'autoeval[open-vocabulary]'`); their text encoder is small and random.

{summary}

* **boxes**: `=` where they equal those of mmdet's `inference_detector` to the last bit, with their
  number; (0) shows nothing but that it runs, since random weights gave none. SOLO's and SOLOv2's
  are those around their masks, where mmdet leaves zeros.
* **dropout**: `split` where perturbed passes start from the cached output of the last layer that is
  not perturbed; else the modules of the backbone at which features are dropped, in a pass of the
  whole model.
* **candidates**, **logits**, **features**: the evidence of that name. What is missing comes with
  its reason, and only the scores that need it are absent.
* **classes**: how many names the config gives; `classes=FILE` where neither it nor the
  checkpoint has them.

| family | config | boxes | dropout | candidates | logits | features | classes |
|---|---|---|---|---|---|---|---|
"""
YES, NO = "yes", "-"


def write_table(path: Path, outcomes: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the page.

    Parameters
    ----------
    path : Path
    outcomes : mapping of str to mapping
        What `benchmarks.mmdet_families.try_family` gave, or an error, by the path of the config.
    """
    head = HEAD.format(total=len(outcomes), summary=summary(outcomes))
    rows = [_row(config, outcome) for config, outcome in outcomes.items()]
    write_text(path, head + "\n".join(rows) + "\n")


def summary(outcomes: Mapping[str, Mapping[str, Any]]) -> str:
    """Count what runs in a sentence."""
    ran = [each for each in outcomes.values() if "boxes" in each]
    full = [e for e in ran if e["dropout"]]
    equal = sum(each["equal"] for each in ran)
    crashed = sum("crash" in each for each in outcomes.values())
    return (
        f"{len(ran)} of {len(outcomes)} run, {len(full)} with boxes and dropout; "
        f"{equal} with boxes equal to mmdet's. {len(outcomes) - len(ran) - crashed} are refused "
        f"in one line that says what they need, and {crashed} end in a traceback."
    )


def _row(config: str, outcome: Mapping[str, Any]) -> str:
    family, file = config.split("/")
    if "boxes" not in outcome:
        reason = outcome.get("told") or outcome["crash"].strip().splitlines()[-1]
        return f"| {family} | `{file}` | {_escaped(_bare(reason))} | | | | | |"
    missing = outcome["missing"]
    cells = [
        ("= " if outcome["equal"] else "not equal ") + f"({outcome['boxes']})",
        outcome["dropout"] or NO,
        *(NO if name in missing else YES for name in ("candidates", "logits", "features")),
        str(outcome["classes"]),
    ]
    return f"| {family} | `{file}` | " + " | ".join(cells) + " |"


def _bare(reason: str) -> str:
    """Leave out what names the config's file on this machine."""
    return re.sub(r"^.*?\.py( as a detector's config)?: ", "", reason)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
