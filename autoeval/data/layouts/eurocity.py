"""EuroCity Persons: a JSON file for each image.

Source: https://eurocity-dataset.tudelft.nl and its evaluation code: ``children`` of a frame, each
with ``identity``, ``tags`` and the corners x0, y0, x1, y1; far groups of persons and of riders are
ignored, those of bicycles and the like are no persons.
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

CLASSES = ("pedestrian", "rider")
_GROUPS = {"person-group-far-away": "pedestrian", "rider+vehicle-group-far-away": "rider"}
_PICTURE = "depiction"


def read_eurocity(path: Path, img_dir: Path | None = None, *, split: str = "val") -> LabelSet:
    """Read pedestrians and riders; far groups, and pictures of people, are areas to ignore.

    Parameters
    ----------
    path : Path
        Folder of day or night, with ``labels`` and ``img``.
    img_dir : Path, optional
        By default ``img/SPLIT``.
    split : str
    """
    labels = path / "labels" / split
    marked, sizes, bad = {}, {}, unread("EuroCity Persons", "label files")
    for file in label_files(labels, ".json"):
        name = file.relative_to(labels).with_suffix(".png").as_posix()
        with bad.item(printable(file)):
            content = read_json(file, "annotation file")
            sizes[name] = (int(content["imageheight"]), int(content["imagewidth"]))
            marked[name] = [box for entry in content["children"] for box in _boxes(entry)]
    folder = first_folder(path, img_dir, [path / "img" / split])
    problems = bad.problems()
    return collect_labels(path, folder, marked, sizes=sizes, categories=CLASSES, problems=problems)


def _boxes(entry: dict[str, Any]) -> list[Marked]:
    identity = entry["identity"] or ""
    category = _GROUPS.get(identity, identity)
    if category not in CLASSES:
        return []
    x0, y0, x1, y1 = (float(entry[side]) for side in ("x0", "y0", "x1", "y1"))
    ignored = identity in _GROUPS or _PICTURE in (entry.get("tags") or ())
    return [Marked(category, (x0, y0, x1 - x0, y1 - y0), ignored)]


EUROCITY = LabelFormat("eurocity", "EuroCity Persons JSON", read_eurocity)
