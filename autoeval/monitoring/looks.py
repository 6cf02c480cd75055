r"""One look at a site: its latest windows against its own baseline.

Three numbers of the boxes are tested together, of all categories together and of each: how many
boxes an image has, its best true-positive probability, and the mean size of its boxes. A detector
that loses objects moves all three: fewer and less sure boxes are left, and larger ones, since small
objects are lost first. So most counts their sum, of images by their ranks (O'Brien 1984), and the
rest six single numbers (`TESTED`), which say what moved; each in the last 1, 2, 4 and 8 windows,
for sudden and for slow changes. Where they moved further than sampling explains, the boxes
*changed*; where also the interval of the change of average precision, predicted from the boxes,
lies below 0, over the latest window or the last 2, 4 or 8 together, the accuracy *fell*. Most of
the false alarms that are allowed are spent on the direction in which numbers move when a detector
loses objects (`DriftRule.on_falls`).

Neighbouring images of a camera show much the same, so that their number says too much. Where the
baseline has several windows, the variance between windows is what a new window has to be compared
with: it includes whatever images of one window have in common, and a later window of fewer images
varies by more (`Scale.of_fewer`). Otherwise images next to each other are taken together in blocks
of 1, 2, 4, ... (batch means, Flegal & Jones 2010), and the length counts at which the variance of
the mean is greatest. Where neighbouring blocks still have a correlation of r, the variance is that
of an autoregressive series, (1 + r) / (1 - r) times as large. Scenes that are longer than the
blocks cannot be seen in so few images: their variance (`DriftRule.scenes`) is added, as the share
of the variance of one image that it has at other sites.
What is tested was chosen at real sites by `benchmarks/changes.py rule`.

A site that goes on showing the scenes of its baseline raises a false alarm with a probability of at
most alpha, however often it is looked at: look j spends :math:`\alpha / (j (j + 1))` of it, which
add up to alpha (alpha spending by Bonferroni's inequality, Lan & DeMets 1983; it needs no
independence of the looks, which share their baseline).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from autoeval.monitoring.box_change import AT, Change, ChangeModel, moves

FEWEST_WINDOWS = 5  # of a baseline whose variance between windows counts
FEWEST_BLOCKS = 16  # of a block length that is tried: the variance of fewer says little
MOST_CORRELATED = 0.95  # correlation of neighbouring blocks: 1 would leave no information
ONE_SIDED = 1.645  # quantile of the normal distribution at 95 %
SCALES = (1, 2, 4, 8)
LEAST_VARIANCE = 1e-4  # of a probability, or of the predicted change, of one image
# Probabilities between which tangents are good for.
TINY = 1e-12
HIGHEST = 0.99
NEGLIGIBLE = 0.05  # difference of probabilities, or of roots of numbers of boxes
LEAST_OF_RANK = LEAST_VARIANCE / (2 * NEGLIGIBLE) ** 2  # variance of a rank that goes with it
ALL = ""  # of all categories together
TESTED = {
    "boxes": "likely boxes an image",
    "faint": "boxes an image, unlikely ones too",
    "score": "mean true-positive probability of boxes",
    "best": "best true-positive probability of an image",
    "empty": "share of images without a likely box",
    "strength": "sum of squared true-positive probabilities of an image",
}
SHOWN = {"boxes": "sure", "faint": "low", "strength": "squares"}
"""What is shown in place of a square root that is tested."""
SIDE = "side"  # mean logarithm of the sides of boxes of an image, unlikely ones too
MOVED = {**TESTED, SIDE: "typical side of boxes, image = 1"}
"""All numbers whose drift a look reports."""
RISING = ("empty", SIDE)
"""What rises when a detector loses objects, small ones first; all other numbers fall."""
Numbers = Mapping[str, np.ndarray]
"""`box_numbers` of the images of a window, by category; that of all is `ALL`."""


@dataclass(frozen=True)
class Difference:
    """The mean of later images or windows less that of a baseline.

    Parameters
    ----------
    value : float
        The difference.
    error : float
        Its standard error if nothing changed: by the variance that both have around their means.
    dof : float
        Degrees of freedom of the error.
    units : (int, int)
        How many independent blocks or windows were counted before and after.

    Examples
    --------
    >>> seen = Difference(-0.3, 0.1, 20.0, (16, 6))
    >>> round(seen.z, 1), round(seen.p_lower, 4), round(seen.p_two_sided, 4)
    (-3.0, 0.0035, 0.0071)
    """

    value: float
    error: float
    dof: float
    units: tuple[int, int]

    @property
    def z(self) -> float:
        """The difference in standard errors; 0 where nothing varies and nothing moved."""
        if self.error > 0:
            return self.value / self.error
        return 0.0 if self.value == 0 else float(np.copysign(np.inf, self.value))

    @property
    def p_lower(self) -> float:
        """Probability of so low a difference if nothing changed."""
        return float(stdtr(self.dof, self.z))

    @property
    def p_upper(self) -> float:
        """Probability of so high a difference if nothing changed."""
        return float(stdtr(self.dof, -self.z))

    @property
    def p_two_sided(self) -> float:
        """Probability of a difference so far from 0 if nothing changed."""
        return float(2 * stdtr(self.dof, -abs(self.z)))

    def half_width(self, level: float) -> float:
        """Return half the width of the interval at a level, by Student's distribution.

        Parameters
        ----------
        level : float
            Nominal coverage of the interval, in [0, 1).
        """
        return float(stdtrit(self.dof, (1 + level) / 2) * self.error)


def compare_images(
    before: np.ndarray, after: np.ndarray, least: float = 0.0, scenes: float = 0.0
) -> Difference:
    """Compare the means of two series of images, in the order of time.

    The variance of the mean is that at the length of blocks at which it comes out greatest, see the
    module.

    Parameters
    ----------
    before, after : ndarray of shape (N,) and (M,)
        A number of each image of the baseline, and of the later windows.
    least : float
        Variance of a single image that is taken at least, as of a share that was always 0.
    scenes : float
        Variance that the difference has more, in variances of one image; see `DriftRule`.

    Examples
    --------
    >>> same = np.tile([0.0, 1.0], 20)
    >>> compare_images(same, same + 1).units, compare_images(same, same).value
    ((40, 40), 0.0)
    >>> slow = np.repeat([0.0, 1.0], 20)  # neighbours show the same: fewer units
    >>> compare_images(slow, slow + 1).units < (40, 40)
    True
    """
    return _compare_columns(before[:, None], after[:, None], np.array([least]), scenes)[0]


def _compare_columns(
    before: np.ndarray, after: np.ndarray, least: np.ndarray, scenes: float
) -> list[Difference]:
    """Compare each column of two series of images; see `compare_images`.

    before (N, F), after (M, F): numbers of the images of the baseline, and of later windows
    least (F,), scenes: as there
    """
    values = after.mean(axis=0) - before.mean(axis=0)
    counts, variance, longer = _at_length(1, before, after, least)
    dof = max(counts[0] + counts[1] - 2, 1) / longer
    n_units = np.array(counts)[:, None] / longer
    length = 2
    while len(before) // length + len(after) // length - 2 >= FEWEST_BLOCKS:
        counts, further, longer = _at_length(length, before, after, least)
        more = further > variance
        variance = np.where(more, further, variance)
        dof = np.where(more, (counts[0] + counts[1] - 2) / longer, dof)
        n_units = np.where(more, np.array(counts)[:, None] / longer, n_units)
        length *= 2
    around = [series - series.mean(axis=0) for series in (before, after)]
    squares = sum((part**2).sum(axis=0) for part in around)
    of_image = np.maximum(squares / max(len(before) + len(after) - 2, 1), least)
    errors = np.sqrt(variance * (1 / len(before) + 1 / len(after)) + scenes * of_image)
    units = np.maximum(np.rint(n_units), 1).astype(int)
    return [
        Difference(float(value), float(error), float(max(free, 1.0)), (int(first), int(last)))
        for value, error, free, first, last in zip(values, errors, dof, *units, strict=True)
    ]


def _at_length(
    length: int, before: np.ndarray, after: np.ndarray, least: np.ndarray
) -> tuple[tuple[int, int], np.ndarray, np.ndarray]:
    """Return the number of blocks of a length, and the variance of each column by them.

    Returns
    -------
    counts : (int, int)
        Blocks before and after.
    variance : ndarray of shape (F,)
        Variance of one image that had no neighbours, at least `least`.
    longer : ndarray of shape (F,)
        Ratio to the variance of independent blocks: (1 + r) / (1 - r), with r the correlation of
        neighbouring blocks where it is significant, else 0.
    """
    of_before, of_after = _block_means(before, length), _block_means(after, length)
    counts = len(of_before), len(of_after)
    around = [part - part.mean(axis=0) for part in (of_before, of_after) if len(part)]
    squares = sum((part**2).sum(axis=0) for part in around)
    products = sum((part[1:] * part[:-1]).sum(axis=0) for part in around)
    r = np.minimum(products / np.where(squares > 0, squares, 1.0), MOST_CORRELATED)
    # blocks that are independent have such a correlation by chance
    r = np.where(r < ONE_SIDED / np.sqrt(sum(counts)), 0.0, r)
    longer = (1 + r) / (1 - r)
    variance = np.maximum(length * squares / max(sum(counts) - 2, 1) * longer, least)
    return counts, variance, longer


def compare_windows(
    before: np.ndarray,
    after: np.ndarray,
    steady: np.ndarray,
    least: float = 0.0,
    of_fewer: float = 0.0,
) -> Difference:
    """Compare the mean of later windows with that of a baseline's windows.

    Parameters
    ----------
    before, after : ndarray of shape (W,) and (K,)
        A number of each window.
    steady : ndarray of shape (S,)
        The same of windows whose variance counts, two or more: those of the baseline, and later
        ones.
    least : float
        Variance of a window that is taken at least.
    of_fewer : float
        Variance that a later window has more, since it has fewer images; see `Scale.of_fewer`.
    """
    n_before, n_after = np.size(before), np.size(after)
    variance = max(float(np.var(steady, ddof=1)), least)
    error = np.sqrt(variance / n_before + (variance + of_fewer) / n_after)
    value = float(np.mean(after) - np.mean(before))
    return Difference(value, float(error), np.size(steady) - 1.0, (n_before, n_after))


def _block_means(series: np.ndarray, length: int) -> np.ndarray:
    n = len(series) // length
    return series[: n * length].reshape(n, length, series.shape[1]).mean(axis=1)


@dataclass(frozen=True)
class DriftRule:
    """What a look tests; `benchmarks/changes.py rule` chooses among rules at real sites.

    Parameters
    ----------
    scenes : float
        Variance between the scenes of two windows, in variances of one image.
    on_falls : float
        Share of the false alarms that is spent on falls.
    on_all : float
        Share that is spent on all categories together where there are several.
    on_sum : float
        Share that is spent on the sum of several numbers, the rest on single ones.
    summed : tuple of str
        What is summed, of `TESTED` and `SIDE`.
    correlated : float
        Share of the correlation of these numbers that their weights in the sum allow for.
    """

    scenes: float = 0.02
    on_falls: float = 0.9
    on_all: float = 0.8
    on_sum: float = 0.8
    summed: tuple[str, ...] = ("faint", "best", SIDE)
    correlated: float = 0.7


RULE = DriftRule()


@dataclass(frozen=True)
class Drift:
    """One number of the boxes at the baseline and in the latest window.

    Parameters
    ----------
    name : str
        A key of `MOVED`.
    category : str
        `ALL` of all categories together.
    before, after : float
        Means over images, of the number in `SHOWN` where that is another one.
    p : float
        Probability of so large a difference if nothing changed, over all scales.
    """

    name: str
    category: str
    before: float
    after: float
    p: float


@dataclass(frozen=True)
class SiteLook:
    """The result of one look at a site.

    Parameters
    ----------
    number : int
        Of the look, from 1 on, after the baseline.
    changes : tuple of Change
        Over the last windows of each of `SCALES` that there are; none without an estimate.
    p : float
        Probability of such evidence if nothing changed, over all tests and scales.
    units : (int, int)
        Independent blocks of images, or windows, of the baseline and of the latest window.
    of : str
        What these are: ``windows`` or ``blocks of images``.
    drifts : tuple of Drift
        Each number of the boxes, for all categories and for single ones.

    Examples
    --------
    >>> look = SiteLook(2, (Change(-0.1, -0.15, -0.05),), 0.004, (16, 6), "blocks of images")
    >>> look.changed(false_alarms=0.05), look.fell(0.05)  # .004 is at most .05 / (2 * 3)
    (True, True)
    >>> look.changed(false_alarms=0.01)
    False
    """

    number: int
    changes: tuple[Change, ...]
    p: float
    units: tuple[int, int]
    of: str
    drifts: tuple[Drift, ...] = field(default_factory=tuple)

    def changed(self, false_alarms: float) -> bool:
        r"""Whether the boxes moved further than sampling explains.

        .. math:: p \le \frac{\alpha}{j (j + 1)}

        Parameters
        ----------
        false_alarms : float
            α, the probability of a false alarm in all looks together; j is the number of this one.
        """
        return self.p <= false_alarms / (self.number * (self.number + 1))

    @property
    def change(self) -> Change | None:
        """The change of the latest window; None without an estimate."""
        return self.changes[0] if self.changes else None

    @property
    def fall(self) -> tuple[int, Change] | None:
        """The fewest last windows whose interval is below 0 as a whole, and their change."""
        by_scale = zip(SCALES, self.changes, strict=False)
        return next(((k, change) for k, change in by_scale if change.upper < 0), None)

    def fell(self, false_alarms: float) -> bool:
        """Whether the boxes changed, and the accuracy with them, by the whole interval of `fall`.

        Parameters
        ----------
        false_alarms : float
            See `changed`.
        """
        return self.fall is not None and self.changed(false_alarms)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SiteLook:
        """Read what `to_dict` wrote.

        Parameters
        ----------
        values : mapping
            The fields by name; changes and drifts are mappings of their fields, as in JSON.
        """
        fields: dict[str, Any] = {
            **values,
            "changes": tuple(Change(**change) for change in values["changes"]),
            "units": tuple(values["units"]),
            "drifts": tuple(Drift(**drift) for drift in values["drifts"]),
        }
        return cls(**fields)


def look_at(
    number: int,
    baseline: Sequence[Numbers],
    later: Sequence[Numbers],
    steady: Sequence[Mapping[str, np.ndarray]],
    model: ChangeModel | None,
    level_before: float,
    level: float,
) -> SiteLook:
    """Compare the latest windows of a site with its baseline.

    Parameters
    ----------
    number : int
        Of the look, from 1 on.
    baseline, later : sequence of mapping
        Windows in the order of time, each with `box_numbers` (n_images, len(NUMBERS)) by category;
        the last is the latest.
    steady : sequence of mapping
        Means of the numbers in the windows that did not move, those of the baseline first; later
        ones may lack a category that was not tested by itself there.
    model : ChangeModel, optional
        None where the target is no average precision; then no change is estimated.
    level_before : float
        Accuracy at the baseline, in [0, 1]; NaN where it is not known, and no change is estimated.
    level : float
        Nominal coverage of the intervals of changes.
    """
    scales = [Scale(baseline, later[-k:], steady) for k in SCALES if k <= len(later)]
    latest, changes = scales[0], list[Change]()
    if model is not None and np.isfinite(level_before):
        changes = [scale.change(model, level_before, level) for scale in scales]
    singles = {category: single_numbers(scales, category) for category in later[-1]}
    p_values = {
        category: evidence(scales, category, singles[category], RULE) for category in singles
    }
    drifts = [
        drift for category in singles for drift in _drifts(scales, category, singles[category])
    ]
    p = p_of_evidence(p_values, RULE)
    units = singles[ALL][0][0].units
    unit = "windows" if latest.by_windows else "blocks of images"
    return SiteLook(number, tuple(changes), p, units, unit, tuple(drifts))


def single_numbers(
    scales: Sequence[Scale], category: str, rule: DriftRule = RULE
) -> list[list[Difference]]:
    """Compare each of `TESTED` by itself, by its means.

    Parameters
    ----------
    scales : sequence of Scale
        S of them, the latest window alone first.
    category : str
        `ALL` or a category.
    rule : DriftRule
        Its ``scenes`` count.

    Returns
    -------
    list of list of Difference
        For each of the scales the differences in the order of `TESTED`.
    """
    least = scales[0].least(category)
    return [scale.compare_each(category, least, rule.scenes) for scale in scales]


def evidence(
    scales: Sequence[Scale], category: str, singles: Sequence[Sequence[Difference]], rule: DriftRule
) -> np.ndarray:
    """Return the probabilities of the boxes of a category if nothing changed.

    Parameters
    ----------
    scales : sequence of Scale
        S of them.
    category : str
        The category.
    singles : sequence of sequence of Difference
        See `single_numbers`.
    rule : DriftRule
        What is summed.

    Returns
    -------
    ndarray of shape (S, 2, 2)
        At each scale by the sum of several numbers, and by single ones: of a fall, and of a rise.
        Single numbers move together: they are combined by their mean as Cauchy variables (Liu & Xie
        2020), which holds whatever their dependence.
    """
    p_values = []
    for scale, of_scale in zip(scales, singles, strict=True):
        together = scale.compare_sum(category, rule)
        ends = [
            (one.p_upper, one.p_lower) if name in RISING else (one.p_lower, one.p_upper)
            for name, one in zip(TESTED, of_scale, strict=True)
        ]
        single = [_combined(np.array(p)) for p in zip(*ends, strict=True)]
        p_values.append(((together.p_lower, together.p_upper), single))
    return np.array(p_values)


def p_of_evidence(p_values: Mapping[str, np.ndarray], rule: DriftRule) -> float:
    """Combine `evidence` of all categories together, and of each, by Bonferroni's inequality.

    Each part is weighted by the share of the false alarms that the rule spends on it.

    Parameters
    ----------
    p_values : mapping of str to ndarray of shape (S, 2, 2)
        By category, `ALL` first.
    rule : DriftRule
        The shares.

    Examples
    --------
    >>> seen = np.array([[[0.001, 1.0], [0.5, 1.0]]])  # the sum fell
    >>> round(p_of_evidence({ALL: seen}, DriftRule(on_sum=0.8, on_falls=0.9)), 5)  # .001 / .72
    0.00139
    """
    shares = np.outer([rule.on_sum, 1 - rule.on_sum], [rule.on_falls, 1 - rule.on_falls])
    spent = shares > 0
    least = [len(p) * float((p[:, spent] / shares[spent]).min()) for p in p_values.values()]
    whole, single = least[0], least[1:]
    if not single:
        return min(1.0, whole)
    return min(1.0, whole / rule.on_all, len(single) * min(single) / (1 - rule.on_all))


class Scale:
    """A baseline compared with the last few windows.

    Parameters
    ----------
    baseline, later, steady
        As in `look_at`; `later` has as many of the last windows as the scale says.

    Attributes
    ----------
    by_windows : bool
        Whether the baseline has windows enough (`FEWEST_WINDOWS`) for their variance to count;
        otherwise images are compared in blocks.
    """

    def __init__(
        self,
        baseline: Sequence[Numbers],
        later: Sequence[Numbers],
        steady: Sequence[Mapping[str, np.ndarray]],
    ) -> None:
        self.baseline, self.later, self.steady = baseline, later, steady
        self.by_windows = len(baseline) >= FEWEST_WINDOWS
        self._images: dict[tuple[str, bool], np.ndarray] = {}
        self._window_means: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def images(self, category: str, *, later: bool) -> np.ndarray:
        """Return the numbers of all images of one side, (N, len(NUMBERS)).

        Parameters
        ----------
        category : str
            `ALL` or a category.
        later : bool
            Whether of the later windows, rather than of the baseline.
        """
        if (category, later) not in self._images:
            windows = self.later if later else self.baseline
            self._images[category, later] = np.concatenate([window[category] for window in windows])
        return self._images[category, later]

    def mean(self, category: str, *, later: bool) -> np.ndarray:
        """Return the mean of the numbers over all images of one side, (len(NUMBERS),).

        Parameters
        ----------
        category : str
            `ALL` or a category.
        later : bool
            Whether of the later windows, rather than of the baseline.
        """
        return self.images(category, later=later).mean(axis=0)

    def window_means(self, category: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the means of the numbers in each window.

        Parameters
        ----------
        category : str
            `ALL` or a category that the windows of the baseline and the later ones have.

        Returns
        -------
        before, after, steady : ndarray of shape (W, len(NUMBERS))
            Of the windows of the baseline, the later and the steady ones; each has a W of its own.
        """
        if category not in self._window_means:
            before = np.array([window[category].mean(axis=0) for window in self.baseline])
            after = np.array([window[category].mean(axis=0) for window in self.later])
            steady = np.array([means[category] for means in self.steady if category in means])
            self._window_means[category] = before, after, steady
        return self._window_means[category]

    def change(self, model: ChangeModel, level_before: float, level: float) -> Change:
        """Estimate the change of average precision.

        Parameters
        ----------
        model : ChangeModel
            The slopes.
        level_before : float
            Average precision at the baseline, in [0, 1].
        level : float
            Nominal coverage of the interval.
        """
        before, after = self.mean(ALL, later=False), self.mean(ALL, later=True)
        by_before, by_after = model.gradients(before, after, level_before)
        sampling = self.sampling_error(by_before @ model.mean, by_after @ model.mean)
        of_root = [
            self.sampling_error(slope_before, slope_after).error
            for slope_before, slope_after in zip(
                (by_before @ model.root).T, (by_after @ model.root).T, strict=True
            )
        ]
        return model.change(
            moves(before, after, model.bounds, level_before),
            level_before,
            (sampling.error, np.array(of_root)),
            sampling.half_width(level) / sampling.error,
            level,
        )

    def sampling_error(self, by_before: np.ndarray, by_after: np.ndarray) -> Difference:
        """Return the sampling error of what moves so with the means of both sides' numbers.

        Each side has a variance of its own (Welch 1947): images with fewer boxes vary less.

        Parameters
        ----------
        by_before, by_after : ndarray of shape (len(NUMBERS),)
            Derivatives by the mean of each number of the baseline, and of the later windows.
        """
        if self.by_windows:
            before, after, steady = self.window_means(ALL)
            n_images = float(np.mean([len(window[ALL]) for window in self.later]))
            parts = [
                max(float(np.var(steady @ weights, ddof=1)), LEAST_VARIANCE / n_images) / len(side)
                for weights, side in ((by_before, before), (by_after, after))
            ]
            numbers = self.images(ALL, later=False) @ by_after
            parts.append(float(self.of_fewer(ALL, numbers)) / len(after))
            value = float((after @ by_after).mean() + (before @ by_before).mean())
            error = float(np.sqrt(sum(parts)))
            return Difference(value, error, len(steady) - 1.0, (len(before), len(after)))
        series = [
            self.images(ALL, later=False) @ -by_before,
            self.images(ALL, later=True) @ by_after,
        ]
        counts = [len(images) for images in series]
        several = [images for images in series if len(images) > 1] or [np.zeros(2)]
        variances = [
            max(float(np.var(images if len(images) > 1 else several[0], ddof=1)), LEAST_VARIANCE)
            for images in series
        ]
        # Each in its own standard deviations, so that the correlation of neighbours is of both.
        before, after = series[0] / np.sqrt(variances[0]), series[1] / np.sqrt(variances[1])
        scaled = compare_images(before, after, 1.0)
        longer = scaled.error**2 / sum(1 / n for n in counts)
        parts = [v / n for v, n in zip(variances, counts, strict=True)]
        dof = sum(parts) ** 2 / sum(
            p**2 / max(n - 1, 1) for p, n in zip(parts, counts, strict=True)
        )
        scenes = RULE.scenes * self._several() * float(np.mean(variances))
        return Difference(
            float(series[1].mean() - series[0].mean()),
            float(np.sqrt(longer * sum(parts) + scenes)),
            max(min(dof / longer, scaled.dof), 1.0),
            scaled.units,
        )

    def least(self, category: str) -> np.ndarray:
        """Return the variance of one image that each of `TESTED` has at least, (len(TESTED),).

        It is `LEAST_VARIANCE`; of the share of images without a likely box the variance by
        Laplace's rule of succession, since a share that was 0 so far may become another one.

        Parameters
        ----------
        category : str
            `ALL` or a category.
        """
        sides = [self.images(category, later=later)[:, AT["empty"]] for later in (False, True)]
        empty = np.concatenate(sides)
        share = (empty.sum() + 1) / (len(empty) + 2)
        return np.array([share * (1 - share) if n == "empty" else LEAST_VARIANCE for n in TESTED])

    def compare_sum(self, category: str, rule: DriftRule) -> Difference:
        """Compare the sum of several numbers (O'Brien 1984), which falls when objects are lost.

        Each counts in its own standard deviations, with the sign that lowers the sum when a
        detector loses objects; of images their ranks are summed, of windows their means. Weights
        are those of generalised least squares: numbers that vary together count for less.

        Parameters
        ----------
        category : str
            `ALL` or a category.
        rule : DriftRule
            Which numbers are summed, how far their correlation counts, and, where images are
            compared, the variance of scenes.
        """
        before, after = self.images(category, later=False), self.images(category, later=True)
        ends = [len(before)]
        values, least = _summed(np.concatenate([before, after]), rule.summed), LEAST_VARIANCE
        if not self.by_windows:
            values, least = _smooth_ranks(values), LEAST_OF_RANK
        around = np.concatenate([part - part.mean(axis=0) for part in np.split(values, ends)])
        covariance = around.T @ around / max(len(around) - 2, 1)
        std = np.sqrt(np.maximum(np.diag(covariance), least))
        signs = np.where(np.isin(rule.summed, RISING), -1.0, 1.0)
        # A part of the correlation: so few images show it badly, and weights must not follow that.
        correlation = rule.correlated * covariance / np.outer(std, std)
        np.fill_diagonal(correlation, 1.0)
        in_std = np.linalg.solve(correlation, signs)
        weights = in_std / std
        # Numbers that hardly varied so far may vary as far as the least has it, and all at once.
        lacking = np.sqrt(np.maximum(1 - np.diag(covariance) / least, 0))
        variance = float((abs(in_std) @ lacking) ** 2)
        if self.by_windows:
            n_images = float(np.mean([len(window[category]) for window in self.later]))
            of_fewer = float(self.of_fewer(category, values[: ends[0]] @ weights))
            windows = self.window_means(category)
            # together: in windows without any box of a rare category the others' size stands
            values = _summed(np.concatenate(windows), rule.summed) @ weights
            ends = np.cumsum([len(part) for part in windows[:2]])
            before, after, steady = np.split(values, ends)
            return compare_windows(before, after, steady, variance / n_images, of_fewer)
        before, after = np.split(values @ weights, ends)
        return compare_images(before, after, variance, rule.scenes * self._several())

    def _several(self) -> float:
        """Return by which factor the variance of scenes is lower: windows show other scenes."""
        return (1 / len(self.baseline) + 1 / len(self.later)) / 2

    def compare_each(self, category: str, least: np.ndarray, scenes: float) -> list[Difference]:
        """Compare each of `TESTED`, by windows or by images.

        Parameters
        ----------
        category : str
            `ALL` or a category.
        least : ndarray of shape (len(TESTED),)
            Variance of one image that is taken at least.
        scenes : float
            See `DriftRule`.
        """
        at = [AT[name] for name in TESTED]
        if not self.by_windows:
            before = self.images(category, later=False)[:, at]
            after = self.images(category, later=True)[:, at]
            return _compare_columns(before, after, least, scenes * self._several())
        before, after, steady = self.window_means(category)
        before, after, steady = before[:, at], after[:, at], steady[:, at]
        of_window = least / np.mean([len(window[category]) for window in self.later])
        of_fewer = self.of_fewer(category, self.images(category, later=False)[:, at])
        return [
            compare_windows(
                before[:, k], after[:, k], steady[:, k], float(of_window[k]), float(of_fewer[k])
            )
            for k in range(len(at))
        ]

    def of_fewer(self, category: str, numbers: np.ndarray) -> np.ndarray:
        r"""Return the variance that a later window has more for having fewer images, (...).

        .. math:: \sigma^2 \max\left(\overline{1 / n_k} - \overline{1 / n_b}, 0\right)

        with the variance :math:`\sigma^2` of the images of one window, and the numbers of images of
        the later windows and of those of the baseline.

        Parameters
        ----------
        category : str
            `ALL` or a category.
        numbers : ndarray of shape (N, ...)
            Numbers of the N images of the baseline, window after window.
        """
        sizes = np.array([len(window[category]) for window in self.baseline])
        parts = np.split(numbers, np.cumsum(sizes)[:-1])
        squares = sum(((part - part.mean(axis=0)) ** 2).sum(axis=0) for part in parts)
        later = np.mean([1 / len(window[category]) for window in self.later])
        share = max(float(later - (1 / sizes).mean()), 0.0)
        return np.asarray(share * squares / max(sizes.sum() - len(sizes), 1))


def _summed(numbers: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Return the numbers that are summed, of images or of windows by their means.

    What has no box shows no size: it counts as the mean of those that have one.

    numbers (N, len(NUMBERS)): of images or windows
    names: of `NUMBERS`, and `SIDE`
    Returned (N, P): the columns of these names
    """
    n_boxes = numbers[:, AT["low"]]
    side = numbers[:, AT["sides"]] / np.where(n_boxes > 0, n_boxes, 1.0)
    if n_boxes.any():
        side[n_boxes == 0] = side[n_boxes > 0].mean()
    return np.stack([side if name == SIDE else numbers[:, AT[name]] for name in names], axis=1)


def _smooth_ranks(values: np.ndarray) -> np.ndarray:
    """Return the share of all values that are lower, in [0, 1], in each of P columns, (N, P).

    Values within `NEGLIGIBLE` of each other count in part, so that differences that are too small
    to matter hardly order the images of a scene in which nothing moves.

    values (N, P): numbers of the images

    >>> _smooth_ranks(np.array([[1.0], [2.0], [2.0], [2.0001]])).round(2).ravel().tolist()
    [0.13, 0.62, 0.62, 0.63]
    """
    return np.stack([_ranks_of_column(column) for column in values.T], axis=1)


def _ranks_of_column(column: np.ndarray) -> np.ndarray:
    rising = np.sort(column)
    total = np.append(0.0, np.cumsum(rising))

    def integral(ends: np.ndarray) -> np.ndarray:
        """Integrate the share of lower values up to each end."""
        n_lower = np.searchsorted(rising, ends, side="right")
        return (n_lower * ends - total[n_lower]) / len(rising)

    return (integral(column + NEGLIGIBLE) - integral(column - NEGLIGIBLE)) / (2 * NEGLIGIBLE)


def _drifts(
    scales: Sequence[Scale], category: str, singles: Sequence[Sequence[Difference]]
) -> Iterator[Drift]:
    """Yield the drift of each number of a category; the size of boxes is tested by its ranks."""
    before = scales[0].mean(category, later=False)
    after = scales[0].mean(category, later=True)
    for name, *of_scales in zip(TESTED, *singles, strict=True):
        shown = AT[SHOWN.get(name, name)]
        p = min(1.0, len(singles) * min(one.p_two_sided for one in of_scales))
        yield Drift(name, category, float(before[shown]), float(after[shown]), p)
    n_boxes = (before[AT["low"]], after[AT["low"]])
    if min(n_boxes) > 0:
        rule = replace(RULE, summed=(SIDE,))
        p = min(scale.compare_sum(category, rule).p_two_sided for scale in scales)
        side, now = np.exp(np.array([before[AT["sides"]], after[AT["sides"]]]) / n_boxes)
        yield Drift(SIDE, category, float(side), float(now), min(1.0, len(scales) * p))


def _combined(p: np.ndarray) -> float:
    """Combine probabilities by the mean of Cauchy variables.

    >>> round(_combined(np.array([.02, .02, .02])), 3), _combined(np.array([0., 1.]))
    (0.02, 0.0)
    """
    if p.min() < TINY:
        return float(min(len(p) * p.min(), 1.0))
    # a number that moved far the other way has a probability of 1, whose tangent has no end
    mean = np.tan((0.5 - np.minimum(p, HIGHEST)) * np.pi).mean()
    return float(0.5 - np.arctan(mean) / np.pi)
