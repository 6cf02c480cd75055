"""What a counter is: an image and a prompt in, a count with its evidence out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from autoeval.runtime import OK

COUNT, DENSITY, POINTS, TEXT = "count", "density", "points", "text"


@dataclass(frozen=True, eq=False)
class CountResult:
    """The answer of a counter about one image and one prompt.

    Parameters
    ----------
    count : float
        The count; NaN where the counter gave none (see `status`).
    density : ndarray of shape (H, W), optional
        Map whose sum is the count.
    points : ndarray of shape (N, 2), optional
        Object centres as xy, pixels of the image.
    boxes : ndarray of shape (N, 4), optional
        Boxes as xyxy, pixels of the image.
    scores : ndarray of shape (N,), optional
        Confidence of each point or box.
    text : str, optional
        Raw answer of a counter that speaks.
    status : str
        ``"ok"``, ``"skipped"`` (the counter declined to answer) or ``"failed: <reason>"``.
    context : Mapping
        The privileged information the counter was given, recorded as it was passed in.
    warnings : tuple of str
        Warnings about the count, such as a limit on the number of boxes that was reached.
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


@runtime_checkable
class Counter(Protocol):
    """Anything that counts.

    Attributes
    ----------
    name : str
        Identifies the counter in result files and resume keys.
    capabilities : frozenset of str
        Which of ``"count"``, ``"density"``, ``"points"``, ``"text"`` its results carry.
    """

    name: str
    capabilities: frozenset[str]

    def count(
        self, image: np.ndarray, prompt: str, context: Mapping[str, Any] | None = None
    ) -> CountResult:
        """Count what ``prompt`` names in ``image`` (H, W, 3), uint8, BGR."""
        ...


def count_prompts(
    counter: Counter,
    image: np.ndarray,
    prompts: list[str],
    context: Mapping[str, Any] | None = None,
) -> list[CountResult]:
    """Ask for several prompts on one image, encoding the image once where the counter can."""
    batched = getattr(counter, "count_prompts", None)
    if batched is not None:
        return batched(image, prompts, context)
    return [counter.count(image, prompt, context) for prompt in prompts]


__all__ = ["CountResult", "Counter"]
