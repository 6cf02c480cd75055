"""Several new sites side by side: what is not known of the line is the same for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from scipy.special import ndtri

from autoeval.model.pair_table import (
    SITE,
    Table,
    category_weights,
    columns,
    counted_rows,
    n_rows,
    nothing_over,
    rows_where,
    without_boxes,
)
from autoeval.model.regression import NEW, Regression

AT_ONCE = 256  # rows whose covariance is looked at together, where they may be many
NOTHING: Mapping = MappingProxyType({})


def draw_sites(
    regression: Regression,
    rows: Table,
    *,
    draws: int,
    seed: int = 0,
    unseen: Mapping[str, float] = NOTHING,
    fitted_sites: Mapping[str, str] = NOTHING,
) -> tuple[list[str], np.ndarray]:
    """Draw the accuracies of K new sites together, each the mean over its categories.

    Each site counts as a group of its own: what is particular to it is independent of the others,
    the uncertainty of the line through the known sites is shared. Cameras of one owner may be more
    alike than that; the order is then less certain than it could be.

    rows: one row for each site and category: ``site``, ``category``, ``n_images`` and the scores.
    unseen: of a site by name; see `Regression.predict`. 0 by default.
    fitted_sites: of sites of the fit their name there, see `Regression`; drawn independently of the
        others.
    Returned: the names of the sites, and their accuracies, (draws, K), not cut at 0 and 1; NaN for
        precision at a site where no box is over the threshold.
    """
    table = columns(rows)
    site = table["site"]
    place = np.array([NEW + name for name in site], object)
    table |= {"group": place, "source": place}
    sites, target = list(dict.fromkeys(site)), regression.target
    of_rows = regression.draw(table, draws=draws, seed=seed)
    if len(sites) < len(site):  # several categories: for `possible` below
        parts = np.split(np.arange(len(site)), range(AT_ONCE, len(site), AT_ONCE))
        means = [regression.distribution(rows_where(table, part)).mean for part in parts]
        mean = np.concatenate(means)
    drawn = np.empty((draws, len(sites)))
    for k, name in enumerate(sites):
        own = np.flatnonzero(site == name)
        weights = category_weights(rows_where(table, own), target)
        drawn[:, k] = of_rows[:, own] @ weights
        if len(own) > 1:
            # Moved to the mean of possible accuracies, which is what is printed.
            possible = weights @ np.clip(mean[own], 0, 1)
            drawn[:, k] += possible - np.clip(weights @ mean[own], 0, 1)
    shares = np.array([unseen.get(name, 0.0) for name in sites])
    if shares.any():
        errors = np.random.default_rng([seed, 1]).normal(size=drawn.shape)
        drawn += shares * regression.accuracy_std_ * errors
    rng, unit = np.random.default_rng([seed, 2]), float(ndtri((1 + regression.level) / 2))
    none = nothing_over(table, target) | ~counted_rows(table)
    for k, name in enumerate(sites):
        of_site = rows_where(table, site == name)
        if name in fitted_sites:
            of_site[SITE] = np.full(n_rows(of_site), fitted_sites[name], object)
            interval = regression.predict_mean(of_site, unseen=unseen.get(name, 0.0))
            drawn[:, k] = rng.normal(interval.raw, interval.reach / unit, draws)
        if none[site == name].all():
            drawn[:, k] = without_boxes(target).value
    return sites, drawn
