"""CityPersons: pedestrians on the images of Cityscapes.

Source: https://github.com/cvgroup-njust/CityPersons (annotations/README.txt, ``anno_val.mat``) and
Cityscapes' own package of the same labels (``gtBboxCityPersons``, a JSON file for each image).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from autoeval.data.bad_items import BadItems
from autoeval.data.json_file import read_json
from autoeval.data.labels.base import LabelFormat
from autoeval.data.labels.content import LabelSet
from autoeval.data.layouts.collecting import (
    Marked,
    chosen,
    collect_labels,
    first_folder,
    label_files,
    number,
)
from autoeval.data.layouts.faults import reading, unread
from autoeval.data.wording import printable
from autoeval.errors import InputError

# Class numbers of the .mat files are positions in this list; the first and last are ignored.
CLASSES = ("ignore", "pedestrian", "rider", "sitting person", "person (other)", "person group")
_IGNORED = (CLASSES[0], CLASSES[-1])
_FOLDER = "gtBboxCityPersons"
_ENDING = "_gtBboxCityPersons.json"
Row = tuple[str, list[float], list[float]]
MakeBox = Callable[[Row], Marked]


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
        Folder ``gtBboxCityPersons``, or one with it (and ``leftImg8bit``), or ``anno_val.mat``.
    img_dir : Path, optional
        By default ``leftImg8bit/SPLIT`` in or beside it.
    split : str
    box : {"full", "visible"}
        The papers leave it open; the benchmark uses full boxes.
    min_height : float
        Lower persons are ignored; the benchmark's "reasonable" subset has 50. By default none.
    """
    position = ("full", "visible").index(chosen("box", box, ("full", "visible")))
    lowest = number("min_height", min_height)
    labels = path if path.name == _FOLDER else path / _FOLDER
    bad = unread("CityPersons", "images")
    make = partial(_box, position=position, min_height=lowest)
    marked = dict(
        _of_mat(path, bad, make) if path.is_file() else _of_json(labels / split, bad, make)
    )
    root = path.parent if path.is_file() else labels.parent
    places = [up / "leftImg8bit" / split for up in (root, root.parent)]
    folder = first_folder(path, img_dir, places)
    return collect_labels(path, folder, marked, categories=CLASSES[1:-1], problems=bad.problems())


def _box(row: Row, position: int, min_height: float) -> Marked:
    name, *boxes = row
    left, top, width, height = boxes[position]
    ignored = name in _IGNORED or height < min_height
    category = CLASSES[1] if name in _IGNORED else name
    return Marked(category, (left, top, width, height), ignored)


def _of_json(folder: Path, bad: BadItems, make: MakeBox) -> Iterator[tuple[str, list[Marked]]]:
    for file in label_files(folder, _ENDING):
        name = file.relative_to(folder).as_posix().replace(_ENDING, "_leftImg8bit.png")
        with bad.item(printable(file)):
            objects = read_json(file, "annotation file")["objects"]
            yield name, [make(_row(entry)) for entry in objects]


def _row(entry: dict[str, Any]) -> Row:
    if entry["label"] not in CLASSES:
        raise ValueError(f"label {entry['label']!r} is none of {', '.join(CLASSES)}")
    full, visible = ([float(x) for x in entry[key]] for key in ("bbox", "bboxVis"))
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
    return CLASSES[int(row[0])], [float(x) for x in row[1:5]], [float(x) for x in row[6:10]]


CITYPERSONS = LabelFormat("citypersons", "CityPersons, JSON or .mat", read_citypersons)
