"""What a labelled set holds twice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from autoeval.data.labels.content import LabelSet
from autoeval.data.wording import listed, printable


def twice_there(content: LabelSet, paths: Sequence[Path]) -> Iterator[str]:
    """Count boxes given more than once and files listed under more than one id; both are kept.

    Parameters
    ----------
    content : LabelSet
    paths : sequence of Path
        Files of its images.
    """
    boxes = Counter(content.boxes)
    again = {box.image_id: n - 1 for box, n in boxes.items() if n > 1}
    if again:
        total = sum(n - 1 for n in boxes.values())
        yield f"boxes given more than once, kept: {total} (image ids: {listed(again)})"
    files = Counter(os.path.realpath(path) for path in paths)
    shared = [printable(os.path.basename(file)) for file, n in files.items() if n > 1]
    if shared:
        yield f"image files listed under more than one id, kept: {len(shared)} ({listed(shared)})"
