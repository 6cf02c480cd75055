"""Cityscapes: a JSON file of polygons for each image.

Source: https://github.com/mcordts/cityscapesScripts (README and ``helpers/labels.py``): classes
with instances, and ``...group`` where single objects could not be told apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autoeval.data.json_file import read_json
from autoeval.data.labels.base import LabelFormat
from autoeval.data.labels.content import LabelSet
from autoeval.data.layouts.collecting import Marked, collect_labels, first_folder, label_files
from autoeval.data.layouts.faults import unread
from autoeval.data.wording import printable

_PEOPLE = ("person", "rider")
_VEHICLES = ("car", "truck", "bus", "caravan", "trailer", "train", "motorcycle", "bicycle")
CLASSES = _PEOPLE + _VEHICLES
_ENDING, _GROUP = "_gtFine_polygons.json", "group"


def read_cityscapes(path: Path, img_dir: Path | None = None, *, split: str = "val") -> LabelSet:
    """Read the boxes around the polygons of instances; groups are areas to ignore.

    A polygon goes on behind what hides it, so a box here is at least that of the visible part.

    Parameters
    ----------
    path : Path
        Folder with ``gtFine`` and ``leftImg8bit``.
    img_dir : Path, optional
        By default ``leftImg8bit/SPLIT``.
    split : str
        The papers do not say which one; by default the validation images, on which Cityscapes
        itself is reported.
    """
    labels = path / "gtFine" / split
    marked, sizes, bad = {}, {}, unread("Cityscapes", "label files")
    for file in label_files(labels, _ENDING):
        name = file.relative_to(labels).as_posix().replace(_ENDING, "_leftImg8bit.png")
        with bad.item(printable(file)):
            content = read_json(file, "annotation file")
            sizes[name] = (int(content["imgHeight"]), int(content["imgWidth"]))
            marked[name] = [box for entry in content["objects"] for box in _boxes(entry)]
    folder = first_folder(path, img_dir, [path / "leftImg8bit" / split])
    problems = bad.problems()
    return collect_labels(path, folder, marked, sizes=sizes, categories=CLASSES, problems=problems)


def _boxes(entry: dict[str, Any]) -> list[Marked]:
    group = entry["label"].endswith(_GROUP)
    name = entry["label"].removesuffix(_GROUP)
    if name not in CLASSES or entry.get("deleted"):
        return []
    xs, ys = zip(*entry["polygon"], strict=True)
    left, top = float(min(xs)), float(min(ys))
    return [Marked(name, (left, top, max(xs) - left, max(ys) - top), group)]


CITYSCAPES = LabelFormat("cityscapes", "Cityscapes gtFine polygons", read_cityscapes)
