r"""One look at a site: its latest windows against its own baseline.

Six numbers of the boxes are tested, of all categories together and of each (`TESTED`): how many
boxes an image has, likely ones and all, their mean and best true-positive probability and the sum
of its squares, and the share of images without a likely box; each in the last 1, 2, 4 and 8
windows, for sudden and for slow changes. Where they moved further than sampling explains, the boxes
*changed*; where also the interval of the change of average precision, predicted from the boxes,
lies below 0, over the latest window or the last 2, 4 or 8 together, the accuracy *fell*. Most of
the false alarms that are allowed are spent on numbers that move as they do when a detector loses
objects (`DriftRule.on_falls`).

Neighbouring images of a camera show much the same, so that their number says too much. Where the
baseline has several windows, the variance between windows is what a new window has to be compared
with: it holds whatever makes images of one window alike. Otherwise images next to each other are
taken together in blocks of 1, 2, 4, ... (batch means, Flegal & Jones 2010), and the length counts
at which the variance of the mean comes out greatest. Where neighbouring blocks are still alike,
with a correlation of r, the variance is that of an autoregressive series, (1 + r) / (1 - r) times
as large. Scenes that are longer than the blocks cannot be seen in so few images: their variance
(`DriftRule.scenes`) is added, as the share of the variance of one image that it has at other sites.
What is tested was chosen at real sites by `benchmarks/changes.py rule`.

A site that does not change raises a false alarm with a probability of at most alpha, however often
it is looked at: look j spends :math:`\alpha / (j (j + 1))` of it, which add up to alpha (alpha
spending by Bonferroni's inequality, Lan & DeMets 1983; it needs no independence of the looks, which
share their baseline).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from autoeval.monitoring.box_change import AT, Change, ChangeModel, change_with_interval

FEWEST_WINDOWS = 5  # of a baseline whose variance between windows counts
FEWEST_BLOCKS = 16  # of a block length that is tried: the variance of fewer says little
MOST_ALIKE, ONE_SIDED = 0.95, 1.645
SCALES = (1, 2, 4, 8)
LEAST_VARIANCE = 1e-4  # of a probability, or of the predicted change, of one image
TINY, HIGHEST = 1e-12, 0.99  # probabilities between which tangents are good for
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
FALLS_BY_RISING = "empty"  # the other numbers fall when a detector loses objects
Numbers = Mapping[str, np.ndarray]
"""`box_numbers` of the images of a window, by category; that of all is `ALL`."""


@dataclass(frozen=True)
class Difference:
    """The mean of later images less that of a baseline.

    error: standard error if nothing changed: by the variance that both have around their means.
    units: how many independent blocks or windows were counted in both.
    dof: degrees of freedom of the error.
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
        """Half the width of the interval at a level."""
        return float(stdtrit(self.dof, (1 + level) / 2) * self.error)


def compare_images(
    before: np.ndarray, after: np.ndarray, least: float = 0.0, scenes: float = 0.0
) -> Difference:
    """Compare the means of two series of images, (N,) and (M,), in the order of time.

    least: variance of a single image that is taken at least, as of a share that was always 0.
    scenes: variance that the difference has more, in variances of one image; see `DriftRule`.
    """
    value = float(after.mean() - before.mean())
    best = _at_length(1, before, after, value, least)
    length = 2
    while len(before) // length + len(after) // length - 2 >= FEWEST_BLOCKS:
        longer = _at_length(length, before, after, value, least)
        best = longer if longer.error > best.error else best
        length *= 2
    squares = sum(float(((series - series.mean()) ** 2).sum()) for series in (before, after))
    of_image = max(squares / max(len(before) + len(after) - 2, 1), least)
    return replace(best, error=float(np.hypot(best.error, np.sqrt(scenes * of_image))))


def _at_length(
    length: int, before: np.ndarray, after: np.ndarray, value: float, least: float
) -> Difference:
    """Compare two series by blocks of one length."""
    parts = [_block_means(series, length) for series in (before, after)]
    counts = [len(part) for part in parts]
    around = [part - part.mean() for part in parts if len(part)]
    dof = max(sum(counts) - 2, 1)
    squares = sum(float((part**2).sum()) for part in around)
    products = sum(float((part[1:] * part[:-1]).sum()) for part in around)
    alike = min(products / squares, MOST_ALIKE) if squares > 0 else 0.0
    if alike < ONE_SIDED / np.sqrt(sum(counts)):  # as blocks that are independent may seem
        alike = 0.0
    longer = (1 + alike) / (1 - alike)
    variance = max(length * squares / dof * longer, least)  # of one image that had no neighbours
    error = float(np.sqrt(variance * (1 / len(before) + 1 / len(after))))
    units = (max(round(counts[0] / longer), 1), max(round(counts[1] / longer), 1))
    return Difference(value, error, max(dof / longer, 1.0), units)


def compare_windows(
    before: np.ndarray, after: np.ndarray, steady: np.ndarray, least: float = 0.0
) -> Difference:
    """Compare the mean of later windows (K,) with that of a baseline's windows (W,).

    steady: windows whose variance counts, two or more: those of the baseline, and later ones.
    least: variance of a window that is taken at least.
    """
    n_before, n_after = np.size(before), np.size(after)
    variance = max(float(np.var(steady, ddof=1)), least)
    error = np.sqrt(variance * (1 / n_before + 1 / n_after))
    value = float(np.mean(after) - np.mean(before))
    return Difference(value, float(error), np.size(steady) - 1.0, (n_before, n_after))


def _block_means(series: np.ndarray, length: int) -> np.ndarray:
    n = len(series) // length
    return series[: n * length].reshape(n, length).mean(axis=1)


@dataclass(frozen=True)
class DriftRule:
    """What a look tests; `benchmarks/changes.py rule` chooses among rules at real sites.

    tested: keys of `TESTED`.
    scenes: variance between the scenes of two windows, in variances of one image.
    on_falls: share of the false alarms that is spent on falls.
    """

    tested: tuple[str, ...] = tuple(TESTED)
    scenes: float = 0.02
    on_falls: float = 0.8


RULE = DriftRule()


@dataclass(frozen=True)
class Drift:
    """One number of the boxes at the baseline and in the latest windows.

    p: probability of so large a difference if nothing changed, over all scales.
    """

    name: str
    category: str
    before: float
    after: float
    p: float


@dataclass(frozen=True)
class SiteLook:
    """What one look found.

    number: from 1 on, after the baseline.
    changes: over the last windows of each of `SCALES` that there are; none without an estimate.
    p: probability of such evidence if nothing changed, over all tests and scales.
    units: independent blocks of images, or windows, of the baseline and of the latest window.
    of: what these are.
    """

    number: int
    changes: tuple[Change, ...]
    p: float
    units: tuple[int, int]
    of: str
    drifts: tuple[Drift, ...] = field(default_factory=tuple)

    def changed(self, false_alarms: float) -> bool:
        """Whether the boxes moved further than sampling explains."""
        return self.p <= false_alarms / (self.number * (self.number + 1))

    @property
    def change(self) -> Change | None:
        """The change of the latest window; None without an estimate."""
        return self.changes[0] if self.changes else None

    @property
    def fall(self) -> tuple[int, Change] | None:
        """The fewest last windows whose interval is below 0 as a whole, and their change."""
        found = zip(SCALES, self.changes, strict=False)
        return next(((k, change) for k, change in found if change.upper < 0), None)

    def fell(self, false_alarms: float) -> bool:
        """Whether the boxes changed, and the accuracy with them: by the whole interval."""
        return self.fall is not None and self.changed(false_alarms)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SiteLook:
        """Read what `to_dict` wrote."""
        return cls(
            **{
                **values,
                "changes": tuple(Change(**change) for change in values["changes"]),
                "units": tuple(values["units"]),
                "drifts": tuple(Drift(**drift) for drift in values["drifts"]),
            }
        )


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

    baseline, later: windows in the order of time; the last is the latest.
    steady: means of the numbers in the windows that did not move, those of the baseline first.
    model: None where the target is no average precision; then no change is estimated.
    level_before: accuracy at the baseline, in [0, 1].
    """
    scales = [Scale(baseline, later[-k:], steady) for k in SCALES if k <= len(later)]
    latest, changes = scales[0], list[Change]()
    if model is not None and np.isfinite(level_before):
        changes = [scale.change(model, level_before, level) for scale in scales]
    drifts, p = drift_test(scales)
    units = latest.compare(ALL, _unit("boxes"), 0.0).units
    of = "windows" if latest.by_windows else "blocks of images"
    return SiteLook(number, tuple(changes), p, units, of, tuple(drifts))


def drift_test(scales: Sequence[Scale], rule: DriftRule = RULE) -> tuple[list[Drift], float]:
    """Test the boxes of the latest windows against the baseline.

    Returns the tests of single numbers, and the probability of such evidence if nothing changed,
    over all of them: half of it is for all categories together, half for single ones.
    """
    by_category = {category: _drifts(scales, category, rule) for category in scales[0].later[-1]}
    whole, *single = (p for _, p in by_category.values())
    p = min(1.0, 2 * min([whole, *(len(single) * p for p in single)])) if single else whole
    return [drift for found, _ in by_category.values() for drift in found], p


class Scale:
    """A baseline beside the last few windows; parameters as in `look_at`."""

    def __init__(
        self,
        baseline: Sequence[Numbers],
        later: Sequence[Numbers],
        steady: Sequence[Mapping[str, np.ndarray]],
    ) -> None:
        self.baseline, self.later, self.steady = baseline, later, steady
        self.by_windows = len(baseline) >= FEWEST_WINDOWS
        self._window_means: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def images(self, category: str, *, later: bool) -> np.ndarray:
        """Return the numbers of all images of one side; none of a category that is not there."""
        windows = self.later if later else self.baseline
        return np.concatenate([window[category] for window in windows])

    def mean(self, category: str, *, later: bool) -> np.ndarray:
        """Return the mean of the numbers, over images."""
        return self.images(category, later=later).mean(axis=0)

    def window_means(self, category: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the means of each window: baseline, later and steady ones, (W, len(NUMBERS))."""
        if category not in self._window_means:
            before, after = (
                np.array([window[category].mean(axis=0) for window in windows])
                for windows in (self.baseline, self.later)
            )
            steady = np.array([means[category] for means in self.steady])
            self._window_means[category] = before, after, steady
        return self._window_means[category]

    def change(self, model: ChangeModel, level_before: float, level: float) -> Change:
        """Estimate the change of average precision, with the interval of a level."""
        before, after = self.mean(ALL, later=False), self.mean(ALL, later=True)
        weights = model.gradient(before, after, level_before)
        return change_with_interval(
            model.predict(before, after, level_before),
            self.compare(ALL, weights, LEAST_VARIANCE).half_width(level),
            level_before,
            level,
        )

    def compare(
        self, category: str, weights: np.ndarray, least: float, scenes: float = RULE.scenes
    ) -> Difference:
        """Compare a weighted sum of the numbers."""
        if self.by_windows:
            before, after, steady = (means @ weights for means in self.window_means(category))
            n_images = float(np.mean([len(window[category]) for window in self.later]))
            return compare_windows(before, after, steady, least / n_images)
        before, after = (self.images(category, later=later) @ weights for later in (False, True))
        several = (1 / len(self.baseline) + 1 / len(self.later)) / 2  # windows show other scenes
        return compare_images(before, after, least, scenes * several)


def _drifts(scales: Sequence[Scale], category: str, rule: DriftRule) -> tuple[list[Drift], float]:
    """Test every number of a category at all scales; return the tests and what they say together.

    Numbers of one category move together: they are combined at each scale and in each direction by
    their mean as Cauchy variables (Liu & Xie 2020), which holds whatever their dependence, and the
    scales and directions by Bonferroni's inequality, weighted by `DriftRule.on_falls`.
    """
    latest = scales[0]
    before, after = (latest.mean(category, later=later) for later in (False, True))
    both = np.concatenate([latest.images(category, later=later) for later in (False, True)])
    # Laplace's rule: a share that was 0 so far still varies
    share = (both[:, AT["empty"]].sum() + 1) / (len(both) + 2)
    least = {"empty": share * (1 - share)}
    found = [
        {
            name: scale.compare(category, _unit(name), least.get(name, LEAST_VARIANCE), rule.scenes)
            for name in rule.tested
        }
        for scale in scales
    ]
    drifts = []
    for name in rule.tested:
        shown = AT[SHOWN.get(name, name)]
        p = len(scales) * min(of_scale[name].p_two_sided for of_scale in found)
        drifts.append(Drift(name, category, float(before[shown]), float(after[shown]), min(1.0, p)))
    return drifts, min(
        1.0, len(scales) * min(_p_of_scale(of_scale, rule.on_falls) for of_scale in found)
    )


def _p_of_scale(found: Mapping[str, Difference], on_falls: float) -> float:
    """Return the probability of what all numbers of one scale say, over both directions."""
    falls, rises = [], []
    for name, difference in found.items():
        ends = difference.p_lower, difference.p_upper
        fall, rise = ends[::-1] if name == FALLS_BY_RISING else ends
        falls.append(fall)
        rises.append(rise)
    fall, rise = (_combined(np.array(p)) for p in (falls, rises))
    return min(1.0, fall / on_falls, rise / (1 - on_falls))


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


def _unit(name: str) -> np.ndarray:
    weights = np.zeros(len(AT))
    weights[AT[name]] = 1.0
    return weights
