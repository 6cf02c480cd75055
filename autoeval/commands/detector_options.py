"""The options that name a detector, for every command that runs one."""

from __future__ import annotations

import argparse
from typing import Any

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


def load_named_detector(args: argparse.Namespace) -> Any:
    """Load the detector that the options name.

    Raises
    ------
    InputError
        If they name none or two, weights are missing, or the file of classes cannot be read.
    """
    from autoeval.detectors import load_detector
    from autoeval.detectors.black_boxes.python_file import load_black_box, names_python

    name = detector_name(args)
    if names_python(name):
        return load_black_box(name)
    from autoeval.detectors.building.category_names import read_classes

    return load_detector(
        name,
        checkpoint=args.checkpoint,
        device=args.device or _best_device(),
        cfg_options=read_cfg_options(args.cfg_options),
        trust_checkpoint=args.trust_checkpoint,
        classes=read_classes(args.classes) if args.classes else (),
        stages=args.stages.split(",") if args.stages else (),
    )


def detector_name(args: argparse.Namespace) -> str:
    """Return the alias or the config file, whichever was given.

    Raises
    ------
    InputError
        If neither or both were, or a config came without weights.
    """
    if bool(args.detector) == bool(args.config):
        raise InputError(
            "Expected either --detector ALIAS or --config FILE with --checkpoint FILE."
        )
    if args.config and not args.checkpoint:
        raise InputError("--config needs --checkpoint FILE: the weights of that detector.")
    return args.detector or args.config


def _best_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def read_cfg_options(words: list[str] | None) -> dict | None:
    """Read words such as ``KEY=VALUE`` as MMDetection does; None where there are none.

    Raises
    ------
    InputError
        If a word has no ``=``.
    """
    from mmengine.config import DictAction

    if not words:
        return None
    bare = [word for word in words if "=" not in word]
    if bare:
        raise InputError(
            f"Expected --cfg-options as KEY=VALUE, such as model.test_cfg.score_thr=0.01, but got "
            f"{', '.join(bare)}."
        )
    parser = argparse.ArgumentParser()
    parser.add_argument("--cfg-options", nargs="+", action=DictAction)
    return parser.parse_args(["--cfg-options", *words]).cfg_options
