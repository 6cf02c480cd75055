"""Agreement of the pass at half the input size."""

from __future__ import annotations

from collections.abc import Iterator

from autoeval.detections import Detections, Evidence
from autoeval.scores.agreement import Agreement, at_confidences
from autoeval.scores.direction import rising
from autoeval.scores.registry import register


@register
class ScaleAP(Agreement):
    """Agreement of the pass at half the input size; see `Agreement`."""

    name = "scale_ap"
    meaning = "average precision of the pass at half the size, confident clean boxes being true"
    features = rising(*at_confidences("scale_ap"))
    needs = frozenset({"half_size"})
    source = "this project"

    def again(self, evidence: Evidence) -> Iterator[Detections]:
        """Yield the boxes found at half the size."""
        yield evidence.require("half_size")
