"""Which categories are estimated at each site, of records in the detector's own words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.estimation.site import (
    Categories,
    check_words,
    checked_present,
    given_categories,
    words_of,
)
from autoeval.io.wording import listed
from autoeval.model.calibration import ScoreCalibration
from autoeval.monitoring.site_records import CameraImage
from autoeval.sites.presence import Presence


@dataclass(frozen=True)
class SiteCategories:
    """Which categories are estimated at each site.

    Those that are found there count, as `AccuracyEstimator.predict` has it.

    Parameters
    ----------
    words : sequence of str
        The detector's, which the labels of records index.
    of_fit : mapping of str to sequence of str, optional
        Categories that the fit was told the detector's words of.
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

    def select(self, site: str, records: Sequence[CameraImage]) -> list[CameraImage]:
        """Keep the boxes of the categories of a site, whose `names` their labels then index."""
        given = self.given(site)
        if given is None:
            return list(records)
        category, names = words_of(given), list(given)
        lookup = np.array(
            [names.index(category[word]) if word in category else -1 for word in self.words]
        )
        return [_relabelled(record, lookup) for record in records]

    def found(
        self, site: str, records: Sequence[CameraImage], calibration: ScoreCalibration
    ) -> list[CameraImage]:
        """Keep the boxes of the categories that count by all records of a site.

        With the boxes of all words, the many unlikely ones of a detector of 80 categories would be
        watched.
        """
        selected, names = self.select(site, records), self.names(site)
        boxes = [record.clean for record in selected]
        label = np.concatenate([np.zeros(0, int), *(part.labels for part in boxes)])
        at_half = np.concatenate(
            [np.zeros(0), *(calibration.at_half(part.scores, part.boxes) for part in boxes)]
        )
        presence = Presence.of(names, label, at_half, self.present_at(site))
        kept = np.where(presence.counts, np.arange(len(names)), -1)
        return [_relabelled(record, kept) for record in selected]

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


def _relabelled(record: CameraImage, lookup: np.ndarray) -> CameraImage:
    half: Detections | None = record.half_size and record.half_size.relabel(lookup)
    reference: Detections | None = record.reference and record.reference.relabel(lookup)
    return replace(record, clean=record.clean.relabel(lookup), half_size=half, reference=reference)
