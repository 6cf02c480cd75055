"""Study the method on your data: each study writes a picture, a table (CSV) and a page (Markdown).

Studies of a score table take the work dir of an estimate-map run. Studies of boxes run the detector
over the data of a task, once: what --work-dir holds is not observed again.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from autoeval.commands.detector_options import add_detector_options
from autoeval.commands.meta_set_options import PRESET_NAMES, add_data_options

SCORES = {
    "correlation": ("correlation_report", "R² and ρ of every score with the accuracy"),
    "thresholds": ("thresholds_report", "R² of thresholded scores at every threshold"),
    "meta-set-size": ("meta_set_size_report", "error by the number of sample sets"),
    "repeats": ("repeats_report", "error by the number of dropout repeats"),
    "severity": ("severity_report", "error by severity of a corruption"),
}
BOXES = {
    "sample-set-size": ("sample_set_size_report", "error by the images in a sample set"),
    "test-set-size": ("unlabelled_set_size_report", "error by the number of test images"),
    "box-level": ("box_level_report", "is a box that stays put a good box"),
    "examples": ("examples_report", "the least and the most stable images, with their boxes"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the studies and their options."""
    studies = parser.add_subparsers(dest="study", required=True, metavar="NAME", title="studies")
    for group, add_input in ((SCORES, _add_scores), (BOXES, _add_pass)):
        for name, (_, text) in group.items():
            study = studies.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
            add_input(study)
            _add_own_options(study, name)
            study.add_argument(
                "--out",
                type=Path,
                default=Path("work_dirs/studies"),
                metavar="DIR",
                help="for what is written (%(default)s)",
            )
            study.add_argument("--seed", type=int, default=0, help="of every draw (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Make the study, print its tables and name its files."""
    room, (function, _) = (
        ("score_studies", SCORES[args.study])
        if args.study in SCORES
        else ("box_studies", BOXES[args.study])
    )
    module = importlib.import_module(f"autoeval.commands.{room}")
    report = getattr(module, function)(args)
    written = report.write(args.out)
    for problem in report.problems:
        print(f"note: left out: {problem}", file=sys.stderr)
    print(report.text())
    print("\nwritten:\n" + "\n".join(f"  {path}" for path in written))
    return 0


def _add_scores(study: argparse.ArgumentParser) -> None:
    study.add_argument(
        "--scores",
        type=Path,
        required=True,
        metavar="PATH",
        help="work dir of estimate-map, or its scores.parquet",
    )


def _add_pass(study: argparse.ArgumentParser) -> None:
    add_detector_options(study)
    add_data_options(study)
    study.add_argument(
        "--own-images", type=int, default=5000, metavar="N", help="of each source, at most"
    )
    study.add_argument("--preset", default="paper", choices=PRESET_NAMES)
    study.add_argument("--repeats", type=int, default=3, help="dropout seeds (%(default)s)")
    study.add_argument("--batch-size", type=int, default=4, help="changes no number")
    study.add_argument(
        "--work-dir",
        type=Path,
        default=Path("work_dirs/studies"),
        metavar="DIR",
        help="keeps the boxes, for the next study too (%(default)s)",
    )


def _add_own_options(study: argparse.ArgumentParser, name: str) -> None:
    draws = {"meta-set-size": 20, "sample-set-size": 5, "test-set-size": 10}
    if name in ("box-level", "examples"):
        _add_example_options(study, name)
        return
    study.add_argument("--target", default="mAP", help="column of the accuracy (%(default)s)")
    if name == "correlation":
        study.add_argument("--features", nargs="+", default=(), metavar="COLUMN")
        study.add_argument("--most", type=int, default=12, help="scores drawn (%(default)s)")
    elif name == "thresholds":
        study.add_argument("--families", nargs="+", default=(), metavar="NAME", help="such as ps")
    else:
        methods = ("bos", "bos_strict", "ac", "constant")
        study.add_argument("--methods", nargs="+", default=methods, metavar="NAME")
    if name == "severity":
        study.add_argument(
            "--fit-on", type=Path, metavar="PATH", help="another score table to fit on"
        )
    if name in draws:
        study.add_argument("--sizes", type=int, nargs="+", default=(), metavar="N")
        study.add_argument("--draws", type=int, default=draws[name], help="(%(default)s)")


def _add_example_options(study: argparse.ArgumentParser, name: str) -> None:
    if name == "examples":
        study.add_argument("--most", type=int, default=4, help="of either kind (%(default)s)")
        study.add_argument("--per-source", type=int, default=1, help="(%(default)s)")
        study.add_argument(
            "--min-boxes", type=int, default=2, help="that an image has, at least (%(default)s)"
        )
