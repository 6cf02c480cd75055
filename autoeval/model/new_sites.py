"""Several new sites side by side: what is not known of the line is the same for all of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import ndtri

from autoeval.model.mixed_model import (
    PredictionInterval,
    predict_intervals,
)
from autoeval.model.pair_table import (
    SITE,
    Table,
    category_weights,
    columns,
    counted_rows,
    n_rows,
    names,
    nothing_over,
    rows_where,
    without_boxes,
)
from autoeval.model.regression import NEW, Regression

AT_ONCE = 32  # sites whose covariance is looked at together, where they may be many


class NewSites:
    """The accuracies at K new sites, each the mean over its categories.

    Each site counts as a group of its own: what is particular to it is independent of the others,
    the uncertainty of the line through the known sites is shared. Cameras of one owner may be more
    alike than that; the order is then less certain than it could be.

    rows: one row for each site and category: ``site``, ``category``, ``n_images`` and the scores.
    unseen: of each site; see `Regression.predict`. 0 by default.
    fitted_sites: of sites of the fit their name there, see `Regression`; drawn independently of the
        others.
    """

    def __init__(
        self,
        regression: Regression,
        rows: Table,
        *,
        level: float = 0.9,
        unseen: Mapping[str, float] | None = None,
        fitted_sites: Mapping[str, str] | None = None,
    ) -> None:
        self.regression = regression
        self.level = level
        self.unseen = dict(unseen or {})
        self.fitted_sites = dict(fitted_sites or {})
        self._rows = columns(rows)
        self._site = names(rows, "site")
        self.names = list(dict.fromkeys(self._site))
        place = np.array([NEW + name for name in self._site], object)
        self._rows |= {"group": place, "source": place}

    def predict(self) -> list[PredictionInterval]:
        """Return the value and the interval of each site, those that it has alone."""
        intervals: list[PredictionInterval] = []
        for start in range(0, len(self.names), AT_ONCE):
            part = self.names[start : start + AT_ONCE]
            rows = rows_where(self._rows, np.isin(self._site, part))
            average = self._average(part)
            predicted = self.regression.distribution(rows, average)
            values = average @ np.clip(self.regression.distribution(rows).mean, 0, 1)
            intervals += predict_intervals(predicted.blurred(self._stds(part)), self.level, values)
        return [
            self._known(name)
            if name in self.fitted_sites
            else without_boxes(self.regression.target)
            if none
            else interval
            for name, interval, none in zip(self.names, intervals, self._none_over(), strict=True)
        ]

    def draw(self, *, draws: int, seed: int = 0) -> np.ndarray:
        """Draw the accuracies of all sites together, shape (draws, K), not cut at 0 and 1.

        NaN for precision at a site where no box is over the threshold.
        """
        drawn = self.regression.draw(self._rows, draws=draws, seed=seed)
        if len(self.names) < n_rows(self._rows):  # a site with several categories
            drawn = drawn @ self._average(self.names).T + self._moved()
        stds = self._stds(self.names)
        if stds.any():
            drawn = drawn + stds * np.random.default_rng([seed, 1]).normal(size=drawn.shape)
        rng, unit = np.random.default_rng([seed, 2]), float(ndtri((1 + self.level) / 2))
        for k, name in enumerate(self.names):
            if name in self.fitted_sites:
                interval = self._known(name)
                drawn[:, k] = rng.normal(interval.raw, interval.reach / unit, draws)
        drawn[:, self._none_over()] = without_boxes(self.regression.target).value
        return drawn

    def _none_over(self) -> np.ndarray:
        """Return at which sites no box is over the threshold of the target, (K,), bool."""
        none = nothing_over(self._rows, self.regression.target) | ~counted_rows(self._rows)
        return np.array([none[self._site == name].all() for name in self.names], bool)

    def _moved(self) -> np.ndarray:
        """Return how far the mean of possible accuracies lies from the possible mean, (K,)."""
        moved = []
        for start in range(0, len(self.names), AT_ONCE):
            part = self.names[start : start + AT_ONCE]
            weights = self._average(part)
            rows = rows_where(self._rows, np.isin(self._site, part))
            means = self.regression.distribution(rows).mean
            moved.append(weights @ np.clip(means, 0, 1) - np.clip(weights @ means, 0, 1))
        return np.concatenate(moved)

    def _known(self, name: str) -> PredictionInterval:
        """Estimate a site of the fit."""
        rows = rows_where(self._rows, self._site == name)
        rows[SITE] = np.full(n_rows(rows), self.fitted_sites[name], object)
        return self.regression.predict_mean(rows, unseen=self.unseen.get(name, 0.0))

    def _stds(self, sites: list[str]) -> np.ndarray:
        """Return the standard deviation of the error by missing scores, (K,)."""
        shares = np.array([self.unseen.get(name, 0.0) for name in sites])
        return shares * self.regression.accuracy_std_

    def _average(self, sites: list[str]) -> np.ndarray:
        """Return the weights (K, M) of the M rows of some sites in the value of each."""
        of_rows = self._site[np.isin(self._site, sites)]
        weights = np.zeros((len(sites), len(of_rows)))
        for k, name in enumerate(sites):
            rows = rows_where(self._rows, self._site == name)
            weights[k, of_rows == name] = category_weights(rows, self.regression.target)
        return weights
