"""Measure how well counts agree with the truth: by bin of the true count, pooled, and overall.

PRED is CSV or Parquet with id,target,pred (or id,target-pred,target,pred without a header; or
id,pred where --truth is given). Several files make a comparison on the images that all of them
answered, unless they are --separate. Prints the table and writes CSV, JSON and report.html into the
folder --out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from autoeval.counting.binning import BINNINGS, PUBLISHED_GAMMA, CountBins, fit_bins, load_bins
from autoeval.counting.evaluation import compare_models, evaluate_counts
from autoeval.counting.evaluation.compare import CountComparison
from autoeval.counting.evaluation.evaluate import CountEvaluation
from autoeval.counting.evaluation.report import SHOWN, measures_table, write_files
from autoeval.counting.predictions import Predictions, align, read_predictions
from autoeval.counting.truth import read_truth
from autoeval.errors import InputError
from autoeval.report.tables import format_cells, to_terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("predictions", nargs="+", type=Path, metavar="PRED")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--bins", type=Path, metavar="FILE", help="JSON with the edges of the bins")
    source.add_argument(
        "--fit-bins",
        type=Path,
        metavar="TRAIN",
        help="training counts to bin: id,count, points or COCO boxes",
    )
    parser.add_argument("--bins-name", metavar="NAME", help="which of several lists in --bins")
    parser.add_argument("--binning", choices=BINNINGS, default="released", help="how to bin")
    parser.add_argument(
        "--gamma",
        type=_gamma,
        default=PUBLISHED_GAMMA,
        metavar="G",
        help="prior of the binning, in (0, 1), or cv for cross-validation (default: %(default)s)",
    )
    parser.add_argument(
        "--mode",
        choices=("paper", "released"),
        default="paper",
        help="true counts outside the bins: reported as bins of their own, or dropped as by the "
        "authors' code (default: %(default)s)",
    )
    parser.add_argument("--truth", type=Path, metavar="FILE", help="true counts, points or boxes")
    parser.add_argument("--category", help="which category of COCO boxes to count (default: all)")
    parser.add_argument(
        "--separate",
        action="store_true",
        help="the files are of different data sets: side by side instead of image by image",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("count_evaluation"),
        metavar="DIR",
        help="where to write (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    models, notes = _read_models(args)
    compared = len(models) > 1 and not args.separate
    counted = np.all([m.answered for m in models], axis=0) if compared else None
    evaluations = _evaluate(args, models, counted)
    comparison = compare_models(evaluations, seed=args.seed) if compared else None
    notes += _notes(args, counted)
    write_files(args.out, evaluations, comparison, notes)
    _print(evaluations, comparison, notes)
    print(f"\nReport: {args.out / 'report.html'}")
    return 0


def _evaluate(
    args: argparse.Namespace, models: Sequence[Predictions], counted: np.ndarray | None
) -> list[CountEvaluation]:
    given = _given_bins(args)
    evaluations = []
    for model in models:
        bins = given or _fit_to_target(args, model if args.separate else models[0])
        evaluations.append(
            evaluate_counts(model, bins, mode=args.mode, counted=counted, seed=args.seed)
        )
    return evaluations


def _notes(args: argparse.Namespace, counted: np.ndarray | None) -> list[str]:
    notes = []
    if counted is not None and not counted.all():
        notes.append(
            f"{(~counted).sum()} images that a model skipped enter no measure but its sMAPE"
        )
    if args.bins is None and args.fit_bins is None:
        notes.append(
            "The bins were fitted on the true counts that are evaluated here: bins of the training "
            "counts (--fit-bins) or published ones (--bins) make results comparable"
        )
    return notes


def _gamma(text: str) -> float | None:
    try:
        return None if text == "cv" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number or cv but got '{text}'") from None


def _read_models(args: argparse.Namespace) -> tuple[list[Predictions], list[str]]:
    truth, notes = None, []
    if args.truth is not None:
        ground_truth = read_truth(args.truth, args.category)
        truth, notes = ground_truth.counts, list(ground_truth.notes)
    names = _names(args.predictions)
    models = [read_predictions(p, truth, n) for p, n in zip(args.predictions, names, strict=True)]
    return (models if args.separate else align(models)), notes


def _names(paths: Sequence[Path]) -> list[str]:
    stems = [path.stem for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    if len(set(paths)) < len(paths):
        raise InputError(f"The same prediction file was given twice: {', '.join(map(str, paths))}.")
    return [str(path.with_suffix("")) for path in paths]


def _given_bins(args: argparse.Namespace) -> CountBins | None:
    if args.bins is not None:
        return load_bins(args.bins, args.bins_name)
    if args.fit_bins is not None:
        counts = list(read_truth(args.fit_bins, args.category).counts.values())
        return fit_bins(counts, args.binning, args.gamma)
    return None


def _fit_to_target(args: argparse.Namespace, model: Predictions) -> CountBins:
    target = np.rint(model.target)
    if target.min() == target.max():
        raise InputError(
            f"All true counts of {model.name} are {target[0]:g}, which makes no bins: give --bins "
            "or --fit-bins."
        )
    return fit_bins(target, args.binning, args.gamma)


def _print(
    evaluations: Sequence[CountEvaluation],
    comparison: CountComparison | None,
    notes: Sequence[str],
) -> None:
    columns = ["bin", "n", "mean", "std", "bias"]
    tables = [e.table[columns] for e in evaluations] if comparison is None else [comparison.per_bin]
    for table in tables:
        formats = {name: "{:.2f}" for name in table.columns if table[name].dtype == float}
        print(to_terminal(format_cells(table, formats)) + "\n")
    measures = measures_table(evaluations)[["model", *SHOWN, "TPER AUC relative"]]
    formats = {name: "{:.2f}" for name in SHOWN} | {"TPER AUC relative": "{:.3f}"}
    print(to_terminal(format_cells(measures, formats)))
    if comparison is not None:
        pairs = comparison.pairs
        formats = {c: "{:.3g}" for c in pairs.columns if pairs[c].dtype == float}
        print("\n" + to_terminal(format_cells(pairs, formats)))
    for note in [*notes, *(f"{e.name}: {n}" for e in evaluations for n in e.notes)]:
        print(f"note: {note}")
