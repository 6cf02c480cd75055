"""Box stability under which lost boxes and empty images count."""

from __future__ import annotations

from typing_extensions import Self

from autoeval.scores.box_stability import BoxStability
from autoeval.scores.box_stability_settings import BoxStabilitySettings
from autoeval.scores.context import ScoreContext
from autoeval.scores.direction import rising
from autoeval.scores.registry import register

STRICT = BoxStabilitySettings(empty="zero", normalise="max")


@register
class StrictBoxStability(BoxStability):
    """Box stability in which a lost box has overlap 0, and so has an image without boxes.

    Its settings are its own, whatever those of the pass. See `BoxStability`.
    """

    name = "bos_strict"
    meaning = "box stability in which lost boxes and empty images count against it"
    features = rising("bos_strict")
    source = "Yang et al. 2024, section 3, divided by the larger number of boxes"

    def __init__(self, settings: BoxStabilitySettings = STRICT) -> None:
        super().__init__(settings)

    @classmethod
    def make(cls, context: ScoreContext) -> Self:
        """Make the score with its own settings."""
        return cls()
