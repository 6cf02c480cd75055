"""Published data sets of vehicles: BDD100K, CSV files, Cityscapes, KITTI, ExDark, UA-DETRAC."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from autoeval.errors import InputError
from autoeval.io.image_identity import without_suffix
from autoeval.io.image_lists import load_image_folder
from autoeval.io.labels.content import ANY, LabelFormat, LabelSet
from autoeval.io.labels.voc import parse_xml
from autoeval.runtime.files import BadItems, read_json
from autoeval.stability.layouts.collecting import (
    Box,
    Marked,
    chosen,
    collect_labels,
    first_folder,
    label_files,
    number,
    reading,
    unread,
)
from autoeval.words import printable

# BDD100K: one JSON list of frames, each with labels of which detection has a box2d.
#
# Source: https://doc.bdd100k.com/format.html (Scalabel format); the releases of 2018
# (``bdd100k_labels_images_val.json``) and 2020 (``det_20/det_val.json``). Their words, and which
# are ignored, are brought together as the authors' evaluation does it
# (https://github.com/bdd100k/bdd100k, ``bdd100k/configs/det.toml``).

_BDD100K_SPLITS = ("train", "val", "test")
_BDD100K_VEHICLES = ("car", "truck", "bus", "train", "motorcycle", "bicycle")
_BDD100K = ("pedestrian", "rider", *_BDD100K_VEHICLES, "traffic light", "traffic sign")
_BDD100K_NAMES = {"bike": "bicycle", "motor": "motorcycle", "person": "pedestrian"}
_BDD100K_NAMES |= {"caravan": "car", "van": "car"}
_BDD100K_IGNORED = {"other person": "pedestrian", "other vehicle": "car", "trailer": "truck"}
# Class numbers of alincijov/self-driving-cars, in its column ``class_id`` beside ``frame``.
SELF_DRIVING = {"1": "car", "2": "truck", "3": "pedestrian", "4": "bicyclist", "5": "light"}
_CSV_FILE = ("filename", "frame")
_CSV_CLASS = ("class", "class_id", "label")
_CITYSCAPES = (
    *("person", "rider", "car", "truck", "bus", "caravan", "trailer", "train"),
    *("motorcycle", "bicycle"),
)
_CITYSCAPES_ENDING = "_gtFine_polygons.json"
_CITYSCAPES_GROUP = "group"
_KITTI = ("Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram", "Misc")
_KITTI_IGNORED = "DontCare"
_BEFORE_NUMBER = re.compile(r"\s+(?=[-+]?\.?\d)")
_EXDARK_VEHICLES = ("Bicycle", "Boat", "Bus", "Car", "Motorbike")
_EXDARK = (*_EXDARK_VEHICLES, "People", "Cat", "Dog", "Bottle", "Chair", "Cup", "Table")
_EXDARK_HEADER = "%"
_UA_DETRAC = ("car", "bus", "van", "others")
_UA_DETRAC_UNLISTED = ("unlabelled", "empty")


def read_bdd100k(path: Path, img_dir: Path | None = None) -> LabelSet:
    """Read the JSON file of a split; drivable areas and lanes, without a box, are passed over.

    Crowds, and what the authors' evaluation ignores (other persons, other vehicles, trailers), are
    ignored as a pedestrian, a car and a truck.

    Parameters
    ----------
    path : Path
        The JSON file.
    img_dir : Path, optional
        By default ``images/100k/SPLIT`` one or two folders up, by the file's name.

    Raises
    ------
    InputError
        If the file cannot be read, or no folder of images is found.
    """
    content = read_json(path, "annotation file")
    places = [
        up / "images" / "100k" / split
        for up in list(path.absolute().parents)[1:3]
        for split in _BDD100K_SPLITS
        if split in path.stem
    ]
    marked, bad = {}, unread("BDD100K", "frames")
    with reading(path, "BDD100K"):
        frames = content["frames"] if isinstance(content, dict) else content
        for position, frame in enumerate(frames):
            with bad.item(f"{printable(path)}, frame {position}"):
                marked[str(frame["name"])] = _bdd100k_boxes(frame)
    folder = first_folder(path, img_dir, places)
    return collect_labels(path, folder, marked, categories=_BDD100K, warnings=bad.warnings())


def _bdd100k_boxes(frame: dict[str, Any]) -> list[Marked]:
    boxes = []
    for label in frame.get("labels") or ():
        if label.get("box2d"):
            x1, y1, x2, y2 = (float(label["box2d"][side]) for side in ("x1", "y1", "x2", "y2"))
            crowd = bool((label.get("attributes") or {}).get("crowd", False))
            word = str(label["category"])
            name = _BDD100K_IGNORED.get(word) or _BDD100K_NAMES.get(word, label["category"])
            box = (x1, y1, x2 - x1, y2 - y1)
            boxes.append(Marked(name, box, crowd or word in _BDD100K_IGNORED))
    return boxes


BDD100K = LabelFormat("bdd100k", "BDD100K detection JSON", read_bdd100k)


# Boxes in a CSV file, one on each line: the two Kaggle sets of self-driving cars.
#
# Source: the files themselves, as described at
# https://www.kaggle.com/datasets/alincijov/self-driving-cars (``labels_trainval.csv``: frame,
# xmin, xmax, ymin, ymax, class_id) and
# https://www.kaggle.com/datasets/sshikamaru/udacity-self-driving-car-dataset (Roboflow's
# ``_annotations.csv``: filename, width, height, class, xmin, ymin, xmax, ymax).


def read_box_csv(path: Path, img_dir: Path | None = None) -> LabelSet:
    """Read a CSV file with a header; columns are found by their names, in any order.

    Images that no line names are unlabelled: the files do not say whether they hold nothing.

    Parameters
    ----------
    path : Path
        The CSV file, with the corners of boxes in pixels.
    img_dir : Path, optional
        By default ``images`` beside the file, else its own folder.

    Raises
    ------
    InputError
        If the file cannot be read, or has no column of images or of categories.
    """
    folder = first_folder(path, img_dir, [path.parent / "images", path.parent])
    marked: dict[str, list[Marked]] = {}
    bad = unread("CSV of boxes", "lines")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, skipinitialspace=True)
            header = [name.strip().lower() for name in rows.fieldnames or ()]
            rows.fieldnames = header
            name, word = _column(path, header, _CSV_FILE), _column(path, header, _CSV_CLASS)
            for number, row in enumerate(rows, 2):
                with bad.item(f"{printable(path)}, line {number}"):
                    x1, y1, x2, y2 = (float(row[side]) for side in ("xmin", "ymin", "xmax", "ymax"))
                    names = SELF_DRIVING if (name, word) == ("frame", "class_id") else {}
                    category = names.get(row[word], row[word])
                    box = Marked(category, (x1, y1, x2 - x1, y2 - y1))
                    marked.setdefault(row[name], []).append(box)
    except (UnicodeDecodeError, OSError, csv.Error) as error:
        raise InputError(f"{path} is not a CSV file ({error}).") from error
    return collect_labels(path, folder, marked, warnings=bad.warnings())


def _column(path: Path, header: list[str], names: tuple[str, ...]) -> str:
    column = next((name for name in names if name in header), None)
    if column is None:
        raise InputError(
            f"{path}: expected a column {' or '.join(names)}, got {', '.join(header) or 'none'}."
        )
    return column


BOX_CSV = LabelFormat("box_csv", "CSV of boxes (Kaggle's self-driving cars, Udacity)", read_box_csv)


# Cityscapes: a JSON file of polygons for each image.
#
# Source: https://github.com/mcordts/cityscapesScripts (README and ``helpers/labels.py``): classes
# with instances, and ``...group`` where single objects could not be separated.


def read_cityscapes(path: Path, img_dir: Path | None = None, *, split: str = "val") -> LabelSet:
    """Read the boxes around the polygons of instances; groups are areas to ignore.

    A polygon goes on behind what hides it, so a box here is at least that of the visible part.

    Parameters
    ----------
    path : Path
        A folder with ``gtFine`` and ``leftImg8bit``.
    img_dir : Path, optional
        By default ``leftImg8bit/SPLIT``.
    split : str
        The papers do not say which; by default the validation images, on which Cityscapes itself is
        reported.

    Raises
    ------
    InputError
        If there are no label files, or no folder of images is found.
    """
    labels = path / "gtFine" / split
    marked, sizes, bad = {}, {}, unread("Cityscapes", "label files")
    for file in label_files(labels, _CITYSCAPES_ENDING):
        name = file.relative_to(labels).as_posix().replace(_CITYSCAPES_ENDING, "_leftImg8bit.png")
        with bad.item(printable(file)):
            content = read_json(file, "annotation file")
            sizes[name] = (int(content["imgHeight"]), int(content["imgWidth"]))
            marked[name] = [box for entry in content["objects"] for box in _cityscapes_boxes(entry)]
    folder = first_folder(path, img_dir, [path / "leftImg8bit" / split])
    warnings = bad.warnings()
    return collect_labels(
        path, folder, marked, sizes=sizes, categories=_CITYSCAPES, warnings=warnings
    )


def _cityscapes_boxes(entry: dict[str, Any]) -> list[Marked]:
    group = entry["label"].endswith(_CITYSCAPES_GROUP)
    name = entry["label"].removesuffix(_CITYSCAPES_GROUP)
    if name not in _CITYSCAPES or entry.get("deleted"):
        return []
    xs, ys = zip(*entry["polygon"], strict=True)
    left, top = float(min(xs)), float(min(ys))
    return [Marked(name, (left, top, max(xs) - left, max(ys) - top), group)]


CITYSCAPES = LabelFormat("cityscapes", "Cityscapes gtFine polygons", read_cityscapes)


# KITTI object detection: a text file for each image, an object on each line.
#
# Source: the readme of the object development kit (https://www.cvlibs.net/datasets/kitti/): 15
# columns, of which 5 to 8 are left, top, right and bottom in pixels from 0; ``DontCare`` marks
# areas in which objects have not been labelled.


def read_kitti(path: Path, img_dir: Path | None = None) -> LabelSet:
    """Read the labels; what is marked as DontCare is an area to ignore for every category.

    Images may be of other kinds than the PNG of KITTI, and lie in subfolders as their labels do.

    Parameters
    ----------
    path : Path
        A folder ``label_2``, or one with ``training/label_2`` or ``label_2`` in it.
    img_dir : Path, optional
        By default ``image_2`` beside the labels.

    Raises
    ------
    InputError
        If there are no label files, or no folder of images is found.
    """
    places = [path / "training" / "label_2", path / "label_2"]
    labels = next((place for place in places if place.is_dir()), path)
    folder = first_folder(path, img_dir, [labels.parent / "image_2"])
    images = load_image_folder(folder) if folder.is_dir() else ()
    names = [image.path.relative_to(folder).as_posix() for image in images]
    image_of = {without_suffix(name): name for name in names}
    marked, bad = {}, unread("KITTI", "label files")
    for file in label_files(labels, ".txt"):
        stem = file.relative_to(labels).as_posix().removesuffix(".txt")
        with bad.item(printable(file)):
            lines = file.read_text(encoding="utf-8-sig").splitlines()
            boxes = [_kitti_box(line) for line in lines if line.strip()]
            marked[image_of.get(stem, f"{stem}.png")] = boxes
    return collect_labels(path, folder, marked, categories=_KITTI, warnings=bad.warnings())


def _kitti_box(line: str) -> Marked:
    word, *columns = _BEFORE_NUMBER.split(line.strip())  # a word may be of two, as "traffic light"
    left, top, right, bottom = [float(column) for column in columns][3:7]
    category = ANY if word == _KITTI_IGNORED else word
    return Marked(category, (left, top, right - left, bottom - top))


KITTI = LabelFormat("kitti", "KITTI label_2", read_kitti)

# ExDark: a text file for each image in the format bbGt of Piotr's toolbox.
#
# Source: https://github.com/cs-chan/Exclusively-Dark-Image-Dataset (Groundtruth): below a header
# line, ``CLASS left top width height`` and seven more numbers on each line.


def read_exdark(path: Path, img_dir: Path | None = None) -> LabelSet:
    """Read the labels, for all images: the papers name no split.

    The case of suffixes differs between images and annotations of the release and does not matter.

    Parameters
    ----------
    path : Path
        The folder of the annotations (``ExDark_Annno``), which has a subfolder for each class.
    img_dir : Path, optional
        By default ``ExDark`` beside it.

    Raises
    ------
    InputError
        If there are no label files, or no images.
    """
    folder = first_folder(path, img_dir, [path.parent / "ExDark"])
    spelled = {
        name.lower(): name
        for name in (i.path.relative_to(folder).as_posix() for i in load_image_folder(folder))
    }
    marked, bad = {}, unread("ExDark", "label files")
    for file in label_files(path, ".txt"):
        name = file.relative_to(path).as_posix().removesuffix(".txt")
        with bad.item(printable(file)):
            lines = file.read_text(encoding="utf-8-sig").splitlines()
            boxes = [
                _exdark_box(line.split())
                for line in lines
                if line.strip() and line[0] != _EXDARK_HEADER
            ]
            marked[spelled.get(name.lower(), name)] = boxes
    return collect_labels(path, folder, marked, categories=_EXDARK, warnings=bad.warnings())


def _exdark_box(words: list[str]) -> Marked:
    left, top, width, height = map(float, words[1:5])
    return Marked(words[0], (left, top, width, height))


EXDARK = LabelFormat("exdark", "ExDark bbGt text", read_exdark)


# UA-DETRAC: an XML file for each video, with areas in which nothing was labelled.
#
# Source: https://detrac-db.rit.albany.edu (annotations of training and test videos): ``sequence``
# with ``ignored_region`` and ``frame num``, whose targets have a ``box`` and a ``vehicle_type``.


def read_ua_detrac(
    path: Path, img_dir: Path | None = None, *, every: int | str = 1, unlisted: str = "unlabelled"
) -> LabelSet:
    """Read the frames of all videos; ignored regions are areas to ignore for every category.

    Parameters
    ----------
    path : Path
        A folder of XML files (``DETRAC-Train-Annotations-XML``).
    img_dir : Path, optional
        With a subfolder of frames (``img00001.jpg``) for each video, by default
        ``Insight-MVT_Annotation_Train`` (or ``_Test``) beside the labels.
    every : int
        One of so many frames of a video is taken, the first one first; neighbours, at 25 a second,
        are nearly the same image.
    unlisted : {"unlabelled", "empty"}
        What frames are that the XML leaves out: not used, or without objects; the release does not
        say whether they hold nothing or were skipped.
    """
    chosen("unlisted", unlisted, _UA_DETRAC_UNLISTED)
    step = int(number("every", every, least=1))
    places = [path.parent / f"Insight-MVT_Annotation_{part}" for part in ("Train", "Test")]
    wanted = [p for p in places if p.name.rpartition("_")[2].lower() in path.name.lower()]
    folder = first_folder(path, img_dir, wanted or places)
    marked, listed = dict[str, list[Marked]](), set[str]()
    videos, frames = unread("UA-DETRAC", "label files"), unread("UA-DETRAC", "frames")
    for file in label_files(path, ".xml"):
        with videos.item(printable(file)):
            marked |= _video(file, parse_xml(file, "sequence"), step, frames, listed)
    warnings = (*videos.warnings(), *frames.warnings())
    if unlisted == "empty":
        ignored = {
            name.partition("/")[0]: [box for box in boxes if box.category == ANY]
            for name, boxes in marked.items()
        }
        for image in load_image_folder(folder):
            name = image.path.relative_to(folder).as_posix()
            video = name.partition("/")[0]
            if video in ignored and name not in listed and (_number(name) - 1) % step == 0:
                marked[name] = ignored[video]
    return collect_labels(path, folder, marked, categories=_UA_DETRAC, warnings=warnings)


def _video(
    file: Path, root: ElementTree.Element, step: int, bad: BadItems, listed: set[str]
) -> dict[str, list[Marked]]:
    """Return the boxes of each frame that can be read; all that there are become `listed`."""
    ignored = [Marked(ANY, _detrac_box(box)) for box in root.findall("ignored_region/box")]
    frames = {}
    for position, frame in enumerate(root.findall("frame")):
        with bad.item(f"{printable(file)}, frame[{position}]"):
            number = int(frame.attrib["num"])
            if (number - 1) % step == 0:
                targets = frame.findall("target_list/target")
                name = f"{root.attrib['name']}/img{number:05d}.jpg"
                listed.add(name)
                frames[name] = [*map(_target, targets), *ignored]
    return frames


def _target(target: ElementTree.Element) -> Marked:
    box, attribute = target.find("box"), target.find("attribute")
    if box is None or attribute is None:
        raise ValueError("expected each target to have a box and an attribute")
    return Marked(attribute.attrib["vehicle_type"], _detrac_box(box))


def _detrac_box(element: ElementTree.Element) -> Box:
    sides = element.attrib
    return float(sides["left"]), float(sides["top"]), float(sides["width"]), float(sides["height"])


def _number(name: str) -> int:
    digits = "".join(c for c in Path(name).stem if c.isdecimal())
    return int(digits or 1)


UA_DETRAC = LabelFormat("ua_detrac", "UA-DETRAC XML", read_ua_detrac)
