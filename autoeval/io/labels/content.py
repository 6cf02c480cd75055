"""What label files say, in one form for all formats."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

# Category of an area in which nothing was labelled, whatever the category.
ANY = "*"
SPLITS = frozenset({"train", "val", "valid", "validation", "test"})


@dataclass(frozen=True, slots=True)
class LabelledImage:
    """An image that somebody has labelled, be it with no box.

    `image_id` is its name within its set: the id of a COCO file, else the path `file_name` relative
    to the image folder. `size` is height and width in pixels, where they are known; `taken` is
    without a time zone, where the file says so.
    """

    image_id: str
    file_name: str
    size: tuple[int, int] | None
    taken: datetime | None = None


@dataclass(frozen=True, slots=True)
class LabelledBox:
    """One box of a category, by its name in the files, or of `ANY`.

    `xywh` is left, top, width and height in pixels; the left edge of the image is 0, its right edge
    its width. `iscrowd` marks an area that evaluation ignores: a crowd, a difficult object, a
    region that nobody labelled.
    """

    image_id: str
    category: str
    xywh: tuple[float, float, float, float]
    iscrowd: bool = False


@dataclass(frozen=True)
class LabelSet:
    """The labels of a data set.

    Parameters
    ----------
    path : Path
        Where they were read.
    images : tuple of LabelledImage
        Labelled images, those without any box among them, in the order of the files.
    categories : tuple of str
        In the order of the files.
    boxes : tuple of LabelledBox
    img_dir : Path, optional
        Folder that the file names are relative to, where it is known.
    unlabelled : tuple of str
        Images of the folder that no label file speaks of, as paths relative to it. Formats of one
        label file for each image tell them from images that hold nothing; elsewhere it is empty.
    warnings : tuple of str
        What was left out or repaired, one sentence each.
    numbers : tuple of str
        The number of each category in the files; empty where they name categories by words.
    """

    path: Path
    images: tuple[LabelledImage, ...]
    categories: tuple[str, ...] = ()
    boxes: tuple[LabelledBox, ...] = field(default=(), repr=False)
    img_dir: Path | None = None
    unlabelled: tuple[str, ...] = field(default=(), repr=False)
    warnings: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()


def split_of(image: LabelledImage) -> str:
    """Return the folder that names the split of an image, such as ``val``; empty without one.

    Examples
    --------
    >>> split_of(LabelledImage("1", "images/val/0001.jpg", None))
    'val'
    """
    folders = PurePosixPath(image.file_name.replace("\\", "/")).parts[:-1]
    return next((part for part in folders if part.lower() in SPLITS), "")


def of_splits(content: LabelSet, splits: Collection[str]) -> LabelSet:
    """Keep the images of some splits, and their boxes."""
    images = tuple(image for image in content.images if split_of(image) in splits)
    kept = {image.image_id for image in images}
    boxes = tuple(box for box in content.boxes if box.image_id in kept)
    return replace(content, images=images, boxes=boxes)


def never(path: Path) -> bool:
    """Recognise nothing: for layouts that are read only where they are named."""
    return False


@dataclass(frozen=True)
class LabelFormat:
    """A format of label files, called `name` in ``layout="voc"`` and `about` to people.

    `read` takes the path of the labels, the image folder or None, and options by keyword;
    `recognises` says whether a path looks like this format.
    """

    name: str
    about: str
    read: Callable[..., LabelSet]
    recognises: Callable[[Path], bool] = never
