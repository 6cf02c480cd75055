"""The options of a pass over labelled sites as they come and as corruptions change them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands.run_options import add_detector_options, load_named_detector
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.metasets.transforms import TransformStep
    from autoeval.monitoring.fitting.changed_images import ChangedImages

META_SET, EVERY = "configs/metasets/corruptions.py", "all"
N_SETS, N_IMAGES, UNTOUCHED = 14, 24, 64


def add_change_options(parser: argparse.ArgumentParser) -> None:
    """Declare the detector, the sites, and how they are changed."""
    add_detector_options(parser)
    data = parser.add_argument_group("labelled sites, untouched and changed")
    data.add_argument(
        "--task",
        nargs="+",
        required=True,
        metavar="FILE",
        help="such as configs/tasks/vehicle_22.py; of several, shared images are observed once",
    )
    data.add_argument("--data-root", metavar="DIR", help="folder with the data of the tasks")
    data.add_argument(
        "--metaset", default=META_SET, metavar="FILE", help="the corruptions (%(default)s)"
    )
    data.add_argument(
        "--n-sets",
        type=int,
        default=N_SETS,
        metavar="N",
        help="drawn for each site; 0 leaves --everywhere alone (%(default)s)",
    )
    data.add_argument(
        "--n-images", type=int, default=N_IMAGES, metavar="N", help="of each set (%(default)s)"
    )
    data.add_argument(
        "--everywhere",
        nargs="+",
        default=(),
        metavar="NAME[=SEVERITY]",
        help="corruptions that every site gets, on the same of its images: defocus_blur=4, "
        "defocus_blur for each of its severities, all or all=3 for each corruption",
    )
    data.add_argument(
        "--untouched",
        type=int,
        default=UNTOUCHED,
        metavar="N",
        help="images of each site that are observed as they come, at most (%(default)s)",
    )
    parser.add_argument(
        "--no-calibration",
        action="store_true",
        help="read confidences as they are, rather than true-positive probabilities",
    )
    parser.add_argument("--batch-size", type=int, default=4, help="changes no number")
    parser.add_argument(
        "--work-dir",
        type=Path,
        default=Path("work_dirs/changes"),
        metavar="DIR",
        help="for what is written, and keeps what was observed (%(default)s)",
    )


def observe_named_changes(
    args: argparse.Namespace,
) -> tuple[list[ChangedImages], tuple[str, ...], tuple[str, ...]]:
    """Run the detector over the sites; return what it left, the categories, and warnings."""
    from autoeval.estimation.observation.observing import Observer
    from autoeval.estimation.observation.presets import light
    from autoeval.metasets import load_metaset_config, load_task
    from autoeval.metasets.task import merge_tasks
    from autoeval.monitoring.fitting.changed_images import observe_changes

    task = merge_tasks([load_task(file, args.data_root) for file in args.task])
    meta_set = load_metaset_config(args.metaset, n_sets=args.n_sets, n_images=args.n_images)
    settings = light(seed=getattr(args, "seed", 0))
    observer = Observer(load_named_detector(args), task, settings, batch_size=args.batch_size)
    named = (step for text in args.everywhere for step in _steps(text, meta_set.transforms))
    observed, warnings = observe_changes(
        observer,
        folder=args.work_dir,
        meta_set=meta_set,
        everywhere=list(dict.fromkeys(named)),
        untouched=args.untouched,
    )
    return observed, task.categories, warnings


def _steps(text: str, transforms: Sequence[str]) -> list[TransformStep]:
    from autoeval.metasets.transforms import TransformStep, get_transform

    name, equals, severity = text.partition("=")
    if name == EVERY:
        return [step for own in transforms for step in _steps(own + equals + severity, transforms)]
    transform = get_transform(name)
    if not equals:
        every = map(transform.magnitude, range(transform.n_magnitudes))
        return [TransformStep(transform.name, severity) for severity in every]
    if not severity.isdigit():
        raise InputError(
            f"Expected a corruption with its severity, such as defocus_blur=4, but got {text!r}."
        )
    return [TransformStep(transform.name, float(severity))]
