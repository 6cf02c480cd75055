"""What can be seen of an occluded pattern, and whether a hypothesis agrees with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from autoeval.counting.capture.occluder import on_canvas

_RING = np.exp(1j * np.linspace(0, 2 * np.pi, 24, endpoint=False))


@dataclass(frozen=True, eq=False)
class VisibleEvidence:
    """What can be seen.

    Parameters
    ----------
    visible : ndarray of shape (M, 2), float64
        Centres of the objects that the box does not touch, as xy, pixels.
    box : ndarray of shape (4,)
        The occluder as xyxy.
    radius : float
        Half the width of an object.
    size : tuple of int
        Width and height of the image.
    fragments : ndarray of shape (K, 2), float64, or None
        Pixels of objects that look out from behind the box; None where that is not known.
    """

    visible: np.ndarray
    box: np.ndarray
    radius: float
    size: tuple[int, int]
    fragments: np.ndarray | None = None

    @property
    def tolerance(self) -> float:
        """How far an object may lie from its site, pixels."""
        return 0.3 * self.radius


def hidden_sites(sites: np.ndarray, evidence: VisibleEvidence) -> np.ndarray | None:
    """Return the sites that must be behind the box, if the hypothesis agrees with the evidence.

    It agrees if every visible object sits on a site of its own, every other site in the image can
    be behind the box, and the hidden sites account for the fragments, where these are known.

    Parameters
    ----------
    sites : ndarray of shape (N, 2)
        Where a hypothesis puts objects.
    evidence : VisibleEvidence

    Returns
    -------
    ndarray of shape (H, 2), or None if it does not agree
    """
    if len(sites) < len(evidence.visible):
        return None
    gap, index = cKDTree(sites).query(evidence.visible)
    if gap.max() > evidence.tolerance or len(np.unique(index)) < len(index):
        return None
    others = np.delete(sites, index, axis=0)
    others = others[on_canvas(others, evidence.radius, evidence.size)]
    return others if can_hide(others, evidence) and _explain(others, evidence) else None


def can_hide(sites: np.ndarray, evidence: VisibleEvidence) -> bool:
    """Say whether objects at all ``sites`` (N, 2) would be behind the box.

    Each must touch the box; where fragments are known, what would stick out must be among them.
    """
    box = evidence.box
    outside = np.maximum(np.maximum(box[:2] - sites, sites - box[2:]), 0)
    if np.any(outside >= evidence.radius):
        return False
    if evidence.fragments is None:
        return True
    rim = 0.8 * evidence.radius * np.column_stack([_RING.real, _RING.imag])
    rims = (sites[:, None] + rim).reshape(-1, 2)
    seen = ((rims < box[:2] - 1) | (rims > box[2:] + 1)).any(1)
    seen &= ((rims > 1) & (rims < np.array(evidence.size) - 1)).all(1)
    return _all_near(rims[seen], evidence.fragments, evidence.tolerance)


def _explain(sites: np.ndarray, evidence: VisibleEvidence) -> bool:
    if evidence.fragments is None:
        return True
    reach = np.sqrt(2) * evidence.radius + evidence.tolerance
    return _all_near(evidence.fragments, sites, reach)


def _all_near(points: np.ndarray, targets: np.ndarray, reach: float) -> bool:
    if len(points) == 0:
        return True
    return len(targets) > 0 and cKDTree(targets).query(points)[0].max() <= reach
