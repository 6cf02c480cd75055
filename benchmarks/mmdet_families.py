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
import importlib.util
import json
import multiprocessing
import re
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cv2
import numpy as np
import torch
from mmengine.config import Config, ConfigDict
from mmengine.logging import MMLogger
from torch.nn.modules.batchnorm import _BatchNorm

from autoeval.detectors.building.category_names import (
    coco_categories,
    count_classes,
    find_categories,
    takes_words,
)
from autoeval.detectors.building.configs import build_model, dicts_in, read_config
from autoeval.errors import InputError
from autoeval.runtime.files import write_text
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.perturbable import PerturbableDetector

FAMILIES = Path(__file__).with_suffix(".txt")
EVIDENCE = ("candidates", "logits", "features")
SIZE = (128, 96)
SIDE = 128
#: A step that reads annotations, at which mmdet's own inference stops without panopticapi.
NEEDS_PANOPTICAPI = "LoadPanopticAnnotations"
#: Families whose smallest maps are padded by more than two pixels, or have nothing left of less.
LARGER = {"detectors": (256, 192), "ssd": (300, 300)}
#: The most of what a config may ask for.
AT_MOST = {
    "nms_pre": 100,
    "max_per_img": 20,
    "num_queries": 20,
    "num_proposals": 20,
}
#: The layer of cascades that moves boxes, by random weights far out of the image.
REGRESSION = ".fc_reg."
#: Of weights that only a checkpoint would set.
UNSET_STD = 0.02
#: What random weights are never sure of.
THRESHOLDS = ("score_thr", "filter_thr", "conf_thr")
ENCODER_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".")
ENCODER_SIZES = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2}
#: Where configs name the text encoder.
ENCODER_KEYS = {"name", "lang_model_name"}
PAGE_HEAD = """# What runs of each family of MMDetection

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
* **classes**: how many names the config gives; `--classes FILE` where neither it nor the
  checkpoint has them.

| family | config | boxes | dropout | candidates | logits | features | classes |
|---|---|---|---|---|---|---|---|
"""
YES = "yes"
NO = "-"


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


def make_small(config: Config, family: str) -> None:
    """Shrink the inputs and the numbers of boxes of a config."""
    size = LARGER.get(family, SIZE)
    steps = config.test_dataloader.dataset.get("pipeline", [])
    steps[:] = [step for step in steps if step.type != NEEDS_PANOPTICAPI]
    for name in [n for n in config if n.endswith("pipeline") or n.endswith("dataloader")]:
        _shrink_inputs(config[name], size)
    _shrink_model(config.model)


def _shrink_inputs(node: Any, size: tuple[int, int]) -> None:
    for part in dicts_in(node):
        kind = str(part.get("type", ""))
        if kind.endswith("Resize") and "scale" in part:
            part["scale"] = size
        if kind.endswith("Pad") and part.get("size"):
            part["size"] = (size[0], size[0])


def _shrink_model(model: ConfigDict) -> None:
    for part in dicts_in(model):
        for name in set(AT_MOST) & set(part):
            if isinstance(part[name], int):
                part[name] = min(part[name], AT_MOST[name])
        for name in set(THRESHOLDS) & set(part):
            part[name] = 0.0


@contextmanager
def unset_memory_is_nan() -> Iterator[None]:
    """Fill with nan what nobody initialises, instead of leaving memory as it was found."""
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)


def settle(model: Any, image: np.ndarray) -> None:
    """Initialise neck and heads, and give batch norms the statistics of an image.

    Boxes of cascades are kept near their proposals. What only a checkpoint would set, and was built
    with `unset_memory_is_nan`, is drawn: the embeddings of levels of DETR's kin, the branches of
    TridentNet.
    """
    for name, part in model.named_children():
        if name != "backbone" and hasattr(part, "init_weights"):
            part.init_weights()
    for name, parameter in model.named_parameters():
        if REGRESSION in name:
            parameter.data *= 0.01
        if parameter.isnan().any():
            torch.nn.init.normal_(parameter, std=UNSET_STD)
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    for norm in norms:
        norm.training, norm.momentum = True, 1.0
    scene = torch.from_numpy(cv2.resize(image, (SIDE, SIDE))).permute(2, 0, 1)
    with torch.no_grad(), suppress(Exception):
        model.extract_feat(
            model.data_preprocessor({"inputs": [scene, scene.flip(2)]}, False)["inputs"]
        )
    model.eval()


def shrink_words(config: Config, folder: Path) -> None:
    """Let a config name a small encoder in a folder, if it has one and transformers is there."""
    if "language_model" not in config.model or importlib.util.find_spec("transformers") is None:
        return
    save_encoder(folder)
    for part in (config.model.language_model, config.model.bbox_head):
        part.update(dict.fromkeys(ENCODER_KEYS & set(part), str(folder)))


def save_encoder(folder: Path) -> None:
    """Save a BERT of one layer that knows the words of COCO's categories."""
    import transformers

    words = sorted({word for name in coco_categories() for word in re.findall(r"\w+", name)})
    (folder / "vocab.txt").write_text("\n".join([*ENCODER_TOKENS, *words]))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    encoder = transformers.BertConfig(
        vocab_size=len(ENCODER_TOKENS) + len(words), num_hidden_layers=1, **ENCODER_SIZES
    )
    transformers.BertModel(encoder, add_pooling_layer=False).save_pretrained(folder)


def write_table(path: Path, outcomes: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the page.

    Parameters
    ----------
    path : Path
    outcomes : mapping of str to mapping
        What `benchmarks.mmdet_families.try_family` gave, or an error, by the path of the config.
    """
    head = PAGE_HEAD.format(total=len(outcomes), summary=summary(outcomes))
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


if __name__ == "__main__":
    main()
