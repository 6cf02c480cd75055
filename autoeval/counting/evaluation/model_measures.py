"""All measures of one model's counts, with intervals and warnings, and comparisons of models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.measures.bootstrap import MeasureInterval, bootstrap_mean, bootstrap_sums
from autoeval.counting.measures.count_errors import (
    CONVENTIONS,
    TperCurve,
    absolute_error,
    as_pairs,
    bin_table,
    check_mode,
    mape,
    pooled,
    smape,
    smape_terms,
    tper_areas,
    tper_curve,
)
from autoeval.counting.predictions import CountPredictions
from autoeval.errors import InputError

SMAPE = "sMAPE"
ABSURD = 1000  # times the largest true count
TIE = "tie"
ONE_IMAGE = "one image"
DECIMALS = 9  # to which errors are compared


def measure_intervals(
    predictions: CountPredictions,
    counted: CountPredictions,
    bins: CountBins,
    mode: str,
    *,
    n_resamples: int,
    seed: int,
) -> dict[str, MeasureInterval]:
    """Return 95 % bootstrap intervals of all measures of a model.

    Parameters
    ----------
    predictions : CountPredictions
        All images, skipped ones among them, which enter sMAPE alone.
    counted : CountPredictions
        Images of all other measures.
    bins : CountBins
        Over which measures are pooled.
    mode : str
        See `bin_table`.
    n_resamples : int
        Of the bootstrap over images.
    seed : int
        Of the bootstrap.
    """
    terms = smape_terms(predictions.target, predictions.pred)
    table = _ImageSums(counted.target, counted.pred, bins, mode)
    every_image = counted.ids == predictions.ids
    intervals = bootstrap_sums(
        table.measures,
        np.column_stack([table.values, terms]) if every_image else table.values,
        counted.ids,
        groups=table.group,
        n_resamples=n_resamples,
        seed=seed,
    )
    if not every_image:
        intervals[SMAPE] = bootstrap_mean(
            terms, predictions.ids, n_resamples=n_resamples, seed=seed
        )
    return intervals


class _ImageSums:
    """What each image adds to the sums that the measures are made of.

    Deviations are taken from the means, so that no variance is the small difference of large sums.
    """

    def __init__(self, target: np.ndarray, pred: np.ndarray, bins: CountBins, mode: str) -> None:
        error, some = np.abs(pred - target), target > 0
        self.group = bins.assign(target) + 1  # 0 and len(bins) + 1 lie outside the bins
        self.pooled = slice(1, len(bins) + 1) if mode == "released" else slice(None)
        self.center = error.mean()
        n = np.maximum(np.bincount(self.group), 1)
        from_bin = error - (np.bincount(self.group, error) / n)[self.group]
        percentage = 100 * error / np.where(some, target, 1) * some
        columns = [np.ones(len(target)), error - self.center, (error - self.center) ** 2]
        columns += [from_bin, from_bin**2, error**2, pred - target]
        self.values = np.column_stack([*columns, percentage, some, tper_areas(target, pred)])

    def measures(self, sums: np.ndarray) -> dict[str, np.ndarray]:
        """Return the measures (R,) of resamples from their sums (R, bins, columns)."""
        n, off, off2, _, _, squared, signed, percentage, some, tper, *smape = sums.sum(1).T
        # Pooled over bins, as `autoeval.counting.measures.count_errors.pooled` does.
        n_bin, off_bin, _, from_bin, from_bin2 = np.moveaxis(sums[:, self.pooled, :5], 2, 0)
        within = from_bin2 - from_bin**2 / np.maximum(n_bin, 1)
        total = n_bin.sum(1)
        with np.errstate(invalid="ignore"):
            mape = percentage / some
            mean = self.center + off_bin.sum(1) / total
            std = np.sqrt(within.sum(1).clip(0) / total)
        return {
            "pooled MAE": mean,
            "pooled std": std,
            "MAE": self.center + off / n,
            "std": np.sqrt((off2 / n - (off / n) ** 2).clip(0)),
            "RMSE": np.sqrt(squared / n),
            "bias": signed / n,
            "MAPE": mape,
            "TPER AUC relative": tper / n,
        } | ({SMAPE: smape[0] / n} if smape else {})


@dataclass(frozen=True, eq=False)
class CountEvaluation:
    """How well one model counts on one data set.

    Parameters
    ----------
    predictions : CountPredictions
        All images, skipped ones among them.
    counted : CountPredictions
        The images that enter every measure but sMAPE.
    bins : CountBins
        Of the true counts.
    mode : str
        ``paper`` or ``released``, see `bin_table`.
    table : DataFrame
        One row a bin with images, see `bin_table`.
    measures : dict of str to float
        By name; errors in objects, MAPE and sMAPE in %.
    intervals : dict of str to MeasureInterval
        95 % bootstrap intervals of some of them.
    curves : dict of str to TperCurve
        By convention.
    notes : tuple of str
        What is odd about the counts, one sentence each.
    """

    predictions: CountPredictions
    counted: CountPredictions
    bins: CountBins
    mode: str
    table: pd.DataFrame
    measures: dict[str, float]
    intervals: dict[str, MeasureInterval]
    curves: dict[str, TperCurve]
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.predictions.name

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single predictions as plain data for JSON."""
        return {
            "model": self.name,
            "mode": self.mode,
            "bins": {**self.bins.origin, "edges": list(self.bins.edges)},
            "measures": self.measures,
            "intervals": {name: [i.low, i.high] for name, i in self.intervals.items()},
            "per_bin": self.table.to_dict("records"),
            "tper": {
                name: {"thresholds": c.thresholds.tolist(), "ratio": c.ratio.tolist()}
                for name, c in self.curves.items()
            },
            "notes": list(self.notes),
        }


def evaluate_counts(
    predictions: CountPredictions,
    bins: CountBins,
    *,
    mode: str = "paper",
    counted: np.ndarray | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
) -> CountEvaluation:
    """Measure the errors of a model's counts.

    Parameters
    ----------
    predictions : CountPredictions
        With true counts.
    bins : CountBins
        Of the true counts.
    mode : {"paper", "released"}
        See `bin_table`.
    counted : ndarray of shape (N,), bool, optional
        Images that enter every measure but sMAPE, by default all with a prediction. Models that are
        compared should count those that all of them answered.
    n_resamples : int
        Of the bootstrap over images.
    seed : int
        Of the bootstrap.

    Raises
    ------
    InputError
        If there is no such mode, no image is counted, or the mode drops all.
    """
    check_mode(mode)
    rows = predictions.select(predictions.answered if counted is None else counted)
    if not len(rows):
        raise InputError(f"{predictions.name}: no image has a prediction, so nothing to evaluate.")
    target, pred = rows.target, rows.pred
    table = bin_table(target, pred, bins, mode)
    if table.empty:
        raise InputError(
            f"{predictions.name}: all {len(target)} true counts lie outside the bins "
            f"({bins.edges[0]:g} to {bins.edges[-1]:g}), and the mode released drops them: take "
            "other bins, or the mode paper."
        )
    curves = {c: tper_curve(target, pred, convention=c) for c in CONVENTIONS}
    mean, std = pooled(table)
    measures = {
        "pooled MAE": mean,
        "pooled std": std,
        **absolute_error(target, pred),
        "MAPE": mape(target, pred),
        "sMAPE": smape(predictions.target, predictions.pred),
        **{f"TPER AUC {name}": curve.auc for name, curve in curves.items()},
        "images": float(len(predictions)),
        "counted": float(len(rows)),
        "skipped": float((~predictions.answered).sum()),
        "without objects": float((target == 0).sum()),
        "outside the bins": float((target < bins.edges[0]).sum() + (target > bins.edges[-1]).sum()),
    }
    intervals = measure_intervals(predictions, rows, bins, mode, n_resamples=n_resamples, seed=seed)
    notes = predictions.notes + _notes(rows, bins, mode, measures)
    return CountEvaluation(predictions, rows, bins, mode, table, measures, intervals, curves, notes)


def _notes(
    counted: CountPredictions, bins: CountBins, mode: str, measures: dict[str, float]
) -> tuple[str, ...]:
    target, pred, notes = counted.target, counted.pred, []
    if outside := int(measures["outside the bins"]):
        fate = (
            "they enter as bins of their own, 'below' and 'above'"
            if mode == "paper"
            else "the pooled measures drop them, as the released code does"
        )
        notes.append(
            f"{outside} of {len(target)} true counts lie outside the bins "
            f"({bins.edges[0]:g} to {bins.edges[-1]:g}): {fate}"
        )
    if zeros := int(measures["without objects"]):
        notes.append(
            f"{zeros} of {len(target)} images have no objects: MAPE leaves them out; TPER counts "
            "them as wrong where the prediction is not 0"
        )
    if absurd := int((pred > ABSURD * max(target.max(), 1)).sum()):
        notes.append(
            f"{absurd} of {len(pred)} predictions are over {ABSURD} times the largest true count "
            f"({target.max():g}); they decide every mean"
        )
    return tuple(notes)


def pooled_std_warnings(evaluations: Iterable[CountEvaluation]) -> list[str]:
    """State how the pooled std of each model depends on the choice of bins.

    Parameters
    ----------
    evaluations : iterable of CountEvaluation
        Those on one bin or one image are left out.

    Returns
    -------
    list of str
        One sentence, or none.
    """
    notes = []
    for evaluation in evaluations:
        counted, bins, mode = evaluation.counted, evaluation.bins, evaluation.mode
        if len(bins) > 1 and len(counted) > 1:
            edges, target, pred = np.array(bins.edges), counted.target, counted.pred
            coarser = (*bins.edges[:-1:2], bins.edges[-1])  # joined two by two, from the first on
            middles = (edges[:-1] + edges[1:]) / 2  # an open bin has none
            finer = np.unique([*edges, *middles[np.isfinite(middles)]])
            binned = [bins, CountBins(coarser), CountBins(tuple(finer))]
            stds = [pooled(bin_table(target, pred, some, mode))[1] for some in binned]
            inside = (bins.assign_nearest(target) == bins.assign(target)) | (mode == "paper")
            stds.append(np.abs(pred - target)[inside].std())
            notes.append(f"{counted.name} " + ", ".join(f"{value:.4g}" for value in stds))
    if not notes:
        return []
    return [
        "The pooled std depends on the bins, so compare it only with figures under the same edges. "
        f"With these, half as many, twice as many, and one: {'; '.join(notes)}"
    ]


@dataclass(frozen=True, eq=False)
class CountComparison:
    """A comparison of models, by bin and in pairs (A - B).

    Parameters
    ----------
    per_bin : DataFrame
        One row a bin with images: ``bin``, ``n`` (images), ``mean: NAME`` and ``std: NAME`` of the
        absolute errors of each model, and the names with the least: ``winner`` of the mean,
        ``winner of std``. Equal ones are a ``tie``; a bin of one image has no winner, ``one
        image``.
    pairs : DataFrame
        One row for every two models: ``A``, ``B`` and what `compare_paired` returns.
    """

    per_bin: pd.DataFrame
    pairs: pd.DataFrame


def compare_models(
    evaluations: Sequence[CountEvaluation], *, n_resamples: int = 1000, seed: int = 0
) -> CountComparison:
    """Compare evaluations on the same images and bins.

    Parameters
    ----------
    evaluations : sequence of CountEvaluation
        Of two models or more; see `autoeval.counting.predictions.align`.
    n_resamples : int
        Of the bootstrap.
    seed : int
        Of the bootstrap.

    Raises
    ------
    InputError
        If models have one name, or images or bins differ.
    """
    names = [e.name for e in evaluations]
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(f"Expected models of at least two different names but got {names}.")
    first = evaluations[0]
    for other in evaluations[1:]:
        if other.counted.ids != first.counted.ids or other.bins != first.bins:
            raise InputError(
                f"{first.name} and {other.name} were evaluated on different images or bins: "
                "align the predictions, and count the images that all models answered."
            )
    per_bin = first.table[["bin", "n"]].copy()
    for statistic, winner in (("mean", "winner"), ("std", "winner of std")):
        values = np.stack([e.table[statistic] for e in evaluations], axis=1)
        for name, column in zip(names, values.T, strict=True):
            per_bin[f"{statistic}: {name}"] = column
        # Sums in another order differ in the last bits, which makes nobody better.
        best = np.isclose(values, values.min(axis=1, keepdims=True), rtol=1e-9, atol=1e-9)
        won = [names[row.argmax()] if row.sum() == 1 else TIE for row in best]
        per_bin[winner] = np.where(per_bin["n"] > 1, won, ONE_IMAGE)
    # Images are drawn by their names, so that the order of a file changes no interval.
    order, draws = np.argsort(first.counted.ids), {"n_resamples": n_resamples, "seed": seed}
    target, preds = first.counted.target[order], [e.counted.pred[order] for e in evaluations]
    pairs = [
        {"A": names[a], "B": names[b]} | compare_paired(target, preds[a], preds[b], **draws)
        for a, b in combinations(range(len(names)), 2)
    ]
    return CountComparison(per_bin, pd.DataFrame(pairs))


def compare_paired(
    target: Any, pred_a: Any, pred_b: Any, *, n_resamples: int = 1000, seed: int = 0
) -> dict[str, float]:
    """Compare the absolute errors of two models on the same images.

    Parameters
    ----------
    target : array-like of shape (N,)
        True counts.
    pred_a, pred_b : array-like of shape (N,)
        Predicted counts.
    n_resamples : int
        Of the bootstrap.
    seed : int
        Of the bootstrap.

    Returns
    -------
    dict of str to float
        ``MAE A - B``, the mean of |error of A| - |error of B|, below 0 where A is better, with
        ``low`` and ``high``, its 95 % bootstrap interval; ``Wilcoxon p`` of the signed-rank test, 1
        where all errors are equal; ``A nearer``, ``B nearer`` and ``equal``, numbers of images.

    Raises
    ------
    InputError
        If the arrays are no pairs of finite counts, see `as_pairs`.
    """
    from scipy.stats import wilcoxon

    target, pred_a = as_pairs(target, pred_a)
    _, pred_b = as_pairs(target, pred_b)
    difference = np.abs(pred_a - target) - np.abs(pred_b - target)
    images = np.arange(len(target))
    interval = bootstrap_mean(difference, images, n_resamples=n_resamples, seed=seed)
    # .1 too many and .1 too few differ in the last bits, which makes neither nearer.
    difference = difference.round(DECIMALS)
    return {
        "MAE A - B": interval.value,
        "low": interval.low,
        "high": interval.high,
        "Wilcoxon p": float(wilcoxon(difference).pvalue) if difference.any() else 1.0,
        "A nearer": int((difference < 0).sum()),
        "B nearer": int((difference > 0).sum()),
        "equal": int((difference == 0).sum()),
    }
