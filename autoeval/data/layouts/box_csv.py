"""Boxes in a CSV file, one on each line: the two Kaggle sets of self-driving cars.

Source: the files themselves, as described at https://www.kaggle.com/datasets/alincijov/self-driving-cars
(``labels_trainval.csv``: frame, xmin, xmax, ymin, ymax, class_id) and
https://www.kaggle.com/datasets/sshikamaru/udacity-self-driving-car-dataset (Roboflow's
``_annotations.csv``: filename, width, height, class, xmin, ymin, xmax, ymax).
"""

from __future__ import annotations

import csv
from pathlib import Path

from autoeval.data.labels.base import LabelFormat
from autoeval.data.labels.content import LabelSet
from autoeval.data.layouts.collecting import Marked, collect_labels, first_folder
from autoeval.data.layouts.faults import unread
from autoeval.data.wording import printable
from autoeval.errors import InputError

# Class numbers of alincijov/self-driving-cars.
SELF_DRIVING = {"1": "car", "2": "truck", "3": "pedestrian", "4": "bicyclist", "5": "light"}
_FILE, _CLASS = ("filename", "frame"), ("class", "class_id", "label")


def read_box_csv(path: Path, img_dir: Path | None = None) -> LabelSet:
    """Read a CSV file with a header; columns are found by their names, in any order.

    Images that no line names are unlabelled: the files do not say whether they hold nothing.

    Parameters
    ----------
    path : Path
    img_dir : Path, optional
        By default ``images`` beside the file, else its own folder.
    """
    folder = first_folder(path, img_dir, [path.parent / "images", path.parent])
    marked: dict[str, list[Marked]] = {}
    bad = unread("CSV of boxes", "lines")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            header = [name.strip().lower() for name in rows.fieldnames or ()]
            rows.fieldnames = header
            name, word = _column(path, header, _FILE), _column(path, header, _CLASS)
            for number, row in enumerate(rows, 2):
                with bad.item(f"{printable(path)}, line {number}"):
                    box = _box(row, row[word])
                    marked.setdefault(row[name], []).append(box)
    except (UnicodeDecodeError, OSError, csv.Error) as error:
        raise InputError(f"{path} is not a CSV file ({error}).") from error
    return collect_labels(path, folder, marked, problems=bad.problems())


def _column(path: Path, header: list[str], names: tuple[str, ...]) -> str:
    found = next((name for name in names if name in header), None)
    if found is None:
        raise InputError(
            f"{path}: expected a column {' or '.join(names)}, got {', '.join(header) or 'none'}."
        )
    return found


def _box(row: dict[str, str], word: str) -> Marked:
    x1, y1, x2, y2 = (float(row[side]) for side in ("xmin", "ymin", "xmax", "ymax"))
    return Marked(SELF_DRIVING.get(word, word), (x1, y1, x2 - x1, y2 - y1))


BOX_CSV = LabelFormat("box_csv", "CSV of boxes (Kaggle's self-driving cars, Udacity)", read_box_csv)
