"""Bounding box stability (BoS): how well boxes stay put when features are perturbed."""

from __future__ import annotations

import math
from abc import abstractmethod

from typing_extensions import Self

from autoeval.detections import Detections, Evidence
from autoeval.scores.base import RatioScore, observed_sum
from autoeval.scores.box_stability_settings import BoxStabilitySettings
from autoeval.scores.context import ScoreContext
from autoeval.scores.direction import rising
from autoeval.scores.registry import register, scores


def box_stability(
    clean: Detections, perturbed: Detections, settings: BoxStabilitySettings | None = None
) -> float:
    """Stability of the boxes of one image.

    Source: Yang et al. 2024, section 3, equations 2 to 4, in the direction "larger is more stable".

    Parameters
    ----------
    clean, perturbed : Detections
        Boxes of the unperturbed and of the perturbed network.
    settings : BoxStabilitySettings, optional
        The defaults are those of the paper.

    Returns
    -------
    float
        Mean overlap of the matched pairs; for an image without a box on one side 0, or NaN where
        such images are skipped.

    Examples
    --------
    >>> import numpy as np
    >>> boxes = np.array([[0, 0, 2, 2], [4, 4, 8, 8]])
    >>> found = Detections(boxes, np.array([.9, .8]), np.array([0, 0]))
    >>> box_stability(found, found), box_stability(found, Detections.empty())
    (1.0, 0.0)
    """
    settings = settings or BoxStabilitySettings()
    matching = settings.match(clean, perturbed)
    if not matching.n_first or not matching.n_second:
        return 0.0 if settings.empty == "zero" else math.nan
    pairs, larger = len(matching.overlaps), max(matching.n_first, matching.n_second)
    divisor = pairs if settings.normalise == "min" else larger
    return math.fsum(matching.overlaps) / divisor if divisor else 0.0


class ImageStability(RatioScore):
    """Base of the scores that are the mean over (image, repeat) of one number.

    Parameters
    ----------
    settings : BoxStabilitySettings, optional
        How boxes are matched; the defaults are those of the paper.
    """

    needs = frozenset({"perturbed"})

    def __init__(self, settings: BoxStabilitySettings | None = None) -> None:
        self.settings = settings or BoxStabilitySettings()
        super().__init__(score_thr=self.settings.score_thr)

    @classmethod
    def make(cls, context: ScoreContext) -> Self:
        """Make the score with the settings of the pass."""
        return cls(context.stability)

    @abstractmethod
    def stability(self, clean: Detections, perturbed: Detections) -> float:
        """Return the number of one image and repeat, NaN where it is skipped."""

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        """Return the sum over the repeats that are not skipped, and their number."""
        return observed_sum([self.stability(evidence.clean, p) for p in evidence.perturbed])


def image_stabilities() -> dict[str, type[ImageStability]]:
    """Return the registered scores of this kind, by name."""
    return {n: score for n, score in scores().items() if issubclass(score, ImageStability)}


@register
class BoxStability(ImageStability):
    r"""Mean box stability of a set of images.

    .. math:: BoS = \frac{1}{M} \sum_{i=1}^{M} \frac{1}{P_i} \sum_{p=1}^{P_i} overlap_{ip}

    over the P pairs of each of the M (image, repeat). One without pairs adds 0, or is not among
    the M where ``empty`` is ``"skip"``; see `box_stability`.
    """

    name = "bos"
    meaning = "how well boxes stay put under feature dropout"
    features = rising("bos")
    source = "Yang et al. 2024, section 3"
    revision = 2

    def stability(self, clean: Detections, perturbed: Detections) -> float:
        """Return the mean overlap of the matched pairs."""
        return box_stability(clean, perturbed, self.settings)
