"""Intervals of the measures of one model, from sums that all measures share."""

from __future__ import annotations

import numpy as np

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.measures.bootstrap import MeasureInterval, bootstrap_mean, bootstrap_sums
from autoeval.counting.measures.overall import smape_terms
from autoeval.counting.measures.tper import tper_areas
from autoeval.counting.predictions import CountPredictions

SMAPE = "sMAPE"


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
    terms = smape_terms(predictions.target, predictions.pred)
    table = _ImageSums(counted.target, counted.pred, bins, mode)
    every_image = counted.ids == predictions.ids
    found = bootstrap_sums(
        table.measures,
        np.column_stack([table.values, terms]) if every_image else table.values,
        counted.ids,
        groups=table.group,
        n_resamples=n_resamples,
        seed=seed,
    )
    if not every_image:
        found[SMAPE] = bootstrap_mean(terms, predictions.ids, n_resamples=n_resamples, seed=seed)
    return found


class _ImageSums:
    """What each image adds to the sums that the measures are made of.

    Deviations are taken from the means of the data, so that no variance is the small difference of
    two large sums.

    Parameters
    ----------
    target, pred : ndarray of shape (N,), float64
    bins : CountBins
    mode : {"paper", "released"}
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
        mean, std = self._pooled(sums[:, self.pooled])
        with np.errstate(invalid="ignore"):
            mape = percentage / some
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

    def _pooled(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pool over bins, as `autoeval.counting.measures.binned.pooled` does."""
        n, off, _, from_bin, from_bin2 = np.moveaxis(sums[..., :5], 2, 0)
        within = from_bin2 - from_bin**2 / np.maximum(n, 1)
        total = n.sum(1)
        with np.errstate(invalid="ignore"):
            mean = self.center + off.sum(1) / total
            return mean, np.sqrt(within.sum(1).clip(0) / total)
