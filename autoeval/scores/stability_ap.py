"""Agreement of the passes under feature dropout."""

from __future__ import annotations

from collections.abc import Iterator

from autoeval.detections import Detections, Evidence
from autoeval.scores.agreement import Agreement, at_confidences
from autoeval.scores.direction import rising
from autoeval.scores.registry import register


@register
class StabilityAP(Agreement):
    """Agreement of the passes under feature dropout; see `Agreement`."""

    name = "stability_ap"
    meaning = "average precision of the pass under dropout, confident clean boxes being true"
    features = rising(*at_confidences("stability_ap"))
    needs = frozenset({"perturbed"})
    source = "this project"

    def again(self, evidence: Evidence) -> Iterator[Detections]:
        """Yield the boxes of each perturbed pass."""
        yield from evidence.perturbed
