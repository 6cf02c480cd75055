"""Precision, recall and F1 by score threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from autoeval.accuracy.average_precision import RankedDetections
from autoeval.accuracy.operating_point import denominators
from autoeval.errors import InputError
from autoeval.estimation.checks import PRECISION_HARDLY_KNOWN
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.io.labels.content import LabelSet
from autoeval.labels.labelled_estimate import estimate_targets
from autoeval.labels.plan import LabelPlan
from autoeval.targets import IOUS, MEASURES, OperatingPoint

THRESHOLDS = np.arange(1, 20) / 20
FINE = np.arange(1, 100) / 100
ENDS = ("value", "lower", "upper")
MOST_DECIMALS, TINY = 9, 1e-9  # a threshold is over 0


def expected_curve(
    estimator: AccuracyEstimator,
    estimate: Estimate,
    iou: float = IOUS[0],
    thresholds: np.ndarray = THRESHOLDS,
) -> pd.DataFrame:
    """Estimate precision, recall and F1 at a site over thresholds, without labels.

    Returned: a curve: a row a threshold that a box is over, with the columns ``threshold``,
        ``measure``, ``value``, ``lower`` and ``upper``; NaN where the interval would be too wide.
        Without a row where nothing was found.

    Raises InputError for new images of a site of the fit.
    """
    assert estimate.site is not None
    if estimate.site.known:
        raise InputError(
            "At a known site mAP, mAP50 and mAP75 are estimated, not precision, recall and F1: "
            "leave out the site."
        )
    if estimate.site.nothing_found:
        return _table(iter(()))
    estimator = estimator.at_floor(estimate.site.floor)
    rows = estimate.site.row["rows"]
    best = float(estimate.site.boxes.scores.max(initial=0.0))

    def predict(point: OperatingPoint) -> tuple[float, float, float]:
        regression = estimator.fit_.regression_of(str(point))
        interval = regression.predict_mean(regression.site_rows(rows), unseen=estimate.site.unseen)  # type: ignore[union-attr]
        return interval.value, interval.lower, interval.upper

    points = [
        point
        for point in _points(iou, thresholds)
        if point.score_thr < best and _is_known(estimator, point)
    ]
    return _table((point, predict(point)) for point in points)


def curve_warnings(estimator: AccuracyEstimator, estimate: Estimate) -> tuple[str, ...]:
    """Return the warnings of `expected_curve`."""
    assert estimate.site is not None
    hardly = () if _reads_reference(estimator, estimate) else (PRECISION_HARDLY_KNOWN,)
    return (*estimate.site.warnings, *hardly)


def _reads_reference(estimator: AccuracyEstimator, estimate: Estimate) -> bool:
    """Whether precision is read off a reference detector, and so is better than a constant."""
    assert estimate.site is not None
    if estimate.site.nothing_found:
        return True  # there is no curve to doubt
    there = estimator.at_floor(estimate.site.floor)
    rows = estimate.site.row["rows"]
    known = [
        there.fit_.regression_of(str(point))
        for point in _points(IOUS[0])
        if point.measure == "precision" and _is_known(there, point)
    ]
    return bool(known) and all(
        fitted.reads_reference(fitted.site_rows(rows)).all() for fitted in known
    )


def labelled_curve(
    plan: LabelPlan,
    labels: LabelSet,
    *,
    words: Mapping[str, str] | None = None,
    planned: bool = True,
    thresholds: np.ndarray = THRESHOLDS,
) -> pd.DataFrame:
    """Estimate the curve of a site from the labels of a plan, by the difference estimator.

    planned: whether the plan drew the labelled images; see `estimate_with_labels`.
    """
    if not plan.measures("recall"):
        raise InputError(
            f"This plan is for {plan.target}, which does not depend on all images: plan for recall "
            "or F1 to choose a threshold."
        )
    points = [
        point
        for point in _points(plan.iou, thresholds)
        if (plan.found.scores > point.score_thr).any()
    ]
    estimates = estimate_targets(
        plan, labels, [str(point) for point in points], words=words, planned=planned
    )

    def bounds(point: OperatingPoint) -> tuple[float, float, float]:
        estimate = estimates[str(point)].difference
        lower, upper = estimate.interval(plan.level)
        return (*np.clip([estimate.value, lower, upper], 0, 1),)  # type: ignore[return-value]

    return _table((point, bounds(point)) for point in points)


def exact_curve(
    rankings: Sequence[RankedDetections], iou: float = IOUS[0], thresholds: np.ndarray = FINE
) -> pd.DataFrame:
    """Count the curve of a labelled set, all its categories together.

    thresholds: as many as there are scores take hardly longer than a few.
    """
    level = OperatingPoint(MEASURES[0], 0.5, iou).level
    counts = np.zeros((3, len(thresholds)))
    for ranking in rankings:
        assert ranking.scores is not None
        counted = ranking.counted[level].astype(np.float64)
        rising = -ranking.scores
        over = np.searchsorted(rising, -thresholds.astype(rising.dtype))
        hits, boxes = (
            np.append(0, np.cumsum(of_box))[over]
            for of_box in (counted * ranking.hits[level], counted)
        )
        counts += np.stack([hits, boxes, np.full(len(over), ranking.n_true.sum())])
    columns = []
    for measure in MEASURES:
        below = denominators(measure, counts)
        value = np.divide(counts[0], below, out=np.full(len(below), np.nan), where=below > 0)
        ends = dict.fromkeys(ENDS, value)
        columns.append(pd.DataFrame({"threshold": thresholds, "measure": measure, **ends}))
    return pd.concat(columns).sort_values("threshold", kind="stable").reset_index(drop=True)


def score_thresholds(rankings: Sequence[RankedDetections]) -> np.ndarray:
    """Return a threshold between each two neighbouring scores, rising; equal to or over the lower.

    At other thresholds no other boxes count. Each has as few decimals as there is room for.
    """
    scores = [ranking.scores for ranking in rankings if ranking.scores is not None]
    precision = np.result_type(*scores)
    lower = np.unique(np.concatenate([np.full(1, TINY), *scores]).astype(np.float64))
    upper = np.append(lower[1:], 1.0)
    thresholds = lower.copy()
    unplaced = np.ones(len(lower), bool)
    for decimals in range(2, MOST_DECIMALS + 1):
        rounded = np.ceil(lower * 10**decimals) / 10**decimals
        compared = rounded.astype(precision)
        fits = unplaced & (compared >= lower) & (compared < upper)
        thresholds[fits] = rounded[fits]
        unplaced &= ~fits
    return thresholds[(thresholds > 0) & (thresholds < 1)]


def _points(iou: float, thresholds: np.ndarray = THRESHOLDS) -> list[OperatingPoint]:
    return [OperatingPoint(name, float(t), iou) for t in thresholds for name in MEASURES]


def _is_known(estimator: AccuracyEstimator, point: OperatingPoint) -> bool:
    """Whether the labelled set has a box over the threshold."""
    try:
        estimator.fit_.regression_of(str(point))
    except InputError:
        if point.measure == "recall":  # defined wherever there are objects
            raise
        return False
    return True


def _table(
    rows: Iterator[tuple[OperatingPoint, tuple[float, float, float]]],
) -> pd.DataFrame:
    records = [(point.score_thr, point.measure, *bounds) for point, bounds in rows]
    return pd.DataFrame(records, columns=["threshold", "measure", *ENDS])
