"""Options of what is run and where: a detector or its predictions, workers, the work dir."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.api.options import cfg_options_of
from autoeval.commands.execution_options import add_execution_options
from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.typed_options import refuse_beside
from autoeval.detectors.detector_spec import DetectorSpec, names_python
from autoeval.errors import InputError
from autoeval.io.wording import listed

if TYPE_CHECKING:
    from autoeval.estimation.given import Predictions

NO_DETECTOR = (
    "Expected --detector NAME: one of configs/detectors/, or an mmdet config with "
    "--checkpoint FILE."
)
DETECTOR_DETAILS = (
    Detail(
        "classes",
        "file with the names of the detector's labels, one in a line, where it has none",
        metavar="FILE",
    ),
    Detail(
        "network_precision",
        "single: the same numbers on every device; half: 16 bits; by default the framework's own",
        metavar="single|half",
    ),
    Detail(
        "trust_checkpoint", "unpickle everything in the checkpoint, which may run code", bool, False
    ),
)
REFERENCE_DETAILS = (
    Detail("reference_checkpoint", "weights of the reference detector", metavar="FILE"),
    Detail(
        "reference_names",
        "words of the detector for the category numbers of the reference: data.yaml, or a text "
        "file",
        metavar="FILE",
    ),
)
PREDICTIONS_DETAILS = (
    Detail(
        "names",
        "words for the category numbers of the predictions: data.yaml, or a text file with a word "
        "a line, counted from 0",
        metavar="FILE",
    ),
    Detail(
        "complete",
        "go on although boxes with a score under .3 are missing",
        bool,
        True,
        option="--incomplete",
    ),
    Detail(
        "numbering",
        "how category numbers count, where several ways fit: labels (as in the labels, --names or "
        "the fit), 0 or 1 (positions in their list), coco (1 to 90)",
        default="",
        metavar="HOW",
    ),
)
TEXT_DETAILS = (
    Detail(
        "columns",
        "what stands in which column of text files, where they fit several orders: such as "
        "class,score,left,top,right,bottom, or class,x,y,w,h,score with the centre; - for another "
        "number",
        lambda text: text.split(","),
        (),
        metavar="COLUMN,...",
    ),
)


def add_detector_options(parser: argparse.ArgumentParser, more: Sequence[Detail] = ()) -> None:
    """Declare them, as MMDetection's users expect them; `more` are facts of one command."""
    detector = parser.add_argument_group("detector")
    add_input(
        detector,
        "--detector",
        (*DETECTOR_DETAILS, *more),
        alone=True,  # of the detector of an estimator
        metavar="NAME",
        help="weights of Ultralytics (best.pt), FILE.onnx, torchvision:NAME, hf:FOLDER, one of "
        "configs/detectors/, an mmdet config (CONFIG.py or mmdet::FOLDER/FILE.py), or FILE.py:NAME "
        "of a BlackBoxDetector",
    )
    detector.add_argument("--checkpoint", metavar="FILE", help="its weights")
    detector.add_argument("--cfg-options", nargs="+", metavar="KEY=VALUE", help="as in mmdet")
    detector.add_argument(
        "--device", help="cpu, cuda, cuda:1 ... (default: cuda where there is one)"
    )


def add_reference_options(parser: argparse.ArgumentParser) -> None:
    """Declare a stronger detector."""
    add_input(
        parser.add_argument_group("reference detector"),
        "--reference",
        REFERENCE_DETAILS,
        metavar="ALIAS|PATH",
        nargs="+",
        action="extend",
        help="a stronger detector, whose boxes count as probable labels: its results on the same "
        "images, with --task a folder of them, or one to run (an alias or FILE.py:NAME); of "
        "several results the strongest is read",
    )


def named_detector(
    args: argparse.Namespace, loading: dict[str, Any] | None = None
) -> DetectorSpec | None:
    """Return how the detector that the options name is loaded; None where they name none.

    `loading` is how an estimator's detector was loaded; what is given now goes before.
    """
    if args.detector is None and loading is None:
        return None
    changes = {
        "checkpoint": args.checkpoint,
        "device": args.device,
        "cfg_options": read_cfg_options(args.cfg_options),
        "trust_checkpoint": args.trust_checkpoint,
        "classes": args.classes,
        "precision": args.network_precision,
    }
    if args.detector:
        return DetectorSpec(args.detector, **changes)
    changes = {option: value for option, value in changes.items() if value}
    return DetectorSpec.from_dict({**(loading or {}), **changes})


def required_detector(args: argparse.Namespace) -> DetectorSpec:
    """Return how the detector that the options name is loaded."""
    spec = named_detector(args)
    if spec is None:
        raise InputError(NO_DETECTOR)
    return spec


def load_named_detector(args: argparse.Namespace) -> Any:
    """Load the detector that the options name; see `required_detector`."""
    return required_detector(args)()


def named_reference(args: argparse.Namespace) -> DetectorSpec | Path | None:
    """Return the reference that the options name: a detector, its predictions, or None."""
    if not getattr(args, "reference", None):  # commands without one make the same observer
        return None
    given = [args.reference] if isinstance(args.reference, str) else args.reference
    if len(given) > 1:
        raise InputError(
            "Expected one --reference beside a detector that is run but got "
            f"{listed(given)}: several are given by their boxes, with --predictions."
        )
    (named,) = given
    if named.endswith(".json") or Path(named).is_dir():
        reason = f"is for a detector that is run, and {named} holds boxes: leave it out."
        refuse_beside(args, ["reference_checkpoint"], reason)
        return Path(named)
    refuse_beside(
        args,
        ["reference_names"],
        f"has the words of a file of boxes, and {named} is run: leave it out.",
    )
    if names_python(named):
        return DetectorSpec(named, args.reference_checkpoint)
    return DetectorSpec(
        named,
        args.reference_checkpoint,
        getattr(args, "device", None),
        precision=getattr(args, "network_precision", None),
    )


def read_cfg_options(words: list[str] | None) -> dict[str, Any] | None:
    """Read words such as ``KEY=VALUE`` as MMDetection does; None where there are none."""
    return dict(cfg_options_of(words)) if words else None


def add_predictions_options(
    group: argparse._ActionsContainer, what: str, more: Sequence[Detail] = TEXT_DETAILS
) -> None:
    """Declare predictions of any detector, for which no network is run; `what` are they.

    `more` are facts that not all commands have; by default those of folders of text files.
    """
    details = (*PREDICTIONS_DETAILS, *more)
    add_input(group, "--predictions", details, metavar="PATH", help=what)


def named_predictions(args: argparse.Namespace) -> Predictions | None:
    """Return the predictions that the options name, if they do."""
    from autoeval.estimation.given import Predictions

    if not getattr(args, "predictions", None):
        return None
    return Predictions(
        args.predictions,
        getattr(args, "reference", None),
        args.names or {},
        complete=args.complete,
        reference_names=getattr(args, "reference_names", None) or {},
        columns=args.columns,
        numbering=args.numbering,
    )


def add_work_dir(
    parser: argparse._ActionsContainer, default: str | None, about: str = "default: %(default)s"
) -> None:
    """Declare where results go; `default` is None where the command finds a folder."""
    path = None if default is None else Path(default)
    parser.add_argument("--work-dir", type=Path, default=path, metavar="DIR", help=about)


def positive(text: str) -> int:
    """Read a whole number from 1 up."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 up but got '{text}'")
    return number


def above_zero(text: str) -> float:
    """Read a finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0 but got '{text}'")
    return number


def add_json(parser: argparse._ActionsContainer) -> None:
    """Declare that the result may be printed as JSON."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_printing(parser: argparse._ActionsContainer, *, json: bool = True) -> None:
    """Declare that everything may be printed, or with `json` the result as JSON."""
    one = parser.add_mutually_exclusive_group()
    if json:
        add_json(one)
    one.add_argument("--verbose", action="store_true", help="print everything")


def add_batch_size(group: argparse._ActionsContainer) -> None:
    """Declare how many images the detector takes at once."""
    group.add_argument(
        "--batch-size",
        type=lambda word: None if word == "auto" else positive(word),
        metavar="N",
        help="images at once; changes no number (default: auto, as many as the device takes)",
    )


def add_run_options(
    parser: argparse.ArgumentParser,
    work_dir: str | None,
    about: str = "default: %(default)s",
    *,
    json: bool = True,
) -> None:
    """Declare where results go, how they are printed, and the options of execution.

    `work_dir` and `about` are the default and the help of ``--work-dir``, `json` is whether the
    command can print JSON.
    """
    add_work_dir(parser, work_dir, about)
    add_batch_size(parser)
    add_printing(parser, json=json)
    add_execution_options(parser)
