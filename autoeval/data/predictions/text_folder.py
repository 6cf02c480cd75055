"""Predictions as text files, one an image: `yolo predict save_txt=True save_conf=True`.

Source: https://docs.ultralytics.com/modes/predict/ (``save_txt``, ``save_conf``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

import numpy as np

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions.raw_columns import Coded, RawColumns
from autoeval.data.wording import listed, printable
from autoeval.errors import InputError

NUMBERS = 6


def read_text_folder(
    folder: Path, images: Sequence[LabelledImage] | None, numbers: Sequence[str]
) -> Iterator[RawColumns]:
    """Read ``class x_centre y_centre width height score`` lines, shares of the image.

    Parameters
    ----------
    folder : Path
        With the text files, or with a folder ``labels`` that holds them. The stem of a file is
        that of its image; images without a box have none.
    images : sequence of LabelledImage, optional
        All images, with their sizes.
    numbers : sequence of str
        The number of each category, in the order in which classes are counted, from 0.

    Raises
    ------
    InputError
        If there is no such file, a line has no score, a class is beyond `numbers`, or the size of
        an image is not known.
    """
    folder = folder / "labels" if (folder / "labels").is_dir() else folder
    files = sorted(folder.glob("*.txt"))
    if not files:
        raise InputError(
            f"No text files in {printable(folder)}: expected a predictions file, or the folder "
            "that `yolo predict save_txt=True save_conf=True` writes."
        )
    stems = Counter(_stem(image) for image in images or ())
    of_stem = {_stem(image): image for image in images or () if stems[_stem(image)] == 1}
    unknown = [f.stem for f in files if f.stem in of_stem and of_stem[f.stem].size is None]
    if images is None or unknown:
        raise InputError(
            f"{printable(folder)} holds boxes as shares of their image, and the sizes of the "
            f"images{f' {listed(unknown)}' if unknown else ''} are not known: name their folder, "
            "or a COCO JSON file with sizes, with --images-list."
        )
    parts = [_lines(file) for file in files]
    rows, image = np.concatenate(parts), np.repeat(np.arange(len(files)), [len(p) for p in parts])
    classes = rows[:, 0].astype(np.int64)
    if len(classes) and not 0 <= classes.min() <= classes.max() < len(numbers):
        raise InputError(
            f"{printable(folder)}: classes are from {classes.min()} to {classes.max()}, but "
            f"{len(numbers)} categories are known. Give their words with --names data.yaml."
        )
    # An image that is not among them, or whose stem is that of two, is left out by whoever reads.
    known = [of_stem.get(file.stem, LabelledImage("", file.stem, None)) for file in files]
    scale = np.array([i.size or (1, 1) for i in known], np.float64)[image][:, [1, 0, 1, 0]]
    xywh = rows[:, 1:5].copy()
    xywh[:, :2] -= xywh[:, 2:] / 2
    nothing = Coded(np.full(len(rows), -1), [])
    yield RawColumns(
        nothing,
        Coded(image, [i.file_name for i in known]),
        Coded(classes, list(numbers)),
        nothing,
        xywh * scale,
        rows[:, 5],
    )


def _stem(image: LabelledImage) -> str:
    return PurePath(image.file_name).stem


def _lines(file: Path) -> np.ndarray:
    """Read the lines of a file, (N, 6)."""
    try:
        lines = [line.split() for line in file.read_text(encoding="utf-8-sig").splitlines()]
        rows = [list(map(float, words)) for words in lines if words]
    except (OSError, ValueError) as error:
        raise InputError(f"{printable(file)} cannot be read: {error}.") from error
    wrong = next((len(row) for row in rows if len(row) != NUMBERS), None)
    if wrong is not None:
        hint = " Run `yolo predict` with save_conf=True." if wrong == NUMBERS - 1 else ""
        raise InputError(
            f"{printable(file)}: expected lines of class, x, y, width, height and score, got "
            f"{wrong} numbers.{hint}"
        )
    return np.array(rows, np.float64).reshape(-1, NUMBERS)
