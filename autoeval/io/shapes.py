"""The boxes around polygons and masks in COCO's forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

BITS, MORE, SIGN = 5, 0x20, 0x10  # of a character of a compressed mask: value, more, negative
FIRST_CHARACTER = 48


def box_of_segmentation(segmentation: Any) -> list[float]:
    """Return left, top, width and height of the box around a ``segmentation`` of COCO.

    It is a list of polygons ``[x, y, x, y, ...]`` in pixels, one such polygon, or a mask in run
    lengths, ``{"size": [height, width], "counts": ...}``, compressed or not; the box around a mask
    ends with its last pixels, as `pycocotools.mask.toBbox` has it. Raises ValueError or TypeError
    for anything else and for an empty mask.

    Examples
    --------
    >>> box_of_segmentation([[1, 2, 5, 2, 5, 8]])
    [1.0, 2.0, 4.0, 6.0]
    >>> box_of_segmentation({"size": [4, 3], "counts": [5, 2, 5]})
    [1, 1, 1, 2]
    """
    if isinstance(segmentation, dict):
        return _box_of_mask(segmentation["size"], segmentation["counts"])
    polygons = segmentation if _is_nested(segmentation) else [segmentation]
    xs = [float(x) for polygon in polygons for x in polygon[::2]]
    ys = [float(y) for polygon in polygons for y in polygon[1::2]]
    if not xs or len(xs) != len(ys):
        raise ValueError("expected a segmentation as polygons [x, y, x, y, ...] or run lengths")
    return [min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)]


def _is_nested(segmentation: Any) -> bool:
    return bool(segmentation) and isinstance(segmentation[0], list | tuple)


def _box_of_mask(size: Sequence[int], counts: Any) -> list[float]:
    height = int(size[0])
    runs = list(_decompressed(counts)) if isinstance(counts, str | bytes) else list(counts)
    ends = accumulate(runs, initial=0)
    columns: list[int] = []
    rows: list[int] = []
    for k, (start, end) in enumerate(pairwise(ends)):  # pixels go down the columns
        if k % 2 and end > start:
            first, last = divmod(start, height), divmod(end - 1, height)
            columns += [first[0], last[0]]
            rows += [first[1], last[1]] if first[0] == last[0] else [0, height - 1]
    if not columns:
        raise ValueError("the mask is empty")
    left, top = min(columns), min(rows)
    return [left, top, max(columns) - left + 1, max(rows) - top + 1]


def _decompressed(counts: str | bytes) -> Iterator[int]:
    """Yield the run lengths of a compressed mask.

    Source: `rleFrString` in pycocotools' ``maskApi.c``: five bits a character, the least first;
    from the third run on, differences to the last but one.
    """
    text = counts.encode() if isinstance(counts, str) else counts
    runs: list[int] = []
    value, shift = 0, 0
    for character in text:
        bits = character - FIRST_CHARACTER
        value |= (bits & (MORE - 1)) << shift
        shift += BITS
        if bits & MORE:
            continue
        if bits & SIGN:
            value -= 1 << shift
        runs.append(value + runs[-2] if len(runs) > 2 else value)
        yield runs[-1]
        value, shift = 0, 0
