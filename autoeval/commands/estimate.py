"""Estimate how accurate a detector is on images that nobody has labelled, by a saved estimator."""

from __future__ import annotations

import argparse
from pathlib import Path

from autoeval.commands.detector_options import add_detector_options
from autoeval.commands.fit import ESTIMATOR, WORK_DIR
from autoeval.commands.image_options import add_image_details
from autoeval.commands.predictions_options import add_predictions_options, files_of
from autoeval.commands.teacher_options import add_teacher_options
from autoeval.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "images",
        nargs="?",
        metavar="IMAGES",
        help="folder, COCO JSON, film, pattern or list of new images, for an estimator of a "
        "detector that is at hand",
    )
    add_image_details(parser)
    parser.add_argument(
        "--estimator",
        default=WORK_DIR / ESTIMATOR,
        metavar="FILE",
        help="what `autoeval fit` wrote (default: %(default)s)",
    )
    add_detector_options(parser)
    add_teacher_options(parser)
    add_predictions_options(parser, "boxes on the new images: COCO results, JSON lines, Parquet")
    parser.add_argument(
        "--images-list",
        metavar="PATH",
        help="all new images: a text file with a name a line, a COCO JSON, or a folder; those "
        "without a box are not in the predictions",
    )
    parser.add_argument(
        "--category",
        action="append",
        metavar="NAME[=WORD,...]",
        help="a category to be expected in all images, with the detector's words for it; may be "
        "given several times (default: every category that the detector is sure of)",
    )
    parser.add_argument(
        "--work-dir",
        type=Path,
        default=Path("work_dirs/estimate"),
        metavar="DIR",
        help="default: %(default)s",
    )
    parser.add_argument(
        "--export",
        type=Path,
        metavar="DIR",
        help="with --predictions: CSV of the estimate and the images, COCO results with both",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Load the estimator, estimate, and tell."""
    from autoeval.estimation.predictions.new_predictions import ask
    from autoeval.estimation.predictions.prediction_estimator import PredictionsEstimator
    from autoeval.report.sections import told
    from autoeval.results.predictions.predictions_report import estimate_report
    from autoeval.results.predictions.tool_files import export

    if bool(args.predictions) == bool(args.images):
        raise InputError("Expected either IMAGES or --predictions FILE.")
    if args.images:
        return _run_detector(args)
    estimator = PredictionsEstimator.load(args.estimator)
    asked = ask(
        estimator,
        files_of(args),
        images=args.images_list,
        categories=named_categories(args.category),
    )
    report = estimate_report(f"Estimate from {Path(args.predictions).name}", estimator, asked)
    written = report.write(args.work_dir)
    if args.export:
        written += export(args.export, asked.found, asked.estimate)
    print(told(report, written, as_json=args.json))
    return 0


def _run_detector(args: argparse.Namespace) -> int:
    """Estimate as ``estimate-map --estimator`` does, with the detector that the file remembers."""
    from autoeval.commands import estimate_map
    from autoeval.commands.remembered_detector import recall_detector

    parser = argparse.ArgumentParser()
    estimate_map.add_arguments(parser)
    defaults = vars(parser.parse_args([]))
    loading = recall_detector(Path(args.estimator), args)
    if args.category or _of_categories(args.estimator):
        return _run_any(argparse.Namespace(**{**defaults, **vars(args), **loading}))
    return estimate_map.run(argparse.Namespace(**{**defaults, **vars(args), **loading}))


def _of_categories(path: str) -> bool:
    """Whether pairs of several categories tell of any: of a labelled set, or of joined fits."""
    from autoeval.estimation.artefact import read_artefact
    from autoeval.estimation.pairs.pair_table import CATEGORY

    table = read_artefact(path)[0]
    several = "category" in table and table["category"].nunique() > 1
    return several or ("kind" in table and bool((table["kind"] == CATEGORY).any()))


def _run_any(args: argparse.Namespace) -> int:
    """Estimate the categories that are asked for, or seen, and the mean over them."""
    from autoeval.commands.detector_options import load_named_detector
    from autoeval.commands.image_options import named_images
    from autoeval.commands.teacher_options import load_named_teacher
    from autoeval.estimation.estimate_any import estimate_any
    from autoeval.estimation.estimator import MapEstimator
    from autoeval.report.sections import Report, told
    from autoeval.results.estimate.answer import Answer
    from autoeval.results.estimate.by_category import ByCategory
    from autoeval.results.estimate.doubts import ReasonsForDoubt
    from autoeval.targets import find_target

    files = named_images(args)
    assert files is not None
    estimate = estimate_any(
        MapEstimator.load(args.estimator),
        files,
        load_named_detector(args),
        categories=named_categories(args.category) or None,
        teacher=load_named_teacher(args),
        work_dir=args.work_dir,
    )
    by_category = ByCategory(estimate.per_category, find_target(estimate.target))
    report = Report(
        f"Estimate on {args.images}", [Answer(estimate), ReasonsForDoubt(estimate), by_category]
    )
    written = report.write(args.work_dir)
    print(told(report, written, as_json=args.json))
    return 0


def named_categories(given: list[str] | None) -> dict[str, list[str]]:
    """Read ``vehicle=car,bus`` as a category and the detector's words for it."""
    pairs = [text.partition("=") for text in given or []]
    return {name: [w for w in words.split(",") if w] or [name] for name, _, words in pairs}
