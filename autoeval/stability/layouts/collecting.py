"""From what a layout says of each image to a label set, with what is missing named.

Readers of published layouts (``person_layouts.py``, ``vehicle_layouts.py``)
make a `Marked` of each box and call `collect_labels`; `LAYOUTS` of `autoeval.io.labels.any_format`
names them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.image_lists import load_image_folder
from autoeval.io.images import image_size
from autoeval.io.labels.content import ANY, BoxColumns, LabelledBox, LabelSet, in_pixels
from autoeval.io.labels.pairing import without_size
from autoeval.runtime.files import MALFORMED, BadItems, fault
from autoeval.words import Notice, listed, printable

_FORM = "{item}: not as %s publishes it ({fault})"
Box = tuple[float, float, float, float]


@contextmanager
def reading(path: Path, layout: str) -> Iterator[None]:
    """Name file and layout for whatever is malformed in the body.

    Parameters
    ----------
    path : Path
        The file.
    layout : str
        Name of the layout, for messages.

    Raises
    ------
    InputError
        In place of the errors of `MALFORMED`.
    """
    try:
        yield
    except InputError:
        raise
    except MALFORMED as error:
        sentence = (_FORM % layout).format(item=printable(path), fault=fault(error))
        raise InputError(f"{sentence}.") from error


def unread(layout: str, items_name: str) -> BadItems:
    """Count the label files, frames or lines that are not as a layout publishes them.

    Parameters
    ----------
    layout : str
        Name of the layout, for messages.
    items_name : str
        Plural of what is counted.
    """
    return BadItems("", items_name, _FORM % layout)


@dataclass(frozen=True)
class Marked:
    """One box of an image.

    Parameters
    ----------
    category : str
        `ANY` for an area in which nothing of any category was labelled.
    xywh : tuple of 4 floats
        Left, top, width, height, pixels.
    ignored : bool
        Whether evaluation ignores it.

    Raises
    ------
    ValueError
        If a number is not finite, or the category has no name.
    """

    category: str
    xywh: Box
    ignored: bool = False

    def __post_init__(self) -> None:
        named = isinstance(self.category, str) and self.category.strip()
        if not named or not all(map(math.isfinite, self.xywh)):
            raise ValueError(f"no box: {self.category!r} at {self.xywh}")


def collect_labels(
    path: Path,
    img_dir: Path,
    marked: Mapping[str, Sequence[Marked]],
    *,
    sizes: Mapping[str, tuple[int, int]] | None = None,
    categories: Iterable[str] = (),
    warnings: Iterable[Notice],
) -> LabelSet:
    """Make a label set of the boxes of each image.

    Parameters
    ----------
    path : Path
        What was read.
    img_dir : Path
        Folder of the images; labelled ones that it lacks are left out with a warning, those that no
        label names are unlabelled.
    marked : mapping of str to sequence of Marked
        By the path of the image relative to the folder.
    sizes : mapping of str to (int, int), optional
        Heights and widths where the layout gives them; the others are read from the files.
    categories : iterable of str
        Those of the layout, whether there are boxes of them or not; others come behind.
    warnings : iterable of Notice
        Of what was read.

    Raises
    ------
    InputError
        If there is no such folder, none of the labelled images in it, or the boxes are not in their
        pixels.
    """
    if not img_dir.is_dir():
        raise InputError(f"No image folder {img_dir} (for {path}): check the path, or `img_dir`.")
    present = {i.path.relative_to(img_dir).as_posix() for i in load_image_folder(img_dir)}
    if not present & marked.keys():
        example = next(iter(marked), "no image")
        raise InputError(
            f"{path} labels {len(marked)} images, such as {printable(example)}; none of them is in "
            f"{img_dir}. Is it the folder of another split, or half-downloaded?"
        )
    absent = [printable(name) for name in marked if name not in present]
    missing = Notice(
        "images-missing", f"labelled images missing in {img_dir}: {len(absent)} ({listed(absent)})"
    )
    known_sizes = {name: (sizes or {}).get(name) or image_size(img_dir / name) for name in marked}
    lost = [name for name in marked if name in present and known_sizes[name] is None]
    images = [
        LabelledImage(printable(name), name, size)
        for name, size in known_sizes.items()
        if name in present and size is not None
    ]
    boxes = [
        LabelledBox(image.image_id, box.category, box.xywh, box.ignored or box.category == ANY)
        for image in images
        for box in marked[image.file_name]
    ]
    # Of images that are missing, too: a half-downloaded set keeps its categories.
    words = dict.fromkeys(
        [*categories, *(box.category for boxes in marked.values() for box in boxes)]
    )
    return in_pixels(
        LabelSet(
            path,
            tuple(images),
            tuple(word for word in words if word != ANY),
            BoxColumns.of(boxes),
            img_dir,
            tuple(sorted(map(printable, present - marked.keys()))),
            (*warnings, *([missing] if absent else ()), *without_size(lost)),
        )
    )


def first_folder(path: Path, named_folder: Path | None, candidates: Iterable[Path]) -> Path:
    """Return the image folder that was given, without a look at it, else the first there is.

    Parameters
    ----------
    path : Path
        The labels, for the message.
    named_folder : Path or None
        The user's choice.
    candidates : iterable of Path
        Where the layout has its images.

    Raises
    ------
    InputError
        If there is none, with the places looked at.
    """
    candidates = list(candidates)
    folder = named_folder or next((place for place in candidates if place.is_dir()), None)
    if folder is None:
        looked = f"Looked for {listed(candidates)}; name" if candidates else "Name"
        raise InputError(f"Where are the images of {path}? {looked} their folder (`img_dir`).")
    return folder


def label_files(folder: Path, ending: str) -> list[Path]:
    """List the label files of a folder with its subfolders, in order.

    Parameters
    ----------
    folder : Path
        Where to look.
    ending : str
        End of the files' names.

    Raises
    ------
    InputError
        If there is none.
    """
    files = sorted(folder.rglob(f"*{ending}")) if folder.is_dir() else []
    if not files:
        raise InputError(f"No label files *{ending} in {folder}: check the path.")
    return files


def chosen(name: str, value: object, options: Sequence[str]) -> str:
    """Return an option's value.

    Parameters
    ----------
    name : str
        Of the option, for the message.
    value : object
        What was given.
    options : sequence of str
        The possible values.

    Raises
    ------
    InputError
        If it is none of them.
    """
    if value not in options:
        raise InputError(f"Expected `{name}` to be one of {', '.join(options)} but got {value!r}.")
    return str(value)


def number(name: str, value: float | str, *, least: float = 0) -> float:
    """Return an option as a number.

    Parameters
    ----------
    name : str
        Of the option, for the message.
    value : float or str
        What was given.
    least : float
        The smallest that is possible.

    Raises
    ------
    InputError
        If it is none or under `least`.
    """
    try:
        parsed = float(value)
    except ValueError:
        parsed = float("nan")
    if not parsed >= least:
        raise InputError(f"Expected `{name}` to be a number from {least:g} but got {value!r}.")
    return parsed
