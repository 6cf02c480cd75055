"""Run a detector over images once, and write its boxes, for `fit` and `estimate --predictions`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from autoeval.commands import run_options, site_options
from autoeval.commands.execution_options import add_execution_options, make_executor
from autoeval.errors import InputError

RARE = ("cfg_options", "device", "batch_size", "ray")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    run_options.add_detector_options(parser)
    site_options.add_image_options(parser, "run the detector on")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="FILE.parquet",
        help="file to write: a row a box, and notes of all images and of the detector",
    )
    run_options.add_work_dir(
        parser,
        "work_dirs/detect",
        "keeps what was observed: a run that was killed goes on there (default: %(default)s)",
    )
    run_options.add_batch_size(parser)
    add_execution_options(parser)


def run(args: argparse.Namespace) -> int:
    """Find the images, run the detector, and count."""
    from autoeval.api import detect
    from autoeval.estimation.given_boxes import Detector
    from autoeval.io.wording import listed
    from autoeval.words import counted

    spec = run_options.required_detector(args)
    images = site_options.named_images(args)
    if images is None:
        raise InputError("Expected --images PATH: the images to run the detector on.")
    run_as = Detector(spec, batch_size=args.batch_size, executor=make_executor(args))
    found = detect(run_as, images, args.output, work_dir=args.work_dir)
    n_images = len(found.images)
    n_empty = n_images - len({*found.image.tolist()})
    scores = f", scores {found.floor:.3g} to {found.highest:.3g}" if len(found) else ""
    print(
        f"{counted(len(found), 'box', 'boxes')} on {counted(n_images, 'image')}, "
        f"{n_empty} of them without a box{scores}"
    )
    lost = found.run.unreadable if found.run else ()
    if lost:
        print(f"{len(lost)} of {n_images + len(lost)} images could not be read: {listed(lost, 10)}")
    print(f"written: {args.output}")
    print(f"next: autoeval estimate --predictions {shlex.quote(str(args.output))}")
    return 0
