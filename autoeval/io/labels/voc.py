"""Pascal VOC labels: an XML file for each image.

Source: the VOC2012 development kit (http://host.robots.ox.ac.uk/pascal/VOC/voc2012/htmldoc/):
pixels count from 1, ``xmax`` and ``ymax`` are the last pixels inside, and objects marked
``difficult`` are ignored in evaluation.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from xml.etree import ElementTree

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.image_identity import without_suffix
from autoeval.io.image_lists import walk
from autoeval.io.images import image_size
from autoeval.io.labels.content import (
    BoxColumns,
    LabelFormat,
    LabelledBox,
    LabelSet,
    around_shapes,
    around_turned,
    in_pixels,
)
from autoeval.io.labels.pairing import (
    LabelPairs,
    folder_of_images,
    holds_images,
    pair_up,
    without_size,
)
from autoeval.runtime.files import BadItems
from autoeval.words import Notice, listed, printable

_ROOT = "annotation"
MOSTLY = 0.5  # of the boxes
DIFFICULT = {"true": True, "yes": True} | dict.fromkeys(("", "false", "no", "unspecified"), False)
"""What tools write in the place of 1 and 0, in small letters."""


@dataclass(frozen=True)
class _Object:
    """An object of a file.

    Parameters
    ----------
    image_id, category : str
        Its image and its name.
    corners : tuple of float
        xyxy, pixels as the file counts them, of the box before it is turned.
    difficult : bool
        Whether evaluation ignores it.
    turned : float
        Degrees about its centre.
    """

    image_id: str
    category: str
    corners: tuple[float, float, float, float]
    difficult: bool
    turned: float = 0.0


def read_voc(path: Path, img_dir: Path | None = None, *, split: str | None = None) -> LabelSet:
    """Read Pascal VOC labels.

    An image without a file is unlabelled; one whose file has no object is empty. Difficult objects
    become areas to ignore. A folder in which any box begins at 0, or most end within pixels, counts
    its pixels from 0, as some exporters do, and says so. Of an object that is turned the box around
    it is read.

    Parameters
    ----------
    path : Path
        A folder with ``Annotations``, with another folder of all XML files, or with the files
        themselves.
    img_dir : Path, optional
        By default ``JPEGImages`` or ``images`` beside them, or the same folder.
    split : str, optional
        Only the images listed in ``ImageSets/Main/SPLIT.txt`` are read.

    Returns
    -------
    LabelSet

    Raises
    ------
    InputError
        If there are no images or no label files of them, more than half cannot be read, boxes are
        not in pixels of their images, or there is no such split, or none of its images.
    """
    labels = _folder_of_labels(path)
    pairs = pair_up(labels, img_dir or folder_of_images(labels), ".xml", other_files=frozenset())
    if split is not None:
        pairs = _of_split(pairs, labels.parent, split)
    images, objects, unknown = [], [], []
    files, bad = BadItems("", "label files"), BadItems("", "objects", "{item}: {fault}")
    for name, file in pairs.labelled.items():
        root = None
        with files.item(printable(file)):
            root = parse_xml(file, _ROOT)
        if root is None:
            continue
        size = _size(root) or image_size(pairs.img_dir / name)
        if size is None:
            unknown.append(printable(name))
            continue
        images.append(LabelledImage(printable(name), name, size))
        for entry in root.findall("object"):
            with bad.item(printable(file)):
                objects.append(_object(file, printable(name), entry))
    warnings = [*pairs.warnings, *files.warnings(), *bad.warnings(), *without_size(unknown)]
    warnings += around_shapes(sum(thing.turned != 0 for thing in objects))
    upright = [thing.corners for thing in objects if not thing.turned]
    n_fractions = sum(any(side % 1 for side in thing.corners) for thing in objects)
    reason = ""
    if any(min(corners[:2]) < 1 for corners in upright):
        reason = "boxes begin at pixel 0"
    elif n_fractions > MOSTLY * len(objects):  # VOC itself has some
        reason = "most boxes end within pixels"
    if reason:
        text = f"{reason}, so pixels are counted from 0 and not, as in VOC, from 1"
        warnings.append(Notice("pixels-from-zero", text, severity="note"))
    first = 0 if reason else 1
    return in_pixels(
        LabelSet(
            path,
            tuple(images),
            tuple(dict.fromkeys(thing.category for thing in objects)),
            BoxColumns.of([_box(thing, first) for thing in objects]),
            pairs.img_dir,
            tuple(map(printable, pairs.unlabelled)),
            tuple(warnings),
        )
    )


def _folder_of_labels(path: Path) -> Path:
    """Return ``Annotations``, or the folder that holds all XML files and no image, else `path`."""
    if (path / "Annotations").is_dir():
        return path / "Annotations"
    folders = [os.path.dirname(name) for name in walk(path) if name.lower().endswith(".xml")]
    only = path / os.path.commonpath(folders) if folders else path
    return path if holds_images(only) else only


def parse_xml(file: Path, root_name: str) -> ElementTree.Element:
    """Parse an XML file; tags lose their namespaces.

    Parameters
    ----------
    file : Path
        The file.
    root_name : str
        Expected tag of its root.

    Raises
    ------
    InputError
        If it is no XML or has another root.
    """
    try:
        root = ElementTree.parse(file).getroot()
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise InputError(f"{printable(file)} is not an XML file ({error}).") from error
    for element in root.iter():  # {namespace}tag
        element.tag = element.tag.rpartition("}")[2]
    if root.tag != root_name:
        raise InputError(f"{printable(file)}: expected <{root_name}> but got <{root.tag}>.")
    return root


def _object(file: Path, image_id: str, entry: ElementTree.Element) -> _Object:
    """Read an object; `InputError` if it lacks a name or a box, or is neither difficult nor not."""
    name = (entry.findtext("name") or "").strip()
    try:
        corners, turned = _corners(entry)
    except ValueError:
        corners, turned = (math.nan,) * 4, 0.0
    if not name or not all(map(math.isfinite, (*corners, turned))):
        raise InputError(
            f"{printable(file)}: expected each object to have a name and a bndbox of xmin, ymin, "
            "xmax and ymax."
        )
    stated = (entry.findtext("difficult") or "").strip().lower()
    try:
        difficult = DIFFICULT[stated] if stated in DIFFICULT else float(stated) != 0
    except ValueError:
        raise InputError(f"{printable(file)}: expected difficult 0 or 1, got {stated!r}.") from None
    return _Object(image_id, name, corners, difficult, turned)


def _corners(entry: ElementTree.Element) -> tuple[tuple[float, float, float, float], float]:
    """Return the corners of an upright box, and by how many degrees it is turned.

    roLabelImg writes ``robndbox`` in place of ``bndbox``, with the angle in radians; CVAT writes
    the upright box, with the angle in degrees as an attribute.
    """

    def number(path: str) -> float:
        return float(entry.findtext(path) or "")

    if entry.find("bndbox") is None and entry.find("robndbox") is not None:
        x, y = number("robndbox/cx"), number("robndbox/cy")
        w, h = number("robndbox/w"), number("robndbox/h")
        angle = number("robndbox/angle")
        return (x - w / 2, y - h / 2, x + w / 2, y + h / 2), math.degrees(angle)
    left, top = number("bndbox/xmin"), number("bndbox/ymin")
    right, bottom = number("bndbox/xmax"), number("bndbox/ymax")
    degrees = entry.findtext("attributes/attribute[name='rotation']/value")
    return (left, top, right, bottom), float(degrees or 0)


def _box(thing: _Object, first: int) -> LabelledBox:
    """Return an object with pixels counted from 0, as `first` is the number of the first pixel."""
    left, top, right, bottom = thing.corners
    xywh = (left - first, top - first, right - left + first, bottom - top + first)
    if thing.turned:
        xywh = around_turned(xywh, thing.turned)
    return LabelledBox(thing.image_id, thing.category, xywh, thing.difficult)


def _size(root: ElementTree.Element) -> tuple[int, int] | None:
    """Return height and width as the file states them; None where it does not."""
    try:
        height = int(root.findtext("size/height") or 0)
        width = int(root.findtext("size/width") or 0)
    except ValueError:
        return None
    return (height, width) if min(height, width) > 0 else None


def _of_split(pairs: LabelPairs, folder: Path, split: str) -> LabelPairs:
    """Keep the images of a split, and warn of those that it lists and that are not there.

    Parameters
    ----------
    pairs : LabelPairs
        Of all images.
    folder : Path
        With ``ImageSets``.
    split : str
        Name of the list. Its lines are stems or paths of images, in lists of a category with a
        number.

    Raises
    ------
    InputError
        If there is no such list, or none of its images.
    """
    path = folder / "ImageSets" / "Main" / f"{split}.txt"
    if not path.is_file():
        raise InputError(f"No list of split {split!r}: expected {path}.")
    names = [*pairs.labelled, *pairs.unlabelled]
    places: dict[str, list[str]] = defaultdict(list)
    for name in names:
        places[without_suffix(PurePath(name).name)].append(name)
    places |= {without_suffix(name): [name] for name in names}  # a whole path is no other's end
    try:
        lines = {line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()} - {""}
    except UnicodeDecodeError as error:
        raise InputError(
            f"{printable(path)} is not in UTF-8 ({error}): write it with encoding='utf-8'."
        ) from None
    wanted, lost = set[str](), list[str]()
    for line in sorted(lines):
        texts = (line, line.rsplit(maxsplit=1)[0])
        paths = [PurePath(without_suffix(text)).parts for text in texts]
        ends = ["/".join(parts[k:]) for parts in paths for k in range(len(parts))]
        key = next((end for end in ends if end in places), None)
        if key is None:
            lost.append(printable(line))
        else:
            wanted.update(places[key])
    if not wanted:
        raise InputError(
            f"None of the {len(lines)} images of {path} ({listed(lost, 3)}) is in "
            f"{printable(pairs.img_dir)}: check both, or name the folder of the images."
        )
    text = f"images that {path.name} lists and that are not there: {len(lost)} ({listed(lost)})"
    missing = (Notice("split-paths-missing", text, severity="note"),) if lost else ()
    return replace(
        pairs,
        labelled={name: f for name, f in pairs.labelled.items() if name in wanted},
        unlabelled=tuple(name for name in pairs.unlabelled if name in wanted),
        warnings=(*pairs.warnings, *missing),
    )


def _recognises(path: Path) -> bool:
    """Whether a folder holds a file of this kind; XML files of other kinds may lie beside it."""
    if path.is_file():
        return False
    return any(_is_annotation(path / n) for n in walk(path) if n.lower().endswith(".xml"))


def _is_annotation(file: Path) -> bool:
    """Whether an XML file is of this kind."""
    try:
        return parse_xml(file, _ROOT) is not None
    except InputError:
        return False


VOC = LabelFormat("voc", "Pascal VOC XML", read_voc, _recognises)
