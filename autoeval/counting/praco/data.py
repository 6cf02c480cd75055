"""Counting data sets as PrACo needs them: points by class, and the pool of mosaics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.runtime.files import PathLike
from autoeval.words import listed

NO_OBJECT = "no object: its true count is 0"
ON_THE_LIST = "on the exclusion list"


@dataclass(frozen=True, eq=False)
class CountedImage:
    """One image and the centres (N, 2) of its objects as xy, pixels, by class.

    `size` is height and width of the frame that the points are in, by default that of the image.
    """

    image_id: str
    path: Path
    points: Mapping[str, np.ndarray]
    size: tuple[int, int] | None = None

    @property
    def category(self) -> str:
        """The class of an image that has only one."""
        [category] = self.points
        return category

    @property
    def count(self) -> int:
        """Number of objects, of all classes."""
        return sum(map(len, self.points.values()))


@dataclass(frozen=True)
class MosaicPool:
    """The two halves of the draws, in their order: the class of each image by its id.

    Images that are not measured take part, or their absence would change all later draws; FSC-147's
    class file holds images of no split, which the authors' code draws all the same.
    """

    upper: Mapping[str, str]
    lower: Mapping[str, str]
    paths: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CountingSet:
    """Images and the classes to be counted, in the order of prediction files.

    A class without images is named in the negative-label test only. `excluded` gives by image id
    why the image is in no measure; `mosaic_pool` is what mosaics draw from, where that is more than
    `images`.
    """

    name: str
    classes: tuple[str, ...]
    images: tuple[CountedImage, ...]
    excluded: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    mosaic_pool: MosaicPool | None = None

    @property
    def kept(self) -> tuple[CountedImage, ...]:
        """The images that are measured."""
        return tuple(image for image in self.images if image.image_id not in self.excluded)

    @property
    def by_id(self) -> dict[str, CountedImage]:
        """All images by their id."""
        return {image.image_id: image for image in self.images}

    @property
    def pool(self) -> MosaicPool:
        """What mosaics draw from: `mosaic_pool`, or else all images."""
        if self.mosaic_pool is not None:
            return self.mosaic_pool
        categories = {image.image_id: image.category for image in self.images}
        return MosaicPool(categories, categories)

    @property
    def paths(self) -> dict[str, Path]:
        """File of every image that may be in a mosaic, by its id."""
        return {**self.pool.paths, **{image.image_id: image.path for image in self.images}}

    def truth(self) -> pd.DataFrame:
        """Return ``category`` and ``count`` of the measured images, indexed by ``image_id``."""
        rows = [(image.image_id, image.category, image.count) for image in self.kept]
        table = pd.DataFrame(rows, columns=["image_id", "category", "count"])
        return table.set_index("image_id")

    def class_counts(self) -> pd.DataFrame:
        """Return the true counts of the measured images (rows) by class (columns)."""
        rows = [[len(image.points.get(name, ())) for name in self.classes] for image in self.kept]
        ids = pd.Index([image.image_id for image in self.kept], name="image_id")
        return pd.DataFrame(rows, index=ids, columns=list(self.classes), dtype=np.int64)

    def first(self, n: int | None) -> CountingSet:
        """Measure the first `n` of the measured images alone; what mosaics draw from stays."""
        beyond = [image.image_id for image in self.kept[n:]] if n is not None else []
        return self.exclude(beyond, f"beyond the limit of {n}") if beyond else self

    def exclude(self, image_ids: Iterable[str], reason: str = ON_THE_LIST) -> CountingSet:
        """Take images out of all measures, by ids with or without suffix, and note others."""
        named = {Path(name).stem: name for name in self.by_id} | {name: name for name in self.by_id}
        wanted = list(image_ids)
        unknown = [name for name in wanted if name not in named]
        notes = left_out({"excluded images that the set does not have": unknown})
        excluded = {**self.excluded, **{named[w]: reason for w in wanted if w in named}}
        return replace(self, excluded=excluded, warnings=(*self.warnings, *notes))


def left_out(reasons: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Say for each reason how many images it is true of, and which; nothing where there is none."""
    return tuple(f"{why}: {len(ids)} ({listed(ids)})" for why, ids in reasons.items() if ids)


def single_class(counting_set: CountingSet) -> CountingSet:
    """Keep the images of one class; those without objects are excluded by name."""
    images = tuple(image for image in counting_set.images if len(image.points) == 1)
    unfit = {
        "images of several classes, left out": [
            image.image_id for image in counting_set.images if len(image.points) > 1
        ],
        "images without objects, left out": [
            image.image_id for image in counting_set.images if not image.points
        ],
    }
    warnings = (*counting_set.warnings, *left_out(unfit))
    single = replace(counting_set, images=images, warnings=warnings)
    single = single.exclude([i.image_id for i in images if not i.count], NO_OBJECT)
    if len(single.classes) < 2 or not single.kept:
        raise InputError(
            f"PrACo needs images of one class each and at least two classes to ask for, but "
            f"{counting_set.name} has {len(single.kept)} such images and the classes "
            f"{listed(single.classes) or 'none'}."
        )
    return single


def read_exclusions(path: PathLike) -> list[str]:
    """Read image ids, one a line, ``#`` starts a comment, or raise `InputError`."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read the exclusion list {path}: {error}.") from error
    return [name for line in lines if (name := line.split("#")[0].strip())]
