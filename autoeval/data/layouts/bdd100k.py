"""BDD100K: one JSON list of frames, each with labels of which detection has a box2d.

Source: https://doc.bdd100k.com/format.html (Scalabel format); the releases of 2018
(``bdd100k_labels_images_val.json``) and 2020 (``det_20/det_val.json``). Their words, and which are
ignored, are brought together as the authors' evaluation does it
(https://github.com/bdd100k/bdd100k, ``bdd100k/configs/det.toml``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autoeval.data.json_file import read_json
from autoeval.data.labels.base import LabelFormat
from autoeval.data.labels.content import LabelSet
from autoeval.data.layouts.collecting import Marked, collect_labels, first_folder
from autoeval.data.layouts.faults import reading, unread
from autoeval.data.wording import printable

_SPLITS = ("train", "val", "test")
_PEOPLE = ("pedestrian", "rider")
_VEHICLES = ("car", "truck", "bus", "train", "motorcycle", "bicycle")
CLASSES = (*_PEOPLE, *_VEHICLES, "traffic light", "traffic sign")
_NAMES = {
    "bike": "bicycle",
    "caravan": "car",
    "motor": "motorcycle",
    "person": "pedestrian",
    "van": "car",
}
_IGNORED = {"other person": "pedestrian", "other vehicle": "car", "trailer": "truck"}


def read_bdd100k(path: Path, img_dir: Path | None = None) -> LabelSet:
    """Read the labels of a split; drivable areas and lanes, which have no box, are passed over.

    Crowds, and what the authors' evaluation ignores (other persons, other vehicles, trailers), are
    ignored as a pedestrian, a car and a truck.

    Parameters
    ----------
    path : Path
        JSON file of the split.
    img_dir : Path, optional
        By default ``images/100k/SPLIT`` one or two folders up, by the file's name.
    """
    content = read_json(path, "annotation file")
    places = [
        up / "images" / "100k" / split
        for up in list(path.absolute().parents)[1:3]
        for split in _SPLITS
        if split in path.stem
    ]
    marked, bad = {}, unread("BDD100K", "frames")
    with reading(path, "BDD100K"):
        frames = content["frames"] if isinstance(content, dict) else content
        for position, frame in enumerate(frames):
            with bad.item(f"{printable(path)}, frame {position}"):
                marked[str(frame["name"])] = _boxes(frame)
    folder = first_folder(path, img_dir, places)
    return collect_labels(path, folder, marked, categories=CLASSES, problems=bad.problems())


def _boxes(frame: dict[str, Any]) -> list[Marked]:
    found = []
    for label in frame.get("labels") or ():
        if label.get("box2d"):
            x1, y1, x2, y2 = (float(label["box2d"][side]) for side in ("x1", "y1", "x2", "y2"))
            crowd = bool((label.get("attributes") or {}).get("crowd", False))
            word = str(label["category"])
            name = _IGNORED.get(word) or _NAMES.get(word, label["category"])
            box = (x1, y1, x2 - x1, y2 - y1)
            found.append(Marked(name, box, crowd or word in _IGNORED))
    return found


BDD100K = LabelFormat("bdd100k", "BDD100K detection JSON", read_bdd100k)
