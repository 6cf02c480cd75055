"""What mosaics are drawn from, which is more than the images that are measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PoolImage:
    """An image of one class that need not be measured.

    Parameters
    ----------
    image_id : str
    category : str
    path : Path
    """

    image_id: str
    category: str
    path: Path


@dataclass(frozen=True)
class MosaicPool:
    """The two halves of the draws.

    Parameters
    ----------
    upper : tuple of PoolImage
        Images that lower ones are drawn for, in the order of the draws; those that are not measured
        take part, or their absence would change all later draws.
    lower : tuple of PoolImage
        Images that are drawn from. FSC-147's class file holds images of no split, which the
        authors' code draws all the same.
    """

    upper: tuple[PoolImage, ...]
    lower: tuple[PoolImage, ...]

    def by_class(self) -> dict[str, list[str]]:
        """Return the ids to draw from for each class, in their order."""
        pools: dict[str, list[str]] = {}
        for image in self.lower:
            pools.setdefault(image.category, []).append(image.image_id)
        return pools

    @property
    def class_of(self) -> dict[str, str]:
        """Class of each image by its id."""
        return {image.image_id: image.category for image in (*self.lower, *self.upper)}
