"""Agreement with a teacher, a stronger detector."""

from __future__ import annotations

from collections.abc import Iterator

from autoeval.detections import Detections, Evidence
from autoeval.scores.agreement import Agreement, at_confidences
from autoeval.scores.direction import rising
from autoeval.scores.registry import register


@register
class TeacherAP(Agreement):
    """Average precision of the clean boxes, the confident boxes of a teacher being the truth.

    A small detector that is deployed can so be judged offline by a large one. See `Agreement`; here
    the confidences are those of the teacher.
    """

    name = "teacher_ap"
    meaning = "average precision, the confident boxes of a teacher being true"
    features = rising(*at_confidences("teacher_ap"))
    needs = frozenset({"teacher"})
    source = "this project"

    def truth(self, evidence: Evidence) -> Detections:
        """Return what the teacher found."""
        return evidence.require("teacher")

    def again(self, evidence: Evidence) -> Iterator[Detections]:
        """Yield what the detector itself found."""
        yield evidence.clean
