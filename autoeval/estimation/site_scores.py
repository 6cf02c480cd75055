"""All scores of images without labels, for the methods that read more than boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from autoeval.data.find_images import UnlabelledImage
from autoeval.data.same_files import copies_taken
from autoeval.data.wording import listed
from autoeval.detections import Evidence
from autoeval.estimation.intervals import RESAMPLED, RESAMPLES
from autoeval.estimation.observation.least_stable import LeastStableImages
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import UnlabelledSamples
from autoeval.estimation.site import Site
from autoeval.estimation.site_boxes import SiteBoxes
from autoeval.runtime.shards import Shards, Undivided


def score_images(
    observer: Observer,
    images: Sequence[UnlabelledImage],
    *,
    shards: Shards | None = None,
    watch: Callable[[Evidence], object] = lambda evidence: None,
) -> Site:
    """Observe images and compute every score; parameters as in `site_of_images`.

    Returned: its ``row`` holds ``rows``, one a repeat, for `Regression.predict_rows`, and beside it
        the means over the repeats.
    """
    samples, shards = UnlabelledSamples(images), shards or Undivided()
    least_stable, seen = LeastStableImages(), list[Evidence]()

    def keep(evidence: Evidence) -> None:
        watch(evidence)
        least_stable.update(evidence)
        seen.append(evidence.boxes_alone())

    mine = len(shards.part(len(samples)))
    with observer.begin(samples, mine, disable=not shards.leads) as bar:
        rows = observer.rows(
            samples, advance=bar.update, watch=keep, shards=shards, resamples=RESAMPLES
        )
    gathered = shards.gather((seen, least_stable))
    evidence = tuple(one for part, _ in gathered for one in part)
    if shards.leads:
        for _, other in gathered[1:]:
            least_stable.merge(other)
    first = {name: value for name, value in rows[0].items() if name != RESAMPLED}
    numbers = [name for name, value in first.items() if isinstance(value, float)]
    means = {name: float(np.mean([row[name] for row in rows])) for name in numbers}
    warnings = copies_taken(images)
    if lost := first["n_unreadable"]:
        reasons = listed(str(first["unreadable"]).split("; "))
        warnings = (
            f"{lost} of {len(samples)} images could not be read and were left out: {reasons}",
            *warnings,
        )
    return Site(
        SiteBoxes.of_evidence(evidence, observer.task.categories),
        named=True,
        warnings=warnings,
        backbone=observer.detector.backbone,
        evidence=evidence,
        images=images,
        least_stable=least_stable.images,
        detector=observer.detector.fingerprint,
        row={**first, **means, "rows": rows},
    )
