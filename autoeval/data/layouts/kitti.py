"""KITTI object detection: a text file for each image, an object on each line.

Source: the readme of the object development kit (https://www.cvlibs.net/datasets/kitti/): 15
columns, of which 5 to 8 are left, top, right and bottom in pixels from 0; ``DontCare`` marks areas
in which objects have not been labelled.
"""

from __future__ import annotations

from pathlib import Path

from autoeval.data.labels.base import LabelFormat
from autoeval.data.labels.content import ANY, LabelSet
from autoeval.data.layouts.collecting import Marked, collect_labels, first_folder, label_files
from autoeval.data.layouts.faults import unread
from autoeval.data.wording import printable

CLASSES = ("Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram", "Misc")
_IGNORED = "DontCare"


def read_kitti(path: Path, img_dir: Path | None = None) -> LabelSet:
    """Read the labels; what is marked as DontCare is an area to ignore for every category.

    Parameters
    ----------
    path : Path
        Folder ``label_2``, or one with ``training/label_2`` or ``label_2`` in it.
    img_dir : Path, optional
        By default ``image_2`` beside the labels.
    """
    places = [path / "training" / "label_2", path / "label_2"]
    labels = next((place for place in places if place.is_dir()), path)
    folder = first_folder(path, img_dir, [labels.parent / "image_2"])
    marked, bad = {}, unread("KITTI", "label files")
    for file in label_files(labels, ".txt"):
        with bad.item(printable(file)):
            lines = file.read_text(encoding="utf-8").splitlines()
            marked[f"{file.stem}.png"] = [_box(line.split()) for line in lines if line.strip()]
    return collect_labels(path, folder, marked, categories=CLASSES, problems=bad.problems())


def _box(words: list[str]) -> Marked:
    left, top, right, bottom = map(float, words[4:8])
    category = ANY if words[0] == _IGNORED else words[0]
    return Marked(category, (left, top, right - left, bottom - top))


KITTI = LabelFormat("kitti", "KITTI label_2", read_kitti)
