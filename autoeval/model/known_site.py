r"""New images of a site that the fit contains.

Their accuracy is that of the labelled images times the ratio of the expected average precisions:

.. math:: y_2 = y_1 \frac{e_2 + ε}{e_1 + ε}

In `autoeval.model.mixed_model` the new pair has all effects in common with the labelled one
of the same site and category, its own too, and no other score moves it: of these the differences
within a site are mostly sampling error. The sampling errors of both sets of images are taken from
how accuracy varies over the labelled images, since they are most of what is left; and what no score
shows may have changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from autoeval.errors import InputError
from autoeval.model.mixed_model import Pairs
from autoeval.model.pair_table import Table, floats
from autoeval.words import listed

# Measured by benchmarks/fits.py, docs/results/known_sites.md.
SMOOTHED = 0.02  # ε
MOST = 1.5  # ratio
CHANGE_STD = 0.01  # of an accuracy that changes while no score does
CHANGE_ERROR = 0.6  # standard deviation of a predicted change, as a share of it
OF_ONE_IMAGE = 0.22  # standard deviation of average precision measured on one image, usually
USUAL_IMAGES = 3  # that this counts as


@dataclass(frozen=True, eq=False)
class KnownSite:
    """A site of a fit with N pairs, `rows`."""

    name: str
    rows: Table
    pairs: Pairs
    target: str

    def __post_init__(self) -> None:
        if not self._own.any():
            places = listed(list(dict.fromkeys(self.pairs.place.tolist())), most=50)
            raise InputError(
                f"This estimator was fitted on no site {self.name!r}. It knows {places}. Name one "
                "of these with --site, or leave --site out for the images of a new site."
            )

    @property
    def accuracies(self) -> dict[str, float]:
        """Accuracy on the labelled images, by category."""
        own = np.flatnonzero(self._own)
        accuracy = floats(self.rows, self.target)
        return {str(self.pairs.category[k]): float(accuracy[k]) for k in own}

    @property
    def fitted(self) -> Pairs:
        """The pairs of the fit, with the sampling error that those of this site have."""
        n = floats(self.rows, "n_images")
        sampling = np.where(self._own, self._of_one_image / n, self.pairs.sampling)
        return replace(self.pairs, sampling=sampling)

    def of_new(self, new: Pairs, expected_ap: int) -> tuple[Pairs, np.ndarray]:
        """Return M new pairs as pairs of this site, and the ratio (M,) of their accuracy to it.

        expected_ap: column of that score. A category that was not labelled here keeps its scores
            and sampling error; its ratio is 1.
        """
        index = {str(self.pairs.category[k]): k for k in np.flatnonzero(self._own)}
        # -1, the last row, for a category that was not labelled here: whatever is read of it there
        # is replaced below
        rows_here = np.array([index.get(str(category), -1) for category in new.category])
        seen = rows_here >= 0
        after, before = (x[:, expected_ap] + SMOOTHED for x in (new.x, self.pairs.x[rows_here]))
        ratio = np.where(seen, np.minimum(after / before, MOST), 1.0)
        accuracy = floats(self.rows, self.target)[rows_here]
        # what no score shows may have changed, and what they show is uncertain by a share of itself
        more = CHANGE_STD**2 + (CHANGE_ERROR * (ratio - 1) * accuracy) ** 2
        as_this_site = new.sampling * (self.fitted.sampling / self.pairs.sampling)[rows_here] + more
        names = (str(self.pairs.group[self._own][0]), self.name)
        x = np.where(seen[:, None], self.pairs.x[rows_here], new.x)
        sampling = np.where(seen, as_this_site, new.sampling)
        group, place = (np.full(len(new), name, object) for name in names)
        return Pairs(x, sampling, group, place, new.category), ratio

    @cached_property
    def _own(self) -> np.ndarray:
        return np.asarray(self.pairs.place.astype(str) == self.name)

    @cached_property
    def _of_one_image(self) -> np.ndarray:
        """Variance of the accuracy of each pair if it were measured on one image, (N,)."""
        n, name = floats(self.rows, "n_images"), f"{self.target}_std"
        stds = floats(self.rows, name) if name in self.rows else np.full(len(n), np.nan)
        variances = np.where(np.isfinite(stds), n * stds**2, OF_ONE_IMAGE**2)
        # the posterior mean of a variance, the usual one counting as `USUAL_IMAGES` images: that of
        # few labelled images is mostly chance (Gelman et al. 2013, section 2.6)
        return (USUAL_IMAGES * OF_ONE_IMAGE**2 + n * variances) / (USUAL_IMAGES + n)
