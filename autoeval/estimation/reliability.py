"""The reliability diagram: predicted and observed shares of true positives on labelled sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtri

from autoeval.accuracy.coco_matching import AT_HALF
from autoeval.estimation.confidence_check import counted_boxes
from autoeval.sites.site import Site

CALIBRATED, CONFIDENCE = "calibrated", "confidence itself"
BINS = 10
LEVEL = 0.9


def reliability(sets: Sequence[Site], probabilities: Sequence[np.ndarray]) -> pd.DataFrame:
    """Compare predicted with observed true positives at IoU .5, by calibration and by confidence.

    probabilities (10, N): of the boxes of each, by calibrations that have not seen their labels.
    Returned: see `reliability_bins`, after the column ``scale``, `CALIBRATED` or `CONFIDENCE`.
    """
    counted = [counted_boxes(labelled_set) for labelled_set in sets]
    pairs = list(zip(sets, counted, strict=True))
    hits = np.concatenate(
        [labelled_set.matches.hits[AT_HALF][evaluated] for labelled_set, evaluated in pairs]
    )
    p = np.concatenate(
        [p[AT_HALF][evaluated] for p, evaluated in zip(probabilities, counted, strict=True)]
    )
    scores = np.concatenate(
        [labelled_set.boxes.scores[evaluated] for labelled_set, evaluated in pairs]
    )
    parts = {CALIBRATED: reliability_bins(p, hits), CONFIDENCE: reliability_bins(scores, hits)}
    return pd.concat(parts, names=["scale", None]).reset_index(level="scale")


def reliability_bins(predicted: np.ndarray, hits: np.ndarray) -> pd.DataFrame:
    """Bin predicted probabilities (N,) into tenths, and count the true positives (N,), bool.

    Returned: one row a bin that holds a box: ``predicted`` (mean), ``observed`` (share of true
        positives), ``lower`` and ``upper`` (its 90 % interval by Wilson 1927) and ``n``.
    """
    bins = np.minimum((predicted * BINS).astype(int), BINS - 1)
    rows = []
    z = float(ndtri((1 + LEVEL) / 2))
    for k in np.unique(bins):
        in_bin = bins == k
        right, n = int(hits[in_bin].sum()), int(in_bin.sum())
        # scipy.stats has this interval, and takes half a second to load
        middle = (right + z**2 / 2) / (n + z**2)
        half = z * np.sqrt(right * (n - right) / n + z**2 / 4) / (n + z**2)
        rows.append((float(predicted[in_bin].mean()), right / n, middle - half, middle + half, n))
    return pd.DataFrame(rows, columns=["predicted", "observed", "lower", "upper", "n"])


def calibration_error(bins: pd.DataFrame) -> float:
    """Return the expected calibration error of a table by `reliability_bins` (Guo et al. 2017).

    >>> calibration_error(pd.DataFrame({"predicted": [.1, .8], "observed": [.2, .8], "n": [1, 3]}))
    0.025
    """
    return float(np.average((bins["predicted"] - bins["observed"]).abs(), weights=bins["n"]))
