"""Lists of images: those of a folder, of a COCO document, or of a text file; and their sizes.

`read_image_list` lists the images that a detector was run on, for predictions; `load_image_folder`
lists files to be read; `coco_images` and `coco_categories` read parts of COCO documents for
`autoeval.io.coco` and `autoeval.io.predictions`.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.image_identity import (
    IMAGE_SUFFIXES,
    SUFFIXES,
    names_before_upload,
    normal_id,
    normal_name,
)
from autoeval.runtime.files import MALFORMED, YAML, BadItems, PathLike, is_json, read_json
from autoeval.words import Notice, listed, printable

_JSON = re.compile(r'[\[{]\s*(["\[{]|$)').match  # "[1] a.jpg" and "{id}.jpg" are names of files
_HEADER = re.compile(
    r"(.*[,;\t])?\s*(file_?name|image_?id|image_?path)\s*([,;\t].*)?", re.I
).fullmatch
_HIDDEN = re.compile(r"(^|/)\.").search
STANDARD_INPUT = "-"
FARTHEST = 1e7  # pixels; no image is as wide, and beyond it boxes lose their digits
TIMES = ("date_captured", "datetime")
_TIME = re.compile(  # year, month, day, hour, minute, second and its fraction, as far as there
    r"(?<!\d)(?P<year>(?:19|20)\d\d)"
    r"(?:(?P<mark>[-_./:])(?P<month>\d\d?)(?P=mark)(?!(?P=year))(?P<day>\d\d?)"
    r"|(?P<month2>\d\d)(?P<day2>\d\d))"
    # the date of a folder once more is no time, nor is 001 or 11151204, of an hour of one digit
    r"(?:(?:T|[-_./ ]*)(?!(?P=year)(?P<again>[-_./:])\d\d?(?P=again)\d)"
    r"(?!(?P=year)(?:(?P=month)(?P=day)|(?P=month2)(?P=day2))\d{4}(?!\d))"
    r"(?P<hour>\d\d|\d(?!\d))(?P<colon>[-_.:h]?)(?P<minute>\d\d)"
    r"(?:(?P=colon)(?P<second>\d\d)(?:[.,]?(?:\d{3}){1,2})?)?"
    r"(?:[-_ ]?(?P<half>[ap])\.?m\b)?)?(?!\d)",
    re.IGNORECASE,
)
_DATE_DIGITS = re.compile(r"(?=.*[1-9])(\D*\d){8}").match  # not all 0, as tools write for none
TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
ADDRESSES = ("coco_url", "path", "url")  # fields that may stand for `file_name`


def walk(folder: Path) -> Iterator[str]:
    """Yield the files of a folder, as paths relative to it with forward slashes, in no order.

    Linked subfolders are entered as others are, each folder once: a link to a folder further up
    does not loop. Links that lead nowhere or around in a circle are yielded as the files that they
    stand for, and reading them says what is wrong.

    Parameters
    ----------
    folder : Path
        That is searched with its subfolders.

    Raises
    ------
    InputError
        If a folder cannot be read.
    """
    entered = {os.path.realpath(folder)}
    for root, folders, files in os.walk(folder, followlinks=True, onerror=_refuse):
        folders[:] = sorted(name for name in folders if _is_new(os.path.join(root, name), entered))
        for name in files:
            yield Path(root, name).relative_to(folder).as_posix()


def _refuse(error: OSError) -> None:
    """Raise `InputError` for a folder that cannot be read."""
    folder = printable(str(error.filename))
    raise InputError(f"Cannot read the folder {folder}: {str(error.strerror).lower()}.") from error


def _is_new(folder: str, entered: set[str]) -> bool:
    """Whether a folder was not entered before; it is noted in `entered`."""
    real = os.path.realpath(folder)
    seen_before = real in entered
    entered.add(real)
    return not seen_before


def refuse_archive(path: Path) -> None:
    """Refuse an archive, of zip with what it holds, of tar by its name.

    Parameters
    ----------
    path : Path
        A file, or anything else, which is let through.

    Raises
    ------
    InputError
        If it is one.
    """
    if path.is_file() and path.name.lower().endswith(TARS):
        raise InputError(
            f"{printable(path)} is a tar archive: unpack it, and name the folder that it becomes "
            "or the file that is meant."
        )
    if not (path.is_file() and zipfile.is_zipfile(path)):
        return
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    raise InputError(
        f"{printable(path)} is a zip archive of {len(names)} files ({printable(listed(names))}): "
        "unpack it, and name the folder that it becomes or the file that is meant."
    )


def content_digest(path: Path) -> bytes:
    """Return the SHA-256 of the bytes of a file; where it cannot be read, the bytes of its path.

    Parameters
    ----------
    path : Path
        The file.
    """
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return str(path).encode("utf-8", "replace")


@dataclass(frozen=True)
class ImageFile:
    """An image without labels, and its name within its set.

    Parameters
    ----------
    image_id : str
        The name.
    path : Path
        Its file.
    file_name : str
        Its path below the folder of the images of a COCO file; else empty.
    """

    image_id: str
    path: Path
    file_name: str = ""

    def read(self) -> np.ndarray:
        """Decode it; see `read_image`."""
        from autoeval.io.images import read_image  # the list alone needs no OpenCV

        return read_image(self.path)


def load_image_folder(
    path: PathLike,
    img_dir: PathLike | None = None,
    warnings: list[Notice] | None = None,
) -> tuple[ImageFile, ...]:
    """List the images of a folder or of an annotation file; no image is opened.

    A folder is searched with its subfolders for files with the suffix of an image (hidden ones are
    passed over); ids are paths relative to it with forward slashes, in natural order (``2.jpg``
    before ``10.jpg``). Of a COCO JSON file the annotations, if any, are not used; files missing on
    disk stay in the list, and reading them says so.

    Parameters
    ----------
    path : path-like
        A folder, or a COCO JSON file.
    img_dir : path-like, optional
        Folder that the file names of a COCO JSON are relative to, by default that of `folder_of`.
    warnings : list of Notice, optional
        Takes which entries of the file are malformed and left out; without it they are refused.

    Returns
    -------
    tuple of ImageFile

    Raises
    ------
    InputError
        If there is no such folder or file, it holds no image, or a file name leaves the folder.
    """
    path = Path(path)
    if path.is_dir():
        names = [name for name in sorted_files(path)[0] if suffix_of(name) in SUFFIXES]
        images = tuple(ImageFile(printable(name), path / name) for name in names)
    elif path.is_file():
        listed_images = coco_images(path, read_json(path, "annotation file"), warnings)
        folder = Path(img_dir or folder_of(path, listed_images))
        images = tuple(
            ImageFile(image.image_id, image_path(folder, image.file_name), image.file_name)
            for image in listed_images
        )
    else:
        raise InputError(f"No folder or annotation file {path}: check the path.")
    if not images:
        raise InputError(
            f"No image in {path}: expected files ending in {', '.join(sorted(SUFFIXES))}, "
            "or a COCO JSON that lists images."
        )
    return images


def sorted_files(folder: Path) -> tuple[list[str], list[str]]:
    """List the files of a folder and of its subfolders, see `walk`, in natural order.

    Parameters
    ----------
    folder : Path
        That is searched.

    Returns
    -------
    visible, hidden : list of str
        Paths relative to it. Hidden are those whose name, or that of a folder below, begins with a
        dot.

    Raises
    ------
    InputError
        If a folder cannot be read.
    """
    names = sorted(walk(folder), key=natural_order)
    hidden = [name for name in names if _HIDDEN(name)]
    return [name for name in names if not _HIDDEN(name)], hidden


def suffix_of(name: str) -> str:
    """Return the suffix of a file name, with its dot, in lower case.

    Parameters
    ----------
    name : str
        A file name or a path.
    """
    return os.path.splitext(name)[1].lower()


def natural_order(name: str) -> list[tuple[int, str]]:
    """Return the key of a text by which runs of digits compare as numbers.

    Parameters
    ----------
    name : str
        A file name or a path.

    Examples
    --------
    >>> sorted(["10.jpg", "2.jpg"], key=natural_order)
    ['2.jpg', '10.jpg']
    """
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)
    ] + [(-2, name)]


def read_image_list(
    path: PathLike,
    warnings: list[Notice] | None = None,
    numbers: dict[str, str] | None = None,
) -> tuple[LabelledImage, ...]:
    """List images, with their sizes by the headers of their files where the list has none.

    For where their files are see `with_sizes`.

    Parameters
    ----------
    path : path-like
        A text file with a file name or an id a line (those that begin with # are comments),
        ``-`` for the same on standard input, a pattern such as ``site/**/*.jpg``, of which folders
        and files of other kinds are passed over, a COCO JSON file, whose annotations are not read,
        or a folder of images.
    warnings : list of Notice, optional
        Takes which entries of a JSON file are malformed and left out; without it they are refused.
    numbers : dict of str to str, optional
        Takes the word of each number of a category of a JSON file.

    Returns
    -------
    tuple of LabelledImage

    Raises
    ------
    InputError
        If there is no image, one is listed twice, or the file cannot be read.
    """
    path = Path(path)
    if path.is_dir():
        files = load_image_folder(path)
        return with_sizes([LabelledImage(f.image_id, f.image_id, None) for f in files], path)
    if is_json(path):
        document = read_json(path, "list of images")
        return with_sizes(coco_images(path, document, warnings, numbers), path)
    refuse_archive(path)
    names = listed_names(path)
    if is_pattern(path):
        names = [name for name in names if suffix_of(name) in IMAGE_SUFFIXES]
    twice = [name for name, n in Counter(map(normal_name, names)).items() if n > 1]
    if twice or not names:
        fault = f"lists {len(twice)} images twice ({listed(twice)})" if twice else "lists no image"
        raise InputError(f"{path} {fault}: expected a file name or an id a line, each once.")
    return with_sizes([LabelledImage(name, name, None) for name in names], path)


def listed_names(source: PathLike) -> list[str]:
    """Return the names that a text file, standard input or a pattern lists, in order.

    Parameters
    ----------
    source : path-like
        A text file with a name on each line, ``-`` for the same on standard input, or a pattern.
        Lines that begin with # are comments; quotation marks around a name, with which Windows
        copies paths, are left out. The files of a pattern are in natural order.

    Raises
    ------
    InputError
        For a file that is missing, no text in UTF-8, a table, JSON, or a ``data.yaml``.
    """
    path = Path(source)
    if suffix_of(path.name) in YAML:
        raise InputError(
            f"{path} describes a data set and lists no images. Expected the folder of the images, "
            "such as the one that it names as val, a COCO JSON file, or a text file with a file "
            "name a line."
        )
    try:
        if os.fspath(source) == STANDARD_INPUT:
            lines = list(sys.stdin)
        elif is_pattern(source):
            return sorted(glob.glob(os.fspath(source), recursive=True), key=natural_order)
        else:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise InputError(f"No list of images {path}: check the path.") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not a text file in UTF-8 with a file name on each line ({error})."
        ) from error
    except OSError as error:
        raise InputError(f"Cannot read the list of images {path}: {error}.") from error
    names = [line.strip().strip('"') for line in lines if line.strip() and line[0] != "#"]
    if names and _HEADER(names[0]):
        raise InputError(
            f"{path} is a table, whose first line is '{names[0][:60]}'. Expected a text file with "
            "a file name or an id a line, or a COCO JSON file, which has the sizes of images, too."
        )
    if names and _JSON(names[0]):
        raise InputError(
            f"{path} holds JSON, and its name does not end in .json. Expected a text file with a "
            "file name or an id a line: name a COCO file so that it ends in .json."
        )
    return names


def is_pattern(source: PathLike) -> bool:
    """Return whether a path that does not exist holds the signs of a pattern.

    Parameters
    ----------
    source : path-like
        Such as ``site/**/*.jpg``.
    """
    return glob.has_magic(os.fspath(source)) and not Path(source).exists()


def image_folders(path: Path) -> list[Path]:
    """Return where the images of a COCO file may lie, the likeliest first.

    ``images`` beside the file, its own folder, ``data`` in it (FiftyOne), ``images`` one folder up,
    and for ``instances_SUBSET.json`` the folder ``SUBSET`` in these ``images`` (datumaro and CVAT)
    or beside them (COCO).

    Parameters
    ----------
    path : Path
        The COCO file.
    """
    folder, root = path.parent, path.parent.parent
    subset = path.name.partition(".")[0].rpartition("_")[2]
    places = [folder / "images", folder, folder / "data", root / "images"]
    return [*places, root / "images" / subset, root / subset]


def folder_of(path: Path, images: Iterable[LabelledImage]) -> Path:
    """Return the folder of the images of a COCO file.

    Parameters
    ----------
    path : Path
        The file.
    images : iterable of LabelledImage
        That it lists.

    Returns
    -------
    Path
        The first of `image_folders` that holds the first image that is in one of them; where none
        is, the first that is there.
    """
    places = [place for place in image_folders(path) if place.is_dir()]
    names = (image.file_name for image in images)
    return next((p for name in names for p in places if holds_file(p, name)), places[0])


def holds_file(folder: Path, name: str) -> bool:
    """Whether a path leads to a file within a folder; Label Studio writes others, too.

    Parameters
    ----------
    folder : Path
        The folder.
    name : str
        The path, which should be relative to it.
    """
    path = PurePath(name)
    return not path.is_absolute() and ".." not in path.parts and os.path.isfile(folder / path)


def with_sizes(images: Iterable[LabelledImage], source: Path) -> tuple[LabelledImage, ...]:
    """Add the sizes that are unknown, by the file of an image in the first folder that has it.

    Only headers are read.

    Parameters
    ----------
    images : iterable of LabelledImage
        Those with a size stay as they are, as does an image without a file, or with one that cannot
        be read.
    source : Path
        The folder of the images or the list that names them: for a COCO file see
        `image_folders`; names in a text file are relative to its folder or to the current one.
    """
    images = list(images)
    if all(image.size for image in images):
        return tuple(images)
    if is_json(source):
        folders = image_folders(source)
    else:
        folders = [source] if source.is_dir() else [source.parent, Path()]
    roots = [folder for folder in folders if folder.is_dir()]
    listed_in: dict[str, list[tuple[Path, frozenset[str]]]] = {}
    for k, image in enumerate(images):
        if image.size:
            continue
        inner, _, name = image.file_name.rpartition("/")
        if inner not in listed_in:  # each folder is listed once, instead of a look for each image
            inner_folders = [root / inner for root in roots if (root / inner).is_dir()]
            listed_in[inner] = [(folder, frozenset(os.listdir(folder))) for folder in inner_folders]
        for folder, names in listed_in[inner]:
            if name in names and (folder / name).is_file():
                from autoeval.io.images import image_size  # a list of sizes needs no Pillow

                images[k] = replace(image, size=image_size(folder / name))
                break
    return tuple(images)


def coco_images(
    path: Path,
    document: Any,
    warnings: list[Notice] | None = None,
    numbers: dict[str, str] | None = None,
) -> tuple[LabelledImage, ...]:
    """Read the list of images of a COCO document, whatever else it holds.

    Parameters
    ----------
    path : Path
        Where the document is from, for messages.
    document : mapping
        With ``images``.
    warnings : list of Notice, optional
        Takes what is malformed and left out, times that could mean two days, and file names that
        several images have; without it malformed entries are refused.
    numbers : dict of str to str, optional
        Takes the word of each number of a category, as far as its categories can be used.

    Returns
    -------
    tuple of LabelledImage
        With sizes and times where the entries have them.

    Raises
    ------
    InputError
        If the document has no list of images, ids repeat, or more than half of the entries are
        malformed; without `warnings` if any is.
    """
    if not isinstance(document, Mapping) or "images" not in document:
        raise InputError(
            f"{printable(path)} is not a COCO annotation file: expected an object with a list "
            "'images' (and 'annotations' and 'categories' where it is labelled). Other labels are "
            "converted with `autoeval convert-labels`, BDD100K's with --layout bdd100k."
        )
    malformed = list[Notice]()
    images = tuple(coco_entries(path, document, "images", _image, malformed))
    times = Counter(image.image_id for image in images)
    if len(times) < len(images):
        twice = [name for name, n in times.items() if n > 1]
        raise InputError(f"{path}: image ids must be unique, these are not: {listed(twice)}.")
    if malformed and warnings is None:
        raise InputError(f"{path}: {malformed[0]}.")
    unread = [
        str(entry[field])
        for entry in document["images"] or []
        for field in TIMES
        if isinstance(entry, dict) and _DATE_DIGITS(str(entry.get(field)))
        if written_time(str(entry[field])) is None
    ]
    if unread:
        text = (
            f"times of images that are not written with the year first, and are not used: "
            f"{len(unread)} ({listed(unread, 2)}). Expected such as 2026-03-02 08:15; where a "
            "day or a month is first it could be either, and numbers of seconds are no date"
        )
        malformed.append(Notice("times-not-read", text, "note"))
    shared = [name for name, n in Counter(image.file_name for image in images).items() if n > 1]
    if shared:
        text = (
            f"file names that several images of {printable(path)} have: {len(shared)} "
            f"({listed([printable(name) for name in shared], 3)}). What names its images by "
            "files is of none of them: list each file once, and the folder in its name"
        )
        malformed.append(Notice("images-listed-twice", text))
    (warnings if warnings is not None else []).extend(malformed)
    if numbers is not None:
        with suppress(InputError):  # nobody may need them
            numbers |= coco_categories(path, document, [])
    return images


def written_time(text: str) -> datetime | None:
    """Read a time with the year first, without its time zone; None for any other text.

    Between the parts of the date there is ``-``, ``/``, ``.``, ``:``, ``_`` or nothing; between it
    and the time ``T``, a blank or one of these. A day or a month first could be either.

    Parameters
    ----------
    text : str
        Any.

    Examples
    --------
    >>> written_time("2026/03/02 08:15"), written_time("20260302_081507") is None
    (datetime.datetime(2026, 3, 2, 8, 15), False)
    >>> written_time("02.03.2026 08:15") is None
    True
    """
    text = text.strip()
    with suppress(ValueError):
        return datetime.fromisoformat(text).replace(tzinfo=None)
    match = _TIME.match(text)
    return _time_of(match) if match else None


def split_at_time(name: str) -> tuple[datetime | None, str, str]:
    """Find a date with hour and minute in the path of a file, written as in `written_time`.

    Parameters
    ----------
    name : str
        The path.

    Returns
    -------
    tuple of datetime or None and two str
        The first such time, and what stands before and behind it; without one nothing stands
        behind.

    Examples
    --------
    >>> split_at_time("gate/2026-03-02/08.15.07 3.jpg")
    (datetime.datetime(2026, 3, 2, 8, 15, 7), 'gate/', ' 3.jpg')
    >>> split_at_time("000000139.jpg")
    (None, '000000139.jpg', '')
    """
    for match in _TIME.finditer(name):
        if match["hour"] and (time := _time_of(match)) is not None:
            return time, name[: match.start()], name[match.end() :]
    return None, name, ""


def times_in_names(names: Iterable[str]) -> list[datetime | None]:
    """Find the times in the paths of the files of a set; see `split_at_time`.

    Paths that differ in digits alone hold times where each holds one. Otherwise their digits are
    numbers, of which some look like a time.

    Parameters
    ----------
    names : iterable of str
        The paths.

    Examples
    --------
    >>> times_in_names(["2026-03-02/0110.jpg", "2026-03-02/0081.jpg"])
    [None, None]
    """
    names = names_before_upload(names)  # whose hashes would make each name one of its own form
    timed = [(split_at_time(name)[0], re.sub(r"\d+", "0", name)) for name in names]
    numbered = {form for time, form in timed if time is None}
    return [None if form in numbered else time for time, form in timed]


def _time_of(match: re.Match[str]) -> datetime | None:
    """Return the time of a match of `_TIME`; None for a month or an hour that there is not."""
    month, day = match["month"] or match["month2"], match["day"] or match["day2"]
    date = (int(match["year"]), int(month), int(day))
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    if match["half"]:  # of the day, of twelve hours each: 12 am is 0, 12 pm is 12
        hour = hour % 12 + 12 * (match["half"].lower() == "p")
    with suppress(ValueError):  # no month or no hour
        return datetime(*date, hour, minute, second)
    return None


def images_in_memory(
    data: object,
    warnings: list[Notice] | None = None,
    numbers: dict[str, str] | None = None,
) -> tuple[LabelledImage, ...] | None:
    """Return the images of a COCO dict or a ``pycocotools.COCO``; None for another object.

    Parameters
    ----------
    data : object
        Any object.
    warnings : list of Notice, optional
        See `coco_images`.
    numbers : dict of str to str, optional
        Takes the word of each number of a category.

    Raises
    ------
    InputError
        See `coco_images`.
    """
    document = getattr(data, "dataset", data)
    if not isinstance(document, Mapping) or "images" not in document:
        return None
    return coco_images(Path("the images in memory"), document, warnings, numbers)


def image_path(img_dir: Path, file_name: str) -> Path:
    """Find the file of an image, refusing to leave its folder.

    Parameters
    ----------
    img_dir : Path
        The folder.
    file_name : str
        Relative to it.

    Raises
    ------
    InputError
        If ``file_name`` is absolute, climbs out with ``..``, is a link to the outside, or can be no
        name of a file here.
    """
    root = Path(os.path.realpath(img_dir))
    path = root / file_name
    outside = not _encodable(file_name) or Path(file_name).is_absolute()
    if outside or not Path(os.path.realpath(path)).is_relative_to(root):
        raise InputError(
            f"file_name {file_name!r} leaves the image folder {printable(img_dir)}: refused. "
            "Expected a path inside the folder, relative to it, or a file of this name in it."
        )
    return path


def _encodable(file_name: str) -> bool:
    """Whether a file may have such a name on this system."""
    try:
        return b"\0" not in os.fsencode(file_name)
    except UnicodeEncodeError:
        return False


def coco_entries(
    path: Path,
    document: Mapping[str, Any],
    name: str,
    parse: Callable[[Any], Any],
    warnings: list[Notice],
) -> list:
    """Read the entries of a list of a document.

    Parameters
    ----------
    path : Path
        Where the document is from, for messages.
    document : mapping
        It need not have the list.
    name : str
        Of the list.
    parse : callable
        From an entry to what is returned of it; one of `MALFORMED` says that it is malformed.
    warnings : list of Notice
        Takes which entries are malformed.

    Raises
    ------
    InputError
        If there is no list under this name, or more than half of it is malformed.
    """
    entries = document.get(name) or []
    if not isinstance(entries, list):
        raise InputError(
            f"{path}: expected '{name}' to be a list of objects, got {type(entries).__name__}."
        )
    bad, parsed = BadItems(str(path), name, n=len(entries)), []
    for k, entry in enumerate(entries):
        try:
            parsed.append(parse(entry))
        except MALFORMED as error:
            is_object = isinstance(entry, Mapping)
            fault = error if is_object else ValueError(f"expected an object, got {entry!r:.40}")
            bad.add(f"{name}[{k}]", fault)
    if bad.faults:
        warnings += bad.warnings(warnings)
    return parsed


def coco_categories(
    path: Path, document: Mapping[str, Any], warnings: list[Notice]
) -> dict[str, str]:
    """Read the word of each category number.

    A category that is the ``supercategory`` of all others, has "none" itself and no annotation is
    left out, with a note.

    Parameters
    ----------
    path : Path
        Where the document is from, for messages.
    document : mapping
        It need not have ``categories``.
    warnings : list of Notice
        Takes which of them are malformed, and the group that is left out.

    Raises
    ------
    InputError
        If a number has two words, or more than half of the categories are malformed.
    """
    pairs = coco_entries(path, document, "categories", _category, warnings)
    times = Counter(number for number, _ in pairs)
    twice = [f"{number} is {word}" for number, word in dict.fromkeys(pairs) if times[number] > 1]
    if len(dict(pairs)) < len({*pairs}):
        raise InputError(f"{path}: category ids must be unique, these are not: {listed(twice)}.")
    words = dict(pairs)
    # Roboflow lists the group of all categories in front of them. It is no class of a detector, and
    # classes that count from 0 would each be the category before.
    entries = [entry for entry in document.get("categories") or () if isinstance(entry, Mapping)]
    group = next((entry for entry in entries if entry.get("supercategory") == "none"), None)
    others = [entry for entry in entries if entry is not group]
    if group and others and all(e.get("supercategory") == group.get("name") for e in others):
        number = normal_id(group.get("id"))
        boxes = [b for b in document.get("annotations") or () if isinstance(b, Mapping)]
        of_boxes = {normal_id(box.get("category_id")) for box in boxes}
        if number in words and number not in of_boxes:
            text = (
                f"{path}: category {words.pop(number)}, which all others are of and no box, is "
                "taken for their group, and for no category"
            )
            warnings.append(Notice("category-group", text, severity="note"))
    return words


def _category(entry: dict[str, Any]) -> tuple[str, str]:
    """Read the number and the word of a category."""
    number, word = entry["id"], entry["name"]
    hash(number)  # a list as an id is malformed
    if number is None or word is None:
        raise ValueError(f"expected an id and a name, got {number} and {word}")
    return normal_id(number), str(word)


def _image(entry: dict[str, Any]) -> LabelledImage:
    """Read an image by its name, its address where there is none (LVIS v1), or its id alone.

    Height and width are unknown where one is no number of pixels, such as 0 or null. The time is
    that of the first of `TIMES` that holds one; see `written_time`.
    """
    name = entry.get("file_name")
    if not name:
        address = next((str(entry[field]) for field in ADDRESSES if entry.get(field)), "")
        name = "/".join(address.split("/")[-2:])
    image_id = entry.get("id")
    if image_id is None and not name:
        raise KeyError("file_name")
    image_id = printable(normal_id(name if image_id is None else image_id))
    size = None
    try:
        height, width = int(float(entry["height"])), int(float(entry["width"]))
        if 0 < height < FARTHEST and 0 < width < FARTHEST:
            size = height, width
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    taken = None
    for field in TIMES:
        if taken is None and entry.get(field):
            taken = written_time(str(entry[field]))
    return LabelledImage(image_id, str(name or image_id), size, taken)
