"""Intervals of the measures of one model: images drawn again, measured from what each adds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.measures.bootstrap import MeasureInterval, bootstrap_intervals
from autoeval.counting.measures.overall import smape_terms
from autoeval.counting.measures.tper import tper_areas
from autoeval.counting.predictions import CountPredictions


def measure_intervals(
    predictions: CountPredictions,
    counted: CountPredictions,
    bins: CountBins,
    mode: str,
    *,
    n_resamples: int,
    seed: int,
) -> dict[str, MeasureInterval]:
    """Return 95 % bootstrap intervals over images, of sMAPE over all, of the others over `counted`.

    Parameters
    ----------
    predictions : CountPredictions
        All images, skipped ones included.
    counted : CountPredictions
        Those that enter every measure but sMAPE.
    bins : CountBins
    mode : {"paper", "released"}
        See `autoeval.counting.measures.binned.bin_table`.
    n_resamples, seed : int
        Of the bootstrap.
    """
    values = _per_image(counted.target, counted.pred, bins, mode)
    terms = smape_terms(predictions.target, predictions.pred)
    draws = {"n_resamples": n_resamples, "seed": seed}
    found = bootstrap_intervals(lambda rows: _resampled(values, rows), counted.ids, **draws)
    return found | bootstrap_intervals(
        lambda rows: {"sMAPE": float(terms[rows].mean())}, predictions.ids, **draws
    )


@dataclass(frozen=True, eq=False)
class _PerImage:
    """What each image adds to the measures, (N,) each."""

    error: np.ndarray
    signed: np.ndarray
    index: np.ndarray
    binned: np.ndarray
    percentage: np.ndarray
    tper_area: np.ndarray


def _per_image(target: np.ndarray, pred: np.ndarray, bins: CountBins, mode: str) -> _PerImage:
    error, some, index = np.abs(pred - target), target > 0, bins.assign(target)
    inside = (index >= 0) & (index < len(bins))
    return _PerImage(
        error,
        pred - target,
        index + 1,
        inside if mode == "released" else np.ones(len(target), bool),
        np.where(some, 100 * error / np.where(some, target, 1), np.nan),
        tper_areas(target, pred),
    )


def _resampled(values: _PerImage, rows: np.ndarray) -> dict[str, float]:
    error, percentage = values.error[rows], values.percentage[rows]
    binned = rows[values.binned[rows]]
    mean, std = pooled_of_errors(values.error[binned], values.index[binned])
    known = percentage[~np.isnan(percentage)]
    return {
        "pooled MAE": mean,
        "pooled std": std,
        "MAE": float(error.mean()),
        "std": float(error.std()),
        "RMSE": float(np.sqrt((error**2).mean())),
        "bias": float(values.signed[rows].mean()),
        "MAPE": float(known.mean()) if len(known) else float("nan"),
        "TPER AUC relative": float(values.tper_area[rows].mean()),
    }


def pooled_of_errors(error: np.ndarray, index: np.ndarray) -> tuple[float, float]:
    """Pool as `autoeval.counting.measures.binned.pooled` does, from errors and bins (N,)."""
    if not len(error):
        return float("nan"), float("nan")
    n = np.bincount(index)
    mean = np.bincount(index, error) / np.maximum(n, 1)
    return float(error.mean()), float(np.sqrt(((error - mean[index]) ** 2).mean()))
