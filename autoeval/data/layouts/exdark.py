"""ExDark: a text file for each image in the format bbGt of Piotr's toolbox.

Source: https://github.com/cs-chan/Exclusively-Dark-Image-Dataset (Groundtruth): below a header
line, ``CLASS left top width height`` and seven more numbers on each line.
"""

from __future__ import annotations

from pathlib import Path

from autoeval.data.image_folder import load_image_folder
from autoeval.data.labels.base import LabelFormat
from autoeval.data.labels.content import LabelSet
from autoeval.data.layouts.collecting import Marked, collect_labels, first_folder, label_files
from autoeval.data.layouts.faults import unread
from autoeval.data.wording import printable

_VEHICLES = ("Bicycle", "Boat", "Bus", "Car", "Motorbike")
CLASSES = (*_VEHICLES, "People", "Cat", "Dog", "Bottle", "Chair", "Cup", "Table")
_HEADER = "%"


def read_exdark(path: Path, img_dir: Path | None = None) -> LabelSet:
    """Read the labels, for all images: the papers name no split.

    Parameters
    ----------
    path : Path
        Folder of the annotations (``ExDark_Annno``), a subfolder for each class.
    img_dir : Path, optional
        By default ``ExDark`` beside it. The case of suffixes differs between images and
        annotations of the release and does not matter.
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
            lines = file.read_text(encoding="utf-8").splitlines()
            boxes = [_box(line.split()) for line in lines if line.strip() and line[0] != _HEADER]
            marked[spelled.get(name.lower(), name)] = boxes
    return collect_labels(path, folder, marked, categories=CLASSES, problems=bad.problems())


def _box(words: list[str]) -> Marked:
    left, top, width, height = map(float, words[1:5])
    return Marked(words[0], (left, top, width, height))


EXDARK = LabelFormat("exdark", "ExDark bbGt text", read_exdark)
