"""Fit an estimator for a detector on labelled seed sets; estimate its mAP on unlabelled images."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from autoeval.commands.detector_options import (
    add_detector_options,
    detector_name,
    load_named_detector,
)
from autoeval.errors import InputError

PRESET_NAMES = ("paper", "released", "replication")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_detector_options(parser)
    data = parser.add_argument_group("data")
    data.add_argument(
        "--task", metavar="FILE", required=True, help="such as configs/tasks/vehicle.py"
    )
    data.add_argument("--data-root", metavar="DIR", help="folder with the data of the task")
    data.add_argument("--images", metavar="PATH", help="folder or COCO JSON to estimate mAP on")
    data.add_argument("--img-dir", metavar="DIR", help="where the files of that COCO JSON lie")
    data.add_argument("--metaset", metavar="FILE", help="default: as configs/metasets/mild.py")
    data.add_argument("--n-sets", type=int, metavar="N", help="sample sets for each seed set")
    data.add_argument("--n-images", type=int, metavar="N", help="images for each sample set")
    method = parser.add_argument_group("method")
    method.add_argument("--preset", default="paper", choices=PRESET_NAMES)
    method.add_argument(
        "--method",
        nargs="+",
        default=["bos"],
        metavar="NAME",
        help="regressor (default: bos); more names are judged beside the first",
    )
    method.add_argument("--target", default="mAP", choices=("mAP", "mAP50", "mAP75"))
    method.add_argument(
        "--repeats", type=int, default=10, help="dropout seeds (default: %(default)s)"
    )
    method.add_argument("--seed", type=int, default=0, help="of every draw (default: %(default)s)")
    method.add_argument("--estimator", metavar="FILE", help="use a saved one instead of fitting")
    parser.add_argument("--batch-size", type=int, default=4, help="changes no number")
    parser.add_argument(
        "--work-dir", type=Path, metavar="DIR", help="default: work_dirs/TASK_DETECTOR"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Load the detector, fit or load the estimator, estimate, and tell."""
    from autoeval.commands.outcome import Outcome
    from autoeval.estimation.estimator import MapEstimator
    from autoeval.estimation.fitting import estimate_images
    from autoeval.estimation.presets import preset
    from autoeval.metasets import load_image_folder, load_task

    settings = preset(args.preset, repeats=args.repeats, seed=args.seed)
    if args.estimator and not args.images:
        raise InputError("--estimator needs --images PATH, the images to estimate on.")
    task = load_task(args.task, args.data_root)
    files = load_image_folder(args.images, args.img_dir) if args.images else None
    saved = MapEstimator.load(args.estimator) if args.estimator else None
    name, detector = detector_name(args), load_named_detector(args)
    work_dir = args.work_dir or Path("work_dirs") / f"{task.name}_{Path(name).stem}"
    fit: Any = None
    if saved is None:
        fit = _fit(args, detector, task, settings, work_dir)
    estimator = saved or fit.estimator
    estimate = unread = None
    if files is not None:
        estimate, row = estimate_images(
            detector, estimator, task, files, settings=settings, batch_size=args.batch_size
        )
        unread = row["unreadable"]
    outcome = Outcome(name, detector, task.name, settings, estimator, fit, estimate, unread)
    written = outcome.write(work_dir)
    print(json.dumps(outcome.to_dict(), indent=2) if args.json else outcome.text(written))
    return 0


def _fit(args: argparse.Namespace, detector, task, settings, work_dir: Path) -> Any:
    from autoeval.estimation.fitting import fit_task
    from autoeval.metasets import load_metaset_config

    meta_set = load_metaset_config(args.metaset, n_sets=args.n_sets, n_images=args.n_images)
    seed_sets = task.load_seed_sets()
    fit = fit_task(
        detector,
        task,
        seed_sets,
        meta_set=meta_set,
        settings=settings,
        work_dir=work_dir,
        methods=args.method,
        target=args.target,
        batch_size=args.batch_size,
    )
    for problem in fit.problems:
        print(f"note: {problem}", file=sys.stderr)
    return fit
