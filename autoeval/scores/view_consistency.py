"""View consistency: how well boxes stay put when the light in the image changes."""

from __future__ import annotations

from dataclasses import replace

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore, observed_sum
from autoeval.scores.box_stability import BoxStabilitySettings, box_stability


class ViewConsistency(RatioScore):
    r"""Mean IoU of the boxes of an image with those of photometrically altered views of it.

    .. math:: VC = \frac{1}{M} \sum_{i=1}^{M} \frac{1}{P_i} \sum_{p=1}^{P_i} IoU_{ip}

    over the P matched pairs of each of the M (image, view) that are not skipped: `box_stability`
    with views in the place of perturbed passes and IoU as the overlap. Feature
    ``view_consistency``. Needs views.

    Parameters
    ----------
    settings : BoxStabilitySettings, optional
        Apart from its ``cost``.
    """

    needs = frozenset({"views"})

    def __init__(self, settings: BoxStabilitySettings | None = None) -> None:
        super().__init__(["view_consistency"])
        self.settings = replace(settings or BoxStabilitySettings(), cost="iou")

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        """Return the sum over the views that are not skipped, and their number."""
        views = evidence.views
        return observed_sum([box_stability(evidence.clean, view, self.settings) for view in views])
