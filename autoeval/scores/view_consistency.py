"""View consistency: how well boxes stay put when the light in the image changes."""

from __future__ import annotations

from dataclasses import replace

from typing_extensions import Self

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore, observed_sum
from autoeval.scores.box_stability import box_stability
from autoeval.scores.box_stability_settings import BoxStabilitySettings
from autoeval.scores.context import ScoreContext
from autoeval.scores.direction import rising
from autoeval.scores.registry import register


@register
class ViewConsistency(RatioScore):
    r"""Mean IoU of the boxes of an image with those of photometrically altered views of it.

    .. math:: VC = \frac{1}{M} \sum_{i=1}^{M} \frac{1}{P_i} \sum_{p=1}^{P_i} IoU_{ip}

    over the P matched pairs of each of the M (image, view) with boxes on both sides:
    `box_stability` with views in the place of perturbed passes and IoU as the overlap.

    Parameters
    ----------
    settings : BoxStabilitySettings, optional
        Apart from its ``cost`` and ``empty``.
    """

    name = "view_consistency"
    meaning = "how well boxes stay put when light and colour of the image change"
    features = rising("view_consistency")
    needs = frozenset({"views"})
    source = "this project, after the matching of Yang et al. 2024, section 3"

    def __init__(self, settings: BoxStabilitySettings | None = None) -> None:
        self.settings = replace(settings or BoxStabilitySettings(), cost="iou", empty="skip")
        super().__init__(score_thr=self.settings.score_thr)

    @classmethod
    def make(cls, context: ScoreContext) -> Self:
        """Make the score with the settings of the pass."""
        return cls(context.stability)

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        """Return the sum over the views that have boxes, and their number."""
        views = evidence.views
        return observed_sum([box_stability(evidence.clean, view, self.settings) for view in views])
