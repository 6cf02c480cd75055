"""How often boxes are right by what was predicted of them: the reliability diagram of a fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from autoeval.estimation.confidence_checks import counted_boxes
from autoeval.estimation.training_set import TrainingSet

CALIBRATED, CONFIDENCE = "calibrated", "confidence itself"
BINS = 10
LEVEL = 0.9


def reliability(sets: Sequence[TrainingSet], probabilities: Sequence[np.ndarray]) -> pd.DataFrame:
    """Compare predicted with observed true positives at IoU .5, by calibration and by confidence.

    Parameters
    ----------
    sets : sequence of TrainingSet
    probabilities : sequence of ndarray of shape (10, N)
        Of the boxes of each, by calibrations that have not seen their labels.

    Returns
    -------
    DataFrame
        See `reliability_bins`, after the column ``scale``, `CALIBRATED` or `CONFIDENCE`.
    """
    counted = [counted_boxes(of) for of in sets]
    pairs = list(zip(sets, counted, strict=True))
    hits = np.concatenate([of.matches[0][0][own] for of, own in pairs])
    p = np.concatenate([p[0][own] for p, own in zip(probabilities, counted, strict=True)])
    scores = np.concatenate([of.boxes.clean.scores[own] for of, own in pairs])
    parts = {CALIBRATED: reliability_bins(p, hits), CONFIDENCE: reliability_bins(scores, hits)}
    return pd.concat(parts, names=["scale", None]).reset_index(level="scale")


def reliability_bins(predicted: np.ndarray, hits: np.ndarray) -> pd.DataFrame:
    """Bin predicted probabilities (N,) into tenths, and count the true positives (N,), bool.

    Returns
    -------
    DataFrame
        One row a bin that holds a box: ``predicted`` (mean), ``observed`` (share of true
        positives), ``lower`` and ``upper`` (its 90 % interval by Wilson 1927) and ``n``.
    """
    bins = np.minimum((predicted * BINS).astype(int), BINS - 1)
    rows = []
    for k in np.unique(bins):
        own = bins == k
        right, n = int(hits[own].sum()), int(own.sum())
        ends = binomtest(right, n).proportion_ci(LEVEL, method="wilson")
        rows.append((float(predicted[own].mean()), right / n, ends.low, ends.high, n))
    return pd.DataFrame(rows, columns=["predicted", "observed", "lower", "upper", "n"])


def calibration_error(bins: pd.DataFrame) -> float:
    """Return the expected calibration error of a table by `reliability_bins` (Guo et al. 2017).

    Examples
    --------
    >>> calibration_error(pd.DataFrame({"predicted": [.1, .8], "observed": [.2, .8], "n": [1, 3]}))
    0.025
    """
    return float(np.average((bins["predicted"] - bins["observed"]).abs(), weights=bins["n"]))
