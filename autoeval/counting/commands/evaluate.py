"""Measure how well counts agree with the truth: by bin of the true count, pooled, and overall.

PRED is CSV or Parquet with id,target,pred (or id,target-pred,target,pred without a header; or
id,pred where --truth is given), JSON of predicted points by image id, or a folder of density maps
IMAGE.npy; places are measured as well where the truth has points. Several files make a comparison
on the images that all of them answered, unless they are --separate. Images are joined by name, with
or without folders and suffix. Prints the table and writes CSV, JSON, figures and report.html into
the folder --work-dir.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.run_options import add_json
from autoeval.counting import mode_line
from autoeval.counting.commands.common_options import add_mode, add_work_dir

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoeval.counting.binning import CountBins
    from autoeval.counting.predictions import CountPredictions

# As in `autoeval.counting`, which takes seconds to import; the tests hold that they are equal.
PUBLISHED = ("nwpu", "ucf", "sta", "stb", "jhu")
BINNINGS = ("released", "paper", "poisson", "blocks")
GAMMA = 0.6
DISTANCES = (4.0, 8.0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("predictions", nargs="+", type=Path, metavar="PRED")
    source = parser.add_mutually_exclusive_group()
    add_input(
        source,
        "--bins",
        (Detail("bins_name", "which of several lists in the file of --bins", metavar="NAME"),),
        metavar="FILE|NAME",
        help=f"JSON with the edges of the bins, or published ones: {', '.join(PUBLISHED)}",
    )
    source.add_argument(
        "--fit-bins",
        type=Path,
        nargs="+",
        metavar="TRAIN",
        help="training counts to bin, all files together: id,count, points or COCO boxes",
    )
    add_input(
        parser,
        "--binning",
        (
            Detail(
                "gamma",
                f"prior of the binning, in (0, 1), or cv for cross-validation ({GAMMA})",
                _gamma,
                GAMMA,
                metavar="P",
            ),
        ),
        metavar="NAME",
        choices=BINNINGS,
        default=BINNINGS[0],
        help=f"how to bin: {', '.join(BINNINGS)} (default: %(default)s)",
    )
    add_mode(parser, "true counts outside the bins have bins of their own, or are dropped")
    parser.add_argument("--truth", type=Path, metavar="FILE", help="true counts, points or boxes")
    parser.add_argument("--category", help="which category of COCO boxes to count (default: all)")
    parser.add_argument(
        "--images", type=Path, metavar="DIR", help="folder of the images, whose sizes GAME needs"
    )
    parser.add_argument(
        "--match-distance",
        type=float,
        nargs="+",
        default=list(DISTANCES),
        metavar="PX",
        help="largest distance of a predicted point from a true one (default: 4 and 8 pixels)",
    )
    parser.add_argument(
        "--rescale",
        action="store_true",
        help="bring predicted points from images of another size into the truth's pixels",
    )
    parser.add_argument(
        "--separate",
        action="store_true",
        help="the files are of different data sets: side by side instead of image by image",
    )
    add_input(
        parser,
        "--n-resamples",
        (Detail("seed", "of the draws (0)", int, 0),),
        metavar="N",
        type=int,
        default=1000,
        help="of the bootstrap (default: %(default)s)",
    )
    add_json(parser)
    add_work_dir(parser, "count_evaluation")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    import numpy as np

    from autoeval.counting.evaluation.compare import compare_models
    from autoeval.counting.evaluation.evaluation_report import CountReport
    from autoeval.counting.evaluation.inputs import check_category, read_inputs
    from autoeval.counting.evaluation.model_measures import evaluate_counts
    from autoeval.counting.filed_page import PAGE

    check_category(args.category, [*([args.truth] if args.truth else []), *(args.fit_bins or [])])
    inputs = read_inputs(
        args.predictions, args.truth, category=args.category, separate=args.separate
    )
    compared = len(inputs.models) > 1 and not args.separate
    counted = np.all([m.answered for m in inputs.models], axis=0) if compared else None
    draws = {"n_resamples": args.n_resamples, "seed": args.seed}
    evaluations = [
        evaluate_counts(model, bins, mode=args.mode, counted=counted, **draws)
        for model, bins in zip(inputs.models, _bins(args, inputs.models), strict=True)
    ]
    comparison = compare_models(evaluations, **draws) if compared else None
    places = inputs.places(distances=args.match_distance, images=args.images, rescale=args.rescale)
    notes = list(inputs.notes)
    if counted is not None and not counted.all():
        notes.append(
            f"{(~counted).sum()} images that a model skipped enter no measure but its sMAPE"
        )
    if args.bins is None and args.fit_bins is None:
        notes.append(
            "The bins were fitted on the true counts that are evaluated here: bins of the training "
            "counts (--fit-bins) or published ones (--bins) make results comparable"
        )
    report = CountReport(evaluations, comparison, notes, places)
    report.write(args.work_dir)
    if args.json:
        print(report.to_json())
    else:
        print(f"{report.text()}\n\n{mode_line(args.mode)}\nReport: {args.work_dir / PAGE}")
    return 0


def _bins(args: argparse.Namespace, models: Sequence[CountPredictions]) -> list[CountBins]:
    """Return the bins of each model: of its own true counts where data sets are separate."""
    from autoeval.counting.evaluation.inputs import choose_bins

    separately = args.separate and args.bins is None and args.fit_bins is None
    bins = [
        choose_bins(
            model,
            bins=args.bins,
            bins_name=args.bins_name,
            fit_on=args.fit_bins,
            category=args.category,
            binning=args.binning,
            gamma=args.gamma,
        )
        for model in (models if separately else models[:1])
    ]
    return bins if separately else bins * len(models)


def _gamma(text: str) -> float | None:
    try:
        return None if text == "cv" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number or cv but got '{text}'") from None
