"""A site with every score of the detector, for the methods that read more than boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from autoeval.detections import Evidence
from autoeval.estimation.estimate import RESAMPLES
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import UnlabelledSamples
from autoeval.estimation.read_site import SeenImages, unreadable_warning
from autoeval.io.find_images import UnlabelledImage
from autoeval.io.same_files import copies_taken
from autoeval.sites.site import Site
from autoeval.stability.passes.least_stable import LeastStableImages, UnstableImage
from autoeval.stability.passes.tally import RESAMPLED, scored_rows


@dataclass(frozen=True, eq=False)
class ScoredSite(Site):
    """A site with the images whose boxes move most under dropout, the least stable one first."""

    least_stable: tuple[UnstableImage, ...] = ()


def scored_site(
    observer: Observer,
    images: Sequence[UnlabelledImage],
    *,
    watch: Callable[[Evidence], object] = lambda evidence: None,
) -> ScoredSite:
    """Run a detector over images without labels and compute every score.

    observer: in the words of the task that the method was fitted on.
    images: copies of a file count as often as they are there, as in the published evaluations.
    Returned: its row holds ``rows``, one a repeat, for `SourceRegression.predict_rows`, and their
        means.
    """
    samples, seen = UnlabelledSamples(images), SeenImages(watch)
    stable = LeastStableImages()

    def keep(evidence: Evidence) -> None:
        seen.keep(evidence)
        stable.update(evidence)

    with observer.begin(samples, len(samples)) as bar:
        rows = scored_rows(
            observer,
            samples,
            advance=bar.update,
            watch=keep,
            resamples=RESAMPLES,
        )
    row = {name: value for name, value in rows[0].items() if name != RESAMPLED}
    numbers = [name for name, value in row.items() if isinstance(value, float)]
    row |= {name: float(np.mean([repeat_row[name] for repeat_row in rows])) for name in numbers}
    lost = row["unreadable"].split("; ") if row["n_unreadable"] else []
    site = Site.of_evidence(seen.evidence, observer.task.categories)
    return ScoredSite(
        site.boxes,
        reference=site.reference,
        named=True,
        warnings=(*copies_taken(images), *unreadable_warning(lost, len(samples))),
        backbone=observer.detector.backbone,
        evidence=tuple(seen.evidence),
        images=images,
        least_stable=tuple(stable.images),
        detector=observer.detector.fingerprint,
        row={**row, "rows": rows},
    )
