"""Options of what is run and where: a detector or its predictions, workers, the work dir."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.runtime.job import Executor, LocalExecutor
from autoeval.runtime.ray_executor import RayExecutor
from autoeval.runtime.shards import Shards, Undivided, launched_by_torchrun

if TYPE_CHECKING:
    from autoeval.estimation.site_boxes import PredictionFiles


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

    `known` is how an estimator's detector was loaded; what is given now goes before.
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
    """Return how the detector that the options name is loaded."""
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
    """Return the teacher that the options name: a detector, its predictions, or None."""
    if not getattr(args, "teacher", None):  # commands without a teacher make the same observer
        if getattr(args, "teacher_checkpoint", None):
            raise InputError("Weights of a teacher need the teacher: --teacher ALIAS.")
        return None
    if args.teacher.endswith(".json") or Path(args.teacher).is_dir():
        return Path(args.teacher)
    device = getattr(args, "device", None)
    return DetectorSpec(args.teacher, args.teacher_checkpoint, device)


def read_cfg_options(words: list[str] | None) -> dict | None:
    """Read words such as ``KEY=VALUE`` as MMDetection does; None where there are none."""
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


def add_predictions_options(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare them; `what` is what ``--predictions`` is."""
    group = parser.add_argument_group("predictions", "of any detector; no network is run")
    group.add_argument("--predictions", metavar="PATH", help=what)
    group.add_argument(
        "--half-size-predictions",
        metavar="PATH",
        help="the same of a second pass at half the size, in pixels of the full size",
    )
    group.add_argument(
        "--names",
        metavar="FILE",
        help="words for the numbers of categories: data.yaml, or a text file with a word a line, "
        "counted from 0",
    )
    group.add_argument(
        "--truncated",
        action="store_true",
        help="go on although boxes with a score under .3 are missing",
    )


def add_image_list_option(group: argparse._ActionsContainer) -> None:
    """Declare which images predictions are of."""
    group.add_argument(
        "--images-list",
        metavar="PATH",
        help="with --predictions all new images: a text file with a name a line, a COCO JSON, or a "
        "folder; those without a box are not in the predictions",
    )


def named_predictions(args: argparse.Namespace) -> PredictionFiles | None:
    """Return the predictions of one set of images that the options name, if they do."""
    from autoeval.data.predictions.category_words import read_names
    from autoeval.estimation.site_boxes import PredictionFiles

    if not args.predictions:
        return None
    return PredictionFiles(
        args.predictions,
        args.half_size_predictions,
        getattr(args, "teacher", None),
        read_names(Path(args.names)) if args.names else {},
        truncated=args.truncated,
    )


OF_RAY = ("address", "workers", "num_gpus_per_worker", "num_cpus_per_worker")


def add_work_dir(
    parser: argparse._ActionsContainer, default: str | None, about: str = "default: %(default)s"
) -> None:
    """Declare where results go; `default` is None where the command finds a folder."""
    path = None if default is None else Path(default)
    parser.add_argument("--work-dir", type=Path, default=path, metavar="DIR", help=about)


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
    parser.add_argument("--batch-size", type=int, default=4, help="changes no number")
    if json:
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_execution_options(parser)


def add_execution_options(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    group = parser.add_argument_group("execution")
    group.add_argument("--executor", default="local", choices=("local", "ray"))
    group.add_argument("--address", help="of a Ray cluster, or auto (default: this machine alone)")
    group.add_argument("--workers", type=int, metavar="N", help="default: as many as memory allows")
    group.add_argument(
        "--num-gpus-per-worker", type=float, metavar="X", help="default: 1 where there are GPUs"
    )
    group.add_argument(
        "--num-cpus-per-worker",
        type=int,
        metavar="N",
        help="also its threads (default: 1 with GPUs, else those of this process, so that workers "
        "round as it does)",
    )
    group.add_argument(
        "--launcher",
        default="none",
        choices=("none", "pytorch"),
        help="pytorch: the processes of torchrun share sample sets, and the images of --images",
    )


def make_executor(args: argparse.Namespace) -> Executor:
    """Make the executor that the options ask for."""
    given = [name for name in OF_RAY if getattr(args, name) is not None]
    if args.executor == "local":
        if given:
            raise InputError(f"--{given[0].replace('_', '-')} needs --executor ray.")
        return LocalExecutor()
    if args.launcher != "none":
        raise InputError("--launcher pytorch and --executor ray exclude each other.")
    for name in OF_RAY[1:]:
        if name in given and getattr(args, name) <= 0:
            raise InputError(
                f"Expected --{name.replace('_', '-')} above 0, got {getattr(args, name):g}."
            )
    import torch

    return RayExecutor(
        address=args.address,
        workers=args.workers,
        cpus=args.num_cpus_per_worker,
        gpus=args.num_gpus_per_worker,
        cpus_without_gpu=torch.get_num_threads(),
    )


@contextmanager
def launched(args: argparse.Namespace) -> Iterator[Shards]:
    """Yield this process's share of a run."""
    if args.launcher == "none":
        yield Undivided()
    else:
        with launched_by_torchrun() as shards:
            yield shards
