"""True counts, and the points they come from where there are any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class ImageTruth:
    """The truth about one image.

    Parameters
    ----------
    count : float
        Number of objects.
    points : ndarray of shape (count, 2), float64, optional
        Objects as xy, pixels.
    size : tuple of int, optional
        Height and width of the image in pixels.
    """

    count: float
    points: np.ndarray | None = None
    size: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """The truth about a data set.

    Parameters
    ----------
    images : Mapping of str to ImageTruth
        By image id.
    notes : tuple of str
        What is odd about it or was left out, one sentence each.
    """

    images: Mapping[str, ImageTruth]
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, float]:
        """True count of each image id."""
        return {image_id: truth.count for image_id, truth in self.images.items()}


def truth_of_points(points: object, size: tuple[int, int] | None = None) -> ImageTruth:
    """Make the truth of an image from its points (N, 2) or (N, more), xy first.

    Raises
    ------
    ValueError
        If they are no such table of finite numbers.
    """
    table = np.asarray(points, np.float64)
    if table.size == 0:
        table = np.zeros((0, 2))
    if table.ndim != 2 or table.shape[1] < 2 or not np.isfinite(table[:, :2]).all():
        raise ValueError(f"expected points [x, y], got an array of shape {table.shape}")
    return ImageTruth(float(len(table)), table[:, :2], size)
