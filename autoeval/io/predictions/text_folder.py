"""A folder of text files, one an image: which column is what is decided from all files together.

`autoeval.io.predictions.reading` calls `read_text_folder` for a folder.

Tools write the class, the score and four numbers of the box in any order, the box as centre and
sides, as left, top and sides, or as corners, of which Open Images has both x in front of both y, in
pixels or as shares of the image, with or without the number of a track. Every order is tried on the
lines of all files: classes and tracks are whole numbers, scores lie in [0, 1], boxes have an area
and lie in their images. The order that the fewest lines contradict is taken where the others are
contradicted by more; else the folder is refused, and `columns` says which it is. Of real
predictions in 48 orders none is read wrong (a slow test in
`tests/io/predictions/test_text_folder.py`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.image_identity import Named, match_images
from autoeval.io.image_lists import sorted_files, suffix_of
from autoeval.io.labels.yolo import NAME_FILES, listed_classes
from autoeval.io.predictions.formats import Coded, Content, RawColumns
from autoeval.words import Notice, listed, printable

CLASS = "class"
SCORE = "score"
SKIPPED = "-"
CENTRE = ("x", "y", "w", "h")
EDGES = ("left", "top", "w", "h")
CORNERS = ("left", "top", "right", "bottom")
FORMS = (CENTRE, CORNERS, EDGES)
OF_OPEN_IMAGES = ("left", "right", "top", "bottom")  # the corners in its order
OTHER_NAMES = {
    **dict.fromkeys(("cls", "label", "category", "word", "name"), CLASS),
    **dict.fromkeys(("conf", "confidence"), SCORE),
    **{"cx": "x", "cy": "y", "xc": "x", "yc": "y", "width": "w", "height": "h"},
    **{"l": "left", "t": "top", "r": "right", "b": "bottom"},
    **{"x1": "left", "y1": "top", "x2": "right", "y2": "bottom"},
    **{"xmin": "left", "ymin": "top", "xmax": "right", "ymax": "bottom"},
    **dict.fromkeys(("track", "id", "track_id", "_"), SKIPPED),
}
OF_YOLO = (CLASS, *CENTRE, SCORE)
SUFFIX = ".txt"
NO_PREDICTIONS = frozenset({*NAME_FILES, "README.txt", "README.md", "train.txt", "val.txt"})
OF_VOC = re.compile(r"comp\d+_(det|cls)_\w+").fullmatch
FEWEST = 6  # columns of a line: class, score and box
MOST = 9  # columns of a line, with a few more, where they are not named
KITTI = 16  # columns of a line, which begins with a word
KITTI_COLUMNS = "class,-,-,-,left,top,right,bottom,-,-,-,-,-,-,-,score"
BEYOND = 0.002  # of the image's side, by which rounding carries a box beyond it
UNCLIPPED = 0.45
"""Of its side, how far a box may reach beyond an image whose size is not known.

Not all detectors cut boxes at the edges. A left edge of 0 that is read as a centre lies half a side
beyond, and an uncut box reaches less far; tests extend boxes at the edges by a tenth of theirs."""
MOST_BAD = 0.1  # of the lines may have other columns
MOST_ODD = 0.05  # of the lines may contradict the order that is taken
# So many times, and so many more lines contradict an order that is given up.
RIVAL_FACTOR = 2
RIVAL_MORE = 3
LARGEST_SHARE = 1.5  # numbers over it are pixels
LARGEST_SCORE = 2.0  # scores over 1 are refused where all formats are, with their reason
ENOUGH_LINES = 20  # to decide between orders that fit equally well
ENOUGH_CORNERS = 20  # boxes whose third and fourth number are larger: widths are not always
SORTED = 0.8
UNSORTED = 0.5
FEWEST_SORTED = 3  # boxes of a file
HARDLY_BY_CHANCE = 0.01


class ColumnOrder(NamedTuple):
    """The names of the columns of a line, and whether boxes are in pixels.

    Parameters
    ----------
    columns : tuple of str
        `CLASS`, `SCORE`, four of one of `FORMS`, and `SKIPPED` for a number that is not used.
    pixels : bool
        Otherwise boxes are in shares of the image.

    Examples
    --------
    >>> ColumnOrder(("class", "score", "left", "top", "right", "bottom"), pixels=True).text
    'class, score, left, top, right, bottom (pixels)'
    """

    columns: tuple[str, ...]
    pixels: bool

    @property
    def text(self) -> str:
        """What stands in which column, for messages."""
        names = ", ".join("a number not used" if c == SKIPPED else c for c in self.columns)
        return f"{names} ({'pixels' if self.pixels else 'shares of the image'})"

    @property
    def form(self) -> tuple[str, ...]:
        """Which numbers stand for a box: one of `FORMS`."""
        return next(form for form in FORMS if {*form} <= {*self.columns})

    def column(self, name: str) -> int:
        """Return the position of a column, -1 for none.

        Parameters
        ----------
        name : str
            Of the column.
        """
        return self.columns.index(name) if name in self.columns else -1


@dataclass(frozen=True, eq=False)
class Lines:
    """The N lines of all files.

    Parameters
    ----------
    words : tuple of str
        The word of each class where lines have one; empty where they have numbers.
    word_last : bool
        Whether words stand at the last place, in place of the first.
    numbers : ndarray of shape (N, C)
        The other columns.
    file : ndarray of shape (N,), int64
        Number of the file of each line.
    sizes : ndarray of shape (N, 2)
        Width and height of the image in pixels, infinite where they are not known.
    """

    words: tuple[str, ...]
    word_last: bool
    numbers: np.ndarray
    file: np.ndarray
    sizes: np.ndarray

    @property
    def names(self) -> int:
        """Number of columns, that of the word among them."""
        return self.numbers.shape[1] + bool(self.words)

    def column(self, order: ColumnOrder, name: str) -> np.ndarray:
        """Return a column of numbers, (N,).

        Parameters
        ----------
        order : ColumnOrder
            Of the file.
        name : str
            Of the column.
        """
        return self.numbers[:, order.column(name) - (bool(self.words) and not self.word_last)]

    def edges(self, order: ColumnOrder) -> tuple[np.ndarray, ...]:
        """Return left, top, right and bottom of each box, (N,) each, in the unit of the file.

        Parameters
        ----------
        order : ColumnOrder
            Of the file.
        """
        a, b, c, d = (self.column(order, name) for name in order.form)
        if order.form == CORNERS:
            return a, b, c, d
        if order.form == EDGES:
            return a, b, a + c, b + d
        return a - c / 2, b - d / 2, a + c / 2, b + d / 2


def read_text_folder(
    folder: Path,
    images: Sequence[LabelledImage] | None,
    *,
    known_words: Sequence[str],
    columns: Sequence[str],
) -> Content:
    """Read a text file an image, a box a line, such as ``class x y w h score``.

    The text files are in the folder and its subfolders, or in a folder ``labels`` in it. The stem
    of a file is that of its image, or the name of its image; images without a box have none, or an
    empty one. Fields are separated by spaces, tabs, commas or semicolons.

    Parameters
    ----------
    folder : Path
    images : sequence of LabelledImage, optional
        Images with their sizes, which shares of the image need.
    known_words : sequence of str
        Words of categories, which may hold spaces.
    columns : sequence of str
        The names of the columns, where they are known; see `column_names`.

    Returns
    -------
    Content
        The boxes, with the word of each class by ``classes.txt`` in the folder, where there is one,
        and a notice which order was found, where it is not that of Ultralytics.

    Raises
    ------
    InputError
        If there are no text files, lines differ in their form, no order fits or several do, or
        sizes of images are needed and not known.
    """
    folder = folder / "labels" if (folder / "labels").is_dir() else folder
    names = [name for name in sorted_files(folder)[0] if suffix_of(name) == SUFFIX]
    names = [name for name in names if name.rpartition("/")[2] not in NO_PREDICTIONS]
    files = [folder / name for name in names]
    runs = {str(file.parent) for file in files if file.parent.name == "labels"}
    if len(runs) > 1:
        raise InputError(
            f"{printable(folder)} holds several folders of text files: expected one of "
            f"{listed(sorted(map(printable, runs)))}."
        )
    if not files:
        raise InputError(
            f"No text files in {printable(folder)}: expected a predictions file, or the folder "
            "that `yolo predict save_txt=True save_conf=True` writes."
        )
    if all(OF_VOC(file.stem) for file in files):
        raise InputError(
            f"{printable(folder)} holds results of the VOC devkit ({files[0].name}), one file a "
            "class. Expected one file an image, or COCO results: a list of objects with file_name, "
            "category, bbox [left, top, width, height] and score."
        )
    stems = [name[: -len(SUFFIX)] for name in names]
    images_of_files = _images_of_files(stems, images)
    lines, malformed = _lines_of(files, images_of_files, known_words, column_names(columns))
    numbers = {str(k): name for k, name in listed_classes(folder).items()}
    if not len(lines.file):
        return Content(iter(()), numbers=numbers)
    order, notices = _order_of(folder, lines, column_names(columns))
    if not order.pixels:
        unknown = [
            stem
            for k, stem in enumerate(stems)
            if images_of_files[k].size is None
            and (images is None or images_of_files[k].image_id)
            and (lines.file == k).any()
        ]
        if unknown:
            raise InputError(
                f"{printable(folder)} holds boxes as shares of their image, and the sizes of the "
                f"images {listed(unknown)} are not known: name their folder, or a COCO JSON file "
                "with sizes, with --images."
            )
    raw = _raw(lines, order, images_of_files)
    return Content(iter([raw]), numbers=numbers, warnings=(*notices, *malformed))


def column_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns in one spelling.

    ``class``, ``score``, and the box as ``x``, ``y`` (its centre), ``w``, ``h``, or with ``left``
    and ``top``, and ``w`` and ``h`` or ``right`` and ``bottom``; ``-`` for a number that is not
    used, such as that of a track.

    Parameters
    ----------
    columns : sequence of str
        In any of the spellings of `OTHER_NAMES`, in any case; empty for none.

    Raises
    ------
    InputError
        If they are no class, score and box.

    Examples
    --------
    >>> column_names(["class", "conf", "x1", "y1", "x2", "y2", "-"])
    ('class', 'score', 'left', 'top', 'right', 'bottom', '-')
    """
    names = tuple(OTHER_NAMES.get(name.strip().lower(), name.strip().lower()) for name in columns)
    used = [name for name in names if name != SKIPPED]
    if names and not any(sorted(used) == sorted((CLASS, SCORE, *form)) for form in FORMS):
        raise InputError(
            "Expected --columns with class, score and the box: x,y,w,h (x and y of its centre), "
            "left,top,w,h or left,top,right,bottom, in their order in the files, and - for a "
            f"number that is not used, but got {','.join(columns)}."
        )
    return names


def _images_of_files(
    stems: Sequence[str], images: Sequence[LabelledImage] | None
) -> list[LabelledImage]:
    """Return the image of each file, by its path without the suffix.

    An image that is not among those known, or could be several, is left out by whoever reads: it
    has no id.
    """
    if images is None:
        return [LabelledImage(name, name, None) for name in stems]
    index = match_images([Named(None, name) for name in stems], images).index
    return [
        images[place] if place >= 0 else LabelledImage("", name, None)
        for name, place in zip(stems, index.tolist(), strict=True)
    ]


def _fields(line: str) -> list[str]:
    """Split a line at tabs, commas or semicolons where it has several, else at spaces."""
    for sign in "\t;,":
        if line.count(sign) >= FEWEST - 1:
            return [field.strip().strip("\"'") for field in line.rstrip(sign).split(sign)]
    return line.replace(",", " ").replace(";", " ").split()


def _floats(fields: Sequence[str]) -> list[float] | None:
    """Return fields as numbers; None where one is none."""
    try:
        return [float(field) for field in fields]
    except ValueError:
        return None


def _lines_of(
    files: Sequence[Path],
    images: Sequence[LabelledImage],
    known_words: Sequence[str],
    names: tuple[str, ...],
) -> tuple[Lines, tuple[Notice, ...]]:
    """Read all lines, in each the same columns; say which were left out.

    Parameters
    ----------
    files : sequence of Path
        Text files.
    images : sequence of LabelledImage
        Image of each.
    known_words : sequence of str
        Words of categories, which may hold spaces.
    names : tuple of str
        Columns, where they are known.

    Raises
    ------
    InputError
        If more than `MOST_BAD` of the lines have other columns than most, or these are too few or
        too many.
    """
    rows: list[list[str]] = []
    where: list[tuple[int, int]] = []
    for k, file in enumerate(files):
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            raise InputError(f"{printable(file)} cannot be read: {error}.") from error
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                rows.append(_fields(line))
                where.append((k, number))
    values = [_floats(row) for row in rows]
    words, word_last = [""] * len(rows), False
    has_word = sum(value is None for value in values) > MOST_BAD * len(rows)
    if has_word:
        words, values, word_last = _without_words(rows, known_words, names)
    width = _common_width([len(value) for value in values if value is not None])
    bad = []
    for k, value in enumerate(values):
        if value is not None and len(value) == width + 1 and value[-1] % 1 == 0:
            values[k] = value[:-1]  # the number of a track, which some lines have
        elif value is None or len(value) != width:
            bad.append(k)
    most = max(MOST, len(names))
    if len(bad) > MOST_BAD * len(rows) or not FEWEST <= width + has_word <= most:
        k = bad[0] if len(bad) > MOST_BAD * len(rows) else 0
        raise _unexpected_line(files[where[k][0]], rows[k], values[k], has_word)
    notices = tuple[Notice, ...]()
    if bad:
        named = [f"{printable(files[where[k][0]].name)}, line {where[k][1]}" for k in bad]
        text = f"lines of text files with other columns, left out: {len(bad)} ({listed(named, 3)})"
        notices = (Notice("entries-malformed", text),)
    left_out = {*bad}
    kept = [k for k in range(len(rows)) if k not in left_out]
    numbers = np.array([values[k] for k in kept], np.float64).reshape(-1, width)
    unknown = (np.inf, np.inf)
    sizes = np.array([image.size or unknown for image in images], float).reshape(-1, 2)[:, ::-1]
    file_of = np.array([where[k][0] for k in kept], np.int64)
    kept_words = tuple(words[k] for k in kept) if has_word else ()
    return Lines(kept_words, word_last, numbers, file_of, sizes[file_of]), notices


def _without_words(
    rows: Sequence[Sequence[str]], known_words: Sequence[str], names: tuple[str, ...]
) -> tuple[list[str], list[list[float] | None], bool]:
    """Take the words of classes, which may have spaces, off the first or the last place.

    A word may end in a number ("class 2"): of the widths that lines have, the one counts whose
    words are known.

    Returns
    -------
    tuple of list of str, list of list of float or None, and bool
        Word and numbers of each line, None for numbers that are none; whether words are last.
    """
    leading = [_n_numbers(row) for row in rows]
    trailing = [_n_numbers(row[::-1]) for row in rows]
    before = int(np.quantile(leading, MOST_BAD, method="lower"))
    behind = int(np.quantile(trailing, MOST_BAD, method="lower"))
    word_last, widest = before > behind, max(before, behind)
    widths = range(widest, FEWEST - 2, -1) if not names else (len(names) - 1,)

    def split(row: Sequence[str], width: int) -> tuple[str, Sequence[str]]:
        if word_last:
            return " ".join(row[width:]), row[:width]
        return " ".join(row[: len(row) - width]), row[max(len(row) - width, 0) :]

    vocabulary = {*known_words}
    width = max(
        widths, key=lambda w: sum(split(row, w)[0] in vocabulary for row in rows), default=widest
    )
    parts = [split(row, width) for row in rows]
    values = [_floats(rest) if word else None for word, rest in parts]
    return [word for word, _ in parts], values, word_last


def _n_numbers(row: Sequence[str]) -> int:
    """Count the numbers that a row begins with."""
    return next((k for k, field in enumerate(row) if _floats([field]) is None), len(row))


def _common_width(widths: Sequence[int]) -> int:
    """Return the number of columns of most lines, or one fewer where many lines have that."""
    if not widths:
        return FEWEST
    counts = Counter(widths)
    most = counts.most_common(1)[0][0]
    return most - 1 if counts[most - 1] > MOST_BAD * len(widths) else most


def _unexpected_line(
    file: Path, row: Sequence[str], value: Sequence[float] | None, has_word: bool
) -> InputError:
    """Return the error of a line that is not as expected."""
    if value is None:
        return InputError(
            f"{printable(file)} cannot be read: expected lines of a class and numbers, got "
            f"'{' '.join(row)[:60]}'."
        )
    width = len(value) + has_word
    hint = " Run `yolo predict` with save_conf=True." if width == FEWEST - 1 else ""
    if width > MOST:
        hint = (
            " Polygons, rotated boxes and keypoints are not read with scores: write COCO results "
            "(save_json=True), or give what the model returned in Python."
        )
    if has_word and width == KITTI:
        hint = f" Results of KITTI are read with --columns {KITTI_COLUMNS}."
    return InputError(
        f"{printable(file)}: expected lines of class, x, y, width, height and score, or of these "
        f"in another order, with decimal points, got {width} numbers in '{' '.join(row)[:60]}'."
        f"{hint}"
    )


def _orders(lines: Lines) -> Iterator[ColumnOrder]:
    """Yield every order of the columns that a line can have, that of Ultralytics first."""
    n = lines.names
    places = [n - 1 if lines.word_last else 0] if lines.words else [0, n - 1, *range(1, n - 1)]
    for form in (*FORMS, OF_OPEN_IMAGES):
        for place in places:
            for start in range(n - 3):
                box = range(start, start + 4)
                for score in reversed(range(n)):
                    if place in box or score in box or score == place:
                        continue
                    names = [SKIPPED] * n
                    names[start : start + 4] = form
                    names[place], names[score] = CLASS, SCORE
                    yield _with_unit(lines, tuple(names))


def _with_unit(lines: Lines, names: tuple[str, ...]) -> ColumnOrder:
    """Return an order with its unit: pixels where any number of a box is over `LARGEST_SHARE`."""
    order = ColumnOrder(names, pixels=True)
    sides = [np.abs(lines.column(order, name)) for name in order.form]
    return order._replace(pixels=bool(max(side.max() for side in sides) > LARGEST_SHARE))


def _contradicted(lines: Lines, order: ColumnOrder) -> np.ndarray | None:
    """Mask the lines (N,) that contradict an order; None where a whole column does."""
    score = lines.column(order, SCORE)
    if (score == np.round(score)).all():
        return None
    bad = ~((score >= 0) & (score < LARGEST_SCORE))
    skipped = [k for k, name in enumerate(order.columns) if name == SKIPPED]
    whole = [lines.numbers[:, k - (bool(lines.words) and not lines.word_last)] for k in skipped]
    if any((column != np.round(column)).any() for column in whole):
        return None
    if not lines.words:
        number = lines.column(order, CLASS)
        bad |= (number != np.round(number)) | (number < 0)
    width, height = lines.sizes.T if order.pixels else np.ones((2, len(score)))
    left, top, right, bottom = lines.edges(order)
    least = 1.0 if order.pixels else 0.0  # of a side; a class and shares may look like pixels
    bad |= ~((right - left > least) & (bottom - top > least))
    slack_x = np.where(np.isfinite(width), BEYOND * width, UNCLIPPED * (right - left))
    slack_y = np.where(np.isfinite(height), BEYOND * height, UNCLIPPED * (bottom - top))
    bad |= (left < -slack_x) | (top < -slack_y)
    return bad | (right > width + slack_x) | (bottom > height + slack_y)


class _Tried(NamedTuple):
    """An order and the number of lines that contradict it."""

    n_odd: int
    order: ColumnOrder

    @property
    def text(self) -> str:
        return f"{self.order.text}, which {self.n_odd} lines contradict"


def _order_of(
    folder: Path, lines: Lines, names: tuple[str, ...]
) -> tuple[ColumnOrder, tuple[Notice, ...]]:
    """Decide the order of the columns, and say which it is where it is not Ultralytics' own.

    Parameters
    ----------
    folder : Path
        For messages.
    lines : Lines
        Of all files.
    names : tuple of str
        Columns, where they are known.

    Raises
    ------
    InputError
        If no order fits, or several do.
    """
    n = len(lines.file)
    if names:
        if len(names) != lines.names:
            raise InputError(
                f"{printable(folder)}: --columns names {len(names)} columns, and lines have "
                f"{lines.names}."
            )
        at_word = names[-1 if lines.word_last else 0]
        if lines.words and at_word != CLASS:
            raise InputError(
                f"{printable(folder)}: the words of classes are in the "
                f"{'last' if lines.word_last else 'first'} column, and --columns calls it "
                f"{at_word}."
            )
        return _with_unit(lines, names), ()
    tried = []
    for order in _orders(lines):
        bad = _contradicted(lines, order)
        if bad is not None:
            tried.append(_Tried(int(bad.sum()), order))
    tried.sort(key=lambda one: one.n_odd)  # of equals the first stays first
    if not tried or tried[0].n_odd > MOST_ODD * n:
        raise _no_order(folder, lines, tried)
    most = RIVAL_FACTOR * tried[0].n_odd + RIVAL_MORE
    near = _likely(lines, [one for one in tried if one.n_odd <= most])
    n_orders = len(near)
    if n < ENOUGH_LINES and n_orders > 1:
        fewest = [one for one in near if one.n_odd == near[0].n_odd]
        usual = [one for one in near if _of_yolo(one.order)]
        near = [one for one in usual if one in fewest] or [*fewest, *usual]
    if len(near) > 1:
        raise InputError(
            f"{printable(folder)}: the columns of the {n} lines fit in several orders: "
            f"{'; or '.join(one.text for one in near[:3])}. Say which it is behind the folder, "
            f"such as --columns {','.join(near[0].order.columns)}, or give the sizes of the images "
            "(--images with their folder, or a COCO JSON file)."
        )
    (best,) = near  # another one may have fewer odd lines, but is less likely
    if _of_yolo(best.order) and n_orders == 1:
        return best.order, ()
    rivals = [one for one in tried if not _same_boxes(one.order, best.order)]
    reason = f"{best.n_odd} of {n} lines contradict it"
    if n_orders > 1:
        reason += f", {n_orders} orders fit as well, and it is the commonest of them"
    elif rivals:
        reason += f"; the next best order is {rivals[0].text}"
    text = (
        f"text files of {printable(folder)} are read as {best.order.text}: {reason}. If it is "
        "another, add --columns"
    )
    return best.order, (Notice("columns-recognised", text, "note"),)


def _of_yolo(order: ColumnOrder) -> bool:
    """Whether an order is that of Ultralytics: class, centre, sides and score, in shares."""
    return order.columns[: len(OF_YOLO)] == OF_YOLO and not order.pixels


def _same_boxes(a: ColumnOrder, b: ColumnOrder) -> bool:
    """Whether two orders differ only in which whole number is the class."""
    return all(a.column(name) == b.column(name) for name in (SCORE, *a.form))


def _likely(lines: Lines, near: list[_Tried]) -> list[_Tried]:
    """Give up orders that fit as well as another, but are less likely for a reason."""
    # Which whole number is the class: the first, as every tool has it where one is a track.
    distinct: list[_Tried] = []
    for one in near:
        if not any(_same_boxes(one.order, other.order) for other in distinct):
            distinct.append(one)
    # Detectors list boxes by their scores; hardly any other column is sorted in every file.
    shares = [_sorted_share(lines, one.order) for one in distinct]
    if max(shares) >= SORTED:
        distinct = [one for one, share in zip(distinct, shares, strict=True) if share > UNSORTED]
    if len(distinct) > 1 and not distinct[0].order.pixels:
        # Hardly a tool writes shares of the image from the left and the top edge.
        least = min((one.n_odd for one in distinct if one.order.form != EDGES), default=-1)
        distinct = [
            one for one in distinct if one.order.form != EDGES or not 0 <= least <= one.n_odd
        ]
    sized = bool(np.isfinite(lines.sizes).all())
    if len(distinct) > 1 and not sized and len(lines.file) >= ENOUGH_CORNERS:
        # Without sizes, corners read as sides fit too; sides read as corners do not.
        corners = [one for one in distinct if one.order.form == CORNERS and not one.n_odd]
        distinct = corners or distinct
    return distinct


def _sorted_share(lines: Lines, order: ColumnOrder) -> float:
    """Return the share of files, of those with three boxes or more, that a score sorts.

    0 where so few boxes would often be sorted by chance: m of a file are in 2 of m! orders.
    """
    score = lines.column(order, SCORE)
    ends = np.flatnonzero(np.diff(lines.file)) + 1
    lists = [part for part in np.split(score, ends) if len(part) >= FEWEST_SORTED]
    by_chance = sum(math.log(2) - math.lgamma(len(part) + 1) for part in lists)
    if by_chance > math.log(HARDLY_BY_CHANCE):
        return 0.0
    rising = [bool((steps := np.diff(part)).min() >= 0 or steps.max() <= 0) for part in lists]
    return sum(rising) / len(rising)


def _no_order(folder: Path, lines: Lines, tried: Sequence[_Tried]) -> InputError:
    """Return the error where no order fits, which says what would fit best.

    Parameters
    ----------
    folder : Path
        For messages.
    lines : Lines
        Of all files.
    tried : sequence of _Tried
        Orders that no whole column contradicts, the best first.
    """
    n, width = len(lines.file), lines.names
    fractions = [
        bool((column != np.round(column)).any() and column.max() < LARGEST_SCORE)
        for column in lines.numbers.T
    ]
    yolo = width == FEWEST and not lines.words and bool((lines.numbers[:, -1] % 1 == 0).all())
    if yolo:
        last = lines.numbers[:, -1]
        return InputError(
            f"{printable(folder)}: the sixth number of each line is a whole number "
            f"({last.min():g} to {last.max():g}), as the tracks of `yolo track` are, and no column "
            "holds a score. Run `yolo track` with save_conf=True."
        )
    if not any(fractions):
        return InputError(
            f"{printable(folder)}: no column of its {n} lines holds scores in [0, 1]. Expected "
            "class, x, y, width, height and score, or these in another order."
        )
    best = f" Nearest is {tried[0].text} of {n}." if tried else ""
    return InputError(
        f"{printable(folder)}: no order of class, score and box fits its lines.{best} Are these "
        "predictions of these images, with boxes in pixels or as shares of the image? If the order "
        "is known, give it as --columns class,score,left,top,right,bottom."
    )


def _raw(lines: Lines, order: ColumnOrder, images: Sequence[LabelledImage]) -> RawColumns:
    """Return the lines as entries, in pixels."""
    n = len(lines.file)
    left, top, right, bottom = lines.edges(order)
    scale = np.ones((n, 2))
    if not order.pixels:
        scale = np.where(np.isfinite(lines.sizes), lines.sizes, 1.0)
    xywh = np.stack([left, top, right - left, bottom - top], axis=1) * np.tile(scale, 2)
    nothing = Coded(np.full(n, -1), [])
    if lines.words:
        number, word = nothing, Coded.of(lines.words)
    else:
        values, codes = np.unique(lines.column(order, CLASS), return_inverse=True)
        number, word = Coded(codes, [int(v) if v == int(v) else float(v) for v in values]), nothing
    names = Coded(lines.file, [image.file_name for image in images])
    return RawColumns(nothing, names, number, word, xywh, lines.column(order, SCORE))
