"""The dropouts to choose from, in a detector that can take them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Protocol

import numpy as np

from autoeval.detections import Evidence
from autoeval.detectors.forward.dropout_spec import N_STAGES, DropoutSpec
from autoeval.estimation.observation.observing import ImageDetector

RATES = tuple(round(0.05 * k, 2) for k in range(1, 20))
STAGE_SUBSETS = tuple(
    stages for n in range(1, N_STAGES + 1) for stages in combinations(range(N_STAGES), n)
)
TIE = 0.001
"""Dropouts whose R² differs by no more than this are equally good."""


def grid(position: str = "after", rates: Sequence[float] | None = None) -> tuple[DropoutSpec, ...]:
    """Return the 285 dropouts of the paper's search: 15 subsets of stages times 19 rates.

    For `position` see `DropoutSpec`; `rates` are others than these 19. Source: Yang et al. 2024,
    appendix A, hyperparameters selection.

    Examples
    --------
    >>> len(grid()), grid()[0]
    (285, DropoutSpec(position='after', stages=(0,), rate=0.05))
    """
    rates = sorted(set(rates or RATES))
    return tuple(DropoutSpec(position, stages, rate) for stages in STAGE_SUBSETS for rate in rates)


def best_of(specs: Sequence[DropoutSpec], r2: np.ndarray, *, tie: float = TIE) -> DropoutSpec:
    """Return the dropout with the largest R²; among those within ``tie`` of it, the cheapest.

    A perturbed pass costs the less the later its first dropout; then the fewer stages, then the
    lower rate is preferred.

    Examples
    --------
    >>> specs = [DropoutSpec("after", (0, 3), 0.1), DropoutSpec("after", (2, 3), 0.1)]
    >>> best_of(specs, np.array([0.7, 0.7])).stages
    (2, 3)
    """
    good = [spec for spec, value in zip(specs, r2, strict=True) if value >= np.max(r2) - tie]
    return min(good, key=lambda spec: (-spec.stages[0], len(spec.stages), spec.stages, spec.rate))


def list_stages(stages: Sequence[int]) -> str:
    """Write stages as one word.

    Examples
    --------
    >>> list_stages((1, 2))
    '1,2'
    """
    return ",".join(map(str, stages))


class SearchableDetector(ImageDetector, Protocol):
    """A detector that can be observed under several dropouts at once."""

    @property
    def splits_backbone(self) -> bool:
        """Whether perturbed passes start where dropout begins."""
        ...

    def observe_each(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        dropouts: Sequence[DropoutSpec],
        *,
        repeats: int = 1,
        seed: int = 0,
    ) -> list[dict[DropoutSpec, Evidence]]:
        """Return the evidence of each image under each dropout."""
        ...

    def part_costs(self, image: np.ndarray) -> tuple[float, ...]:
        """Say how the cost of a pass is shared among the parts of the network."""
        ...
