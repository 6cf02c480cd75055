"""What label files say, in one form for all formats, and their boxes as one table.

Every reader of labels returns a `LabelSet`. `labelled_boxes` makes `Boxes` of it, in the categories
that count, for evaluation; `renamed`, `of_images` and `held_out_of_training` keep parts of one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np

from autoeval.boxes import ENOUGH_BOXES, Boxes, LabelledImage, check_pixels
from autoeval.io.image_identity import split_of, split_word
from autoeval.io.image_lists import FARTHEST
from autoeval.words import Notice, listed

# Category of an area in which nothing was labelled, whatever the category.
ANY = "*"
SEPARATORS = re.compile(r"[\s_-]+")  # in words of categories
MANY_UNUSABLE = 0.05  # share of labelled boxes that are left out
EVERYWHERE = (-1e6, -1e6, 2e6, 2e6)  # left, top, width, height of an area that holds any image
NO_BOXES = np.zeros((0, 4)), np.zeros(0, np.int64), np.zeros(0, bool)
"""Boxes, categories and crowds of an image without labels."""


@dataclass(frozen=True, slots=True)
class LabelledBox:
    """One box of a category, as label files have it.

    Parameters
    ----------
    image_id : str
        Of its image.
    category : str
        Name in the files, or `ANY`.
    xywh : tuple of float
        Left, top, width and height in pixels; the left edge of the image is 0, its right edge
        its width.
    iscrowd : bool
        Whether it is an area that evaluation ignores: a crowd, a difficult object, a region that
        nobody labelled.
    """

    image_id: str
    category: str
    xywh: tuple[float, float, float, float]
    iscrowd: bool = False


@dataclass(frozen=True, eq=False)
class BoxColumns(Sequence[LabelledBox]):
    """N labelled boxes as columns; as a sequence it holds a `LabelledBox` for each.

    Unlike `autoeval.boxes.Boxes` they have the numbers and the words that the files write: sides
    and not right edges, areas of `ANY` category, and boxes on images of any list.

    Parameters
    ----------
    image_ids, categories : tuple of str
        Ids of images and words of categories, which may hold more than boxes are of.
    image, category : ndarray of shape (N,), int64
        Indices into `image_ids` and `categories`.
    xywh : ndarray of shape (N, 4), float64
        Left, top, width and height, pixels.
    iscrowd : ndarray of shape (N,), bool
        Whether each is an area that evaluation ignores.

    Examples
    --------
    >>> car, dog = LabelledBox("7", "car", (1, 2, 3, 4)), LabelledBox("7", "dog", (0, 0, 9, 9))
    >>> boxes = BoxColumns.of([car, dog])
    >>> len(boxes), boxes[1].category, boxes.words(np.array([True, False]))
    (2, 'dog', ['car'])
    """

    image_ids: tuple[str, ...]
    image: np.ndarray
    categories: tuple[str, ...]
    category: np.ndarray
    xywh: np.ndarray
    iscrowd: np.ndarray

    @classmethod
    def of(cls, boxes: Sequence[LabelledBox]) -> BoxColumns:
        """Take the columns of boxes in memory.

        Parameters
        ----------
        boxes : sequence of LabelledBox
            In any order.
        """
        image_of = {name: k for k, name in enumerate(dict.fromkeys(box.image_id for box in boxes))}
        number_of = {word: k for k, word in enumerate(dict.fromkeys(box.category for box in boxes))}
        return cls(
            tuple(image_of),
            np.array([image_of[box.image_id] for box in boxes], np.int64),
            tuple(number_of),
            np.array([number_of[box.category] for box in boxes], np.int64),
            np.array([box.xywh for box in boxes], np.float64).reshape(-1, 4),
            np.array([box.iscrowd for box in boxes], bool),
        )

    def __len__(self) -> int:
        return len(self.image)

    def __iter__(self) -> Iterator[LabelledBox]:
        columns = (self.image, self.category, self.xywh, self.iscrowd)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for image, category, xywh, iscrowd in rows:
            yield LabelledBox(
                self.image_ids[image], self.categories[category], tuple(xywh), iscrowd
            )

    def __getitem__(self, place: Any) -> Any:
        """Return one box, or those of a slice as columns."""
        if isinstance(place, slice):
            return self.where(np.arange(len(self))[place])
        (box,) = self.where(np.array([place]))
        return box

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def where(self, mask: np.ndarray) -> BoxColumns:
        """Keep some boxes, and all ids and words.

        Parameters
        ----------
        mask : ndarray
            Of shape (N,), bool, or positions.
        """
        return replace(
            self,
            image=self.image[mask],
            category=self.category[mask],
            xywh=self.xywh[mask],
            iscrowd=self.iscrowd[mask],
        )

    def words(self, mask: np.ndarray) -> list[str]:
        """Return the categories of some boxes, in the order of these boxes.

        Parameters
        ----------
        mask : ndarray
            Of shape (N,), bool, or positions.
        """
        used, first = np.unique(self.category[mask], return_index=True)
        return [self.categories[k] for k in used[np.argsort(first)].tolist()]

    def on(self, image_ids: Collection[str]) -> np.ndarray:
        """Return which boxes are on some images.

        Parameters
        ----------
        image_ids : collection of str
            Of these images.

        Returns
        -------
        ndarray of shape (N,), bool
        """
        kept = np.array([image_id in image_ids for image_id in self.image_ids], bool)
        return kept[self.image]


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
    boxes : BoxColumns
        Labelled boxes, areas to ignore among them.
    img_dir : Path, optional
        Folder that the file names are relative to, where it is known.
    unlabelled : tuple of str
        Images of the folder without a label file, as paths relative to it. Only formats with one
        label file for each image distinguish them from images that hold nothing; elsewhere empty.
    warnings : tuple of Notice
        What was left out or repaired, one sentence each.
    numbers : tuple of str
        The number of each category in the files; empty where they name categories by words.
    checked : mapping of str to frozenset of str
        Words of the categories that somebody looked for in an image, by the image's id, where that
        was not all of them, as in LVIS; empty where all were looked for in all images.
    lists_categories : bool
        Whether the files list the categories that were looked for, with a box or not.
    """

    path: Path
    images: tuple[LabelledImage, ...]
    categories: tuple[str, ...] = ()
    boxes: BoxColumns = field(default_factory=lambda: BoxColumns.of([]), repr=False)
    img_dir: Path | None = None
    unlabelled: tuple[str, ...] = field(default=(), repr=False)
    warnings: tuple[Notice, ...] = ()
    numbers: tuple[str, ...] = ()
    checked: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    lists_categories: bool = False

    def unchecked(self, image_id: str, words: Iterable[str]) -> list[str]:
        """Return those of some words that nobody looked for in an image.

        Parameters
        ----------
        image_id : str
            Of the image.
        words : iterable of str
            Categories of the files.
        """
        checked = self.checked.get(image_id)
        return [] if checked is None else [word for word in words if word not in checked]


def of_images(content: LabelSet, images: Sequence[LabelledImage]) -> LabelSet:
    """Keep some images, in their order, and their boxes.

    Parameters
    ----------
    content : LabelSet
        Labels.
    images : sequence of LabelledImage
        Some of its images.
    """
    on_kept = content.boxes.on({image.image_id for image in images})
    return replace(content, images=tuple(images), boxes=content.boxes.where(on_kept))


def renamed(
    content: LabelSet, images: Mapping[str, LabelledImage], words: Mapping[str, str]
) -> LabelSet:
    """Keep the labels of some images, and call these and categories otherwise.

    Parameters
    ----------
    content : LabelSet
        Labels.
    images : mapping of str to LabelledImage
        By the id of each image that is kept, what it becomes.
    words : mapping of str to str
        By the word of a category that changes, what it becomes. Where several become one, that has
        no single number, and labels are without `LabelSet.numbers`.
    """
    kept = [image for image in content.images if image.image_id in images]
    boxes = content.boxes.where(content.boxes.on(images))
    ids = {name: image.image_id for name, image in images.items()}
    joined: dict[str, set[str]] = {}  # the words of each category; it was looked for where all were
    for word in content.categories:
        joined.setdefault(words.get(word, word), set()).add(word)
    called = [words.get(word, word) for word in boxes.categories]
    number_of = {word: k for k, word in enumerate(dict.fromkeys(called))}
    return replace(
        content,
        images=tuple(images[image.image_id] for image in kept),
        categories=tuple(joined),
        numbers=content.numbers if len(joined) == len(content.categories) else (),
        boxes=replace(
            boxes,
            image_ids=tuple(ids.get(name, name) for name in boxes.image_ids),
            categories=tuple(number_of),
            category=np.array([number_of[word] for word in called], np.int64)[boxes.category],
        ),
        checked={
            ids[name]: frozenset(word for word, parts in joined.items() if parts <= checked)
            for name, checked in content.checked.items()
            if name in ids
        },
    )


def held_out_of_training(content: LabelSet) -> LabelSet:
    """Leave out images of the split ``train`` where others are labelled, with a warning.

    A detector that was trained on a data set was trained on these: ``yolo val`` takes ``val``, too.

    Parameters
    ----------
    content : LabelSet
        Returned as it is without such images.
    """
    words = [split_word(split_of(image)) for image in content.images]
    other_splits = sorted({*words} - {"", "train"})
    kept = [image for image, word in zip(content.images, words, strict=True) if word != "train"]
    if not other_splits or len(kept) == len(words):
        return content
    notice = Notice(
        "splits-left-out",
        f"{len(words) - len(kept)} labelled images of the split train are left out, on which the "
        f"detector was probably trained; {len(kept)} are used ({listed(other_splits)})",
    )
    content = of_images(content, kept)
    return replace(content, warnings=(*content.warnings, notice))


def never(path: Path) -> bool:
    """Return False: for layouts that are read only where they are named.

    Parameters
    ----------
    path : Path
        Any.
    """
    return False


@dataclass(frozen=True)
class LabelFormat:
    """A format of label files.

    Parameters
    ----------
    name : str
        In ``layout="voc"``.
    about : str
        The same for people.
    read : callable
        From the path of the labels, the image folder or None, and options by keyword, to a
        `LabelSet`.
    recognises : callable
        Whether a path looks like this format; by default none does.
    """

    name: str
    about: str
    read: Callable[..., LabelSet]
    recognises: Callable[[Path], bool] = never

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that `read` takes besides the two paths."""
        return tuple(signature(self.read).parameters)[2:]


def around_turned(xywh: Sequence[float], degrees: float) -> tuple[float, float, float, float]:
    """Return the box around one that is turned about its centre, as left, top, width and height.

    Parameters
    ----------
    xywh : sequence of float
        The upright box, before it is turned.
    degrees : float
        By which it is turned; in which direction makes no difference.

    Examples
    --------
    >>> [round(side, 6) for side in around_turned((0, 0, 8, 4), 90)]
    [2.0, -2.0, 4.0, 8.0]
    """
    left, top, width, height = xywh
    angle = math.radians(degrees)
    cos, sin = abs(math.cos(angle)), abs(math.sin(angle))
    w, h = width * cos + height * sin, width * sin + height * cos
    return left + (width - w) / 2, top + (height - h) / 2, w, h


def in_pixels(content: LabelSet) -> LabelSet:
    """Refuse labels whose boxes are not in pixels of their images; see `check_pixels`.

    Parameters
    ----------
    content : LabelSet
        Labels; of few boxes nothing can be decided.

    Returns
    -------
    LabelSet
        With a warning of boxes in shares of some images.

    Raises
    ------
    InputError
        If they are not.
    """
    boxes = content.boxes
    if len(boxes) < ENOUGH_BOXES:
        return content
    place = {image.image_id: k for k, image in enumerate(content.images)}
    places = np.array([place[image_id] for image_id in boxes.image_ids], np.int64)
    xyxy = boxes.xywh.copy()
    with np.errstate(over="ignore"):
        xyxy[:, 2:] += xyxy[:, :2]
    reach = check_pixels(content.path, "labelled boxes", xyxy, places[boxes.image], content.images)
    return replace(content, warnings=(*content.warnings, *reach.in_shares))


def around_shapes(n: int) -> tuple[Notice, ...]:
    """Note how many polygons and rotated boxes were read as the boxes around them; empty for none.

    Parameters
    ----------
    n : int
        Their number.
    """
    text = f"polygons or rotated boxes, read as the boxes around them: {n}"
    return (Notice("boxes-around-shapes", text, severity="note"),) if n else ()


def labelled_boxes(
    content: LabelSet,
    categories: Sequence[str] | None = None,
    words: Mapping[str, str] | None = None,
    images: Sequence[LabelledImage] | None = None,
) -> Boxes:
    """Take the boxes of an annotation file, of all its categories and images or of some.

    Parameters
    ----------
    content : LabelSet
        Labels.
    categories : sequence of str, optional
        Those that count; by default those of the file.
    words : mapping of str to str, optional
        Category of each word of the file that counts; by default each is its own.
    images : sequence of LabelledImage, optional
        Those that are kept, in their order; by default those of the file.

    Returns
    -------
    Boxes
        xyxy in pixels, crowds marked, an area of `ANY` category once for each. Boxes without area,
        or beyond `FARTHEST` pixels, are left out, which `left_out` says, and which words differ by
        case or separators alone.

    Examples
    --------
    >>> image = LabelledImage("7", "7.jpg", (480, 640))
    >>> car = BoxColumns.of([LabelledBox("7", "car", (10, 20, 30, 40))])
    >>> labels = LabelSet(Path("a.json"), (image,), ("car",), car)
    >>> truth = labelled_boxes(labels, ["vehicle"], {"car": "vehicle"})
    >>> truth.categories, truth.boxes.tolist()
    (('vehicle',), [[10.0, 20.0, 40.0, 60.0]])
    """
    images = tuple(content.images if images is None else images)
    categories = tuple(content.categories if categories is None else categories)
    words = {name: name for name in categories} if words is None else words
    place = {image.image_id: k for k, image in enumerate(images)}
    index = {name: k for k, name in enumerate(categories)}
    columns = content.boxes
    places = np.array([place.get(image_id, -1) for image_id in columns.image_ids], np.int64)
    labels = np.array(
        [index.get(words[word], -1) if word in words else -1 for word in columns.categories],
        np.int64,
    )
    image, label = places[columns.image], labels[columns.category]
    kept = np.flatnonzero((image >= 0) & (label >= 0))
    label = label[kept]
    if ANY in columns.categories:  # such an area is ignored for each category
        of_any = columns.category == columns.categories.index(ANY)
        areas, n = np.flatnonzero(of_any & (image >= 0)), len(categories)
        kept = np.append(kept, np.repeat(areas, n))
        label = np.append(label, np.tile(np.arange(n), len(areas)))
    xyxy = columns.xywh[kept]
    with np.errstate(over="ignore"):
        xyxy[:, 2:] += xyxy[:, :2]
    crowd = columns.iscrowd[kept]
    truth = Boxes(images, categories, image[kept], label, xyxy, crowd=crowd)
    huge = ~(np.abs(xyxy) < FARTHEST).all(axis=1)
    flat = ~huge & np.any(xyxy[:, 2:] <= xyxy[:, :2], axis=1)
    kinds = {
        f"with an edge beyond {FARTHEST:.0e} pixels": huge,
        "without area (pycocotools counts them as missed)": flat,
    }
    notices = tuple(
        Notice(
            "label-boxes-unusable",
            f"labelled boxes {kind}, left out: {bad.sum()}",
            severity="warning" if bad.sum() > MANY_UNUSABLE * len(truth) else "note",
        )
        for kind, bad in kinds.items()
        if bad.any()
    )
    of_form: dict[str, dict[object, str]] = {}  # words by the category that each is
    for k in np.unique(columns.category[image >= 0]).tolist():
        word = columns.categories[k]
        form = normalize("NFC", SEPARATORS.sub("", word).casefold())
        of_form.setdefault(form, {}).setdefault(words.get(word, (word,)), word)
    pairs = [
        " beside ".join(alike.values())
        for alike in of_form.values()
        if len(alike) > 1 and any(word in words for word in alike.values())
    ]
    if pairs:
        text = (
            "words of the labels differ by case or separators alone, and are two categories: "
            f"{listed(pairs, 3)}"
        )
        notices += (Notice("words-nearly-equal", text),)
    return replace(truth.where(~(huge | flat)), left_out=notices)


def ignoring_unchecked(
    truth: Boxes, content: LabelSet, detectors: Sequence[Boxes], words: Mapping[str, str] | None
) -> Boxes:
    """Ignore detections of categories that nobody looked for in their image.

    The rule of LVIS (Gupta et al. 2019, section 3.2): such a box is neither right nor wrong. An
    area that evaluation ignores is added for each image and category that has one.

    Parameters
    ----------
    truth : Boxes
        Labels, as `labelled_boxes` returns them.
    content : LabelSet
        What they are of; without `checked` nothing changes.
    detectors : sequence of Boxes
        Boxes of each detector on the same images, of the same categories.
    words : mapping of str to str or None
        As in `labelled_boxes`.
    """
    if not content.checked:
        return truth
    words = {name: name for name in truth.categories} if words is None else words
    of_category: dict[str, list[str]] = {name: [] for name in truth.categories}
    for word in content.categories:
        if words.get(word) in of_category:
            of_category[words[word]].append(word)
    found = [np.stack([boxes.image, boxes.label], axis=1) for boxes in detectors]
    pairs = np.unique(np.concatenate(found), axis=0)
    ignored = np.array(
        [
            bool(content.unchecked(truth.images[image].image_id, of_category[name]))
            for image, label in pairs.tolist()
            for name in [truth.categories[label]]
        ],
        bool,
    )
    pairs, n = pairs[ignored], int(ignored.sum())
    left, top, width, height = EVERYWHERE
    areas = np.tile([left, top, left + width, top + height], (n, 1))
    note = Notice(
        "labels-not-exhaustive",
        "the labels say of each image which categories were looked for: boxes of others are "
        f"ignored there, in {n} pairs of image and category",
        severity="note",
    )
    return replace(
        truth,
        image=np.append(truth.image, pairs[:, 0]),
        label=np.append(truth.label, pairs[:, 1]),
        boxes=np.concatenate([truth.boxes, areas]),
        scores=np.append(truth.scores, np.ones(n)),
        crowd=np.append(truth.crowd, np.ones(n, bool)),
        left_out=(*truth.left_out, note),
    )
