"""Several new sites side by side: what is not known of the line is the same for all of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from autoeval.estimation.bayesian_regression import NEW, BayesianRegression
from autoeval.estimation.known_site import SITE
from autoeval.estimation.nothing_found import nothing_over, without_boxes
from autoeval.estimation.pair_table import category_weights, counted_rows
from autoeval.estimation.regression_estimate import category_bounds
from autoeval.labels.value_with_error import quantile
from autoeval.model import PredictionInterval, mean_of_possible, predict_intervals

AT_ONCE = 32  # pairs whose covariance is looked at together, where they may be many


class NewSites:
    """The accuracies at K new sites, each the mean over its categories.

    Each site counts as a group of its own: what is particular to it is independent of the others,
    the uncertainty of the line through the known sites is shared. Cameras of one owner may be more
    alike than that; the order is then less certain than it could be.

    rows: one row for each site and category: ``site``, ``category``, ``n_images`` and the scores.
    unseen: of each site; see `BayesianRegression.predict`. 0 by default.
    fitted_sites: of sites of the fit their source, see `known_site`; drawn independently of the
        others.
    """

    def __init__(
        self,
        estimator: BayesianRegression,
        rows: pd.DataFrame,
        *,
        level: float = 0.9,
        unseen: Mapping[str, float] | None = None,
        fitted_sites: Mapping[str, str] | None = None,
    ) -> None:
        self.estimator = estimator
        self.level = level
        self.unseen = dict(unseen or {})
        self.fitted_sites = dict(fitted_sites or {})
        self.names = list(dict.fromkeys(rows["site"]))
        self._rows = rows

    def predict(self) -> list[PredictionInterval]:
        """Return the value and the interval of each site, those that it has alone."""
        intervals = []
        for k in range(0, len(self.names), AT_ONCE):
            names = self.names[k : k + AT_ONCE]
            rows = self._of(names)
            average = self._average(rows)
            predicted = self.estimator.distribution(rows, average)
            values = self._values(rows, average)
            intervals += predict_intervals(predicted.blurred(self._stds(names)), self.level, values)
        none_over = self.none_over
        return [
            self._known(name)
            if name in self.fitted_sites
            else without_boxes(self.estimator.target)
            if none
            else interval
            for name, interval, none in zip(self.names, intervals, none_over, strict=True)
        ]

    def predict_categories(self) -> pd.DataFrame:
        """Return ``site``, ``category``, ``value``, ``lower``, ``upper`` of each that counts."""
        parts = []
        for name in self.names:
            rows = self._of([name])
            if name in self.fitted_sites:
                rows = rows.assign(**{SITE: self.fitted_sites[name]})
            intervals = self.estimator.predict(rows, unseen=self.unseen.get(name, 0.0))
            parts += [
                {"site": name, "category": category, **category_bounds(interval)}
                for category, interval, counts in zip(
                    rows["category"], intervals, counted_rows(rows), strict=True
                )
                if counts
            ]
        return pd.DataFrame(parts)

    def draw(self, *, draws: int, seed: int = 0) -> np.ndarray:
        """Draw the accuracies of all sites together, shape (draws, K), not cut at 0 and 1.

        NaN for precision at a site where no box is over the threshold.
        """
        rows = self._of(self.names)
        drawn, average = self.estimator.draw(rows, draws=draws, seed=seed), self._average(rows)
        if average is not None:
            drawn = drawn @ average.T + self._moved(average)
        stds = self._stds(self.names)
        if stds.any():
            drawn = drawn + stds * np.random.default_rng([seed, 1]).normal(size=drawn.shape)
        rng, unit = np.random.default_rng([seed, 2]), quantile(self.level, np.inf)
        for k, name in enumerate(self.names):
            if name in self.fitted_sites:
                interval = self._known(name)
                drawn[:, k] = rng.normal(interval.raw, interval.reach / unit, draws)
        drawn[:, self.none_over] = without_boxes(self.estimator.target).value
        return drawn

    @property
    def none_over(self) -> np.ndarray:
        """At which sites no box is over the threshold of the target, (K,), bool."""
        none = pd.Series(nothing_over(self._rows, self.estimator.target))
        none |= ~counted_rows(self._rows)
        by_site = none.groupby(self._rows["site"].to_numpy(), sort=False).all()
        return by_site.reindex(self.names).to_numpy(bool)

    def _values(self, rows: pd.DataFrame, average: np.ndarray | None) -> np.ndarray:
        """Return the mean of the possible accuracies of the categories of each site, (K,)."""
        means = self.estimator.distribution(rows).mean
        return np.clip(means, 0, 1) if average is None else mean_of_possible(means, average)

    def _moved(self, average: np.ndarray) -> np.ndarray:
        """Return how far the mean of possible accuracies lies from the possible mean, (K,)."""
        moved = []
        for start in range(0, len(self.names), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            rows, weights = self._of(self.names[part]), average[part]
            weights = weights[:, self._rows_in(part)]
            means = self.estimator.distribution(rows).mean
            moved.append(mean_of_possible(means, weights) - np.clip(weights @ means, 0, 1))
        return np.concatenate(moved)

    def _rows_in(self, part: slice) -> np.ndarray:
        """Return which rows are of some of the sites, (M,) bool."""
        return self._rows["site"].isin(self.names[part]).to_numpy()

    def _known(self, name: str) -> PredictionInterval:
        """Estimate a site of the fit."""
        rows = self._of([name]).assign(**{SITE: self.fitted_sites[name]})
        return self.estimator.predict_mean(rows, unseen=self.unseen.get(name, 0.0))

    def _stds(self, names: list[str]) -> np.ndarray:
        """Return the standard deviation of the error by missing scores, (K,)."""
        shares = np.array([self.unseen.get(name, 0.0) for name in names])
        return shares * self.estimator.accuracy_std_

    def _of(self, names: list[str]) -> pd.DataFrame:
        rows = self._rows[self._rows["site"].isin(names)]
        place = NEW + rows["site"].astype(str)
        return rows.assign(group=place, source=place)

    def _average(self, rows: pd.DataFrame) -> np.ndarray | None:
        """Return the weights (K, M) of rows at each site; None where all have one row."""
        site, names = pd.factorize(rows["site"])
        if len(names) == len(rows):
            return None
        weights = np.zeros((len(names), len(rows)))
        for k in range(len(names)):
            weights[k, site == k] = category_weights(rows[site == k], self.estimator.target)
        return weights
