"""The regression of a published method on sample sets, and which one a method takes."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.checks import of_scores
from autoeval.estimation.estimate import Estimate, estimate_rows
from autoeval.estimation.score_table import SEED, pair_rows, sources
from autoeval.model.pair_table import leave_one_group_out
from autoeval.model.prediction_interval import check_level
from autoeval.model.regression import DEFAULT_METHOD, MIN_SOURCES, Regression
from autoeval.stability.methods import Method, make_method, readable
from autoeval.stability.methods.published_estimate import PublishedEstimate
from autoeval.stability.methods.score_rows import (
    Rows,
    check_features,
    check_score_table,
    check_target,
    check_varies,
    sample_rows,
)
from autoeval.stability.methods.source_intervals import (
    inside,
    sampling_error,
    source_interval,
    widened,
)
from autoeval.targets import find_target


class SourceRegression:
    """Regresses accuracy on scores, one regressor for each dropout repeat.

    The estimate is the mean over repeats (Yang et al. 2024, section 5.3). With three sources or
    more, the errors on each source by the others give the interval.

    training_range_: smallest and largest value in the sample sets of each feature it reads.
    """

    def __init__(self, method: str = "fused", *, target: str = "mAP", level: float = 0.9) -> None:
        self.method = method
        self.target = target
        self.level = level

    def fit(self, table: pd.DataFrame) -> Self:
        """Fit on a score table."""
        target = find_target(self.target)
        check_level(self.level)
        features = readable(make_method(self.method), table)
        check_score_table(table, (*features, self.target))
        check_target(table[self.target], target)
        check_varies(sample_rows(table), features)
        self.table_ = table.reset_index(drop=True)
        self.sources_ = sources(table)
        rows = Rows.of(table, (*features, self.target))
        self._full = self._fit_repeats(rows)
        self._left_out: list[dict[int, Method]] = []
        self.residuals_ = np.zeros(0)  # absolute errors on the own images of left-out sources
        if len(self.sources_) >= MIN_SOURCES:
            residuals = []
            source, _ = pd.factorize(rows["source"])  # numbered in the order of `sources_`
            for rest, held_out in leave_one_group_out(source):
                fitted = self._fit_repeats(rows.where(rest))
                seeds = rows.where(held_out).of_kind(SEED)
                residuals.append(
                    abs(seeds[self.target][0] - self._per_repeat(fitted, seeds).mean())
                )
                self._left_out.append(fitted)
            self.residuals_ = np.array(residuals)
        self.training_range_ = {
            name: (float(sample_rows(table)[name].min()), float(sample_rows(table)[name].max()))
            for name in features
            if any(name in method.selected_ for method in self._full.values())
        }
        return self

    def predict_rows(self, rows: pd.DataFrame, *, backbone: str = "ResNet") -> PublishedEstimate:
        """Estimate from the scores of one set of images.

        rows: one row for each repeat: ``repeat``, ``n_images``, ``skipped_share`` and the features.
            Where `Observer.rows` drew the images again, the sampling error widens the interval.
        """
        self._check_fitted()
        scores = self._scores(rows)
        per_repeat = self._per_repeat(self._full, scores)
        raw = float(np.mean(per_repeat))
        left_out = np.array([self._per_repeat(fit, scores).mean() for fit in self._left_out])
        by_source = source_interval(raw, left_out, self.residuals_, level=self.level)
        features = {name: float(rows[name].mean()) for name in self.training_range_}
        target = find_target(self.target)
        value = float(target.clip(raw))
        n_images = int(rows["n_images"].iloc[0])
        sampling = sampling_error(rows, tuple(features), partial(self._per_repeat, self._full))
        units = sampling.n_units
        interval = widened(by_source, raw, sampling.std, n_images=units, level=self.level)
        interval, by_source = (inside(i, raw, most=target.upper) for i in (interval, by_source))
        skipped = float(rows["skipped_share"].mean()) if "skipped_share" in rows else math.nan
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
            warnings=of_scores(
                value,
                features,
                self.training_range_,
                n_images=n_images,
                skipped_share=skipped,
                backbone=backbone,
                target=target.name,
            )
            + sampling.warnings,
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
        """Return the estimate of each repeat, clipped to what is possible."""
        scores = self._scores(rows)
        return find_target(self.target).clip(self._per_repeat(self._full, scores))

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of `table_` by a regressor that has not seen its source, shape (N,).

        NaN with fewer than three sources, and where a feature is not finite.
        """
        rows = self._scores(self.table_)
        estimates = np.full(len(rows), np.nan)
        for source, fitted in zip(self.sources_, self._left_out, strict=False):
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

    def fit(self, table: pd.DataFrame) -> Self:  # type: ignore[override]
        """Fit on the pairs of a score table: those of its sources' own images."""
        return super().fit(pair_rows(table))

    def predict_rows(self, rows: pd.DataFrame) -> Estimate:
        """Estimate from the scores of one set of images."""
        return estimate_rows(self, pair_rows(rows))

    def predict_repeats(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the estimate for each repeat: no score that it reads differs between them."""
        repeats = rows["repeat"].nunique() if "repeat" in rows else 1
        return np.full(repeats, self.predict_mean(self.site_rows(pair_rows(rows))).value)


AnyRegression = PairRegression | SourceRegression


def make_regression(method: str, *, target: str = "mAP", level: float = 0.9) -> AnyRegression:
    """Make the regression that a method takes: on pairs for ``bayes``, else on sample sets."""
    if method == DEFAULT_METHOD:
        return PairRegression(target=target, level=level)
    return SourceRegression(method, target=target, level=level)
