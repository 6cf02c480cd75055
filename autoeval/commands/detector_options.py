"""The options that name a detector, and a stronger one, for every command that runs one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError


def add_detector_options(parser: argparse.ArgumentParser) -> None:
    """Declare them, as MMDetection's users expect them."""
    detector = parser.add_argument_group("detector")
    detector.add_argument(
        "--detector",
        metavar="ALIAS",
        help="one of configs/detectors/, or FILE.py:NAME of a BlackBoxDetector",
    )
    detector.add_argument(
        "--config", metavar="FILE", help="or any mmdet config, also mmdet::FOLDER/FILE.py"
    )
    detector.add_argument("--checkpoint", metavar="FILE", help="its weights")
    detector.add_argument(
        "--trust-checkpoint",
        action="store_true",
        help="unpickle everything in the checkpoint: it may run code",
    )
    detector.add_argument("--cfg-options", nargs="+", metavar="KEY=VALUE", help="as in mmdet")
    detector.add_argument(
        "--classes", metavar="FILE", help="names of its labels, one in a line, where it has none"
    )
    detector.add_argument(
        "--stages",
        metavar="NAME,NAME,...",
        help="modules of the backbone at which features are dropped (default: its stages)",
    )
    detector.add_argument(
        "--device", help="cpu, cuda, cuda:1 ... (default: cuda where there is one)"
    )


def add_teacher_options(parser: argparse.ArgumentParser) -> None:
    """Declare a stronger detector."""
    teacher = parser.add_argument_group(
        "second opinion", "a stronger detector: agreement with it becomes a score"
    )
    teacher.add_argument(
        "--teacher",
        metavar="ALIAS|PATH",
        help="one of configs/detectors/, FILE.py:NAME, or its COCO results on the same images: a "
        "file, or with --task a folder with NAME.json for each source",
    )
    teacher.add_argument("--teacher-checkpoint", metavar="FILE", help="its weights")


def named_detector(
    args: argparse.Namespace, known: dict[str, Any] | None = None
) -> DetectorSpec | None:
    """Return how the detector that the options name is loaded; None where they name none.

    Raises `InputError` if the options name two detectors, or a config comes without weights.

    Parameters
    ----------
    known : dict, optional
        How an estimator's detector was loaded; what is given now goes before.
    """
    if args.detector and args.config:
        raise InputError(
            "Expected either --detector ALIAS or --config FILE with --checkpoint FILE."
        )
    if args.config and not args.checkpoint:
        raise InputError("--config needs --checkpoint FILE: the weights of that detector.")
    changes = {
        "checkpoint": args.checkpoint,
        "device": args.device,
        "cfg_options": read_cfg_options(args.cfg_options),
        "trust_checkpoint": args.trust_checkpoint,
        "classes": args.classes,
        "stages": args.stages.split(",") if args.stages else (),
    }
    name = args.detector or args.config
    if name:
        return DetectorSpec(name, **changes)
    if known:
        changes = {option: value for option, value in changes.items() if value}
        return DetectorSpec.from_dict({**known, **changes})
    return None


def required_detector(args: argparse.Namespace) -> DetectorSpec:
    """Return how the detector that the options name is loaded.

    Raises `InputError` as `named_detector`; if they name none.
    """
    spec = named_detector(args)
    if spec is None:
        raise InputError(
            "Expected either --detector ALIAS or --config FILE with --checkpoint FILE."
        )
    return spec


def load_named_detector(args: argparse.Namespace) -> Any:
    """Load the detector that the options name; see `required_detector`."""
    return required_detector(args)()


def named_teacher(args: argparse.Namespace) -> DetectorSpec | Path | None:
    """Return the teacher that the options name: a detector, its predictions, or None.

    Raises `InputError` if there are weights without a teacher.
    """
    if not getattr(args, "teacher", None):  # commands without a teacher make the same observer
        if getattr(args, "teacher_checkpoint", None):
            raise InputError("Weights of a teacher need the teacher: --teacher ALIAS.")
        return None
    if args.teacher.endswith(".json") or Path(args.teacher).is_dir():
        return Path(args.teacher)
    device = getattr(args, "device", None)
    return DetectorSpec(args.teacher, args.teacher_checkpoint, device)


def read_cfg_options(words: list[str] | None) -> dict | None:
    """Read words such as ``KEY=VALUE`` as MMDetection does; None where there are none.

    Raises `InputError` if a word has no ``=``.
    """
    if not words:
        return None
    from mmengine.config import DictAction

    bare = [word for word in words if "=" not in word]
    if bare:
        raise InputError(
            f"Expected --cfg-options as KEY=VALUE, such as model.test_cfg.score_thr=0.01, but got "
            f"{', '.join(bare)}."
        )
    parser = argparse.ArgumentParser()
    parser.add_argument("--cfg-options", nargs="+", action=DictAction)
    return parser.parse_args(["--cfg-options", *words]).cfg_options
