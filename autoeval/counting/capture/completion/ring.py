"""Hypotheses: n objects at equal angles on a circle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autoeval.counting.capture.completion.evidence import VisibleEvidence
from autoeval.counting.capture.regularity import fit_circle


def ring_hypotheses(evidence: VisibleEvidence) -> Iterator[np.ndarray]:
    """Yield the sites (N, 2) of every ring through the visible objects.

    The circle is fitted to at least three objects; N runs up to where neighbours would overlap.
    """
    points = evidence.visible
    if len(points) < 3:
        return
    centre, radius = fit_circle(points)
    from_centre = points - centre
    if not np.isfinite(radius) or radius > max(evidence.size):
        return
    if np.abs(np.hypot(*from_centre.T) - radius).max() > evidence.tolerance:
        return
    angles = np.arctan2(from_centre[:, 1], from_centre[:, 0])
    for n in range(len(points), int(np.pi * radius / evidence.radius) + 1):
        phase = np.angle(np.exp(1j * n * angles).sum()) / n
        turn = phase + 2 * np.pi * np.arange(n) / n
        yield centre + radius * np.column_stack([np.cos(turn), np.sin(turn)])
