"""True counts, and the points they come from where there are any."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

import numpy as np

# Ways to call an image by its file: the whole name, without folders, without suffix too.
_NAMES = (str, lambda name: PurePath(name).name, lambda name: PurePath(name).stem)


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
    file_names : Mapping of str to str
        File name of each image id, where the two differ.
    """

    images: Mapping[str, ImageTruth]
    notes: tuple[str, ...] = ()
    file_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, float]:
        """True count of each image id."""
        return {image_id: truth.count for image_id, truth in self.images.items()}

    def named_as(self, ids: Collection[str]) -> GroundTruth:
        """Return the truth by ids, file names, or file names without folders, as most of `ids` are.

        Examples
        --------
        >>> truth = GroundTruth({"1": ImageTruth(3.0)}, (), {"1": "day/7.jpg"})
        >>> [truth.named_as(ids).counts for ids in (["1"], ["day/7.jpg"], ["7.jpg"])]
        [{'1': 3.0}, {'day/7.jpg': 3.0}, {'7.jpg': 3.0}]
        """
        wanted = set(ids)
        names = [{i: change(self.file_names.get(i, i)) for i in self.images} for change in _NAMES]
        forms = [{i: i for i in self.images}, *names]
        best = max(forms, key=lambda form: len(wanted & set(form.values())))
        if best is forms[0] or len(set(best.values())) < len(best):
            return self
        return GroundTruth({best[i]: truth for i, truth in self.images.items()}, self.notes)


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
