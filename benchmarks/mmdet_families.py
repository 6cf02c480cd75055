"""Whether the detectors of every family of MMDetection run, and what evidence they give.

Takes one stock config from each directory of mmdet's configs that holds detectors
(mmdet_families.txt names them; trackers and re-identification are no detectors), makes its inputs
and numbers of boxes small, gives it random weights, and observes a drawing with all evidence and
one perturbed pass. Each runs in a process of its own. Prints a line a family and
writes the table of docs/reference/mmdet-families.md. Results are kept as one JSON file a family,
and what is there is not run again.

    python -m benchmarks.mmdet_families --results families/ --table docs/reference/mmdet-families.md
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import traceback
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.logging import MMLogger

from autoeval.detectors.building.category_names import count_classes, find_categories, takes_words
from autoeval.detectors.building.configs import build_model, read_config
from autoeval.errors import InputError
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.perturbable import PerturbableDetector
from benchmarks.family_configs import make_small, settle, unset_memory_is_nan
from benchmarks.family_table import write_table
from benchmarks.family_words import shrink_words

FAMILIES = Path(__file__).with_suffix(".txt")
EVIDENCE = ("candidates", "logits", "features")


def try_family(path: str) -> dict[str, Any]:
    """Build a detector, observe drawings, and say what came of it."""
    torch.manual_seed(0)
    config = read_config(f"mmdet::{path}")
    make_small(config, path.split("/")[0])
    with TemporaryDirectory() as folder, unset_memory_is_nan():
        shrink_words(config, Path(folder))
        model = build_model(config)
    settle(model, image())
    names = class_names(model, config)
    detector = PerturbableDetector(
        model, config, names or [str(n) for n in range(count_classes(model) or 1)]
    )
    return {"classes": len(names) or "-", **observe(detector)}


def class_names(model: Any, config: Config) -> tuple[str, ...]:
    """Return the names that a config gives, none if it has to be told."""
    try:
        return find_categories(model, config, {})
    except InputError:
        return ()


def observe(detector: PerturbableDetector) -> dict[str, Any]:
    """Observe the drawing and say which evidence is there, or why it is not."""
    (found,) = detector.observe([image()], ["a"], dropout=DropoutSpec(), repeats=1, wants=EVIDENCE)
    return {
        "boxes": len(found.clean),
        "equal": _as_mmdet(detector, found.clean),
        "dropout": "split" if detector.splits_backbone else ", ".join(detector.stages),
        "dropout moves boxes": not np.array_equal(found.clean.boxes, found.perturbed[0].boxes),
        "missing": dict(found.missing),
    }


def image() -> np.ndarray:
    """Draw an image of blocks and noise, 120 x 90 pixels."""
    rng = np.random.default_rng(5)
    blocks = rng.integers(0, 200, (9, 12, 3)).repeat(10, 0).repeat(10, 1)
    return (blocks + rng.integers(0, 56, (90, 120, 3))).astype(np.uint8)


def _as_mmdet(detector: PerturbableDetector, clean: Any) -> bool:
    """Say whether the boxes are those of mmdet's own inference, to the last bit."""
    from mmdet.apis import inference_detector

    detector.model.cfg = detector.config
    words = {"text_prompt": detector.categories, "custom_entities": True}
    asked = words if takes_words(detector.model) else {}
    found = inference_detector(detector.model, image(), **asked).pred_instances
    theirs = (found.bboxes, found.scores, found.labels)
    return all(
        np.array_equal(a.numpy(), b)
        for a, b in zip(theirs, (clean.boxes, clean.scores, clean.labels), strict=True)
    )


def _outcome(path: str, file: Path) -> None:
    """Write what came of a family; the body of a process."""
    MMLogger.get_current_instance().setLevel("ERROR")
    warnings.simplefilter("ignore")
    try:
        outcome = try_family(path)
    except InputError as error:
        outcome = {"told": str(error)}
    except Exception:
        outcome = {"crash": traceback.format_exc()}
    file.write_text(json.dumps(outcome, indent=1))


def run(path: str, file: Path, timeout: float) -> None:
    """Try a family in a process of its own."""
    process = multiprocessing.get_context("fork").Process(target=_outcome, args=(path, file))
    process.start()
    process.join(timeout)
    if process.is_alive():
        process.kill()
        process.join()
        file.write_text(json.dumps({"crash": f"no end within {timeout:g} seconds"}))
    elif not file.is_file():
        file.write_text(json.dumps({"crash": f"the process ended with {process.exitcode}"}))


def main() -> None:
    """Try all families and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", metavar="FOLDER", required=True)
    parser.add_argument("--only", nargs="+", metavar="FAMILY", default=[])
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS")
    parser.add_argument("--table", metavar="FILE")
    args = parser.parse_args()
    torch.set_num_threads(1)
    import_mmdet()
    folder = Path(args.results)
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = {}
    for path in FAMILIES.read_text().split():
        family = path.split("/")[0]
        if args.only and family not in args.only:
            continue
        file = folder / f"{family}.json"
        if not file.is_file():
            run(path, file, args.timeout)
        outcomes[path] = json.loads(file.read_text())
        print(f"{family:20} {_line(outcomes[path])}", flush=True)
    if args.table:
        write_table(Path(args.table), outcomes)


def import_mmdet() -> None:
    """Import it once, before the processes part."""
    from autoeval.detectors import ops

    ops.register()
    import mmdet.apis
    import mmdet.models  # noqa: F401


def _line(outcome: dict[str, Any]) -> str:
    if "told" in outcome:
        return "told: " + outcome["told"][:150]
    if "crash" in outcome:
        return "CRASH: " + re.sub(r"\s+", " ", outcome["crash"])[-200:]
    missing = ", ".join(outcome["missing"])
    equal = "equal" if outcome["equal"] else "NOT EQUAL"
    return f"boxes {outcome['boxes']} {equal}; dropout {outcome['dropout']}; without {missing}"


if __name__ == "__main__":
    main()
