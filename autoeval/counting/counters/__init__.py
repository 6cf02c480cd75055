"""What a counter is: an image and a prompt in, a count with its evidence out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from autoeval.runtime import OK

Context = Mapping[str, Any] | None  # privileged information, and the id of the image
COUNT, DENSITY, POINTS, TEXT = "count", "density", "points", "text"
__all__ = ["CountResult", "Counter"]


@dataclass(frozen=True, eq=False)
class CountResult:
    """The answer of a counter about one image and one prompt.

    `count` is NaN where there is none; `density` (H, W) sums to it; `points` (N, 2) as xy and
    `boxes` (N, 4) xyxy are in pixels of the image, with `scores` (N,). `status` is ``"ok"``,
    ``"skipped"`` (declined) or ``"failed: <reason>"``; `context` records the privileged information
    given.
    """

    count: float
    density: np.ndarray | None = None
    points: np.ndarray | None = None
    boxes: np.ndarray | None = None
    scores: np.ndarray | None = None
    text: str | None = None
    status: str = OK
    context: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def centres(self) -> np.ndarray | None:
        """Centres (N, 2), xy, of the objects: the points, else the middles of the boxes, if any."""
        if self.points is not None:
            return np.asarray(self.points, np.float64).reshape(-1, 2)
        if self.boxes is None:
            return None
        boxes = np.asarray(self.boxes, np.float64).reshape(-1, 4)
        return (boxes[:, :2] + boxes[:, 2:]) / 2


@runtime_checkable
class Counter(Protocol):
    """Anything that counts; `name` identifies it in result files and resume keys.

    `capabilities` are those of ``"count"``, ``"density"``, ``"points"``, ``"text"`` of its results.
    """

    name: str
    capabilities: frozenset[str]

    def count(self, image: np.ndarray, prompt: str, context: Context = None) -> CountResult:
        """Count what ``prompt`` names in ``image`` (H, W, 3), uint8, BGR."""
        ...


def count_prompts(
    counter: Counter,
    image: np.ndarray,
    prompts: list[str],
    context: Context = None,
) -> list[CountResult]:
    """Ask for several prompts on one image, encoding the image once where the counter can."""
    batched = getattr(counter, "count_prompts", None)
    if batched is not None:
        return batched(image, prompts, context)
    return [counter.count(image, prompt, context) for prompt in prompts]
