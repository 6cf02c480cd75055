"""Named settings of box stability: what to perturb and how to compare.

Specification: section 1, the table. ``paper`` is the text of the paper, ``released`` its authors'
code, ``replication`` the settings of the published replication. Boxes scaled to [0, 1] and boxes in
pixels have the same overlaps, so ``paper`` and ``replication`` differ in the position alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from autoeval.detectors.dropout import DropoutSpec
from autoeval.errors import InputError
from autoeval.estimation.measures import MeasureSettings
from autoeval.scores.box_stability import BoxStabilitySettings


@dataclass(frozen=True)
class PassSettings:
    """All that decides the numbers of a pass, apart from the detector and the images.

    Parameters
    ----------
    dropout : DropoutSpec
        Where and how strongly features are perturbed.
    stability : BoxStabilitySettings
        How clean and perturbed boxes are compared.
    repeats : int
        Perturbed passes an image.
    seed : int
        Seed of every dropout mask.
    measures : tuple of MeasureSettings
        What to measure beside mAP where there are labels.
    """

    dropout: DropoutSpec = field(default_factory=DropoutSpec)
    stability: BoxStabilitySettings = field(default_factory=BoxStabilitySettings)
    repeats: int = 10
    seed: int = 0
    measures: tuple[MeasureSettings, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return nested plain values; what is not measured is not mentioned."""
        values = asdict(self)
        return values if self.measures else {k: v for k, v in values.items() if k != "measures"}


PRESETS = {
    "paper": (DropoutSpec("after", (1, 2), 0.15), BoxStabilitySettings(cost="giou")),
    "released": (DropoutSpec("before", (1, 2), 0.15), BoxStabilitySettings(cost="iou")),
    "replication": (DropoutSpec("before", (1, 2), 0.15), BoxStabilitySettings(cost="giou")),
}


def preset(name: str, *, repeats: int = 10, seed: int = 0) -> PassSettings:
    """Return the settings of a preset.

    Raises
    ------
    InputError
        If no preset has that name, or fewer than one repeat is asked for.
    """
    if name not in PRESETS:
        raise InputError(f"Expected a preset out of {', '.join(PRESETS)} but got '{name}'.")
    if repeats < 1:
        raise InputError(f"Expected at least one dropout repeat but got {repeats}.")
    dropout, stability = PRESETS[name]
    return PassSettings(dropout, stability, repeats, seed)
