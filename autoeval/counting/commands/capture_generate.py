"""Generate CAPTURe's synthetic split: patterns of dots and squares, and the same behind a box."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike


def generate(
    out: PathLike,
    *,
    seed: int = 0,
    patterns: Sequence[Literal["circle", "triangle", "rectangle", "staggered", "cross"]] = (
        "circle",
        "triangle",
        "rectangle",
    ),
    counts: str = "5-15",
    size: int = 200,
    fit_canvas: bool = False,
    box_anywhere: bool = False,
) -> None:
    """Generate CAPTURe's synthetic split: patterns of dots and squares, and the same behind a box.

    Writes original/, occluded/, metadata.json and contact_sheet.png into the folder OUT. The
    metadata hold every key of the released ones, and the box, the hidden objects and the count
    inside the image.

    Parameters
    ----------
    out : path-like
        Folder to write.
    seed : int
        Of the boxes.
    patterns : sequence of str
        Layouts; by default the published ones.
    counts : str
        Numbers of objects, a range or a list such as 6,10.
    size : int
        Side of the images, in pixels.
    fit_canvas : bool
        Keep every object inside the image; the published layout leaves one outside in a seventh of
        the items.
    box_anywhere : bool
        Centre boxes on objects outside the image, too, as the authors' generator does; such a box
        may hide nothing that can be seen.
    """
    from autoeval.counting.capture.split import write_contact_sheet
    from autoeval.counting.capture.synthetic import SyntheticSpec, write_synthetic

    if size < 40:
        raise InputError(f"Expected --size of at least 40 pixels but got {size}.")
    spec = SyntheticSpec(
        seed=seed,
        size=size,
        counts=read_counts(counts),
        patterns=tuple(dict.fromkeys(patterns)),
        fit_canvas=fit_canvas,
        box_anywhere=box_anywhere,
    )
    folder = Path(out)
    split = write_synthetic(spec, folder)
    write_contact_sheet(split, folder / "contact_sheet.png")
    outside = sum(i.record["in_canvas_count"] < i.ground_truth for i in split.items)
    hidden = sum(item.num_occluded or 0 for item in split.items) / len(split.items)
    print(f"{len(split.items)} pairs in {folder}, {hidden:.2f} objects hidden on average")
    if outside:
        print(f"{outside} of them have an object outside the image (--fit-canvas avoids that)")


def read_counts(text: str) -> tuple[int, ...]:
    """Read ``5-15`` or ``6,10`` as numbers from 1 up, or raise `InputError`."""
    if match := re.fullmatch(r"(\d+)-(\d+)", text):
        counts = tuple(range(int(match[1]), int(match[2]) + 1))
    elif re.fullmatch(r"\d+(,\d+)*", text):
        counts = tuple(sorted({int(part) for part in text.split(",")}))
    else:
        counts = ()
    if not counts or counts[0] < 1:
        raise InputError(f"Expected --counts like 5-15 or 6,10 but got '{text}'.")
    return counts
