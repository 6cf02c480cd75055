"""The release gate: is a candidate worse than another detector by more than it may be.

A test of non-inferiority (Piaggio et al. 2012, CONSORT extension for non-inferiority): the whole
interval of the loss is compared with the allowed loss, so that few or no labels leave it undecided
instead of passing. With a two-sided interval of 90 % a candidate that loses more than is allowed
passes with a probability of at most 5 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from autoeval.errors import InputError
from autoeval.io.wording import listed
from autoeval.labels.outlook import Outlook
from autoeval.labels.values import ValueWithError, quantile
from autoeval.notices import as_notice

PASSED, FAILED, UNDECIDED = "passed", "failed", "undecided"
OTHER_WORDS = ("categories-without-labels", "category-not-known")
"""Warnings of labels and detectors whose words differ: a gate would rest on an AP of 0."""
FEWEST = 2  # labels of a forecast, whose standard error needs two
ENOUGH = 0.5  # probability that the forecast number of labels decides


@dataclass(frozen=True)
class PairForecast:
    """A difference of two detectors, and how much more exactly further labels will know it."""

    difference: ValueWithError
    outlook: Outlook | None  # None where the variance of one labelled image is not known
    n_labelled: int = 0

    def turned(self) -> PairForecast:
        """Return the same of the second detector less the first."""
        difference = replace(self.difference, value=-self.difference.value)
        return replace(self, difference=difference)

    def labels_to_decide(self, border: float, level: float) -> int | None:
        """Return how many more labels put `border` outside the interval, more likely than not.

        After k labels the estimate is distributed around today's with the variance that the labels
        take away, today's less that after k (Raiffa & Schlaifer 1961, preposterior analysis).
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
    """How much worse the candidate is than one other detector, in [-1, 1]; negative is better."""

    detector: str
    value: float
    lower: float
    upper: float
    outcome: str
    labels: int | None  # more labels that are likely to decide; None where that is not known


@dataclass(frozen=True)
class Gate:
    """Whether a candidate may replace other detectors.

    Parameters
    ----------
    candidate : str
    max_loss : float
        Largest loss of accuracy that is allowed, in [0, 1].
    level : float
        Nominal coverage of the intervals of the losses.
    losses : tuple of Loss
        To each other detector.
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
        alike = [loss for loss in self.losses if loss.outcome == self.outcome]
        return max(alike, key=lambda loss: loss.value)

    def __str__(self) -> str:
        return f"gate {self.outcome}: {self.candidate} may lose {100 * self.max_loss:g} points"


def check_max_loss(max_loss: float) -> None:
    """Refuse a loss in [0, 1] that no detector can have."""
    if not 0 <= max_loss < 1:
        raise InputError(
            "Expected the largest loss that is allowed (--max-loss) to be from 0 to under 100 "
            f"points but got {100 * max_loss:g}."
        )


def loss_to(detector: str, forecast: PairForecast, max_loss: float, level: float) -> Loss:
    """Compare the loss to one detector, with its interval, with the largest that is allowed.

    `forecast` is of that detector less the candidate.
    """
    difference = forecast.difference
    lower, upper = difference.interval(level)
    if upper <= max_loss:
        outcome = PASSED
    elif lower > max_loss:
        outcome = FAILED
    else:
        outcome = UNDECIDED
    needed = forecast.labels_to_decide(max_loss, level) if outcome == UNDECIDED else 0
    value, lower, upper = np.clip([difference.value, lower, upper], -1, 1).tolist()
    return Loss(detector, value, lower, upper, outcome, needed)


def refuse_other_words(warnings: Sequence[str]) -> None:
    """Refuse a gate where labels and detectors have different words, as the warnings say."""
    texts = [str(warning) for warning in warnings if as_notice(warning).code in OTHER_WORDS]
    if texts:
        raise InputError(
            "A gate needs the same categories in the labels and in the predictions of all "
            f"detectors, but: {listed(texts, 3)}. Name those that count with --category "
            "NAME=WORD,WORD, and translate the words of the labels with --words "
            "WORD=CATEGORY."
        )
