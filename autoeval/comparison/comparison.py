"""The result of a comparison: a ranking, differences with intervals, and the release gate.

`compare_sites` makes a `Comparison`, `autoeval.report.comparison` text, page and files of it. All
accuracies, differences and losses are in [0, 1] or [-1, 1], what is printed in points of 100.

The gate says whether a candidate is worse than another detector by more than it may be. It is a
test of non-inferiority (Piaggio et al. 2012, CONSORT extension for non-inferiority): the whole
interval of the loss is compared with the allowed loss, so that few or no labels leave it undecided
instead of passing. With a two-sided interval of 90 % a candidate that loses more than is allowed
passes with a probability of at most 5 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from autoeval.accuracy.measures import ROUNDING
from autoeval.errors import InputError
from autoeval.labels.joint import Outlook
from autoeval.labels.values import ValueWithError, quantile
from autoeval.result_base import Result
from autoeval.words import Notice, counted, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from autoeval.sites.site import Site

PASSED = "passed"
FAILED = "failed"
UNDECIDED = "undecided"
OTHER_WORDS = ("categories-without-labels", "category-not-common", "category-not-known")
"""Warnings of labels and detectors whose words differ: a gate would rest on an average precision of
0, or pass over a category that a detector cannot find at all."""
FEWEST = 2  # labels of a forecast, whose standard error needs two
ENOUGH = 0.5  # probability that the forecast number of labels decides
ALL = "all"
"""The mean over categories, in the column ``category``."""


@dataclass(frozen=True)
class PairForecast:
    """A difference of two detectors, and a forecast of its interval with further labels.

    Parameters
    ----------
    difference : ValueWithError
        Accuracy of the first less that of the second, by all that is known.
    outlook : Outlook, optional
        Forecast of its half-width; None where the variance of one labelled image is not known.
    n_labelled : int
        Labels so far.
    same_boxes : bool
        Whether both found exactly the same.
    """

    difference: ValueWithError
    outlook: Outlook | None
    n_labelled: int = 0
    same_boxes: bool = False

    def turned(self) -> PairForecast:
        """Return the same of the second detector less the first."""
        difference = replace(self.difference, value=0.0 - self.difference.value)  # no -0.0
        return replace(self, difference=difference)

    def labels_to_decide(self, border: float, level: float) -> int | None:
        """Return how many more labels put a border outside the interval, more likely than not.

        After k labels the estimate is distributed around today's, with today's variance less that
        after k labels (Raiffa & Schlaifer 1961, preposterior analysis).

        Parameters
        ----------
        border : float
            Difference that the interval is to exclude, in [-1, 1].
        level : float
            Nominal coverage of the interval.

        Returns
        -------
        int, optional
            All further images where fewer do not suffice; None where it is not known.
        """
        now = self.difference
        if self.outlook is None or not now.known:
            return None
        unit, n_pool = quantile(level, np.inf), self.outlook.n_pool
        for k in _numbers_of_labels(max(self.n_labelled + 1, FEWEST), n_pool):
            half = self.outlook.half_width(k)
            moved = np.sqrt(max(now.error**2 - (half / unit) ** 2, 0.0))
            estimate = ValueWithError(now.value - border, float(moved))
            above = ValueWithError(estimate.value - half, estimate.error).probability_positive
            below = ValueWithError(-estimate.value - half, estimate.error).probability_positive
            if above + below >= ENOUGH:
                return k - self.n_labelled
        return n_pool - self.n_labelled


def _numbers_of_labels(first: int, n_pool: int) -> Sequence[int]:
    """Return numbers of labels to try: every one up to 100, then steps of 2 %."""
    steps = [first]
    while steps[-1] < n_pool:
        steps.append(min(max(steps[-1] + 1, int(1.02 * steps[-1])), n_pool))
    return steps if first <= n_pool else []


@dataclass(frozen=True)
class Loss:
    """How much worse the candidate is than one other detector.

    Parameters
    ----------
    detector : str
        The other detector.
    value, lower, upper : float
        Its accuracy less that of the candidate, with the interval, in [-1, 1]; negative where the
        candidate is better.
    outcome : str
        `PASSED` where the whole interval is at most the allowed loss, `FAILED` where all of it is
        more, else `UNDECIDED`.
    labels : int, optional
        More labels that are likely to decide; 0 where it is decided, None where that is not known.
    same_boxes : bool
        Whether the candidate found exactly the same.
    """

    detector: str
    value: float
    lower: float
    upper: float
    outcome: str
    labels: int | None
    same_boxes: bool = False


@dataclass(frozen=True)
class Gate:
    """Whether a candidate may replace other detectors; made by `Comparison.gate`.

    Parameters
    ----------
    candidate : str
        Its name.
    max_loss : float
        Largest loss of accuracy that is allowed, in [0, 1).
    level : float
        Nominal coverage of the intervals of the losses, in (0, 1).
    losses : tuple of Loss
        To each other detector.

    Examples
    --------
    >>> lost = Loss("old", 0.01, -0.02, 0.04, UNDECIDED, labels=40)
    >>> print(Gate("new", 0.02, 0.9, (lost,)))
    gate undecided: new may lose 2 points
    """

    candidate: str
    max_loss: float
    level: float
    losses: tuple[Loss, ...]

    @property
    def outcome(self) -> str:
        """``"passed"``, ``"failed"`` or ``"undecided"``.

        It fails where the loss to one detector is too large, and passes where none is.
        """
        outcomes = {loss.outcome for loss in self.losses}
        if FAILED in outcomes:
            return FAILED
        return UNDECIDED if UNDECIDED in outcomes else PASSED

    @property
    def decisive(self) -> Loss:
        """The loss that the outcome rests on: of those with this outcome, the largest."""
        same_outcome = [loss for loss in self.losses if loss.outcome == self.outcome]
        return max(same_outcome, key=lambda loss: loss.value)

    def __str__(self) -> str:
        points = f"{100 * self.max_loss:g}"
        noun = "point" if points == "1" else "points"
        return f"gate {self.outcome}: {self.candidate} may lose {points} {noun}"


def check_max_loss(max_loss: float) -> None:
    """Check the largest loss that a gate allows.

    Parameters
    ----------
    max_loss : float
        Loss of accuracy, in [0, 1).

    Raises
    ------
    InputError
        If it is outside, or NaN.
    """
    if not 0 <= max_loss < 1:
        raise InputError(
            "Expected the largest loss that is allowed (--max-loss) to be from 0 to under 100 "
            f"points but got {100 * max_loss:g}."
        )


def loss_to(detector: str, forecast: PairForecast, max_loss: float, level: float) -> Loss:
    """Compare the loss to one detector, with its interval, with the largest that is allowed.

    Parameters
    ----------
    detector : str
        The other detector.
    forecast : PairForecast
        Of that detector less the candidate.
    max_loss : float
        Largest loss that is allowed, in [0, 1).
    level : float
        Nominal coverage of the interval, in (0, 1).

    Examples
    --------
    >>> seen = PairForecast(ValueWithError(-0.03, 0.02), None)  # 3 points better, interval ± 3.3
    >>> loss_to("old", seen, 0.01, 0.9).outcome, loss_to("old", seen, 0.0, 0.9).outcome
    ('passed', 'undecided')
    """
    difference = forecast.difference
    lower, upper = difference.interval(level)
    allowed = max_loss + ROUNDING  # 50 less 49 of 50 objects is a little over .02
    if upper <= allowed:
        outcome = PASSED
    elif lower > allowed:
        outcome = FAILED
    else:
        outcome = UNDECIDED
    needed = forecast.labels_to_decide(max_loss, level) if outcome == UNDECIDED else 0
    ends = difference.inside(level, -1.0)
    return Loss(detector, **ends, outcome=outcome, labels=needed, same_boxes=forecast.same_boxes)


def _refuse_other_words(warnings: Sequence[Notice]) -> None:
    """Raise `InputError` for a gate where a warning has a code of `OTHER_WORDS`."""
    texts = [str(warning) for warning in warnings if warning.code in OTHER_WORDS]
    if texts:
        raise InputError(
            "A gate needs the same categories in the labels and in the predictions of all "
            f"detectors, but: {listed(texts, 3)}. Name those that count with --category "
            "NAME=WORD,WORD, and translate the words of the labels with --words "
            "WORD=CATEGORY."
        )


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Which of several detectors is better at a site.

    Made by `autoeval.compare`.

    Parameters
    ----------
    target : str
        What is compared; a name in `autoeval.accuracy.measures.TARGETS`, or a measure at a score
        threshold.
    level : float
        Nominal coverage of the intervals.
    value, lower, upper : float
        How much better the best detector is than the second, in [-1, 1], with its interval.
    per_category : mapping of str to mapping
        The same of each category, where there are several.
    n_images, n_labelled : int
        Images that all detectors saw, and those of them with labels.
    ranking : DataFrame
        One row a detector, the best first: ``detector``, ``value`` (estimated accuracy in [0, 1],
        whose error is greater than that of differences), ``behind`` (its accuracy less that of the
        best, in [-1, 1]), ``lower`` and ``upper`` of that, and ``p_best``, its probability of being
        the best. Where one value is known, ``value_lower`` and ``value_upper``, too. The order is
        by the values that fit all differences best; where the differences of three detectors
        contradict each other, ``behind``, which is of two alone, may be positive.
    pairs : DataFrame
        One row for every two detectors and category, and `ALL` for the mean over several: ``a`` and
        ``b`` (a ranked higher), ``category``, ``difference`` (a less b), ``lower``, ``upper``,
        ``p_better`` (that a is), ``label_free``, ``carried_over`` (on the labelled set; NaN where
        they have none in common), ``more_labels`` (expected, until zero is outside the interval; 0
        where it is, NaN where that is not known or the difference is under half a point) and
        ``distinguishable`` (whether zero is outside).
    warnings : tuple of Notice
        Why the differences may be wrong.
    sites : mapping of str to Site
        What each detector found.
    known : str
        The detector whose value was given; empty for none.
    forecasts : mapping of tuple to PairForecast
        Of every two detectors in the order in which they were given, what `gate` reads.

    Examples
    --------
    By hand, of two detectors without labels; the tables have further columns:

    >>> seen = PairForecast(ValueWithError(0.03, 0.02), None)
    >>> pairs = {"a": "new", "b": "old", "category": "car", "difference": 0.03, "p_better": 0.93}
    >>> comparison = Comparison(
    ...     "mAP", 0.9, **seen.difference.inside(0.9, -1.0), per_category={}, n_images=200,
    ...     n_labelled=0, ranking=pd.DataFrame({"detector": ["new", "old"], "value": [0.43, 0.4]}),
    ...     pairs=pd.DataFrame([pairs]), forecasts={("new", "old"): seen},
    ... )
    >>> print(comparison)
    mAP of new less that of old: 3.0 (90% interval -0.3 to 6.3), on 200 images
    >>> print(comparison.gate(max_loss=0.01, candidate="new"))
    gate passed: new may lose 1 point
    >>> comparison.matrix()
          new   old
    new   NaN  0.93
    old  0.07   NaN
    """

    target: str
    level: float
    value: float
    lower: float
    upper: float
    per_category: Mapping[str, Mapping[str, float]]
    n_images: int
    n_labelled: int
    ranking: pd.DataFrame
    pairs: pd.DataFrame
    warnings: tuple[Notice, ...] = ()
    sites: Mapping[str, Site] = field(default_factory=dict, compare=False)
    known: str = ""
    forecasts: Mapping[tuple[str, str], PairForecast] = field(default_factory=dict, compare=False)
    kind = "comparison"

    @property
    def detectors(self) -> tuple[str, ...]:
        """Names, the best first."""
        return tuple(self.ranking["detector"])

    @property
    def overall(self) -> pd.DataFrame:
        """The rows of `pairs` that are of all categories."""
        several = self.pairs["category"] == ALL
        return self.pairs[several] if several.any() else self.pairs

    @property
    def title(self) -> str:
        """What the value is, in words."""
        first, second = self.detectors[:2]
        return f"{self.target} of {first} less that of {second}"

    @property
    def basis(self) -> str:
        """How many images were compared, and how many of them are labelled."""
        labelled = f", {self.n_labelled} of them labelled" if self.n_labelled else ""
        return f"on {counted(self.n_images, 'image')}{labelled}"

    def gate(self, max_loss: float, candidate: str | None = None) -> Gate:
        """Decide whether a candidate may replace the other detectors.

        Parameters
        ----------
        max_loss : float
            Largest loss of accuracy that is allowed, in [0, 1).
        candidate : str, optional
            Its name; by default the detector that was given first.

        Raises
        ------
        InputError
            If `max_loss` is not in [0, 1), there is no such detector, or the labels and the
            detectors have different words for the categories.
        """
        check_max_loss(max_loss)
        candidate = next(iter(self.forecasts))[0] if candidate is None else candidate
        if candidate not in self.detectors:
            raise InputError(
                f"Expected the candidate to be one of {listed(self.detectors)} but got "
                f"{candidate!r}."
            )
        _refuse_other_words(self.warnings)
        losses = []
        for (a, b), forecast in self.forecasts.items():
            if candidate not in (a, b):
                continue
            opponent, of_opponent = (b, forecast.turned()) if candidate == a else (a, forecast)
            losses.append(loss_to(opponent, of_opponent, max_loss, self.level))
        return Gate(candidate, max_loss, self.level, tuple(losses))

    def to_pandas(self) -> pd.DataFrame:
        """Return a copy of `pairs`."""
        return self.pairs.copy()

    def matrix(self) -> pd.DataFrame:
        """Return the probability that the detector of a row is better than that of a column.

        Returns
        -------
        DataFrame
            Detectors by detectors, the best first; NaN on the diagonal.
        """
        names = list(self.detectors)
        better = pd.DataFrame(np.nan, index=names, columns=names)
        for row in self.overall.to_dict("records"):
            better.loc[row["a"], row["b"]] = row["p_better"]
            better.loc[row["b"], row["a"]] = 1 - row["p_better"]
        return better

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how far each detector is behind the first, with intervals, in points of 100.

        Parameters
        ----------
        ax : Axes, optional
            A new figure by default.
        """
        from matplotlib.figure import Figure

        rows = self.ranking
        if ax is None:
            size = (7, 1.2 + 0.5 * len(rows))
            ax = Figure(figsize=size, layout="constrained").subplots()
        y = -np.arange(len(rows))
        value, lower, upper = 100 * rows["behind"], 100 * rows["lower"], 100 * rows["upper"]
        ax.axvline(0, color="0.8", zorder=0)
        ax.errorbar(
            value, y, xerr=[value - lower, upper - value], fmt="o", color="tab:blue", capsize=4
        )
        ax.set_yticks(y, list(self.detectors), parse_math=False)
        ax.set(
            xlabel=f"{self.target} less that of {self.detectors[0]} (points of 100, "
            f"{self.level:.0%} interval)",
            ylim=(0.5 - len(rows), 0.5),
        )
        return ax
