"""YOLO label files: a text file for each image, a line for each box.

Source: https://docs.ultralytics.com/datasets/detect/ (boxes), /segment/ (polygons), /obb/ (rotated
boxes) and /pose/ (keypoints). The splits of a ``data.yaml`` are paths relative to its ``path``:
folders, or text files with an image a line. Its label files lie where
`ultralytics.data.utils.img2label_paths` looks: the last folder ``images`` is ``labels``.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.image_identity import SUFFIXES
from autoeval.io.image_lists import sorted_files, suffix_of, walk
from autoeval.io.images import image_size
from autoeval.io.labels.content import (
    BoxColumns,
    LabelFormat,
    LabelledBox,
    LabelSet,
    around_shapes,
)
from autoeval.io.labels.pairing import (
    LabelPairs,
    folder_of_images,
    label_file_warnings,
    pair_up,
    without_size,
)
from autoeval.runtime.files import YAML, BadItems, read_yaml
from autoeval.words import Notice, listed, printable

NAME_FILES = ("classes.txt", "obj.names", "_darknet.labels", "names.txt")
"""Files with a name a line, of class 0, 1, ..., beside labels or predictions."""
_BOX = 5
# Beyond this, numbers are pixels; a little beyond 1 is rounding, which loading clips.
_MOST = 1.5
_ROUNDING = 0.01  # of the image, by which a point lies outside its box
_LISTS = ("images.txt", "train.txt", "val.txt", "valid.txt", "test.txt")
_NO_LABELS = frozenset(
    {*NAME_FILES, *_LISTS, "README.txt", "README.roboflow.txt", "README.dataset.txt"}
)
_START = 200  # bytes
_NUMBER_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*-?\d+(?:\.\d*)?[ \t,;]").match
# Lines of keypoints behind a box: see `_refuse_keypoints`.
FEWEST_LINES = 10
CORNERS_OF_BOX = 8
MOSTLY = 0.9
FILLED = 0.4
SPLITS = {"train": "train", "val": "val", "validation": "val", "test": "test"}
"""The split of each key of a data.yaml, as in Ultralytics' `check_det_dataset`."""
LABEL_SUFFIX = ".txt"


@dataclass(frozen=True)
class YoloNames:
    """The names of classes.

    Parameters
    ----------
    names : dict of int to str
        By number; empty where no file has them.
    keypoints : bool
        Whether lines hold keypoints behind the box (``kpt_shape`` in data.yaml).
    """

    names: dict[int, str]
    keypoints: bool = False


def find_names(folder: Path) -> YoloNames:
    """Look for names in a folder, in its ``labels``, then in the two above it.

    Parameters
    ----------
    folder : Path
        Of the labels.

    Raises
    ------
    InputError
        If they are malformed, or YAML files of one folder have other names.
    """
    for place in (folder, folder / "labels", *folder.absolute().parents[:2]):
        paths = sorted(path for path in place.glob("*") if suffix_of(path.name) in YAML)
        names_by_file = {path: names for path in paths if (names := _from_yaml(path))}
        first = next(iter(names_by_file.values()), None)
        if any(names != first for names in names_by_file.values()):
            descriptions = [
                f"{path.name} ({listed([*yaml_names.names.values()], 3)})"
                for path, yaml_names in names_by_file.items()
            ]
            raise InputError(
                f"{place} holds YAML files that name classes otherwise: {listed(descriptions)}. "
                "Give the one of this data set as the labels."
            )
        if first:
            return first
        if names := listed_classes(place):
            return YoloNames(names)
    return YoloNames({})


def listed_classes(folder: Path) -> dict[int, str]:
    """Return the names of classes by a list in a folder, see `NAME_FILES`; empty without one.

    Parameters
    ----------
    folder : Path
        Of labels or predictions.
    """
    for path in (folder / name for name in NAME_FILES):
        if path.is_file():
            content = path.read_bytes()
            marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            text = content.decode("utf-16" if marked else "utf-8-sig", errors="replace")
            return {k: line.strip() for k, line in enumerate(text.splitlines()) if line.strip()}
    return {}


def _from_yaml(path: Path) -> YoloNames | None:
    """Read the names of a YAML file; None where it has none."""
    if b"names" not in path.read_bytes():
        return None
    content = read_yaml(path)
    if not isinstance(content, dict) or "names" not in content:
        return None
    return YoloNames(_named(path, content["names"]), "kpt_shape" in content)


def _named(path: Path, names: Any) -> dict[int, str]:
    """Return names by number, of a list or a mapping; `InputError` for anything else."""
    if isinstance(names, list):
        names = dict(enumerate(names))
    words = list(names.values()) if isinstance(names, dict) else [None]
    try:
        if all(isinstance(word, str | int | float) for word in words):
            return {int(number): str(name) for number, name in names.items()}
    except (ValueError, TypeError):
        pass
    raise InputError(
        f"{path}: expected `names` as a list of words, or as numbers with words, got "
        f"{listed(words)[:100]}."
    )


def read_yolo(path: Path, img_dir: Path | None = None) -> LabelSet:
    """Read YOLO labels from a folder of label files, of the whole data set, or its ``data.yaml``.

    An image without a label file is unlabelled; one with an empty file holds no object. Lines are
    ``class x_centre y_centre width height``, in shares of the image as it is shown (turned by its
    EXIF orientation); a class with a polygon or a rotated box is read as the box around it. Where
    no file names the classes, their names are their numbers.

    Parameters
    ----------
    path : Path
        A folder, or a ``data.yaml``. The images of a ``data.yaml`` are those of its paths
        ``train``, ``val`` and ``test``, see `pairs_of_yaml`.
    img_dir : Path, optional
        Folder of the images; by default, of a folder and of a ``data.yaml`` without such paths, the
        folder whose path has ``images`` in place of ``labels``.

    Returns
    -------
    LabelSet
        Boxes in pixels of the images, whose sizes are read from their headers.

    Raises
    ------
    InputError
        If there are no images or no label files of them, more than half of the lines are malformed,
        or lines hold keypoints and no ``data.yaml`` says so.
    """
    labels = path.parent if path.is_file() else path
    names = (_from_yaml(path) if path.is_file() else None) or find_names(labels)
    lost = list[str]()
    of_yaml = pairs_of_yaml(path, lost) if path.is_file() and img_dir is None else None
    if of_yaml is None:
        folder = img_dir or folder_of_images(labels)
        try:
            pairs = pair_up(labels, folder, ".txt", other_files=_NO_LABELS)
        except InputError as error:
            if img_dir is None and path.is_file():
                raise InputError(
                    f"Expected images with labels where {path} names train, val or test, but "
                    f"there are none. {error}"
                ) from error
            raise
        split_of = dict[str, str]()
    else:
        pairs, split_of = of_yaml
    images, boxes, unknown = list[LabelledImage](), list[LabelledBox](), list[str]()
    shapes: list[list[float]] = []
    bad, texts = BadItems("", "lines of labels", "{item}: {fault}"), BadItems("", "label files")
    for name, file in pairs.labelled.items():
        size = image_size(pairs.img_dir / name)
        if size is None:
            unknown.append(printable(name))
            continue
        image = LabelledImage(printable(name), name, size, split=split_of.get(name, ""))
        with texts.item(printable(file)):
            lines = list(_lines(file))
            images.append(image)
            for k, words in lines:
                with bad.item(f"{printable(file)}, line {k}"):
                    number, numbers = _parsed(words, names)
                    if len(numbers) > _BOX - 1:
                        shapes.append(numbers)
                    boxes.append(_box(image, number, numbers, names))
    _refuse_keypoints(path, shapes)
    warnings = [
        *pairs.warnings,
        *_nothing_there(path, lost, None if of_yaml else pairs.img_dir),
        *texts.warnings(),
        *bad.warnings(),
        *without_size(unknown),
        *around_shapes(len(shapes)),
    ]
    if not names.names:
        warnings.append(
            Notice(
                "categories-numbered",
                "no data.yaml, classes.txt or obj.names: categories are named by their numbers",
                severity="note",
            )
        )
    classes = _words_by_number(names, boxes)
    in_a_row = [*classes] == [*range(len(classes))]
    return LabelSet(
        path,
        tuple(images),
        tuple(classes.values()),
        BoxColumns.of(boxes),
        pairs.img_dir,
        tuple(map(printable, pairs.unlabelled)),
        tuple(warnings),
        numbers=() if in_a_row else tuple(map(str, classes)),
        lists_categories=bool(names.names),
    )


def _nothing_there(path: Path, lost: Sequence[str], read: Path | None) -> list[Notice]:
    """Say which paths of a data.yaml lead to nothing; empty without any.

    read: the folder whose images are read where nothing that the file names is there
    """
    text = f"paths of {', '.join(SPLITS)} in {path.name} at which nothing is: {len(lost)}"
    text = f"{text} ({listed(lost)})"
    if read is None:
        notice = Notice("split-paths-missing", text, severity="note")
    else:
        text += f"; all images in {printable(read)} are read, of whatever split"
        notice = Notice("split-paths-missing", text)
    return [notice] if lost else []


def _refuse_keypoints(path: Path, shapes: Sequence[Sequence[float]]) -> None:
    """Raise `InputError` for keypoints behind boxes, which would be read as polygons.

    Without a data.yaml they are known by their numbers: as many in all lines, of which the first
    four are a box that holds the points that follow, and is about as large as their extent.

    Parameters
    ----------
    path : Path
        Of the labels, for messages.
    shapes : sequence of sequence of float
        Numbers behind the class of each line that is no plain box.
    """
    n = len(shapes[0]) if shapes else 0
    if (
        len(shapes) < FEWEST_LINES
        or n <= CORNERS_OF_BOX
        or any(len(shape) != n for shape in shapes)
    ):
        return
    numbers = np.array(shapes)
    centre, sides = numbers[:, None, :2], numbers[:, 2:4]
    points = numbers[:, 4:].reshape(-1, n // 2 - 2, 2)
    shown = np.asarray(np.any(points > 0, axis=2))  # a point that is not labelled is 0 0
    inside = (np.abs(points - centre) <= 0.5 * sides[:, None] + _ROUNDING).all(axis=2) | ~shown
    low = np.where(shown[..., None], points, np.inf).min(axis=1)
    high = np.where(shown[..., None], points, -np.inf).max(axis=1)
    filled = (high - low).max(axis=1) >= FILLED * sides.max(axis=1)
    if (inside.all(axis=1) & filled).mean() >= MOSTLY:
        raise InputError(
            f"{path}: {len(shapes)} lines hold {n // 2 - 2} points behind a box, which look like "
            f"keypoints and not like polygons. Add `kpt_shape: [{n // 2 - 2}, 2]` to a data.yaml "
            "beside them."
        )


def _lines(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the words of each line that is not empty."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{printable(file)} is not a text file.") from None
    for k, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield k, line.split()


def _parsed(words: list[str], names: YoloNames) -> tuple[int, list[float]]:
    """Return the class and the numbers of a line, or raise ValueError for what is malformed."""
    try:
        number, numbers = float(words[0]), [float(word) for word in words[1:]]
    except ValueError:
        raise ValueError(
            "expected 'class x_centre y_centre width height' with spaces between them, got "
            f"'{' '.join(words)[:60]}'"
        ) from None
    if names.keypoints:
        numbers = numbers[: _BOX - 1]
    polygon = len(numbers) >= 6 and len(numbers) % 2 == 0
    if not polygon and len(numbers) != _BOX - 1:
        raise ValueError(
            "expected 'class x_centre y_centre width height' or a class and a polygon, got "
            f"{len(words)} numbers (a sixth is the score of a prediction, which is no label)"
        )
    if not all(-_MOST <= number <= _MOST for number in numbers):
        raise ValueError(f"expected shares of the image between 0 and 1, got {max(numbers):g}")
    if number != int(number) or (names.names and int(number) not in names.names):
        raise ValueError(f"class {words[0]} is none of {listed(sorted(names.names), 20)}")
    return int(number), numbers


def _box(image: LabelledImage, number: int, numbers: list[float], names: YoloNames) -> LabelledBox:
    """Return the box of a line in pixels; of a polygon that around it."""
    assert image.size is not None
    height, width = image.size
    if len(numbers) == _BOX - 1:
        x, y, w, h = numbers
        left, top = x - w / 2, y - h / 2
    else:
        xs, ys = numbers[::2], numbers[1::2]
        left, top, w, h = min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)
    xywh = (left * width, top * height, w * width, h * height)
    return LabelledBox(image.image_id, names.names.get(number, str(number)), xywh)


def _words_by_number(names: YoloNames, boxes: list[LabelledBox]) -> dict[int, str]:
    """Return the word of each class by rising numbers; without names, of those of boxes."""
    words = names.names or {int(box.category): box.category for box in boxes}
    return {number: words[number] for number in sorted(words)}


def _recognises(path: Path) -> bool:
    """Whether a path is a YAML file, or a folder with a text file whose first line is a label."""
    if path.is_file():
        return suffix_of(path.name) in YAML
    texts = (path / name for name in walk(path) if name.lower().endswith(".txt"))
    return any(file.name not in _NO_LABELS and _looks_right(file) for file in texts)


def _looks_right(file: Path) -> bool:
    """Whether the first line of a text file is a label."""
    try:
        return next((_parsed(words, YoloNames({})) for _, words in _lines(file)), None) is not None
    except (ValueError, OverflowError):
        return False


def is_nearly_yolo(path: Path) -> bool:
    """Whether a folder holds text files that begin with a number, as labels with a fault do.

    They may be predictions with scores, in pixels, or with commas; `read_yolo` says which line is
    not as expected.

    Parameters
    ----------
    path : Path
        A folder, or anything else, which is none.
    """
    texts = [name for name in walk(path) if name.lower().endswith(".txt")] if path.is_dir() else []
    files = [path / name for name in texts if PurePath(name).name not in _NO_LABELS]
    return any(_NUMBER_FIRST(file.read_bytes()[:_START]) for file in files)


YOLO = LabelFormat("yolo", "YOLO txt, with data.yaml or classes.txt", read_yolo, _recognises)


def pairs_of_yaml(path: Path, lost: list[str]) -> tuple[LabelPairs, dict[str, str]] | None:
    """Return images and label files of the splits that a data.yaml names, and the split of each.

    Parameters
    ----------
    path : Path
        The file.
    lost : list of str
        Takes the paths at which nothing is.

    Returns
    -------
    tuple of LabelPairs and dict of str to str, or None
        None where it names none, none of its paths is there, or no image there has a label file.
    """
    content = read_yaml(path)
    if not isinstance(content, dict):
        return None
    roots = _roots(path, content)
    split_of = dict[Path, str]()
    for key, split in SPLITS.items():
        for image in _images(content.get(key), roots, lost):
            split_of.setdefault(image, split)
    labelled = {image: label for image in split_of if (label := _label_file(image)).is_file()}
    if not labelled:
        return None
    # A folder that is named may be a link to another disk: names are relative to where it leads.
    places = {folder: Path(os.path.realpath(folder)) for folder in {i.parent for i in split_of}}
    root = Path(os.path.commonpath(places.values()))
    yaml_folder = Path(os.path.realpath(path.parent))
    root = yaml_folder if root.is_relative_to(yaml_folder) else root
    names = {i: (places[i.parent] / i.name).relative_to(root).as_posix() for i in split_of}
    labels = {names[image]: label for image, label in labelled.items()}
    pairs = LabelPairs(
        root,
        labels,
        tuple(name for image, name in names.items() if image not in labelled),
        tuple(label_file_warnings(path.parent, labels, [])),
    )
    return pairs, {names[image]: split for image, split in split_of.items()}


def _roots(path: Path, content: dict[str, Any]) -> list[Path]:
    """Return what paths may be relative to: ``path``, or the folder of the file."""
    folder = path.absolute().parent
    root = content.get("path")
    return [folder / root, Path(root).absolute(), folder] if isinstance(root, str) else [folder]


def _images(entry: Any, roots: list[Path], lost: list[str]) -> Iterator[Path]:
    """Yield the images of a split, which is a folder, a list of images, or several of these.

    lost: gets the paths at which nothing is
    """
    for part in entry if isinstance(entry, list) else [entry]:
        if not isinstance(part, str) or not part:
            continue
        place = _place(part, roots)
        if place is None:
            lost.append(printable(part))
        elif place.is_dir():
            names = sorted_files(place)[0]
            yield from (_plain(place / name) for name in names if suffix_of(name) in SUFFIXES)
        else:
            lines = place.read_text(encoding="utf-8-sig", errors="replace").splitlines()
            for name in (line.strip() for line in lines if line.strip()):
                image = _place(name, [place.parent, *roots])
                if image is None:
                    lost.append(printable(name))
                else:
                    yield image


def _place(name: str, roots: list[Path]) -> Path | None:
    """Find a path; Roboflow writes ``../val/images`` for the folder ``val`` beside the file.

    Files that were written on Windows have backslashes.
    """
    plain = name.replace("\\", "/")
    for tried in (name, plain, plain.removeprefix("../")):
        for root in roots:
            if (root / tried).exists():
                return _plain(root / tried)
    return None


def _plain(path: Path) -> Path:
    """Return a path without ``..`` and ``.`` in it."""
    return Path(os.path.normpath(path))


def _label_file(image: Path) -> Path:
    """Return where the label file of an image lies: the last folder ``images`` is ``labels``."""
    parts = list(image.with_suffix(LABEL_SUFFIX).parts)
    if "images" in parts:
        parts[len(parts) - 1 - parts[::-1].index("images")] = "labels"
    return Path(*parts)
