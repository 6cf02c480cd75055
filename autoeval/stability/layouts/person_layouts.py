"""Published data sets of people: Caltech, CityPersons, CrowdHuman, EuroCity Persons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from autoeval.errors import InputError
from autoeval.io.labels.content import LabelFormat, LabelSet
from autoeval.runtime.files import BadItems, read_json
from autoeval.stability.layouts.collecting import (
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

# Caltech pedestrians: the videos' vbb annotations as one JSON file.
#
# Source: https://github.com/mitmul/caltech-pedestrian-dataset-converter, which writes
# ``annotations.json`` (set, video, ``nFrame`` and ``frames`` by number from 0) and images called
# ``set06_V000_29.png``. Dollár et al. 2012, section 3: ``person`` is evaluated; ``people`` (a
# group), ``person?`` and ``person-fa`` are ignored; every thirtieth frame is used.

_CALTECH_PERSON = "person"
_CALTECH_BOXES = {"full": "pos", "visible": "posv"}
# Class numbers of the .mat files are positions in this list; the first and last are ignored.
_CITYPERSONS = ("ignore", "pedestrian", "rider", "sitting person", "person (other)", "person group")
_CITYPERSONS_IGNORED = (_CITYPERSONS[0], _CITYPERSONS[-1])
_CITYPERSONS_FOLDER = "gtBboxCityPersons"
_CITYPERSONS_ENDING = "_gtBboxCityPersons.json"
Row = tuple[str, list[float], list[float]]
MakeBox = Callable[[Row], Marked]
_CROWDHUMAN_PERSON = "person"
_CROWDHUMAN_BOXES = {"full": "fbox", "visible": "vbox"}
_EUROCITY = ("pedestrian", "rider")
_EUROCITY_GROUPS = {"person-group-far-away": "pedestrian", "rider+vehicle-group-far-away": "rider"}
_EUROCITY_DEPICTION = "depiction"


def read_caltech(
    path: Path,
    img_dir: Path | None = None,
    *,
    sets: str = "set06,set07,set08,set09,set10",
    every: int | str = 30,
    box: str = "full",
    min_height: float | str = 0,
) -> LabelSet:
    """Read every thirtieth frame; one without objects is empty, since videos are labelled whole.

    Parameters
    ----------
    path : Path
        ``annotations.json``.
    img_dir : Path, optional
        By default ``images`` beside it.
    sets : str
        Names with commas, by default those of the test sets.
    every : int
        Of so many frames the last is taken, as in the benchmark.
    box : {"full", "visible"}
        The papers leave open which box; the benchmark uses full ones.
    min_height : float
        Persons lower than that, in pixels, are ignored; the benchmark's "reasonable" subset has 50,
        by default there is none, as COCO's mAP has no such bound.
    """
    content = read_json(path, "annotation file")
    key = _CALTECH_BOXES[chosen("box", box, list(_CALTECH_BOXES))]
    step = int(number("every", every, least=1))
    lowest = number("min_height", min_height)
    marked: dict[str, list[Marked]] = {}
    bad = unread("Caltech", "frames")
    with reading(path, "Caltech"):
        for name in (name.strip() for name in sets.split(",")):
            for video, labels in content[name].items():
                for frame in range(step - 1, int(labels["nFrame"]), step):
                    image = f"{name}_{video}_{frame}.png"
                    with bad.item(f"{printable(path)}, {image}"):
                        objects = labels["frames"].get(str(frame), ())
                        marked[image] = [_caltech_box(entry, key, lowest) for entry in objects]
    folder = first_folder(path, img_dir, [path.parent / "images"])
    return collect_labels(
        path, folder, marked, categories=[_CALTECH_PERSON], warnings=bad.warnings()
    )


def _caltech_box(entry: dict[str, Any], key: str, min_height: float) -> Marked:
    box = entry[key]  # of what is visible left empty or 0 where nothing is hidden
    if not (isinstance(box, list) and len(box) == 4 and box[2] > 0 and box[3] > 0):
        box = entry["pos"]
    left, top, width, height = map(float, box)
    ignored = entry["lbl"] != _CALTECH_PERSON or height < min_height
    return Marked(_CALTECH_PERSON, (left, top, width, height), ignored)


CALTECH = LabelFormat("caltech", "Caltech pedestrians, vbb as JSON", read_caltech)

# CityPersons: pedestrians on the images of Cityscapes.
#
# Source: https://github.com/cvgroup-njust/CityPersons (annotations/README.txt, ``anno_val.mat``)
# and Cityscapes' own package of the same labels (``gtBboxCityPersons``, a JSON file for each
# image).


def read_citypersons(
    path: Path,
    img_dir: Path | None = None,
    *,
    split: str = "val",
    box: str = "full",
    min_height: float | str = 0,
) -> LabelSet:
    """Read the labels; ignored regions and groups are areas to ignore for pedestrians.

    Parameters
    ----------
    path : Path
        A folder ``gtBboxCityPersons``, or one with it (and ``leftImg8bit``), or ``anno_val.mat``.
    img_dir : Path, optional
        By default ``leftImg8bit/SPLIT`` in or beside it.
    split : str
        Of Cityscapes.
    box, min_height
        See `read_caltech`.
    """
    position = ("full", "visible").index(chosen("box", box, ("full", "visible")))
    lowest = number("min_height", min_height)
    labels = path if path.name == _CITYPERSONS_FOLDER else path / _CITYPERSONS_FOLDER
    bad = unread("CityPersons", "images")
    make = partial(_citypersons_box, position=position, min_height=lowest)
    marked = dict(
        _of_mat(path, bad, make) if path.is_file() else _of_json(labels / split, bad, make)
    )
    root = path.parent if path.is_file() else labels.parent
    places = [up / "leftImg8bit" / split for up in (root, root.parent)]
    folder = first_folder(path, img_dir, places)
    return collect_labels(
        path, folder, marked, categories=_CITYPERSONS[1:-1], warnings=bad.warnings()
    )


def _citypersons_box(row: Row, position: int, min_height: float) -> Marked:
    name, *boxes = row
    left, top, width, height = boxes[position]
    ignored = name in _CITYPERSONS_IGNORED or height < min_height
    category = _CITYPERSONS[1] if name in _CITYPERSONS_IGNORED else name
    return Marked(category, (left, top, width, height), ignored)


def _of_json(folder: Path, bad: BadItems, make: MakeBox) -> Iterator[tuple[str, list[Marked]]]:
    for file in label_files(folder, _CITYPERSONS_ENDING):
        name = file.relative_to(folder).as_posix().replace(_CITYPERSONS_ENDING, "_leftImg8bit.png")
        with bad.item(printable(file)):
            objects = read_json(file, "annotation file")["objects"]
            yield name, [make(_row(entry)) for entry in objects]


def _row(entry: dict[str, Any]) -> Row:
    if entry["label"] not in _CITYPERSONS:
        raise ValueError(f"label {entry['label']!r} is none of {', '.join(_CITYPERSONS)}")
    full = [float(x) for x in entry["bbox"]]
    visible = [float(x) for x in entry["bboxVis"]]
    return entry["label"], full, visible


def _of_mat(path: Path, bad: BadItems, make: MakeBox) -> Iterator[tuple[str, list[Marked]]]:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        content = loadmat(path, squeeze_me=True, struct_as_record=False)
    except (MatReadError, OSError, ValueError, NotImplementedError) as error:
        raise InputError(f"{path} is not a .mat file of CityPersons ({error}).") from error
    with reading(path, "CityPersons"):
        (cells,) = (value for key, value in content.items() if not key.startswith("__"))
        for position, cell in enumerate(cells.ravel()):
            with bad.item(f"{printable(path)}, image {position}"):
                name = f"{cell.cityname}/{cell.im_name}"
                yield name, [make(_numbers(row)) for row in cell.bbs.reshape(-1, 10)]


def _numbers(row: Any) -> Row:
    return _CITYPERSONS[int(row[0])], [float(x) for x in row[1:5]], [float(x) for x in row[6:10]]


CITYPERSONS = LabelFormat("citypersons", "CityPersons, JSON or .mat", read_citypersons)

# CrowdHuman: a JSON object for each image, one on each line.
#
# Source: https://www.crowdhuman.org/download.html: ``gtboxes`` with ``fbox`` (full), ``vbox``
# (visible), ``hbox`` (head); ``tag`` "mask" and ``extra.ignore`` mark what is ignored.


def read_crowdhuman(path: Path, img_dir: Path | None = None, *, box: str = "full") -> LabelSet:
    """Read ``annotation_val.odgt`` or ``annotation_train.odgt``, with ``Images`` beside it.

    Parameters
    ----------
    path : Path
        The file.
    img_dir : Path, optional
        By default ``Images`` beside the file.
    box : {"full", "visible"}
        The papers leave open which. By default it is the full one, on which the benchmark's
        detectors are trained and evaluated; a detector trained on COCO draws visible ones.

    Raises
    ------
    InputError
        If the file cannot be read, the box is another, or no folder of images is found.
    """
    key = _CROWDHUMAN_BOXES[chosen("box", box, list(_CROWDHUMAN_BOXES))]
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read {path}: {error}.") from error
    marked, bad = {}, unread("CrowdHuman", "lines")
    for k, line in enumerate(lines, 1):
        if line.strip():
            with bad.item(f"{printable(path)}, line {k}"):
                entry = json.loads(line)
                marked[f"{entry['ID']}.jpg"] = [
                    _crowdhuman_box(person, key) for person in entry["gtboxes"]
                ]
    folder = first_folder(path, img_dir, [path.parent / "Images"])
    return collect_labels(
        path, folder, marked, categories=[_CROWDHUMAN_PERSON], warnings=bad.warnings()
    )


def _crowdhuman_box(entry: dict[str, Any], key: str) -> Marked:
    left, top, width, height = map(float, entry[key])
    marked = (entry.get("extra") or {}).get("ignore", 0)
    ignored = entry["tag"] != _CROWDHUMAN_PERSON or bool(marked)
    return Marked(_CROWDHUMAN_PERSON, (left, top, width, height), ignored)


CROWDHUMAN = LabelFormat("crowdhuman", "CrowdHuman odgt", read_crowdhuman)

# EuroCity Persons: a JSON file for each image.
#
# Source: https://eurocity-dataset.tudelft.nl and its evaluation code: ``children`` of a frame,
# each with ``identity``, ``tags`` and the corners x0, y0, x1, y1; far groups of persons and of
# riders are ignored, those of bicycles and the like are no persons.


def read_eurocity(path: Path, img_dir: Path | None = None, *, split: str = "val") -> LabelSet:
    """Read pedestrians and riders; far groups, and pictures of people, are areas to ignore.

    Parameters
    ----------
    path : Path
        A folder, of day or night, with ``labels`` and ``img``.
    img_dir : Path, optional
        By default ``img/SPLIT``.
    split : str
        Subfolder of either.

    Raises
    ------
    InputError
        If there are no label files, or no folder of images is found.
    """
    labels = path / "labels" / split
    marked, sizes, bad = {}, {}, unread("EuroCity Persons", "label files")
    for file in label_files(labels, ".json"):
        name = file.relative_to(labels).with_suffix(".png").as_posix()
        with bad.item(printable(file)):
            content = read_json(file, "annotation file")
            sizes[name] = (int(content["imageheight"]), int(content["imagewidth"]))
            marked[name] = [box for entry in content["children"] for box in _eurocity_boxes(entry)]
    folder = first_folder(path, img_dir, [path / "img" / split])
    warnings = bad.warnings()
    return collect_labels(
        path, folder, marked, sizes=sizes, categories=_EUROCITY, warnings=warnings
    )


def _eurocity_boxes(entry: dict[str, Any]) -> list[Marked]:
    identity = entry["identity"] or ""
    category = _EUROCITY_GROUPS.get(identity, identity)
    if category not in _EUROCITY:
        return []
    x0, y0, x1, y1 = (float(entry[side]) for side in ("x0", "y0", "x1", "y1"))
    ignored = identity in _EUROCITY_GROUPS or _EUROCITY_DEPICTION in (entry.get("tags") or ())
    return [Marked(category, (x0, y0, x1 - x0, y1 - y0), ignored)]


EUROCITY = LabelFormat("eurocity", "EuroCity Persons JSON", read_eurocity)
