"""The regression of a published method on sample sets: the estimate, and its interval.

The interval comes from the errors on left-out sources, and is widened by the sampling error of few
images.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import stdtrit
from typing_extensions import Self

from autoeval.accuracy.measures import bootstrap_std, find_target
from autoeval.errors import InputError
from autoeval.estimation.category_scores import pair_rows, sources
from autoeval.estimation.checks import few_blocks, of_scores
from autoeval.estimation.estimate import Estimate, estimate_rows
from autoeval.model.mixed_model import check_level
from autoeval.model.pair_table import SEED, leave_one_group_out
from autoeval.model.regression import DEFAULT_METHOD, MIN_SOURCES, Regression
from autoeval.stability.methods import Method, make_method, readable
from autoeval.stability.methods.score_rows import (
    Rows,
    check_features,
    check_score_table,
    check_target,
    check_varies,
    groups_of,
    sample_rows,
)
from autoeval.stability.passes.tally import N_BLOCKS, RESAMPLED
from autoeval.words import Notice

MANY_SKIPPED = 0.2  # share of (image, repeat) with no box before or after dropout
MANY_UNDEFINED = 0.05
FINEST = 0.005


class SourceRegression:
    """Regresses accuracy on scores, one regressor for each dropout repeat.

    The estimate is the mean over repeats (Yang et al. 2024, section 5.3). With three groups of
    sources or more, the errors on each source by the other groups give the interval.

    Parameters
    ----------
    method : str
        See `make_method`.
    target : str
        Column of the accuracy.
    level : float
        Nominal coverage of the interval.

    Attributes
    ----------
    table_ : DataFrame
        The score table of the fit.
    sites_ : list of str
        Its sources.
    residuals_ : ndarray
        Absolute error on the own images of each source when its group is left out, NaN where they
        have no accuracy or no estimate; empty with fewer than three groups.
    training_range_ : dict of str to (float, float)
        Smallest and largest value in the sample sets of each feature it reads.
    """

    def __init__(self, method: str = "fused", *, target: str = "mAP", level: float = 0.9) -> None:
        self.method = method
        self.target = target
        self.level = level

    def fit(self, table: pd.DataFrame) -> Self:
        """Fit on a score table.

        Parameters
        ----------
        table : DataFrame
            A score table.

        Raises
        ------
        InputError
            If there is no such method, target or level, the table lacks what it needs, accuracies
            are impossible, or features do not vary.
        """
        target = find_target(self.target)
        check_level(self.level)
        features = readable(make_method(self.method), table)
        check_score_table(table, (*features, self.target))
        check_target(table[self.target], target)
        samples = sample_rows(table[["source", "kind", *features]])
        check_varies(samples, features)
        self.table_ = table.reset_index(drop=True)
        self.sites_ = sources(table)
        group_of = groups_of(table)
        self._groups = np.array([group_of[str(name)] for name in self.sites_])
        rows = Rows.of(table, (*features, self.target))
        self._full = self._fit_repeats(rows)
        self._left_out: list[dict[int, Method]] = []  # one a source, fitted without its group
        self.residuals_ = np.zeros(0)  # absolute errors on the own images of left-out sources
        if len(np.unique(rows["group"])) >= MIN_SOURCES:
            without = dict[str, tuple[dict[int, Method], float]]()
            for rest, held_out in leave_one_group_out(rows["group"]):
                fitted, own_rows = self._fit_repeats(rows.where(rest)), rows.where(held_out)
                for name in np.unique(own_rows["source"]):
                    seeds = own_rows.where(own_rows["source"] == name).of_kind(SEED)
                    error = math.nan
                    if len(seeds):
                        error = abs(seeds[self.target][0] - self._per_repeat(fitted, seeds).mean())
                    without[name] = fitted, error
            self._left_out = [without[name][0] for name in self.sites_]
            self.residuals_ = np.array([without[name][1] for name in self.sites_])
        self.training_range_ = {
            name: (float(samples[name].min()), float(samples[name].max()))
            for name in features
            if any(name in method.selected_ for method in self._full.values())
        }
        return self

    def predict_rows(self, rows: pd.DataFrame, *, backbone: str = "ResNet") -> PublishedEstimate:
        """Estimate from the scores of one set of images.

        Parameters
        ----------
        rows : DataFrame
            One row for each repeat: ``repeat``, ``n_images``, ``skipped_share`` and the features.
            Where the pass drew the images again (`scored_rows`), the sampling error widens the
            interval.
        backbone : str
            Class name of the backbone, for a warning.

        Raises
        ------
        InputError
            If it is not fitted, or the rows lack a feature or have a repeat that the fit had not.
        """
        self._check_fitted()
        scores = self._scores(rows)
        per_repeat = self._per_repeat(self._full, scores)
        raw = float(np.mean(per_repeat))
        left_out = np.array([self._per_repeat(fit, scores).mean() for fit in self._left_out])
        groups = self._groups[: len(self.residuals_)]
        by_source = source_interval(raw, left_out, self.residuals_, groups=groups, level=self.level)
        features = {name: float(rows[name].mean()) for name in self.training_range_}
        target = find_target(self.target)
        value = float(target.clip(raw))
        n_images = int(rows["n_images"].iloc[0])
        sampling = sampling_error(rows, tuple(features), partial(self._per_repeat, self._full))
        units = sampling.n_units
        interval = widened(by_source, raw, sampling.std, n_images=units, level=self.level)
        interval = inside(interval, raw, most=target.upper)
        by_source = inside(by_source, raw, most=target.upper)
        notices = of_scores(
            value,
            features,
            self.training_range_,
            n_images=n_images,
            backbone=backbone,
            target=target.name,
        )
        skipped = float(rows["skipped_share"].mean()) if "skipped_share" in rows else 0.0
        if skipped > MANY_SKIPPED:
            text = (
                f"{skipped:.0%} of the images have no box before or after dropout: their stability "
                "is 0, or is left out, as the preset says"
            )
            notices += (Notice("images-skipped", text, severity="note"),)
        return PublishedEstimate(
            value=value,
            std=float(target.clip(per_repeat).std()),
            lower=interval.lower,
            upper=interval.upper,
            level=self.level,
            interval_method=interval.method,
            target=self.target,
            method=self.method,
            n_images=n_images,
            features=features,
            warnings=notices + sampling.warnings,
            sampling_std=sampling.std,
            source_lower=by_source.lower,
            source_upper=by_source.upper,
        )

    @property
    def features_(self) -> tuple[str, ...]:
        """Scores that any of its regressors reads, those behind the interval included."""
        self._check_fitted()
        fits = [self._full, *self._left_out]
        names = {n for fit in fits for method in fit.values() for n in method.selected_}
        return tuple(sorted(names))

    def predict_repeats(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the estimate of each repeat, in ascending order, clipped to what is possible.

        Parameters
        ----------
        rows : DataFrame
            See `predict_rows`.

        Raises
        ------
        InputError
            See `predict_rows`.
        """
        scores = self._scores(rows)
        return find_target(self.target).clip(self._per_repeat(self._full, scores))

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of `table_` by a regressor that has not seen its group, shape (N,).

        NaN with fewer than three groups, and where a feature is not finite.
        """
        rows = self._scores(self.table_)
        estimates = np.full(len(rows), np.nan)
        for source, fitted in zip(self.sites_, self._left_out, strict=False):
            for repeat, method in fitted.items():
                chosen = (rows["source"] == source) & (rows["repeat"] == repeat)
                estimates[chosen] = method.predict(rows.where(chosen))
        return find_target(self.target).clip(estimates)

    def _check_fitted(self) -> None:
        if not hasattr(self, "_full"):
            raise InputError(f"This regression by '{self.method}' is not fitted: `fit` it first.")

    def _scores(self, rows: pd.DataFrame) -> Rows:
        """Take the columns that any of the fitted regressors reads."""
        check_features(rows, self.features_)
        return Rows.of(rows, self.features_)

    def _fit_repeats(self, rows: Rows) -> dict[int, Method]:
        return {
            int(repeat): make_method(self.method).fit(
                rows.where(rows["repeat"] == repeat), self.target
            )
            for repeat in np.unique(rows["repeat"])
        }

    def _per_repeat(self, fitted: dict[int, Method], rows: Rows) -> np.ndarray:
        """Estimate each row by the regressor of its repeat, shape (n_repeats,)."""
        unknown = sorted({int(repeat) for repeat in rows["repeat"]} - set(fitted))
        if unknown:
            raise InputError(
                f"Expected dropout repeats out of {sorted(fitted)} but got {unknown}: "
                "estimate with at most as many repeats as the estimator was fitted with."
            )
        return np.concatenate(
            [
                fitted[int(repeat)].predict(rows.where(rows["repeat"] == repeat))
                for repeat in np.unique(rows["repeat"])
            ]
        )


class PairRegression(Regression):
    """The default regression on a score table with repeats, compared with published methods."""

    def fit(self, table: pd.DataFrame) -> Self:
        """Fit on the pairs of a score table: those of its sources' own images.

        Parameters
        ----------
        table : DataFrame
            A score table.

        Raises
        ------
        InputError
            See `Regression.fit`.
        """
        return super().fit(pair_rows(table))

    def predict_rows(self, rows: pd.DataFrame) -> Estimate:
        """Estimate from the scores of one set of images.

        Parameters
        ----------
        rows : DataFrame
            One for each repeat; the first is read.
        """
        return estimate_rows(self, pair_rows(rows))

    def predict_repeats(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the estimate for each repeat: no score that it reads differs between them.

        Parameters
        ----------
        rows : DataFrame
            One for each repeat.
        """
        repeats = rows["repeat"].nunique() if "repeat" in rows else 1
        return np.full(repeats, self.predict_mean(self.site_rows(pair_rows(rows))).value)


AnyRegression = PairRegression | SourceRegression


def make_regression(method: str, *, target: str = "mAP", level: float = 0.9) -> AnyRegression:
    """Make the regression that a method takes: on pairs for ``bayes``, else on sample sets.

    Parameters
    ----------
    method : str
        See `make_method`.
    target : str
        Column of the accuracy.
    level : float
        Nominal coverage of the interval.
    """
    if method == DEFAULT_METHOD:
        return PairRegression(target=target, level=level)
    return SourceRegression(method, target=target, level=level)


@dataclass(frozen=True)
class SamplingError:
    """Sampling error of an estimate.

    Parameters
    ----------
    std : float
        Its standard deviation over draws of the images; NaN where it is not known.
    warnings : tuple of Notice
        What it leaves out.
    n_units : int
        Images, or blocks of neighbouring frames, that were drawn as independent.
    """

    std: float = math.nan
    warnings: tuple[Notice, ...] = ()
    n_units: int = 0


@dataclass(frozen=True)
class Interval:
    """A prediction interval.

    Parameters
    ----------
    lower, upper : float
        Its ends; NaN where there is none.
    method : str
        How it was made, or the reason for having none.
    """

    lower: float
    upper: float
    method: str


def sampling_error(
    rows: pd.DataFrame, features: Sequence[str], predict: Callable[[Rows], np.ndarray]
) -> SamplingError:
    """Find the sampling error of the estimate that a regressor makes from a pass.

    Parameters
    ----------
    rows : DataFrame with R rows
        One a repeat, with the column `RESAMPLED`; without it nothing is known.
    features : sequence of str
        What the regressor reads. Those without a bootstrap keep their value of all images.
    predict : callable
        From rows to an array of shape (R * B,): B estimates for each repeat in turn.
    """
    if RESAMPLED not in rows:
        return SamplingError()
    fixed = [name for name in features if name not in rows[RESAMPLED].iloc[0]]
    n_images = int(rows["n_images"].iloc[0])
    n_units = int(rows[N_BLOCKS].iloc[0]) if N_BLOCKS in rows else n_images
    if fixed and len(fixed) == len(features):
        return SamplingError(math.nan, tuple(_warnings(fixed, n_images, n_units, 0)), n_units)
    parts = []
    for row in rows.sort_values("repeat").to_dict("records"):
        drawn = row[RESAMPLED]
        columns = {name: (row | drawn)[name] for name in ("repeat", *features)}
        parts.append(pd.DataFrame(columns, index=range(len(next(iter(drawn.values()))))))
    drawn_again = Rows.of(pd.concat(parts), features)
    draws = predict(drawn_again).reshape(len(rows), -1).mean(axis=0)
    undefined = float(np.isnan(draws).mean())
    warnings = tuple(_warnings(fixed, n_images, n_units, undefined))
    return SamplingError(bootstrap_std(draws, n_units), warnings, n_units)


def _warnings(
    fixed: Sequence[str], n_images: int, n_units: int, undefined: float
) -> Iterator[Notice]:
    if fixed:
        yield (
            Notice(
                "sampling-error-left-out",
                f"the interval leaves out the sampling error of {', '.join(fixed)}, which cannot "
                "be computed for other draws of the images",
            )
        )
    if n_units < 2:
        reason = "all images are neighbours in time" if n_images > 1 else "there is one image"
        yield (
            Notice(
                "sampling-error-left-out",
                f"{reason}: the sampling error is unknown, and the interval leaves it out",
            )
        )
    else:
        yield from few_blocks(n_images, n_units)
    if MANY_UNDEFINED < undefined < 1:
        yield (
            Notice(
                "draws-without-estimate",
                f"{undefined:.0%} of the draws of these images give no estimate: it hangs on a "
                "few of them, and the interval may be too narrow",
            )
        )


def source_interval(
    estimate: float,
    left_out: np.ndarray,
    residuals: np.ndarray,
    *,
    groups: np.ndarray | None = None,
    level: float = 0.9,
) -> Interval:
    r"""Interval for the mAP of a new source, from the error on each of m training sources.

    With enough groups k for the level this is the jackknife+ (Barber et al. 2021, equation 1.6),
    which assumes nothing of the errors but that the group of the new source is exchangeable with
    the old ones. Each group weighs :math:`1 / (k + 1)`, divided among its sources, which say little
    more than one of them where they are alike (Lee, Barber & Willett 2023, hierarchical conformal
    prediction). With fewer, the errors are taken to be normal: estimate ± t(k - 1) · rms(residuals)
    with the mean square over groups.

    Parameters
    ----------
    estimate : float
        For the new source.
    left_out : ndarray of shape (m,)
        Estimate for the new source by the regressor fitted without source i and those of its group.
    residuals : ndarray of shape (m,)
        Absolute error of that regressor on source i. A source is left out where either is NaN, as
        without labelled objects of its own.
    groups : ndarray of shape (m,), optional
        Of the sources; by default each is a group of its own.
    level : float
        Nominal coverage.

    Returns
    -------
    Interval
        Not clipped; NaN with fewer than `MIN_SOURCES` groups.

    Examples
    --------
    >>> source_interval(.5, np.full(9, .5), np.arange(9) / 100)
    Interval(lower=0.42, upper=0.58, method='jackknife+')
    """
    known = np.isfinite(residuals) & np.isfinite(left_out)
    groups = (np.arange(len(residuals)) if groups is None else groups)[known]
    left_out, residuals = left_out[known], residuals[known]
    group, different = pd.factorize(groups)
    k, sizes = len(different), np.bincount(group)
    if k < MIN_SOURCES or not math.isfinite(estimate):
        few = f"none: fewer than {MIN_SOURCES} groups of sources"
        reason = few if math.isfinite(estimate) else "none: no estimate"
        return Interval(math.nan, math.nan, reason)
    if round(level * (k + 1), 9) > k:
        spread = math.sqrt(np.mean(np.bincount(group, np.square(residuals)) / sizes))
        reach = float(stdtrit(k - 1, (1 + level) / 2)) * spread
        return Interval(estimate - reach, estimate + reach, "student-t")
    weights = 1 / (k + 1) / sizes[group]
    lower = -_least_with(-(left_out - residuals), weights, level)
    return Interval(lower, _least_with(left_out + residuals, weights, level), "jackknife+")


def _least_with(values: np.ndarray, weights: np.ndarray, level: float) -> float:
    """Return the least of the values up to which the weights sum to `level`."""
    order = np.argsort(values)
    sums = np.round(np.cumsum(weights[order]), 9)
    return float(values[order[np.searchsorted(sums, round(level, 9))]])


def inside(interval: Interval, estimate: float, *, most: float = 1.0) -> Interval:
    r"""Bring an interval into [0, most] without losing it at the edge.

    An estimate outside is in error by at least its distance d to the edge. With v the nearest
    possible value, g the estimate and r the least difference that counts (`FINEST`),

    .. math:: lower' = \max(v - \max(g - lower, r) - d, 0)

    and likewise above, so that the interval holds v, has a width, and is not upside down.

    Parameters
    ----------
    interval : Interval
        Around the estimate.
    estimate : float
        Not clipped.
    most : float
        The greatest possible value, maybe infinite.

    Examples
    --------
    >>> inside(Interval(-.3, -.1, "jackknife+"), -.2)
    Interval(lower=0.0, upper=0.30000000000000004, method='jackknife+')
    """
    if not math.isfinite(interval.lower) or not math.isfinite(estimate):
        return interval
    value = min(max(estimate, 0.0), most)
    off = abs(value - estimate)
    below = max(estimate - interval.lower, FINEST)
    above = max(interval.upper - estimate, FINEST)
    lower, upper = max(value - below - off, 0.0), min(value + above + off, most)
    return replace(interval, lower=lower, upper=upper)


def widened(
    interval: Interval, estimate: float, sampling_std: float, *, n_images: int, level: float = 0.9
) -> Interval:
    r"""Widen an interval by source by the sampling error of a small set of images.

    .. math:: lower' = g - \sqrt{(g - lower)^2 + (t s)^2}

    and likewise above, where g is the estimate, s the standard deviation of it over draws of its N
    images, and t the quantile of Student's distribution with N - 1 degrees of freedom. How much a
    site departs from the regression and which of its images were taken are independent, so their
    variances add; for normal errors this is exact. The residuals of the sources hold the sampling
    error of their own images too, and nothing is taken off for it: the interval errs to the wide
    side, by a factor of about √2 at most.

    Parameters
    ----------
    interval : Interval
        By source, around the estimate.
    estimate : float
        g.
    sampling_std : float
        s, in the unit of the estimate; NaN, where it is not known, changes nothing.
    n_images : int
        Images, or blocks of neighbouring frames, that count as independent.
    level : float
        Nominal coverage.

    Examples
    --------
    >>> wide = widened(Interval(.2, .8, "jackknife+"), .5, .1, n_images=10)
    >>> round(wide.lower, 4), round(wide.upper, 4)
    (0.1484, 0.8516)
    """
    if not math.isfinite(sampling_std) or not math.isfinite(interval.lower):
        return interval
    reach = float(stdtrit(n_images - 1, (1 + level) / 2)) * sampling_std
    below = max(estimate - interval.lower, 0.0)
    above = max(interval.upper - estimate, 0.0)
    return replace(
        interval,
        lower=interval.lower + below - math.hypot(below, reach),
        upper=interval.upper - above + math.hypot(above, reach),
    )


@dataclass(frozen=True, repr=False)
class PublishedEstimate(Estimate):
    """Estimated accuracy of a detector on images without labels, by a published method.

    Parameters
    ----------
    method : str
        Name of the regressor.
    std : float
        Standard deviation of the value over the dropout repeats; 0 for one repeat.
    source_lower, source_upper : float
        The interval without the sampling error of the images, from the errors on left-out sources.
    """

    # fields here, constants of the class in `Estimate`
    method: str = ""  # type: ignore[bad-override]
    std: float = math.nan  # type: ignore[bad-override]
    source_lower: float = math.nan  # type: ignore[bad-override]
    source_upper: float = math.nan  # type: ignore[bad-override]
    is_mean = False  # each category is estimated alone, and so are all together

    @property
    def title(self) -> str:
        """What the value is, in words, with the name of its method."""
        return f"{super().title} by {self.method}"

    def figures(self) -> dict[str, float]:
        """Return the value, its standard deviation and its ends, by the name of the target."""
        return {
            self.target: self.value,
            f"{self.target}_std": self.std,
            **super().figures(),
        }
