"""Which categories are estimated at each site, of records in the detector's own words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.estimation.read_site import (
    Categories,
    check_words,
    checked_present,
    given_categories,
    words_of,
)
from autoeval.io.wording import listed
from autoeval.monitoring.monitor_store import BOX, CameraImage
from autoeval.sites.site import Site


@dataclass(frozen=True)
class SiteCategories:
    """Which categories are estimated at each site.

    Those that are found there count, as `AccuracyEstimator.predict` has it.

    Parameters
    ----------
    words : sequence of str
        The detector's, which the labels of records index.
    of_fit : mapping of str to sequence of str, optional
        Categories whose detector words were given to the fit.
    named : mapping of str to sequence of str, optional
        In their place: the categories that may count, with the detector's words; one without other
        words than its own name has those of the fit. A single one always counts.
    of_site : mapping of str to mapping
        Categories of single sites, which count there, found or not; these go before the others.
    present : collection of str
        Categories that count at every site, found or not.
    """

    words: Sequence[str]
    of_fit: Categories | None = None
    named: Categories | None = None
    of_site: Mapping[str, Categories] = field(default_factory=dict)
    present: Collection[str] = ()

    def given(self, site: str) -> Categories | None:
        """Return the categories of a site with the detector's words; None for its own words."""
        return given_categories(self.of_site.get(site) or self.named, self.of_fit)

    def names(self, site: str) -> tuple[str, ...]:
        """Return the categories that may be estimated at a site."""
        return tuple(self.given(site) or self.words)

    def present_at(self, site: str) -> tuple[str, ...]:
        """Return the categories of a site that count there, found or not."""
        names = self.names(site)
        if site in self.of_site:
            return names
        known = [name for name in self.present if name in names]
        return checked_present(known, self.given(site), names)

    def site(self, site: str, images: Sequence[CameraImage]) -> Site:
        """Lay out images of a site with the boxes of its categories, as an estimate takes them."""
        described = tuple(
            LabelledImage(image.name, image.name, image.size if min(image.size) > 0 else None)
            for image in images
        )
        clean = _columns(described, [image.boxes for image in images], self.words)
        stronger = [image.reference for image in images if image.reference is not None]
        made = Site(
            clean,
            reference=_columns(described, stronger, self.words)
            if images and len(stronger) == len(images)
            else None,
        )
        given = self.given(site)
        if given is not None:
            made = made.as_categories(list(given), words_of(given))
        return replace(made, named=given is not None, present=self.present_at(site))

    def check(self, known_words: Sequence[str]) -> list[str]:
        """Refuse categories without a known word of the detector; warn of words not known."""
        checked_present(self.present, None, tuple(self.named or self.of_fit or known_words))
        categories = [self.named, *self.of_site.values()]
        return [
            warning
            for given in categories
            if given
            for warning in check_words(given, set(known_words))
        ]

    def check_sites(self, sites: Sequence[str]) -> None:
        """Refuse categories of a site that there is not."""
        check_named_sites(self.of_site, sites, "--site-category")


def check_named_sites(named: Mapping[str, object], sites: Sequence[str], option: str) -> None:
    """Refuse options of sites that there are not."""
    unknown = [name for name in named if name not in sites]
    if unknown:
        raise InputError(
            f"{option} names {listed(unknown)}, but there is no such site: the sites are "
            f"{listed(list(sites), 10)}."
        )


def _columns(
    images: tuple[LabelledImage, ...], boxes: Sequence[np.ndarray], words: Sequence[str]
) -> Boxes:
    """Lay out the boxes of each image as columns."""
    rows = np.concatenate([np.empty(0, BOX), *boxes])
    counts = [len(of_image) for of_image in boxes]
    return Boxes(
        images,
        tuple(words),
        np.repeat(np.arange(len(images)), counts),
        rows["label"].astype(np.int64),
        rows["box"].copy(),
        rows["score"].copy(),
    )
