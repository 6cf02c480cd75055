"""Differences of detectors at sites that are labelled: error, sign, Brier score, coverage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from autoeval.comparison.paired_labels import difference_of, difference_with_labels
from autoeval.labels.difference import difference_estimate
from autoeval.labels.estimators import LabelledSample, SampleAccuracy, measure_sample
from autoeval.labels.value_with_error import NOTHING, ValueWithError
from autoeval.labels.variance_prior import VariancePrior
from autoeval.metrics.average_precision import RankedDetections

SIZES = (0, 5, 10, 20, 50)
MOST_LABELLED = 0.8  # share of a site; with more, little is left to estimate
LEVEL = 0.9
SIGNS = (0.01, 0.03, 0.05)
Measured = dict[tuple[int, int, int], SampleAccuracy]  # by ranking, labels and draw
CARRIED, FREE, ALONE, COMBINED = "carried over", "label-free", "labels alone", "combined"


@dataclass(frozen=True, eq=False)
class ComparedPair:
    """Two detectors on one category of one site.

    Parameters
    ----------
    a, b, site, category : str
    truth : float
        Average precision of A less that of B.
    free : ValueWithError
        Label-free.
    carried : ValueWithError
        The difference on the labelled set, carried over.
    rankings : tuple of RankedDetections, optional
        Of both detectors on the N images, with labels.
    predicted : ndarray of shape (N,), optional
        Predicted influence of each image on the difference.
    residual : VariancePrior, optional
        Of the variance that this leaves, of one image.
    """

    a: str
    b: str
    site: str
    category: str
    truth: float
    free: ValueWithError
    carried: ValueWithError
    rankings: tuple[RankedDetections, ...] = ()
    predicted: np.ndarray | None = None
    residual: VariancePrior | None = None


def backtest(
    pairs: Sequence[ComparedPair],
    *,
    sizes: Sequence[int] = SIZES,
    draws: int = 40,
    seed: int = 0,
) -> pd.DataFrame:
    """Estimate every difference with k labelled images, drawn repeatedly.

    Returns
    -------
    DataFrame
        One row a pair, k, method and draw: ``truth``, ``value``, ``error`` (absolute), ``p``
        (probability that A is better), ``covered`` (by the 90 % interval; NaN without one) and
        ``half_width``.
    """
    rows: list[dict] = []
    measured: Measured = {}
    for one in pairs:
        for k in sizes:
            if k == 0:
                found = [{CARRIED: one.carried, FREE: one.free}]
            elif not one.rankings or k > MOST_LABELLED * len(one.rankings[0]):
                continue
            else:
                found = [_draw(one, k, seed + d, measured) for d in range(draws)]
            for draw in found:
                rows += _evaluated(one, k, draw)
    return pd.DataFrame(rows)


def summary(found: pd.DataFrame) -> pd.DataFrame:
    """Average over pairs and draws, in points of 100 and percent.

    Returns
    -------
    DataFrame
        One row a k and method: ``MAE``, ``sign right`` among true differences over 1, 3 and 5
        points, ``Brier`` score of the probability that A is better, ``coverage`` of the 90 %
        intervals and their ``half-width``.
    """
    rows = []
    for (k, method), own in found.groupby(["k", "method"], sort=False):
        truth = own["truth"]
        right = np.sign(own["value"]) == np.sign(truth)
        row = {
            "labels": k,
            "method": method,
            "pairs": own.groupby(["a", "b", "site", "category"]).ngroups,
        }
        row["MAE"] = 100 * own["error"].mean()
        for least in SIGNS:
            row[f"sign right over {100 * least:.0f}"] = 100 * right[truth.abs() > least].mean()
        row["Brier"] = ((own["p"] - (truth > 0)) ** 2).mean()
        row["coverage"] = 100 * own["covered"].mean()
        row["half-width"] = 100 * own["half_width"].mean()
        rows.append(row)
    return pd.DataFrame(rows).sort_values("labels", kind="stable", ignore_index=True)


def _draw(one: ComparedPair, k: int, seed: int, known: Measured) -> dict[str, ValueWithError]:
    """Estimate from a simple random sample, the same for all pairs of a site."""
    assert one.predicted is not None and one.residual is not None
    n_pool = len(one.rankings[0])
    images = np.sort(np.random.default_rng([seed, k]).choice(n_pool, k, replace=False))
    for of in one.rankings:
        if (id(of), k, seed) not in known:
            known[id(of), k, seed] = measure_sample(of.take(images))
    sample = LabelledSample(images, n_pool)
    accuracy = difference_of(*(known[id(of), k, seed] for of in one.rankings))
    found = difference_with_labels(accuracy, sample, one.free, one.predicted, one.residual)
    alone = NOTHING
    if accuracy.measured:
        alone = difference_estimate(accuracy.value, accuracy.influence, n_pool=n_pool)
    return {ALONE: alone, COMBINED: found.combined}


def _evaluated(one: ComparedPair, k: int, found: dict[str, ValueWithError]) -> Iterator[dict]:
    for method, of in found.items():
        if not np.isfinite(of.value):
            continue
        half = of.half_width(LEVEL)
        error = abs(of.value - one.truth)
        yield {
            "a": one.a,
            "b": one.b,
            "site": one.site,
            "category": one.category,
            "k": k,
            "method": method,
            "truth": one.truth,
            "value": of.value,
            "error": error,
            "p": of.probability_positive,
            "covered": float(error <= half) if of.known else np.nan,
            "half_width": half,
        }
