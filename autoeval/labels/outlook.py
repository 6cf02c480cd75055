"""Forecast of the half-width that k labels give, the labels that one takes, and when to stop.

Of a mean over categories (`JointOutlook`) it is drawn how many labelled images will hold a
category: each of them does with a probability that the box model gives before there are labels, and
the labels themselves afterwards. The half-width is then that of the same estimate as with labels,
of the categories that are held in that draw. `Outlook` is the forecast of one value.

Who stops as soon as an interval is narrow enough stops where the variance of the labels happens to
look small, so the coverage of those intervals is too low. `STRETCH` is the factor by which an
interval is made wider for that. It comes from a simulation of batches of ten labels from ten on
with normal and skewed influences (``tests/labels/test_sample_size.py``), and
``autoeval study labels`` measures it on real sites.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from autoeval.boxes import Boxes
from autoeval.labels.category_estimate import (
    DOF,
    FEWEST_HOLDING,
    bias_scale,
    object_variance,
    objects_in_pool,
)
from autoeval.labels.joint import (
    SMALL_SAMPLE_BIAS_STD,
    JointPrior,
    MeasuredCategories,
    estimate_mean,
    variance_with_one_more,
    with_shared_bias,
)
from autoeval.labels.values import NOTHING, ValueWithError, VariancePrior, combine
from autoeval.model.calibration import FOUND

FEWEST_LABELS = 8  # under it no interval is made from labels alone
USUAL_SIZES = (10, 20, 30, 50, 100)
STRETCH = 1.08
BATCH = 10
CATEGORIES_DRAWN = 200  # in all draws together: with many categories one draw is like another
LABELS_OF_SHARES = 10.0  # that the expected shares of images count as, beside those that were seen

CERTAIN = 0.999  # the highest probability of a box


def first_that_suffices(
    half_width: Callable[[int], float], wanted: float, first: int, n_pool: int
) -> int:
    """Return the smallest number of labels, `first` or more, whose half-width is `wanted`."""
    sizes = range(first, n_pool)
    at = bisect_left(sizes, True, key=lambda k: half_width(k) <= wanted)
    return min(first + at, n_pool)


@dataclass(frozen=True)
class Outlook:
    """Forecast of one value: a category, a difference, or all categories at a threshold."""

    per_image: VariancePrior  # residual variance of one labelled image
    n_pool: int
    prior: ValueWithError = NOTHING  # label-free
    level: float = 0.9

    def half_width(self, k: int) -> float:
        """Return the expected half-width of the combined interval with k labels.

        0 where all images are labelled.
        """
        finite = max(1 - k / self.n_pool, 0.0)
        error = math.sqrt(finite * self.per_image.variance / k)
        dof = self.per_image.dof + k - 1
        labels = ValueWithError(self.prior.value if self.prior.known else 0.5, error, dof)
        if error == 0:
            return 0.0
        return combine(labels, self.prior).estimate.half_width(self.level)

    def needed(self, wanted: float) -> int:
        """Return the smallest number of labels whose half-width is at most `wanted`."""
        return first_that_suffices(self.half_width, wanted, 2, self.n_pool)


def outlook_after(
    measured: ValueWithError,
    k: int,
    n_pool: int,
    *,
    prior: ValueWithError = NOTHING,
    level: float = 0.9,
) -> Outlook:
    """Return the forecast after k labels, from the error of the difference estimator.

    No prior where it was dropped.
    """
    finite = 1 - k / n_pool
    variance = measured.error**2 * k / finite if finite > 0 else 0.0
    return Outlook(VariancePrior(variance, max(measured.dof - k + 1, 0.0)), n_pool, prior, level)


@dataclass(frozen=True)
class Stop:
    """Whether a wanted half-width is reached."""

    reached: bool
    half_width: float  # widened by `STRETCH`
    more: int  # images that the next batch should add; 0 where it is reached


def stretched(measured: ValueWithError) -> ValueWithError:
    """Widen the interval of an estimate that is evaluated after every batch."""
    return replace(measured, error=STRETCH * measured.error)


def next_batch(
    measured: ValueWithError, wanted: float, *, n_labelled: int, needed: int, level: float = 0.9
) -> Stop:
    """Decide whether to stop at a half-width in the unit of the estimate, and what to label next.

    `measured` is the combined estimate so far, `needed` the labels that are expected to suffice;
    see `Outlook.needed`. At most half of the missing ones are labelled at once, in batches of
    `BATCH`, since that is a forecast.
    """
    half = stretched(measured).half_width(level)
    if half <= wanted:
        return Stop(True, half, 0)
    missing = max(needed - n_labelled, BATCH)
    return Stop(False, half, min(missing, BATCH * max(1, math.ceil(missing / 2 / BATCH))))


@dataclass(frozen=True, eq=False)
class Holding:
    """How often images of a pool are expected to hold each of C categories."""

    shares: np.ndarray  # probability that an image holds it, (C,)
    objects: np.ndarray  # in an image that does, (C,), 1 or more

    def in_pool(self, n_images: int) -> np.ndarray:
        """Return the expected number of objects of each category in a pool."""
        return np.asarray(n_images * self.shares * self.objects)


def expected_holding(
    found: Boxes, probabilities: np.ndarray, objects: Sequence[np.ndarray] | None = None
) -> Holding:
    """Expect objects where boxes are: N boxes with probabilities (N,) of being true positives.

    objects: expected objects of each image in each of C categories, (M,) each, found or missed; by
        default those that boxes find. Missed ones count where a box shows the category (`FOUND`):
        how many there are was learned on such images and on those that hold it, and most of the
        others hold nothing.
    """
    shares, in_one = [], []
    n = max(len(found.images), 1)
    for k in range(len(found.categories)):
        mine = found.label == k
        p, image = np.clip(probabilities[mine], 0, CERTAIN).astype(np.float64), found.image[mine]
        each = np.bincount(image, p, minlength=n)
        none = np.exp(np.bincount(image, np.log1p(-p), minlength=n))
        if objects is not None:
            shown = np.bincount(image, p > FOUND, minlength=n) > 0
            missed = np.where(shown, np.maximum(objects[k] - each, 0), 0)
            each, none = each + missed, none * np.exp(-missed)  # missed ones are Poisson
        held = float((1 - none).sum())
        shares.append(held / n)
        in_one.append(max(float(each.sum()) / held, 1.0) if held > 0 else 1.0)
    return Holding(np.array(shares), np.array(in_one))


@dataclass(frozen=True, eq=False)
class SeenLabels:
    """What k labels have shown of C categories."""

    k: int
    n_holding: np.ndarray  # labelled images that hold each, (C,)
    n_true: np.ndarray  # objects in these, (C,)
    measured: MeasuredCategories

    def shares(self, expected: np.ndarray) -> np.ndarray:
        """Return the shares of images that hold each category, `expected` before the labels."""
        weight = LABELS_OF_SHARES
        return np.asarray((self.n_holding + weight * expected) / (self.k + weight))


@dataclass(frozen=True, eq=False)
class JointOutlook:
    """Forecast of the mean over C categories with more labels of a pool."""

    prior: JointPrior
    holding: Holding
    per_object: float  # variance by object of the target
    per_image: np.ndarray  # expected variance of what influence one labelled image shows, (C,)
    n_pool: int
    level: float = 0.9
    seen: SeenLabels | None = None

    def half_width(self, k: int) -> float:
        """Return the expected half-width of the combined interval with k labels.

        0 where all images are labelled.
        """
        if k >= self.n_pool:
            return 0.0
        if k not in self._half_widths:
            # Few categories are held in few different numbers of images: each number once.
            draws, times = np.unique(self._held(k), axis=0, return_counts=True)
            means = [estimate_mean(self.prior, self._measured(held, k)) for held in draws]
            widths = [mean.half_width(self.level) for mean in means]
            self._half_widths[k] = float(np.average(widths, weights=times))
        return self._half_widths[k]

    def needed(self, wanted: float) -> int:
        """Return the smallest number of labels whose half-width is at most `wanted`."""
        first = 2 if self.seen is None else self.seen.k
        return first_that_suffices(self.half_width, wanted, first, self.n_pool)

    def measured(self, k: int) -> float:
        """Return how many categories `FEWEST_HOLDING` of k labelled images are expected to hold."""
        return float(np.mean([(held >= FEWEST_HOLDING).sum() for held in self._held(k)]))

    def narrowed_by(self, images: int) -> np.ndarray:
        """Return the share of the half-width left by `images` more with a category, (C,).

        1 of a category that the pool is not expected to hold in so many further images.
        """
        seen, free, nothing = self.seen, self.prior.values, np.empty(0)
        if seen is not None and seen.k >= self.n_pool:
            return np.ones(len(free))
        measured = MeasuredCategories(
            np.empty(0, int), nothing, np.empty((0, 0)), nothing, np.empty((0, 0))
        )
        k, shares = 0, self.holding.shares
        if seen is not None:
            measured, k = seen.measured, seen.k
            shares = seen.shares(shares)
        law = object_variance(self.per_object, free, free, images * self.holding.objects, images)
        now, after = variance_with_one_more(self.prior, measured, law)
        enough = shares * (self.n_pool - k) >= images
        left = np.sqrt(after / now) if now > 0 else np.ones(len(free))
        return np.where(enough, left, 1.0)

    @cached_property
    def _half_widths(self) -> dict[int, float]:
        """Half-widths by number of labels: pages, texts and files ask for the same ones."""
        return {}

    @cached_property
    def _uniform(self) -> np.ndarray:
        """Random numbers in [0, 1] by draw and category: the same for all numbers of labels."""
        c = len(self.prior.values)
        return np.random.default_rng(0).random((max(CATEGORIES_DRAWN // c, 1), c))

    def _held(self, k: int) -> np.ndarray:
        """Draw how many of k labelled images hold each category, (draws, C), int."""
        seen, shares = self.seen, self.holding.shares
        from scipy.stats import binom  # half a second that most commands save

        more, start = k, np.zeros(len(shares))
        if seen is not None:
            more, start, shares = max(k - seen.k, 0), seen.n_holding, seen.shares(shares)
        added = binom.ppf(self._uniform, more, np.clip(shares, 0, 1)) if more else 0.0
        return np.asarray(np.maximum(start + np.zeros(self._uniform.shape) + added, 0)).astype(int)

    def _measured(self, held: np.ndarray, k: int) -> MeasuredCategories:
        """Return what k labels will probably say where `held` (C,) images hold each category."""
        free, finite = self.prior.values, 1 - k / self.n_pool
        n_true = held * self.holding.objects
        seen = self.seen
        if seen is not None:
            n_true = seen.n_true + (held - seen.n_holding) * self.holding.objects
        law = object_variance(self.per_object, free, free, n_true, held)
        at, correlations, dof = np.flatnonzero(held), np.eye(len(free)), DOF + held - 1.0
        showing = np.maximum(held - 1, 0)  # as `moderated` will mix the law and the sample variance
        variances = (DOF * law + showing * self.per_image / k) / (DOF + showing)
        if seen is not None and len(seen.measured.at):
            rows = seen.measured.at
            # Of categories that labels have shown, their own variance, in proportion to the images
            # that hold them; the share of the pool without labels is taken into account below.
            variances[rows] = np.diag(seen.measured.covariance) / (1 - seen.k / self.n_pool)
            variances[rows] *= seen.n_holding[rows] / held[rows]
            dof[rows] = seen.measured.dof + held[rows] - seen.n_holding[rows]
            correlations[np.ix_(rows, rows)] = seen.measured.correlations
        errors = np.sqrt(finite * variances[at])
        expected = self.holding.in_pool(self.n_pool)
        n_in_pool = objects_in_pool(n_true, k, self.n_pool, expected)
        bias = SMALL_SAMPLE_BIAS_STD * bias_scale(n_true[at], n_in_pool[at])
        of_held = correlations[np.ix_(at, at)]
        covariance = with_shared_bias(errors, bias, of_held)
        return MeasuredCategories(at, free[at], covariance, dof[at], of_held)


WidthForecast = Outlook | JointOutlook
"""Forecast of the precision that labels of a pool give: of one value, or of several categories."""
