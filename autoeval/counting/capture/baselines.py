"""Counters without a model: what is visible, and what a completed pattern holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autoeval.counting.capture.completion.complete import complete
from autoeval.counting.capture.completion.detect import detect, detect_objects, has_box
from autoeval.counting.capture.completion.evidence import VisibleEvidence
from autoeval.counting.counters.base import COUNT, POINTS, CountResult
from autoeval.errors import InputError


class VisibleOnly:
    """Counts the objects that the box does not touch, without a mistake.

    What a perfect detector of whole visible objects answers: the part of the error that is owed to
    occlusion alone.
    """

    name = "visible-only"
    capabilities = frozenset({COUNT, POINTS})
    needs = ("visible_points",)

    def count(
        self, image: np.ndarray, prompt: str, context: Mapping[str, Any] | None = None
    ) -> CountResult:
        """Count the ``visible_points`` of ``context``."""
        points = _visible(context)
        return CountResult(float(len(points)), points=points, context=context or {})


class PatternCompletion:
    """Fits a row, block, triangle or ring to visible objects and continues it behind the box.

    Parameters
    ----------
    centres : {'oracle', 'detected'}
        Whether the centres of the untouched objects, the box and the radius are given in
        ``context``, or everything is found in the image by connected components; the latter sees
        the fragments of partly hidden objects as well.
    policy : {'fewest', 'median', 'most'}
        See `Completion.hidden`.
    """

    capabilities = frozenset({COUNT, POINTS})

    def __init__(self, *, centres: str = "oracle", policy: str = "most") -> None:
        self.centres = centres
        self.policy = policy

    @property
    def name(self) -> str:
        """Identifies the counter in result files."""
        return f"completion-{self.centres}"

    @property
    def needs(self) -> tuple[str, ...]:
        """Facts of an item that the context must hold."""
        return ("visible_points", "box", "radius") if self.centres == "oracle" else ()

    def count(
        self, image: np.ndarray, prompt: str, context: Mapping[str, Any] | None = None
    ) -> CountResult:
        """Count the objects in ``image`` (H, W, 3) uint8 BGR, those behind the box included.

        Without a box, as in the original images, nothing is hidden: what is visible is counted. An
        image in which nothing is found gives a failed result.

        Raises
        ------
        InputError
            If the context lacks a fact.
        """
        if self.centres == "oracle" and hides_nothing(context):
            points = _visible(context)
            return CountResult(float(len(points)), points=points, context=context or {})
        if self.centres == "detected":
            return self._detected(image, context or {})
        return self._completed(told(image, context), context or {})

    def _detected(self, image: np.ndarray, context: Mapping[str, Any]) -> CountResult:
        try:
            if not has_box(image):
                points = detect_objects(image)
                return CountResult(float(len(points)), points=points, context=context)
            return self._completed(detect(image), context)
        except InputError as error:
            return CountResult(float("nan"), status=f"failed: {error}", context=context)

    def _completed(self, evidence: VisibleEvidence, context: Mapping[str, Any]) -> CountResult:
        points = np.concatenate([evidence.visible, complete(evidence).hidden(self.policy)])
        return CountResult(float(len(points)), points=points, context=context)


def hides_nothing(context: Mapping[str, Any] | None) -> bool:
    """Tell whether the context says that there is no box, rather than saying nothing of one."""
    return context is not None and "box" in context and context["box"] is None


def told(image: np.ndarray, context: Mapping[str, Any] | None) -> VisibleEvidence:
    """Take the evidence from the facts in ``context``; only the size of the image is read."""
    visible = _visible(context)
    facts = context or {}
    if facts.get("box") is None or facts.get("radius") is None:
        raise InputError("Completion with oracle centres needs 'box' and 'radius' in the context.")
    size = image.shape[1], image.shape[0]
    return VisibleEvidence(visible, np.array(facts["box"]), float(facts["radius"]), size)


def _visible(context: Mapping[str, Any] | None) -> np.ndarray:
    points = (context or {}).get("visible_points")
    if points is None:
        raise InputError("This counter needs 'visible_points' in the context.")
    return np.array(points, float).reshape(-1, 2)
