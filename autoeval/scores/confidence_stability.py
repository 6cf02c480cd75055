"""Confidence stability (CS): how well scores stay put when features are perturbed."""

from __future__ import annotations

import math

from autoeval.detections import Detections
from autoeval.scores.box_stability import ImageStability
from autoeval.scores.box_stability_settings import BoxStabilitySettings
from autoeval.scores.direction import rising
from autoeval.scores.registry import register


def confidence_stability(
    clean: Detections, perturbed: Detections, settings: BoxStabilitySettings | None = None
) -> float:
    """Stability of the scores of one image: one less the mean change of a score.

    Pairs are those of box stability, matched by box: matching on signed differences of scores makes
    every assignment tie. Source: Yang et al. 2024, section 5.1, "variant study".

    Parameters
    ----------
    clean, perturbed : Detections
        Boxes of the unperturbed and of the perturbed network.
    settings : BoxStabilitySettings, optional
        ``normalise`` plays no part.

    Returns
    -------
    float
        Where nothing can be matched, 0 or NaN as ``settings.empty`` says.

    Examples
    --------
    >>> import numpy as np
    >>> box, label = np.array([[0, 0, 2, 2]]), np.array([0])
    >>> first, second = (Detections(box, np.array([s]), label) for s in (.75, .5))
    >>> confidence_stability(first, second)
    0.75
    """
    settings = settings or BoxStabilitySettings()
    changes = settings.match(clean, perturbed).score_changes
    if not len(changes):
        return 0.0 if settings.empty == "zero" else math.nan
    return 1 - math.fsum(changes) / len(changes)


@register
class ConfidenceStability(ImageStability):
    r"""Mean confidence stability of a set of images.

    .. math:: CS = 1 - \frac{1}{M} \sum_{i=1}^{M} \frac{1}{P_i} \sum_{p=1}^{P_i} |s_{ip} - s'_{ip}|

    over the P matched pairs of each of the M (image, repeat). One without pairs has stability 0,
    or is not among the M where ``empty`` is ``"skip"``.
    """

    name = "confidence_stability"
    meaning = "how well confidences stay put under feature dropout"
    features = rising("confidence_stability")
    source = "Yang et al. 2024, section 5.1"
    revision = 2

    def stability(self, clean: Detections, perturbed: Detections) -> float:
        """Return one less the mean change of the scores of the matched pairs."""
        return confidence_stability(clean, perturbed, self.settings)
