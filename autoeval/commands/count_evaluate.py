"""Measure how well counts agree with the truth: by bin of the true count, pooled, and overall.

PRED is CSV or Parquet with id,target,pred (or id,target-pred,target,pred without a header; or
id,pred where --truth is given). Several files make a comparison on the images that all of them
answered. Prints the table and writes CSV, JSON and report.html into the folder --out.
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
    bins, fitted_on_test = _bins(args, models)
    if fitted_on_test:
        notes.append(
            "The bins were fitted on the true counts that are evaluated here: bins of the training "
            "counts (--fit-bins) or published ones (--bins) make results comparable"
        )
    counted = np.all([model.answered for model in models], axis=0)
    if len(models) > 1 and not counted.all():
        notes.append(
            f"{(~counted).sum()} images that a model skipped enter no measure but its sMAPE"
        )
    evaluations = [
        evaluate_counts(m, bins, mode=args.mode, counted=counted, seed=args.seed) for m in models
    ]
    comparison = compare_models(evaluations, seed=args.seed) if len(models) > 1 else None
    write_files(args.out, evaluations, comparison, notes)
    _print(evaluations, comparison, notes)
    print(f"\nReport: {args.out / 'report.html'}")
    return 0


def _gamma(text: str) -> float | None:
    return None if text == "cv" else float(text)


def _read_models(args: argparse.Namespace) -> tuple[list[Predictions], list[str]]:
    truth, notes = None, []
    if args.truth is not None:
        ground_truth = read_truth(args.truth, args.category)
        truth, notes = ground_truth.counts, list(ground_truth.notes)
    names = _names(args.predictions)
    models = [read_predictions(p, truth, n) for p, n in zip(args.predictions, names, strict=True)]
    return (align(models) if len(models) > 1 else models), notes


def _names(paths: Sequence[Path]) -> list[str]:
    stems = [path.stem for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    if len(set(paths)) < len(paths):
        raise InputError(f"The same prediction file was given twice: {', '.join(map(str, paths))}.")
    return [str(path.with_suffix("")) for path in paths]


def _bins(args: argparse.Namespace, models: Sequence[Predictions]) -> tuple[CountBins, bool]:
    if args.bins is not None:
        return load_bins(args.bins, args.bins_name), False
    if args.fit_bins is not None:
        counts = list(read_truth(args.fit_bins, args.category).counts.values())
        return fit_bins(counts, args.binning, args.gamma), False
    target = models[0].target
    if target.min() == target.max():
        raise InputError(
            f"All true counts are {target[0]:g}, which makes no bins: give --bins or --fit-bins."
        )
    return fit_bins(
        np.concatenate([np.floor(target), np.ceil(target)]), args.binning, args.gamma
    ), True


def _print(
    evaluations: Sequence[CountEvaluation],
    comparison: CountComparison | None,
    notes: Sequence[str],
) -> None:
    table = evaluations[0].table[["bin", "n", "mean", "std", "bias"]]
    if comparison is not None:
        table = comparison.per_bin
    formats = {name: "{:.2f}" for name in table.columns if table[name].dtype == float}
    print(to_terminal(format_cells(table, formats)))
    measures = measures_table(evaluations)[["model", *SHOWN, "TPER AUC relative"]]
    formats = {name: "{:.2f}" for name in SHOWN} | {"TPER AUC relative": "{:.3f}"}
    print("\n" + to_terminal(format_cells(measures, formats)))
    if comparison is not None:
        pairs = comparison.pairs
        formats = {c: "{:.3g}" for c in pairs.columns if pairs[c].dtype == float}
        print("\n" + to_terminal(format_cells(pairs, formats)))
    for note in [*notes, *(f"{e.name}: {n}" for e in evaluations for n in e.notes)]:
        print(f"note: {note}")
