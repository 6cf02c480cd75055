"""The score threshold that reaches a wanted precision or recall, or the best F1.

A curve holds precision, recall and F1 by score threshold, with an interval of each. There are three
sources of it: `expected_curve` (no labels: the regressions of a fit), `labelled_curve` (labels of
some images: the difference estimator) and `exact_curve` (a labelled set, counted).
`choose_threshold` reads the threshold off a curve that is there; `choose_from`, which
`autoeval.threshold` calls, has more of the curve evaluated around the choice until that no longer
moves.

At a threshold t the boxes with a score over t count, those of all categories together (micro
average): with the true positives T, the boxes B and the labelled objects G, precision is T / B,
recall T / G and F1 2 T / (B + G); see `autoeval.accuracy.measures`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from autoeval.accuracy.measures import (
    IOUS,
    MEASURES,
    OperatingPoint,
    RankedDetections,
    denominators,
)
from autoeval.errors import InputError
from autoeval.estimation.checks import PRECISION_HARDLY_KNOWN
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.labels.labelled_estimate import LabelledPart, estimate_rankings
from autoeval.model.pair_table import COUNTED, rows_where
from autoeval.result_base import ENDS, Result
from autoeval.sites.file_looks import unseen_warning
from autoeval.words import Notice

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

THRESHOLDS = np.arange(1, 20) / 20
COLOURS = {"precision": "tab:blue", "recall": "tab:orange", "f1": "tab:green"}
FINE = np.arange(1, 100) / 100
MOST_DECIMALS = 9
TINY = 1e-9  # a threshold is over 0
STEP = 0.05  # hundredths within a step of `THRESHOLDS` are evaluated
MOST_ROUNDS = 5
ROUNDING = 1e-9  # by which a value may miss what it reaches
ROUNDED = float(np.finfo(np.float32).eps) / 2  # relative error of a number in single precision
OF_IMAGES = ("few-images", "few-blocks", "backbone-not-validated")
"""Codes of warnings of an estimate that hold for every target: of how many images it rests on, and
by which detector."""
AS_GOOD = 0.01  # F1 that a threshold may lack and still be as good as the best


def expected_curve(
    estimator: AccuracyEstimator,
    estimate: Estimate,
    iou: float = IOUS[0],
    thresholds: np.ndarray = THRESHOLDS,
) -> pd.DataFrame:
    """Estimate precision, recall and F1 at a site over thresholds, without labels.

    For each measure and threshold the regression of this target is fitted on the pairs of the fit,
    and predicts the categories that count at the site.

    Parameters
    ----------
    estimator : AccuracyEstimator
        Made the estimate.
    estimate : Estimate
        From `AccuracyEstimator.predict`, with its site.
    iou : float
        At which IoU with an object a box is a true positive; one of `IOUS`.
    thresholds : ndarray of shape (T,)
        Over 0 and under 1. Those at or over the highest score of the site are left out.

    Returns
    -------
    DataFrame
        A curve: a row for each threshold and measure, with the columns ``threshold``, ``measure``
        (``precision``, ``recall``, ``f1``), ``value``, ``lower`` and ``upper``, in [0, 1]; NaN
        where the interval would be too wide. Precision has no row where no box of the labelled
        images is over the threshold. Without a row where nothing was found.

    Raises
    ------
    InputError
        For new images of a site of the fit.
    """
    assert estimate.site is not None
    if estimate.site.known:
        raise InputError(
            "At a known site mAP, mAP50 and mAP75 are estimated, not precision, recall and F1: "
            "leave out the site."
        )
    if estimate.site.nothing_found:
        return _table(())
    fit = estimator.at_floor(estimate.site.floor)
    rows = estimate.site.row["rows"]
    best = np.float32(estimate.site.boxes.scores.max(initial=0.0))
    points = _points(iou, thresholds)
    points = {str(point): point for point in points if np.float32(point.score_thr) < best}
    curve = []
    for name, regression in fit.regressions_of(points).items():
        if regression is not None:  # else no box of the labelled set is over the threshold
            interval = regression.predict_mean(regression.site_rows(rows))
            curve.append((points[name], (interval.value, interval.lower, interval.upper)))
    return _table(curve)


def curve_warnings(estimator: AccuracyEstimator, estimate: Estimate) -> tuple[Notice, ...]:
    """Return the warnings of `expected_curve`, but for those of the estimated value.

    Parameters
    ----------
    estimator : AccuracyEstimator
        Made the estimate.
    estimate : Estimate
        From `AccuracyEstimator.predict`, with its site, on which something was found.

    Returns
    -------
    tuple of Notice
        Those of the site and of its images (`OF_IMAGES`), and `PRECISION_HARDLY_KNOWN` unless each
        regression of precision reads a reference detector for all categories that count there.
    """
    site = estimate.site
    assert site is not None
    of_images = (notice for notice in estimate.warnings if notice.code in OF_IMAGES)
    of_site = (*site.warnings, *site.left_out, *unseen_warning(site.unseen), *of_images)
    fit, rows = estimator.at_floor(site.floor), site.row["rows"]
    rows = rows_where(rows, rows[COUNTED])
    points = [str(point) for point in _points(IOUS[0]) if point.measure == "precision"]
    fitted = [one for one in fit.regressions_of(points).values() if one is not None]
    reads_reference = all(one.reads_reference(one.site_rows(rows)).all() for one in fitted)
    return (*of_site, *(() if reads_reference else (PRECISION_HARDLY_KNOWN,)))


def labelled_curve(part: LabelledPart, thresholds: np.ndarray = THRESHOLDS) -> pd.DataFrame:
    """Estimate the curve of a site from labels of some images, by the difference estimator.

    Parameters
    ----------
    part : LabelledPart
        The labelled images, for measures at a threshold; see `labelled_part`.
    thresholds : ndarray of shape (T,)
        Over 0 and under 1; those at or over the highest score of the plan are left out.

    Returns
    -------
    DataFrame
        See `expected_curve`. Values and ends are cut at 0 and 1.

    Raises
    ------
    InputError
        If the plan is for precision: its images are not drawn from all, as recall and F1 need.
    """
    plan = part.plan
    if not plan.measures("recall"):
        raise InputError(
            f"This plan is for {plan.target}, which does not depend on all images: plan for recall "
            "or F1 to choose a threshold."
        )
    best = np.float32(plan.found.scores.max(initial=0.0))
    points = [p for p in _points(plan.iou, thresholds) if np.float32(p.score_thr) < best]
    names = [str(point) for point in points]
    estimates = estimate_rankings(plan, part.images, part.rankings, names)
    curve = []
    for point, name in zip(points, names, strict=True):
        difference = estimates[name].whole.difference
        ends = [difference.value, *difference.interval(plan.level)]
        curve.append((point, tuple(np.clip(ends, 0, 1))))
    return _table(curve)


def exact_curve(
    rankings: Sequence[RankedDetections], iou: float = IOUS[0], thresholds: np.ndarray = FINE
) -> pd.DataFrame:
    """Count the curve of a labelled set, all its categories together.

    Parameters
    ----------
    rankings : sequence of RankedDetections
        Boxes of each category by descending score, with their labels.
    iou : float
        At which IoU with an object a box is a true positive.
    thresholds : ndarray of shape (T,)
        Over 0 and under 1; one for each score takes hardly longer than a few.

    Returns
    -------
    DataFrame
        See `expected_curve`; ``lower`` and ``upper`` are the value. NaN where the denominator is 0:
        precision without a box, recall without an object.

    Examples
    --------
    Of two objects the first box finds one, the second box none:

    >>> ranked = RankedDetections.of(
    ...     np.array([0.9, 0.4]), np.array([0, 0]), np.array([[1.0, 0.0]]), np.array([2])
    ... )
    >>> curve = exact_curve([ranked], thresholds=np.array([0.3, 0.5]))
    >>> curve.pivot(index="threshold", columns="measure", values="value").to_dict("index")[0.3]
    {'f1': 0.5, 'precision': 0.5, 'recall': 0.5}
    """
    import pandas as pd

    level = OperatingPoint(MEASURES[0], 0.5, iou).level
    counts = np.zeros((3, len(thresholds)))
    for ranking in rankings:
        counted = ranking.counted[level].astype(np.float64)
        rising = -ranking.scores.astype(np.float32)  # as `image_counts` compares
        over = np.searchsorted(rising, -thresholds.astype(np.float32))
        hits = np.append(0, np.cumsum(counted * ranking.hits[level]))[over]
        boxes = np.append(0, np.cumsum(counted))[over]
        counts += np.stack([hits, boxes, np.full(len(over), ranking.n_true.sum())])
    columns = []
    for measure in MEASURES:
        below = denominators(measure, counts)
        value = np.divide(counts[0], below, out=np.full(len(below), np.nan), where=below > 0)
        ends = dict.fromkeys(ENDS, value)
        columns.append(pd.DataFrame({"threshold": thresholds, "measure": measure, **ends}))
    return pd.concat(columns).sort_values("threshold", kind="stable").reset_index(drop=True)


def score_thresholds(rankings: Sequence[RankedDetections]) -> np.ndarray:
    """Return a threshold between each two neighbouring scores: at others no other boxes count.

    Each threshold has as few decimals as fit between its scores, two or more.

    Parameters
    ----------
    rankings : sequence of RankedDetections

    Returns
    -------
    ndarray of shape (T,), float64
        Rising, over 0 and under 1; each equal to a score, or to a number near 0, or between it and
        the next score.

    Examples
    --------
    >>> ranked = RankedDetections.of(np.array([0.9, 0.412]), np.zeros(2, int), np.ones((1, 2)), [2])
    >>> score_thresholds([ranked]).tolist()
    [0.01, 0.42, 0.9]
    """
    scores = [ranking.scores for ranking in rankings]
    lower = np.unique(np.concatenate([np.full(1, TINY), *scores]).astype(np.float64))
    upper = np.append(lower[1:], 1.0)
    thresholds = lower.copy()
    unplaced = np.ones(len(lower), bool)
    for decimals in range(2, MOST_DECIMALS + 1):
        # a score in single precision is next to the number that was meant
        rounded = np.ceil(lower * (1 - ROUNDED) * 10**decimals) / 10**decimals
        compared = rounded.astype(np.float32)
        fits = compared >= lower.astype(np.float32)
        fits &= unplaced & (compared < upper.astype(np.float32))
        thresholds[fits] = rounded[fits]
        unplaced &= ~fits
    return thresholds[(thresholds > 0) & (thresholds < 1)]


def _points(iou: float, thresholds: np.ndarray = THRESHOLDS) -> list[OperatingPoint]:
    """Name precision, recall and F1 at each threshold."""
    return [OperatingPoint(name, float(t), iou) for t in thresholds for name in MEASURES]


def _table(
    rows: Iterable[tuple[OperatingPoint, tuple[float, ...]]],
) -> pd.DataFrame:
    """Lay out operating points, each with value, lower and upper end, as a curve."""
    import pandas as pd

    records = [(point.score_thr, point.measure, *bounds) for point, bounds in rows]
    table = pd.DataFrame(records, columns=["threshold", "measure", *ENDS])
    return table.astype(dict.fromkeys(("threshold", *ENDS), float))  # also without a row


@dataclass(frozen=True, repr=False)
class ThresholdChoice(Result):
    """A score threshold that reaches what is wanted; NaN where none does.

    `autoeval.threshold` returns one, and `choose_threshold` makes one of a curve.

    Parameters
    ----------
    wanted : str
        What the threshold is to reach, in words, such as ``a recall of 90 %``.
    value : float
        The threshold, a score in [0, 1]; NaN if no estimate on the curve reaches what is wanted.
    lower, upper : float
        Thresholds that may be right: by the ends of the interval of what is wanted, or the edge of
        the curve; for the best F1 those whose F1 is within a point of it.
    at : dict of str to dict
        ``value``, ``lower`` and ``upper`` of each measure at the threshold; empty without one.
    curve : DataFrame
        That it was chosen on; see `expected_curve`.
    greatest : float
        The greatest estimate of what is wanted at any threshold; NaN for the best F1.
    target : str
        Measure that it is chosen by: ``precision``, ``recall`` or ``f1``.
    level : float
        Nominal coverage of the intervals of the curve.
    warnings : tuple of Notice
        Of the boxes and labels behind the curve.
    may_be_reached : bool
        Whether the interval at some threshold holds what is wanted, or is too wide to be given.
    goal : float
        The precision or recall that is wanted, in [0, 1]; NaN for the best F1.

    Examples
    --------
    Of two objects the first box finds one, the second box none: half of the objects are found, and
    only right boxes are kept, with a threshold of .5.

    >>> ranked = RankedDetections.of(
    ...     np.array([0.9, 0.4]), np.array([0, 0]), np.array([[1.0, 0.0]]), np.array([2])
    ... )
    >>> curve = exact_curve([ranked], thresholds=np.array([0.3, 0.5]))
    >>> choice = choose_threshold(curve, recall=0.5)
    >>> choice.value, choice.at["precision"]["value"], choice.at["recall"]["value"]
    (0.5, 1.0, 0.5)
    >>> choose_threshold(curve, recall=0.9).value  # is reached nowhere
    nan
    """

    wanted: str
    value: float
    lower: float
    upper: float
    at: dict[str, dict[str, float]]
    curve: pd.DataFrame = field(compare=False)
    greatest: float = np.nan
    target: str = "f1"
    level: float = 0.9
    warnings: tuple[Notice, ...] = ()
    may_be_reached: bool = True
    goal: float = np.nan
    kind = "threshold"

    @property
    def title(self) -> str:
        """What the value is, in words."""
        return f"score threshold for {self.wanted}"

    def number_text(self, value: float) -> str:
        """Write a threshold by two decimals or as many as it has; a dash where there is none.

        Parameters
        ----------
        value : float
            NaN where there is none.
        """
        return "–" if math.isnan(value) else threshold_text(value)

    @property
    def greatest_ends(self) -> tuple[float, float]:
        """Interval of `greatest`: lower and upper end where `target` is the greatest.

        NaN for the best F1, or where nothing was estimated.
        """
        rows = self.curve[self.curve["measure"] == self.target].dropna()
        if math.isnan(self.greatest) or not len(rows):
            return np.nan, np.nan
        best = rows.loc[rows["value"].idxmax()]
        return float(best["lower"]), float(best["upper"])

    @property
    def undecided(self) -> bool:
        """Whether no threshold is estimated to reach what is wanted, but some may."""
        return math.isnan(self.value) and self.may_be_reached

    @property
    def threshold(self) -> float:
        """The threshold, `value`."""
        return self.value

    @property
    def per_category(self) -> dict[str, dict[str, float]]:
        """Empty: a threshold is chosen for all categories together."""
        return {}

    def to_pandas(self) -> pd.DataFrame:
        """Return the curve: one row for a threshold and a measure; see `expected_curve`."""
        return self.curve.copy()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw precision, recall and F1 by threshold, with intervals, in points of 100.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Axes
            With a dotted line at the threshold, where there is one.
        """
        from matplotlib.figure import Figure

        if ax is None:
            ax = Figure(figsize=(6, 3.6), layout="constrained").subplots()
        draw_measures(ax, self.curve, self.value)
        return ax


def draw_measures(ax: Axes, curve: pd.DataFrame, threshold: float) -> None:
    """Draw precision, recall and F1 of a curve in points of 100, and a threshold.

    Parameters
    ----------
    ax : Axes
        Where to draw; its labels and limits are set.
    curve : DataFrame
        See `expected_curve`.
    threshold : float
        A score in [0, 1]; NaN for no line.
    """
    for measure, points in curve.groupby("measure"):
        x, colour = points["threshold"], COLOURS[str(measure)]
        ax.plot(x, 100 * points["value"], color=colour, label=measure)
        lower, upper = 100 * points["lower"], 100 * points["upper"]
        ax.fill_between(x, lower, upper, color=colour, alpha=0.15, lw=0)
    if not math.isnan(threshold):
        ax.axvline(threshold, color="black", ls=":", lw=1, label=threshold_text(threshold))
    ax.set(xlabel="score threshold", ylabel="points of 100", xlim=(0, 1), ylim=(0, 100))
    ax.legend(frameon=False)
    ax.grid(alpha=0.25)


def choose_threshold(
    curve: pd.DataFrame, *, precision: float | None = None, recall: float | None = None
) -> ThresholdChoice:
    """Choose the highest threshold with a recall, the lowest with a precision, or that of best F1.

    Between the thresholds of the curve its values are interpolated at hundredths. Of thresholds
    with the same best F1 the lowest is chosen.

    Parameters
    ----------
    curve : DataFrame
        See `expected_curve`.
    precision, recall : float, optional
        What is wanted, over 0 and under 1; without either the best F1 is.

    Returns
    -------
    ThresholdChoice
        Its level and its warnings are not set: `choose_from` sets them.

    Raises
    ------
    InputError
        If both are wanted, or one is not over 0 and under 1.

    Examples
    --------
    >>> rows = [(t, m, v, v - .1, v + .1) for t, v in ((.2, .9), (.6, .5)) for m in MEASURES]
    >>> import pandas as pd
    >>> curve = pd.DataFrame(rows, columns=["threshold", "measure", *ENDS])
    >>> chosen = choose_threshold(curve, recall=.7)
    >>> chosen.value, chosen.lower, chosen.upper
    (0.4, 0.3, 0.5)
    """
    check_wanted(precision, recall)
    fine = {name: _fine(curve[curve["measure"] == name], name) for name in MEASURES}
    if recall is not None:
        measure, goal, wanted = "recall", recall, f"a recall of {100 * recall:g} %"
    elif precision is not None:
        measure, goal, wanted = "precision", precision, f"a precision of {100 * precision:g} %"
    else:
        measure, goal, wanted = "f1", float(fine["f1"]["value"].max()), "the best F1"
    points = fine[measure]
    # thresholds at which the value, and either end of its interval, reach the goal
    reached = {end: points.loc[points[end] >= goal - ROUNDING, "threshold"] for end in ENDS}
    if measure == "recall":  # falls with the threshold
        threshold = float(reached["value"].max())
        ends = [float(reached["lower"].max()), float(reached["upper"].max())]
        nowhere = float(points["threshold"].min())
    elif measure == "precision":
        threshold = float(reached["value"].min())
        ends = [float(reached["lower"].min()), float(reached["upper"].min())]
        nowhere = float(points["threshold"].max())
    else:
        near = points.loc[points["value"] >= goal - AS_GOOD - ROUNDING, "threshold"]
        threshold, ends = float(reached["value"].min()), [float(near.min()), float(near.max())]
        nowhere = np.nan
    bounds = sorted(nowhere if np.isnan(end) else end for end in ends)
    # a threshold at which the interval is too wide for an estimate may reach anything; where all
    # images have labels nothing but precision without a box is not known
    exact = bool((points["lower"] == points["upper"]).all())
    unknown = curve.loc[curve["measure"] == measure, "value"].isna().any() and not exact
    at_threshold = {name: values[values["threshold"] == threshold] for name, values in fine.items()}
    at = {
        name: {end: float(row[end].iloc[0]) for end in ENDS}
        for name, row in at_threshold.items()
        if len(row)
    }
    return ThresholdChoice(
        wanted,
        threshold,
        bounds[0],
        bounds[1],
        at,
        curve,
        greatest=float(points["value"].max()) if measure != "f1" else np.nan,
        target=measure,
        may_be_reached=bool(len(reached["upper"]) or unknown),
        goal=goal if measure != "f1" else np.nan,
    )


def choose_from(
    curve_at: Callable[[np.ndarray], pd.DataFrame],
    *,
    start: np.ndarray | None = None,
    lowest: float = 0.0,
    precision: float | None = None,
    recall: float | None = None,
    level: float = 0.9,
    warnings: Sequence[Notice] = (),
) -> ThresholdChoice:
    """Choose a threshold on a curve that is evaluated at every hundredth around the choice.

    What is said of the threshold, and of those that may be right, is then interpolated nowhere. The
    curve is evaluated at `start`, then up to `MOST_ROUNDS` times at all hundredths within `STEP` of
    the choice, its ends and the thresholds at which estimates begin or end that are still missing.

    Parameters
    ----------
    curve_at : callable
        From thresholds, an ndarray in rising order, to a curve such as that of `expected_curve`.
    start : ndarray of shape (S,), optional
        Thresholds that are evaluated in addition to all hundredths; the curve of the result keeps
        of them only the choice, its ends and the greatest values. By default the twentieths are
        evaluated, and hundredths around the choice.
    lowest : float
        Lowest score of the boxes, in [0, 1]; NaN without any. A file that is cut there does not
        show which boxes there are at lower thresholds: one is chosen from the hundredth below on.
    precision, recall : float, optional
        As in `choose_threshold`.
    level : float
        Nominal coverage of the intervals of the curve.
    warnings : sequence of Notice
        Of the curve.

    Returns
    -------
    ThresholdChoice

    Raises
    ------
    InputError
        As `choose_threshold`.
    """
    import pandas as pd

    first = FINE[~((FINE + FINE[0]) * (1 + 2 * ROUNDED) < lowest)][0]
    evaluated = np.union1d(THRESHOLDS if start is None else np.union1d(FINE, start), first)
    evaluated = evaluated[evaluated >= first]
    curve = curve_at(evaluated)
    for _ in range(MOST_ROUNDS):  # what is found between thresholds may move the choice
        choice = choose_threshold(curve, precision=precision, recall=recall)
        # and around thresholds next to which there is no estimate, where none is interpolated
        measured = curve[curve["measure"] == choice.target]
        border = measured["threshold"][measured["value"].isna().astype(int).diff().abs() == 1]
        ends = np.array([choice.value, choice.lower, choice.upper, *border])
        near = np.abs(FINE[:, None] - ends[np.isfinite(ends)]).min(axis=1, initial=1) < STEP
        near &= first <= FINE
        more = FINE[near & ~np.isclose(FINE[:, None], evaluated, atol=1e-9).any(axis=1)]
        if not len(more):
            break
        evaluated = np.concatenate([evaluated, more])
        curve = pd.concat([curve, curve_at(more)]).sort_values("threshold", kind="stable")
    curve = curve.reset_index(drop=True)
    choice = choose_threshold(curve, precision=precision, recall=recall)
    tops = curve.dropna().groupby("measure")["value"].idxmax()
    thresholds = [choice.value, choice.lower, choice.upper, *curve.loc[tops, "threshold"]]
    kept = curve[curve["threshold"].isin([*FINE, *thresholds])].reset_index(drop=True)
    return replace(choice, curve=kept, level=level, warnings=tuple(warnings))


def threshold_text(threshold: float) -> str:
    """Write a threshold by two decimals, or as many as it takes to keep the same boxes.

    Parameters
    ----------
    threshold : float

    Examples
    --------
    >>> threshold_text(0.3), threshold_text(0.137)
    ('0.30', '0.137')
    """
    short = f"{threshold:.2f}"
    return short if float(short) == threshold else repr(float(threshold))


def check_wanted(precision: float | None, recall: float | None) -> None:
    """Refuse a wanted precision or recall that no threshold can be chosen for.

    Parameters
    ----------
    precision, recall : float, optional
        What is wanted, at most one of them.

    Raises
    ------
    InputError
        If both are given, or one is not over 0 and under 1.
    """
    if precision is not None and recall is not None:
        raise InputError("Expected a wanted precision or a wanted recall, but got both.")
    for name, value in (("precision", precision), ("recall", recall)):
        if value is not None and not 0 < value < 1:
            raise InputError(f"Expected a {name} over 0 and under 1 but got {value:g}.")


def _fine(curve: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Interpolate one measure of a curve at hundredths, in addition to its own thresholds.

    Nothing is known next to a threshold at which nothing could be estimated. Estimates of recall at
    neighbouring thresholds may rise by chance, which recall cannot: each value and end is the least
    so far.

    Returns
    -------
    DataFrame
        ``threshold``, ``value``, ``lower`` and ``upper``; without a row where nothing is known.
    """
    import pandas as pd

    curve = curve.sort_values("threshold")
    if not len(curve):
        return pd.DataFrame(columns=["threshold", *ENDS], dtype=float)
    x = curve["threshold"].to_numpy()
    inside = np.union1d(FINE[(x[0] - 1e-9 <= FINE) & (x[-1] + 1e-9 >= FINE)], x)
    columns = {end: np.interp(inside, x, curve[end].to_numpy()) for end in ENDS}
    fine = pd.DataFrame({"threshold": inside, **columns}).dropna()
    if measure == "recall":
        fine[[*ENDS]] = np.minimum.accumulate(fine[[*ENDS]].to_numpy(), axis=0)
    return fine
