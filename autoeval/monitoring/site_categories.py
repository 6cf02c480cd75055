"""Which categories are estimated at each site, of records in the detector's own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.estimation.site import Categories, check_words, words_of
from autoeval.io.wording import listed
from autoeval.model.calibration import LIKELY, ScoreCalibration
from autoeval.monitoring.site_records import CameraImage


@dataclass(frozen=True)
class SiteCategories:
    """Which categories are estimated at each site.

    By default those that are found there, as `AccuracyEstimator.predict` has it.

    Parameters
    ----------
    words : sequence of str
        The detector's, which the labels of records index.
    expected : mapping of str to sequence of str, optional
        Categories of the task of the fit, each with the detector's words for it: expected at every
        site, found or not.
    named : mapping of str to sequence of str, optional
        In their place: other names, and which words count. A category counts at the sites where it
        is found.
    of_site : mapping of str to mapping
        Categories of single sites, expected there, found or not; these go before the others.
    """

    words: Sequence[str]
    expected: Categories | None = None
    named: Categories | None = None
    of_site: Mapping[str, Categories] = field(default_factory=dict)

    def given(self, site: str) -> Categories | None:
        """Return the categories of a site with the detector's words; None for its own words."""
        return self.of_site.get(site) or self.named or self.expected

    def names(self, site: str) -> tuple[str, ...]:
        """Return the categories that may be estimated at a site."""
        return tuple(self.given(site) or self.words)

    def expects(self, site: str) -> bool:
        """Whether the categories of a site are estimated there in any case."""
        return site in self.of_site or (self.named is None and self.expected is not None)

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
        """Keep the boxes of the categories that are estimated from all records of a site.

        Those that are expected there, else those with a likely box in any record: with the boxes of
        all words, the many unlikely ones of a detector of 80 categories would be watched.
        """
        selected = self.select(site, records)
        if self.expects(site):
            return selected
        kept = np.full(len(self.names(site)), -1)
        for record in selected:
            likely = calibration.at_half(record.clean.scores, record.clean.boxes) > LIKELY
            kept[record.clean.labels[likely]] = record.clean.labels[likely]
        return [_relabelled(record, kept) for record in selected]

    def check(self, known_words: Sequence[str]) -> list[str]:
        """Refuse categories without a known word of the detector; warn of words not known."""
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
