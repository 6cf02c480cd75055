"""What is visible of an occluded pattern: objects, fragments and the black box."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from scipy.spatial import cKDTree

from autoeval.counting.capture.render import on_canvas
from autoeval.errors import InputError

_RING = np.exp(1j * np.linspace(0, 2 * np.pi, 24, endpoint=False))
BLACK, COLOURED = 40, 60  # brightest channel of the box; least spread of an object's channels
WHOLE = 0.9  # least area of a whole object, as a share of the usual one


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


def detect(image: np.ndarray) -> VisibleEvidence:
    """Find what a synthetic image shows, by connected components.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8, BGR
        Objects of one strong colour and one size on white, and a black rectangle.

    Returns
    -------
    VisibleEvidence
        With fragments: pixels of the objects that the box cuts.

    Raises
    ------
    InputError
        If the image has no black box or nothing coloured beside it.
    """
    box = _find_box(image)
    coverage, n, labels, stats = _objects(image)
    areas = np.bincount(labels.ravel(), coverage.ravel(), minlength=n)
    whole = areas >= WHOLE * areas[1:].max()
    whole[0] = False
    sides = stats[whole][:, [cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT]]
    middles = np.column_stack([_mean(labels, coverage, areas, axis) for axis in (1, 0)])
    rows, columns = np.nonzero((labels > 0) & ~whole[labels])
    return VisibleEvidence(
        visible=middles[whole],
        box=box,
        radius=float(np.median(sides)) / 2,
        size=image.shape[1::-1],
        fragments=np.column_stack([columns, rows]) + 0.5,
    )


def has_box(image: np.ndarray) -> bool:
    """Tell whether an image (H, W, 3), uint8, BGR, holds a black box."""
    return bool((image.max(2) < BLACK).any())


def detect_objects(image: np.ndarray) -> np.ndarray:
    """Return the middles (N, 2) of the objects of an image without a box; see `detect`."""
    coverage, n, labels, _ = _objects(image)
    areas = np.bincount(labels.ravel(), coverage.ravel(), minlength=n)
    return np.column_stack([_mean(labels, coverage, areas, axis) for axis in (1, 0)])[1:]


def _objects(image: np.ndarray) -> tuple[np.ndarray, int, np.ndarray, np.ndarray]:
    """Return how coloured each pixel is, and the number, labels and boxes of the components."""
    coverage = np.ptp(image.astype(int), axis=2)
    n, labels, stats, _ = cv2.connectedComponentsWithStats((coverage > COLOURED).astype(np.uint8))
    if n < 2:
        raise InputError("Expected an image with coloured objects but found none.")
    return coverage, n, labels, stats


def _find_box(image: np.ndarray) -> np.ndarray:
    if not has_box(image):
        raise InputError("Expected an image with a black box but found none.")
    dark = (image.max(2) < BLACK).astype(np.uint8)
    _, _, stats, _ = cv2.connectedComponentsWithStats(dark)
    x, y, width, height, _ = stats[1 + np.argmax(stats[1:, cv2.CC_STAT_AREA])]
    return np.array([x, y, x + width, y + height])


def _mean(labels: np.ndarray, weight: np.ndarray, areas: np.ndarray, axis: int) -> np.ndarray:
    places = np.indices(labels.shape)[axis] + 0.5
    return np.bincount(labels.ravel(), (weight * places).ravel()) / np.maximum(areas, 1)
