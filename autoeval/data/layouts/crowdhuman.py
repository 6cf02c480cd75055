"""CrowdHuman: a JSON object for each image, one on each line.

Source: https://www.crowdhuman.org/download.html: ``gtboxes`` with ``fbox`` (full), ``vbox``
(visible), ``hbox`` (head); ``tag`` "mask" and ``extra.ignore`` mark what is ignored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autoeval.data.labels.base import LabelFormat
from autoeval.data.labels.content import LabelSet
from autoeval.data.layouts.collecting import Marked, chosen, collect_labels, first_folder
from autoeval.data.layouts.faults import unread
from autoeval.data.wording import printable
from autoeval.errors import InputError

_PERSON = "person"
_BOXES = {"full": "fbox", "visible": "vbox"}


def read_crowdhuman(path: Path, img_dir: Path | None = None, *, box: str = "full") -> LabelSet:
    """Read an annotation file.

    Parameters
    ----------
    path : Path
        ``annotation_val.odgt`` or ``annotation_train.odgt``.
    img_dir : Path, optional
        By default ``Images`` beside it.
    box : {"full", "visible"}
        The papers leave it open. By default full boxes, on which the benchmark's detectors are
        trained and judged; a detector trained on COCO draws visible ones.
    """
    key = _BOXES[chosen("box", box, list(_BOXES))]
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read {path}: {error}.") from error
    marked, bad = {}, unread("CrowdHuman", "lines")
    for number, line in enumerate(lines, 1):
        if line.strip():
            with bad.item(f"{printable(path)}, line {number}"):
                entry = json.loads(line)
                marked[f"{entry['ID']}.jpg"] = [_box(each, key) for each in entry["gtboxes"]]
    folder = first_folder(path, img_dir, [path.parent / "Images"])
    return collect_labels(path, folder, marked, categories=[_PERSON], problems=bad.problems())


def _box(entry: dict[str, Any], key: str) -> Marked:
    left, top, width, height = map(float, entry[key])
    ignored = entry["tag"] != _PERSON or bool((entry.get("extra") or {}).get("ignore", 0))
    return Marked(_PERSON, (left, top, width, height), ignored)


CROWDHUMAN = LabelFormat("crowdhuman", "CrowdHuman odgt", read_crowdhuman)
