"""Caltech pedestrians: the films' vbb annotations as one JSON file.

Source: https://github.com/mitmul/caltech-pedestrian-dataset-converter, which writes
``annotations.json`` (set, film, ``nFrame`` and ``frames`` by number from 0) and images called
``set06_V000_29.png``. Dollár et al. 2012, section 3: ``person`` is evaluated; ``people`` (a group),
``person?`` and ``person-fa`` are ignored; every thirtieth frame is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autoeval.data.json_file import read_json
from autoeval.data.labels.base import LabelFormat
from autoeval.data.labels.content import LabelSet
from autoeval.data.layouts.collecting import Marked, chosen, collect_labels, first_folder, number
from autoeval.data.layouts.faults import reading, unread
from autoeval.data.wording import printable

_PERSON = "person"
_BOXES = {"full": "pos", "visible": "posv"}


def read_caltech(
    path: Path,
    img_dir: Path | None = None,
    *,
    sets: str = "set06,set07,set08,set09,set10",
    every: int | str = 30,
    box: str = "full",
    min_height: float | str = 0,
) -> LabelSet:
    """Read every thirtieth frame; a frame without objects is empty, since films are labelled whole.

    Parameters
    ----------
    path : Path
        ``annotations.json``.
    img_dir : Path, optional
        By default ``images`` beside it.
    sets : str
        Names of the sets, with commas; the test sets by default.
    every : int
        Of 30 frames the last is taken, as in the benchmark.
    box : {"full", "visible"}
        The papers leave it open; the benchmark uses full boxes.
    min_height : float
        Lower persons are ignored; the benchmark's "reasonable" subset has 50. By default none, as
        COCO's mAP has no such bound.
    """
    content = read_json(path, "annotation file")
    key, step = _BOXES[chosen("box", box, list(_BOXES))], int(number("every", every, least=1))
    lowest = number("min_height", min_height)
    marked: dict[str, list[Marked]] = {}
    bad = unread("Caltech", "frames")
    with reading(path, "Caltech"):
        for name in (name.strip() for name in sets.split(",")):
            for film, labels in content[name].items():
                for frame in range(step - 1, int(labels["nFrame"]), step):
                    image = f"{name}_{film}_{frame}.png"
                    with bad.item(f"{printable(path)}, {image}"):
                        objects = labels["frames"].get(str(frame), ())
                        marked[image] = [_box(entry, key, lowest) for entry in objects]
    folder = first_folder(path, img_dir, [path.parent / "images"])
    return collect_labels(path, folder, marked, categories=[_PERSON], problems=bad.problems())


def _box(entry: dict[str, Any], key: str, min_height: float) -> Marked:
    seen = entry[key] if key == "pos" or _has_area(entry[key]) else entry["pos"]
    left, top, width, height = map(float, seen)
    ignored = entry["lbl"] != _PERSON or height < min_height
    return Marked(_PERSON, (left, top, width, height), ignored)


def _has_area(box: Any) -> bool:
    """Whether there is a visible part; the files leave it empty or 0 where nothing is hidden."""
    return isinstance(box, list) and len(box) == 4 and box[2] > 0 and box[3] > 0


CALTECH = LabelFormat("caltech", "Caltech pedestrians, vbb as JSON", read_caltech)
