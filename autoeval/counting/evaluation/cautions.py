"""What to know before trusting figures: absurd predictions, and what bins do to the pooled std."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.measures.binned import bin_table, pooled
from autoeval.counting.predictions import CountPredictions

ABSURD = 1000  # times the largest true count


def absurd_predictions(target: np.ndarray, pred: np.ndarray) -> tuple[str, ...]:
    """Count the predictions (N,) that are beyond all measure of the true counts (N,)."""
    absurd = int((pred > ABSURD * max(target.max(), 1)).sum())
    if not absurd:
        return ()
    return (
        f"{absurd} of {len(pred)} predictions are over {ABSURD} times the largest true count "
        f"({target.max():g}); they decide every mean",
    )


def pooled_std_caution(models: Iterable[tuple[CountPredictions, CountBins]]) -> list[str]:
    """Say how much the pooled std of each model owes to the choice of bins."""
    said = [
        f"{counted.name} " + ", ".join(f"{value:.4g}" for value in _stds(counted, bins))
        for counted, bins in models
        if len(bins) > 1 and len(counted) > 1
    ]
    if not said:
        return []
    return [
        "The pooled std depends on the bins, so compare it only with figures under the same edges. "
        f"With these, half as many, twice as many, and one: {'; '.join(said)}"
    ]


def coarser(bins: CountBins) -> CountBins:
    """Join bins two by two, from the first on.

    Examples
    --------
    >>> coarser(CountBins((0, 1, 2, 5))).edges
    (0.0, 2.0, 5.0)
    """
    return CountBins((*bins.edges[:-1:2], bins.edges[-1]))


def finer(bins: CountBins) -> CountBins:
    """Split every bin in the middle.

    Examples
    --------
    >>> finer(CountBins((0, 1, 5))).edges
    (0.0, 0.5, 1.0, 3.0, 5.0)
    """
    edges = np.array(bins.edges)
    middles = (edges[:-1] + edges[1:]) / 2
    return CountBins((*np.column_stack([edges[:-1], middles]).ravel(), edges[-1]))


def _stds(counted: CountPredictions, bins: CountBins) -> list[float]:
    of_bins = [
        pooled(bin_table(counted.target, counted.pred, some))[1]
        for some in (bins, coarser(bins), finer(bins))
    ]
    return [*of_bins, float(np.abs(counted.pred - counted.target).std())]
