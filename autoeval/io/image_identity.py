"""Which image is meant: one set of rules by which every file's images are found among those known.

Predictions, labels and lists name images by ids and by file names, which tools rewrite: as other
Unicode forms, with other folders or suffixes, as stems, as numbers, with hashes added. Every reader
of boxes and labels looks images up here.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

from autoeval.boxes import LabelledImage
from autoeval.io.folder_days import are_of_two_days
from autoeval.words import Notice, listed

_PREFIX = re.compile(r"[0-9a-f]{8}(?:-|__)(?=.)")
_ODD = re.compile(r"[^-\w.]")
SUFFIXES = frozenset(
    {".bmp", ".dib", ".gif", ".jpe", ".jpeg", ".jpg", ".png", ".pbm", ".pgm", ".pnm", ".ppm"}
    | {".tif", ".tiff", ".webp", ".avif", ".jp2", ".hdr", ".ras", ".sr"}
)
SPLIT_WORDS = {"valid": "val", "validation": "val"}
_SPLIT = re.compile(r"(train|val|valid|validation|test)(?:[-_]?\d+)?", re.IGNORECASE)
# As programs write large floats; without the sign it is a name in hexadecimal digits, such as 1e10.
_EXPONENT = re.compile(r"\d(?:\.\d+)?e\+\d+", re.IGNORECASE)
LOCAL_FILES = "/data/local-files/?d="  # in addresses of Label Studio, before a path
MISSING = -1
AMBIGUOUS = -2
ENOUGH_BY_NAME = 0.5  # of images with file names: so many found by them, and ids are not tried
SPLIT_RULE = "file name, in the split of the others"
# Images that this program cannot decode may still be named in labels and predictions.
IMAGE_SUFFIXES = SUFFIXES | {".arw", ".cr2", ".dng", ".heic", ".heif", ".jxl", ".nef", ".npy"}
IMAGE_SUFFIXES |= {".jfif", ".raw", ".tga"}
PLAIN_RULES = frozenset(
    {"file name", "file name without its folder", "id", "file name as id", "stem of the file name"}
)
"""Rules that need no word where they match every image."""
STEMS = frozenset({"file name as id", "stem of the file name"})  # of `PLAIN_RULES` those of stems
ENOUGH_AS_IDS = 0.5  # of the images that stems place: so many by ids, and these may be meant
_WHOLE = re.compile(r"^0*(\d+)(?:\.0*)?\Z")
# without leading zeros, as a stem loses them that is written as a number; other names as they are
_number = partial(_WHOLE.sub, r"\1")
_ROBOFLOW = re.compile(r"(?:[_-](?P<suffix>[a-z]{3,4}))?\.rf\.[0-9a-zA-Z]{8,}$", re.IGNORECASE)
_NOT_WORD = re.compile(r"[^0-9A-Za-z]+")
Key = Callable[[str], str]


class Named(NamedTuple):
    """An image as a file names it.

    Parameters
    ----------
    image_id, file_name : str or None
        In any form; None for what the file does not have.
    split : str
        Such as ``val``; empty where the file does not state it.
    """

    image_id: str | None
    file_name: str | None
    split: str = ""

    @property
    def text(self) -> str:
        """A name for messages."""
        return str(self.file_name if self.image_id is None else self.image_id)


@dataclass(frozen=True, eq=False)
class ImageMatches:
    """Where each of N images stands among those known.

    Parameters
    ----------
    index : ndarray of shape (N,), int64
        Its position there, or `MISSING`, or `AMBIGUOUS` where it could be several.
    rules : tuple of str
        What was equal, such as ``"file name"``, of each image; empty where there is no match.
    possible : frozenset of int
        Positions of known images that some ambiguous image may be.
    other_split : tuple of tuple of str
        Names of images that were matched although the folders of both name different
        splits, such as ``train/1.jpg`` and ``val/1.jpg``.
    merged : tuple of str
        Ids under which images of several file names were matched with one.
    two_readings : tuple of tuple of str
        Where numbers were taken for ids, and as stems of file names place as many images, or for
        stems, and as ids place half as many: of each number that is then another image its name,
        and the known image by its id and by the stem.
    """

    index: np.ndarray
    rules: tuple[str, ...]
    possible: frozenset[int] = frozenset()
    other_split: tuple[tuple[str, str], ...] = ()
    merged: tuple[str, ...] = ()
    two_readings: tuple[tuple[str, str, str], ...] = ()

    def by_rules(self, known: str) -> tuple[Notice, ...]:
        """Say how images were matched, where that was not by one of `PLAIN_RULES`.

        Parameters
        ----------
        known : str
            What lists the known images, for messages.

        Returns
        -------
        tuple of Notice
            At most one notice each of rules, of other splits, of merged images, and of numbers that
            may be ids or stems of file names.
        """
        notices: tuple[Notice, ...] = ()
        counts = Counter(rule for rule in self.rules if rule)
        if not PLAIN_RULES.issuperset(counts):
            each = ", ".join(f"{n} by {rule}" for rule, n in counts.most_common())
            text = f"images matched with {known}: {each}"
            notices = (Notice("images-matched", text, "note"),)
            if any(rule.name in counts for rule in ID_AGAINST_NAME):
                text += (
                    ". Tools number images anew: if their names were changed, too, these are other "
                    "images, and every number is wrong. Keep the names that the files had"
                )
                notices = (Notice("images-matched", text),)
        if self.other_split:
            text = (
                f"{len(self.other_split)} of {len(self.index)} images are of another split than "
                f"those of {known} that they were matched with, by the names of their folders: "
                f"{listed([f'{name} with {other}' for name, other in self.other_split], 3)}. "
                "Expected files of the same images: if these are others, every number is wrong"
            )
            notices += (Notice("another-split", text),)
        if self.merged:
            text = (
                f"{len(self.merged)} ids are of several file names, whose boxes are taken as those "
                f"of one image of {known}: {listed(self.merged, 3)}. Expected one image for each "
                "id: if files of several cameras were joined, give each image an id of its own"
            )
            notices += (Notice("images-merged", text),)
        if self.two_readings:
            examples = [
                f"{name} is {by_id} by ids and {by_stem} by file names"
                for name, by_id, by_stem in self.two_readings
            ]
            by_stem = not STEMS.isdisjoint(counts)
            read, other = ("file names", "ids") if by_stem else ("ids", "file names")
            text = (
                f"images were matched with {known} by {read}, and their numbers are {other} there, "
                f"too, of other images: {listed(examples, 3)}. If {other} are meant, every "
                "number is wrong: write the file name of each image as 'file_name'"
            )
            notices += (Notice("image-numbers-ambiguous", text, "note" if by_stem else "warning"),)
        return notices


class Rule(NamedTuple):
    """Equal keys of a field of two images mean that they are the same image.

    Parameters
    ----------
    name : str
        Of what is equal, for messages.
    key : callable
        From the value of the field to what is compared.
    known_key : callable, optional
        The same of known images; by default `key`.
    field, known_field : str
        ``file_name`` or ``image_id``, of the image and of known ones.
    exact : bool
        Whether several images of one file may be one known image, as an image that is named in
        two equivalent ways; else they are different images, of which the key tells none apart.
    """

    name: str
    key: Key
    known_key: Key | None = None
    field: str = "file_name"
    known_field: str = "file_name"
    exact: bool = False


def normal_name(name: str) -> str:
    r"""Return a file name in one form: Unicode NFC, forward slashes, no ``./``.

    Parameters
    ----------
    name : str
        A file name or a path.

    Examples
    --------
    >>> normal_name(".\\a\\b.jpg"), len(normal_name("e\u0301.jpg"))
    ('a/b.jpg', 5)
    """
    name = name.strip()
    if not name.isascii():
        name = unicodedata.normalize("NFC", name)
    if "\\" in name:
        name = name.replace("\\", "/")
    if "./" in name or "//" in name:
        name = PurePosixPath(name).as_posix()
    return name


def normal_id(value: object) -> str:
    """Return an id as text in one form: a whole number that passed through a float is that number.

    Parameters
    ----------
    value : object
        A number or a text.

    Examples
    --------
    >>> normal_id(81), normal_id(81.0), normal_id(" 8.1e+01"), normal_id("081"), normal_id("1e3")
    ('81', '81', '81', '081', '1e3')
    """
    image_id = str(value).strip()
    if image_id.isdecimal():
        return image_id
    if re.fullmatch(r"\d+\.0*", image_id):
        return image_id.partition(".")[0]
    if _EXPONENT.fullmatch(image_id) and float(image_id).is_integer():
        return str(int(float(image_id)))
    return normal_name(image_id)


def split_of(image: LabelledImage) -> str:
    """Return the split of an image, else the first folder of its path that names one.

    Empty where neither is there.

    Parameters
    ----------
    image : LabelledImage
        With its ``split`` or its path.

    Examples
    --------
    >>> split_of(LabelledImage("1", "images/val2017/0001.jpg", None))
    'val2017'
    """
    if image.split:
        return image.split
    folders = image.file_name.replace("\\", "/").split("/")[:-1]
    return next((part for part in folders if split_word(part)), "")


def split_word(folder: str) -> str:
    """Return the split that a folder is named after: ``train``, ``val`` or ``test``.

    Empty for a folder with another name.

    Parameters
    ----------
    folder : str
        Name of the folder, in whatever case, with or without a number.

    Examples
    --------
    >>> split_word("Valid"), split_word("val2017"), split_word("images")
    ('val', 'val', '')
    """
    split = _SPLIT.fullmatch(folder)
    return SPLIT_WORDS.get(split[1].lower(), split[1].lower()) if split else ""


def stored_name(name: str) -> str:
    """Return the file name of an image as tools store it: no folder, no address, no spaces.

    Label Studio's addresses are ``/data/upload/PROJECT/NAME`` and, percent-encoded,
    ``/data/local-files/?d=FOLDER/NAME``. Spaces become ``_``, and other signs are dropped, as by
    Django for files that are uploaded.

    Parameters
    ----------
    name : str
        A file name, a path, or an address of Label Studio.

    Examples
    --------
    >>> stored_name("/data/local-files/?d=images%2Fyard%20north.jpg"), stored_name("yard north.jpg")
    ('yard_north.jpg', 'yard_north.jpg')
    """
    address = urlsplit(name.replace("\\", "/").replace("#", "%23"))
    path = parse_qs(address.query).get("d", [address.path])[-1]
    return _ODD.sub("", unquote(path).rpartition("/")[2].strip().replace(" ", "_"))


def former_name(name: str) -> str:
    """Return `stored_name` without the eight hexadecimal digits of Label Studio before it.

    Uploads are ``a1b2c3d4-0013.jpg``, and local files in an export ``a1b2c3d4__0013.jpg``.

    Parameters
    ----------
    name : str
        As in `stored_name`.

    Examples
    --------
    >>> former_name("/data/upload/1/a1b2c3d4-0013.jpg"), former_name("images/0013.jpg")
    ('0013.jpg', '0013.jpg')
    """
    return _PREFIX.sub("", stored_name(name), count=1)


def without_suffix(name: str) -> str:
    """Return a path without the suffix of an image, in whatever case, if it has one.

    Parameters
    ----------
    name : str
        A file name or a path.

    Examples
    --------
    >>> without_suffix("a/cam.2"), without_suffix("a/cam.2.JPG")
    ('a/cam.2', 'a/cam.2')
    """
    stem, dot, suffix = name.rpartition(".")
    return stem if dot and stem and f".{suffix.lower()}" in IMAGE_SUFFIXES else name


def before_roboflow(name: str) -> str:
    """Return the stem that a file had before Roboflow: ``a b.jpg`` is ``a-b_jpg.rf.HASH.jpg``.

    All signs but letters and digits become ``-`` on both sides of a comparison.

    Parameters
    ----------
    name : str
        A file name or a path, in the form of `normal_name`.

    Examples
    --------
    >>> before_roboflow("a-b_jpg.rf.0f1e2d3c4b5a69788796a5b4c3d2e1f0.jpg")
    'a-b'
    >>> before_roboflow("a b.jpg")
    'a-b'
    """
    return _NOT_WORD.sub("-", _ROBOFLOW.sub(_known_suffix, _stem(name)))


def names_before_upload(names: Iterable[str]) -> list[str]:
    """Return paths without their suffixes, and without what annotation programs add to each name.

    Roboflow's hash, and Label Studio's eight digits before a name where no other has the same;
    decimal ones, which may be a date, where most names have hexadecimal ones.

    Parameters
    ----------
    names : iterable of str
        Paths of the images of a set.

    Examples
    --------
    >>> names_before_upload(["a/7_jpg.rf.0f1e2d3c4b5a.jpg", "a1b2c3d4-8.jpg", "20260302-9.jpg"])
    ['a/7', '8', '20260302-9']
    """
    paths = [without_suffix(name).rpartition("/") for name in names]
    stems = [_ROBOFLOW.sub(_known_suffix, stem) for _, _, stem in paths]
    matches = [_PREFIX.match(stem) for stem in stems]
    prefixes = ["" if match is None else match[0] for match in matches]
    # Eight digits alone may be a date, unless most names begin with hexadecimal ones.
    dates = {prefix for prefix in prefixes if prefix[:8].isdecimal()}
    if 2 * sum(bool(prefix) and prefix not in dates for prefix in prefixes) <= len(prefixes):
        prefixes = ["" if prefix in dates else prefix for prefix in prefixes]
    n_with = Counter(prefixes)
    return [
        f"{folder}{slash}{stem.removeprefix(prefix) if n_with[prefix] == 1 else stem}"
        for (folder, slash, _), stem, prefix in zip(paths, stems, prefixes, strict=True)
    ]


def _known_suffix(match: re.Match[str]) -> str:
    """Keep what stands before Roboflow's hash, unless it is the suffix of an image."""
    suffix = match["suffix"]
    return "" if suffix is None or f".{suffix.lower()}" in IMAGE_SUFFIXES else f"_{suffix}"


def _stem(name: str) -> str:
    """Return the name without folder and suffix."""
    return without_suffix(name.rpartition("/")[2])


def _in_folder(name: str, n_folders: int) -> str:
    """Return the name with its last folders alone; empty with fewer folders."""
    return "/".join(name.split("/")[-n_folders - 1 :]) if name.count("/") >= n_folders else ""


def _numbered_stem(name: str) -> str:
    """Return `_stem`, a number without leading zeros."""
    return _number(_stem(name))


def _stored(name: str) -> str:
    """Return `stored_name` without its suffix."""
    return without_suffix(stored_name(name))


def _former(name: str) -> str:
    """Return `former_name` without its suffix."""
    return without_suffix(former_name(name))


BY_NAME = (  # the strictest first
    Rule("file name", normal_name, exact=True),
    # with the last folders first: frames of many cameras have equal names, and each many places
    *(Rule("file name without its folder", partial(_in_folder, n_folders=n)) for n in (3, 2, 1)),
    Rule("file name without its folder", lambda name: name.rpartition("/")[2]),
    *(
        Rule("file name with another suffix", lambda name, n=n: without_suffix(_in_folder(name, n)))
        for n in (3, 2, 1)
    ),
    Rule("file name with another suffix", _stem),
    Rule("file name in other case", lambda name: without_suffix(_in_folder(name, 1)).casefold()),
    Rule("file name in other case", lambda name: _stem(name).casefold()),
    Rule("name before Label Studio", _stored),
    Rule("name before Label Studio", _stored, _former),
    Rule("name before Label Studio", _former, _stored),
    Rule("name before Roboflow", before_roboflow),
)
BY_ID = (
    Rule("id", str, field="image_id", known_field="image_id", exact=True),
    Rule("id as a whole number", _number, field="image_id", known_field="image_id", exact=True),
)
ID_AGAINST_NAME = tuple(
    rule._replace(name=f"{rule.name}, although file names differ") for rule in BY_ID
)
ID_IS_STEM = (
    Rule("file name as id", str, without_suffix, field="image_id", exact=True),
    Rule("stem of the file name", _stem, field="image_id"),
    Rule("stem of the file name", _number, _numbered_stem, field="image_id"),
    Rule("name before Label Studio", _number, lambda n: _number(_former(n)), field="image_id"),
    Rule("name before Roboflow", before_roboflow, field="image_id"),
)
STEM_IS_ID = (
    Rule("file name as id", without_suffix, str, known_field="image_id", exact=True),
    Rule("stem of the file name", _stem, known_field="image_id"),
    Rule("stem of the file name", _numbered_stem, _number, known_field="image_id"),
    Rule(
        "name before Label Studio", lambda n: _number(_former(n)), _number, known_field="image_id"
    ),
    Rule("name before Roboflow", before_roboflow, known_field="image_id"),
)


def match_images(
    named: Sequence[Named | LabelledImage], known: Sequence[LabelledImage]
) -> ImageMatches:
    """Find images among those known.

    File names go first: equal ones, then the longest common end of their paths, then without the
    suffix of an image, in other case, and as Label Studio and Roboflow rename files. Ids follow for
    images without a file name, and for files of whose names not half are known: as ids, or as stems
    of file names, whichever places more images of the file, since numbers may be either. An image
    that could be several is placed in the split (``train``, ``val``) or folder that all others lie
    in, if they share one; else it is `AMBIGUOUS`.

    Parameters
    ----------
    named : sequence of Named or LabelledImage
        N images, as a file names them.
    known : sequence of LabelledImage
        Those that they may be.

    Returns
    -------
    ImageMatches

    Examples
    --------
    >>> names = {"139": "val/000139.jpg", "7": "val/b.jpg"}
    >>> known = [LabelledImage(number, name, None) for number, name in names.items()]
    >>> match_images([Named(None, "b.PNG"), Named("139.0", None)], known).index
    array([1, 0])
    """
    fields, known_fields = _Fields.of(named), _Fields.of(known)
    names, ids = fields.file_name, fields.image_id
    # Nearly always all have the very names of known images, or ids where one side has no names.
    by_id = not any(names) or not any(known_fields.file_name)
    values = ids if by_id else names
    known_values = known_fields.image_id if by_id else known_fields.file_name
    place_of: dict[str | None, int] = {
        value: place for place, value in enumerate(known_values) if value
    }
    differ = len(place_of) == len(known_values) - known_values.count(None)
    possible, other_split = frozenset[int](), list[tuple[str, str]]()
    if differ and place_of.keys() >= {*values} and not (fields.split or known_fields.split):
        rule = BY_ID[0] if by_id else BY_NAME[0]
        index = np.array([place_of[value] for value in values], np.int64)
        rules = [rule.name] * len(values)
    else:
        state = _matched_by_rules(fields, known_fields)
        index, rules = state.index, state.rules
        unclear = (at for k, at in state.candidates.items() if index[k] < 0)
        possible = possible.union(*unclear)
        for k, place in state.in_other_splits():
            called = named[k].file_name or named[k].image_id or ""
            other_split.append((called, known[place].file_name))
    # ids whose images have several file names, and one place among those known
    at = np.maximum(index, -1) + 1  # 0 for images without a place
    several = np.bincount(at, minlength=1)[at] > 1
    names_at: dict[tuple[int, str], set[str]] = defaultdict(set)
    for k in np.flatnonzero(several & (at > 0)).tolist():
        image_id, name = ids[k], names[k]
        if image_id is not None and name is not None:
            names_at[int(index[k]), image_id].add(name)
    merged = tuple(image_id for (_, image_id), of_id in names_at.items() if len(of_id) > 1)
    two_readings = _other_reading(fields, known_fields, index, rules)
    return ImageMatches(index, tuple(rules), possible, tuple(other_split), merged, two_readings)


def _other_reading(
    fields: _Fields, known: _Fields, index: np.ndarray, rules: Sequence[str]
) -> tuple[tuple[str, str, str], ...]:
    """Return `ImageMatches.two_readings`; empty where the other reading places too few images.

    fields, known: of the N images and of those known, of which one side has no file names
    index (N,), rules: how they were matched
    """
    by_names = any(fields.file_name)
    if bool(by_names) == bool(any(known.file_name)):
        return ()
    used = {rule for rule in rules if rule}
    by_stem = not used.isdisjoint(STEMS)
    if not used <= (STEMS if by_stem else {rule.name for rule in BY_ID}):
        return ()
    ids, known_ids = (
        [_number(image_id or "") for image_id in side.image_id] for side in (fields, known)
    )
    names = (fields if by_names else known).file_name
    stems = [_number(without_suffix((name or "").rpartition("/")[2])) for name in names]
    if by_stem:
        keys, known_keys = ids, known_ids
    elif by_names:
        keys, known_keys = stems, known_ids
    else:
        keys, known_keys = ids, stems
    placed = ((key, place) for key, place in zip(keys, index.tolist(), strict=True) if place >= 0)
    if all(known_keys[place] == key for key, place in placed):  # nearly always: both say the same
        return ()
    places: dict[str, list[int]] = defaultdict(list)
    for place, key in enumerate(known_keys):
        places[key].append(place)
    other = [at[0] if len(at := places.get(key, [])) == 1 else MISSING for key in keys]
    n_placed = np.count_nonzero(index >= 0)
    if sum(at >= 0 for at in other) < n_placed * (ENOUGH_AS_IDS if by_stem else 1):
        return ()
    readings = (other, index.tolist()) if by_stem else (index.tolist(), other)
    known_names = [
        name or image_id or ""
        for name, image_id in zip(known.file_name, known.image_id, strict=True)
    ]
    return tuple(
        (fields.file_name[k] or fields.image_id[k] or "", known_names[first], known_names[second])
        for k, (first, second) in enumerate(zip(*readings, strict=True))
        if min(first, second) >= 0 and first != second
        if not by_stem or ids[k] == fields.image_id[k]  # 000012 is no id
    )


class _Trial(NamedTuple):
    """What one family of rules says of some images.

    Parameters
    ----------
    placed : dict of int to tuple of int and str
        By number of the image its position among those known, and the rule.
    candidates : dict of int to list of int
        By number of the image the positions that it may have.
    """

    placed: dict[int, tuple[int, str]]
    candidates: dict[int, list[int]]


class _Folders(NamedTuple):
    """How the folder of an image compares with that of a known one.

    Parameters
    ----------
    n_common : int
        Number of folders that both have in common at their ends.
    apart : bool
        Whether files of one name in them are two images.
    may_be_one : bool
        Whether one of them may be relative to a folder, or both are of one split.
    """

    n_common: int
    apart: bool
    may_be_one: bool


class _Matching:
    """The state of `match_images`: positions and rules found so far.

    Parameters
    ----------
    named, known : _Fields
        Of the images, and of those known.
    index : ndarray of shape (N,), int64
        Filled in place.
    """

    def __init__(self, named: _Fields, known: _Fields, index: np.ndarray) -> None:
        self.named, self.known, self.index = named, known, index
        self.rules = [""] * len(index)
        self.candidates: dict[int, list[int]] = {}
        self.ends: dict[tuple[str, str], _Folders] = {}  # of two folders
        words = named.split_words
        self.same_words = bool(words) and bool(words & known.split_words)

    def take(self, trial: _Trial) -> None:
        """Keep what a family of rules has found."""
        for k, (place, rule) in trial.placed.items():
            self.index[k], self.rules[k] = place, rule
        self.candidates |= trial.candidates

    def best(
        self, images: Sequence[int], families: Sequence[Sequence[Rule]], best: _Trial
    ) -> _Trial:
        """Try families until all images are placed; of equally good ones the first counts."""
        for family in families:
            if len(best.placed) < len(images):
                trials = best, self.tried(images, family)
                best = max(trials, key=lambda trial: (len(trial.placed), len(trial.candidates)))
        return best

    def tried(self, images: Sequence[int], family: Sequence[Rule]) -> _Trial:
        """Place images by one rule of a family after the other."""
        taken = set(self.index[self.index >= 0].tolist())
        trial = _Trial({}, {})
        for rule in family:
            known_values = getattr(self.known, rule.known_field)
            if not any(known_values):  # such as the file names of a list of ids
                continue
            left = [k for k in images if k not in trial.placed]
            if not left:
                break
            values = getattr(self.named, rule.field)
            keys = {k: rule.key(values[k]) for k in left if values[k] is not None}
            wanted = set(keys.values()) - {""}
            known_key = rule.known_key or rule.key
            known: dict[str, list[int]] = defaultdict(list)
            for place, value in enumerate(known_values if wanted else ()):
                if value is not None and (key := known_key(value)) in wanted:
                    known[key].append(place)
            found: dict[int, list[int]] = defaultdict(list)  # images by the place of each
            for k, key in keys.items():
                chosen = self._chosen(k, known[key]) if key in known else ()
                if len(chosen) == 1:
                    found[chosen[0]].append(k)
                elif chosen:
                    trial.candidates.setdefault(k, list(chosen))
            for place, those in found.items():
                if rule.exact or (len(those) == 1 and place not in taken):
                    trial.placed.update(dict.fromkeys(those, (place, rule.name)))
                elif place not in taken:
                    trial.candidates.update({k: [place] for k in those})
            taken |= {place for place, _ in trial.placed.values()}
        for k in trial.placed:
            trial.candidates.pop(k, None)
        return trial

    def _chosen(self, k: int, places: Sequence[int]) -> Sequence[int]:
        """Return those of some known images whose paths end most like that of an image."""
        image_id = self.named.image_id[k]
        path = self.named.file_name[k] or image_id or ""
        folder, ends = path.rpartition("/")[0], dict[int, _Folders]()
        for place in places:
            pair = folder, (self.known.file_name[place] or "").rpartition("/")[0]
            if pair not in self.ends:  # frames of many cameras have equal names, and few folders
                self.ends[pair] = self._compared(*pair)
            ends[place] = self.ends[pair]
        # files of several folders have this name, which alone does not tell the image
        nearest_apart = max((end.n_common for end in ends.values() if end.apart), default=-1)
        places = [
            place
            for place, end in ends.items()
            if not end.apart and (end.n_common > nearest_apart or end.may_be_one)
        ]
        words = splits_of(path)
        if self.same_words and words:
            splits = {place: self.known.splits(place) for place in places}
            places = [place for place in places if not splits[place] or splits[place] & words]
        if len(places) < 2:
            return places
        most = max(ends[place].n_common for place in places)
        nearest = [place for place in places if ends[place].n_common == most]
        if len({self.known.file_name[place] for place in nearest}) == 1:  # one file, listed twice
            own = [place for place in nearest if self.known.image_id[place] == image_id]
            return own or nearest
        return nearest

    def _compared(self, folder: str, known: str) -> _Folders:
        """Compare the folder of an image with that of a known one.

        They are apart where the other side has one of them: with ``cam1/7.jpg`` and ``cam2/7.jpg``
        on one side, that of the other side in ``cam1`` is not ``cam2/7.jpg``. So are two days.
        """
        n = _common_end(folder, known)
        parts, known_parts = folder.split("/"), known.split("/")
        # one of them may be relative to a folder
        if not folder or not known or n == min(len(parts), len(known_parts)):
            return _Folders(n, apart=False, may_be_one=True)
        end, known_end = "/".join(parts[-n - 1 :]), "/".join(known_parts[-n - 1 :])
        apart = end in self.known.folder_ends or known_end in self.named.folder_ends
        apart |= are_of_two_days(folder, known)
        return _Folders(n, apart, may_be_one=bool(_splits(folder) & _splits(known)))

    def place_by_the_others(self) -> None:
        """Place images that could be several by the split that all others lie in.

        Boxes are mostly of one split, but of all cameras: by a folder that is no split images are
        placed where they are no more than the others. A file that names an image twice, as where
        folders were left out of its names, is of several splits or folders.
        """
        unclear = {k: at for k, at in self.candidates.items() if self.index[k] < 0}
        if not unclear:
            return
        taken = set(self.index[self.index >= 0].tolist())
        splits = {self._split(place) for place in taken}
        there: dict[int, int] = {}
        for k, places in unclear.items():
            self.index[k] = AMBIGUOUS
            if len(splits) == 1:
                in_split = [p for p in places if p not in taken and {self._split(p)} == splits]
                if len(in_split) == 1:
                    there[k] = in_split[0]
        of_splits = any(self.known.splits(place) for place in taken)
        if len({*there.values()}) < len(there) or (len(there) > len(taken) and not of_splits):
            return
        for k, place in there.items():
            self.index[k], self.rules[k] = place, SPLIT_RULE

    def in_other_splits(self) -> Iterator[tuple[int, int]]:
        """Yield images, each with its place, whose folders both name a split, and not the same."""
        if not (self.named.split_words and self.known.split_words):
            return
        for k in np.flatnonzero(self.index >= 0).tolist():
            place = int(self.index[k])
            splits, known_splits = self.named.splits(k), self.known.splits(place)
            if splits and known_splits and not splits & known_splits:
                yield k, place

    def _split(self, place: int) -> str:
        """Return the splits of a known image, or where it has none its folder."""
        name = self.known.file_name[place] or ""
        return " ".join(sorted(self.known.splits(place))) or name.rpartition("/")[0]


def _matched_by_rules(fields: _Fields, known: _Fields) -> _Matching:
    """Find images that are not all named as those known, in the order that `match_images` says."""
    names, ids = fields.file_name, fields.image_id
    state = _Matching(fields, known, np.full(len(names), MISSING))
    with_name = [k for k, name in enumerate(names) if name is not None]
    rest = [k for k, name in enumerate(names) if name is None]
    if with_name:
        trial = state.tried(with_name, BY_NAME)
        if len(trial.placed) < ENOUGH_BY_NAME * len(with_name):
            by_ids = ID_AGAINST_NAME if any(known.file_name) else BY_ID
            families = [by_ids, ID_IS_STEM, STEM_IS_ID]
            if len(trial.placed) + len(trial.candidates) >= ENOUGH_BY_NAME * len(with_name):
                families = [by_ids]  # names that several images have are no ids
            trial = state.best(with_name, families, trial)
        state.take(trial)
    if rest:
        # 000012 is 000012.jpg rather than the image with the id 12.
        ids_or_stems = (BY_ID[:1], ID_IS_STEM[:2], BY_ID, ID_IS_STEM)
        state.take(state.best(rest, ids_or_stems, _Trial({}, {})))
        # A word is no number that could be either, so that it may still be a stem.
        left = [k for k in rest if state.index[k] < 0]
        words = [k for k in left if not _WHOLE.fullmatch(ids[k] or "0")]
        state.take(state.tried(words, ID_IS_STEM))
    state.place_by_the_others()
    return state


@dataclass(frozen=True, eq=False)
class _Fields:
    """Ids and file names of images in normal form.

    Parameters
    ----------
    image_id, file_name : list of str or None
        None where there is none.
    split : dict of int to str
        Of images whose file says it, as a ``data.yaml`` does.
    """

    image_id: list[str | None]
    file_name: list[str | None]
    split: dict[int, str]

    @classmethod
    def of(cls, images: Sequence[Named | LabelledImage]) -> _Fields:
        """Read the ids and names of images.

        An id with the suffix of an image is a file name; a file name that equals the id, without
        such a suffix, is none. Of an address of Label Studio's local files the path counts.
        """
        ids: list[str | None] = []
        names: list[str | None] = []
        splits = {k: split for k, image in enumerate(images) if (split := image.split)}
        for image in images:
            image_id, name = image.image_id, image.file_name
            if name is None and image_id is not None and without_suffix(image_id) != image_id:
                name = image_id
            elif name == image_id and name is not None and without_suffix(name) == name:
                name = None  # a list of ids alone
            ids.append(None if image_id is None else normal_id(image_id))
            if name is not None and LOCAL_FILES in name:
                name = unquote(name.partition(LOCAL_FILES)[2])
            names.append(None if name is None else normal_name(name))
        return cls(ids, names, splits)

    def splits(self, k: int) -> frozenset[str]:
        """Words of the splits that an image is in.

        Both those of its path and that of its file count: a ``data.yaml`` may call test ``val``.
        """
        of_path = splits_of(self.file_name[k] or "")
        return of_path | {split_word(self.split[k])} if k in self.split else of_path

    @cached_property
    def folder_ends(self) -> frozenset[str]:
        """Ends of the folders of all names: of ``a/b/1.jpg`` ``b`` and ``a/b``."""
        names = self.file_name if any(self.file_name) else self.image_id
        folders = {tuple(name.split("/")[:-1]) for name in names if name}
        return frozenset("/".join(parts[k:]) for parts in folders for k in range(len(parts)))

    @cached_property
    def split_words(self) -> frozenset[str]:
        """Words of splits in the folders of all names."""
        folders = {name.rpartition("/")[0] for name in self.file_name if name}
        of_files = map(split_word, set(self.split.values()))
        return frozenset(of_files).union(*map(_splits, folders))


def splits_of(name: str) -> frozenset[str]:
    """Return the splits that the folders of a path name: ``val`` for ``images/valid/1.jpg``.

    Parameters
    ----------
    name : str
        The path, with forward slashes.
    """
    return _splits(name.rpartition("/")[0])


@lru_cache(maxsize=4096)
def _splits(folder: str) -> frozenset[str]:
    """Return the splits that the parts of a folder name."""
    return frozenset(filter(None, map(split_word, folder.split("/"))))


def _common_end(a: str, b: str) -> int:
    """Count the parts that two folders have in common at their ends."""
    parts, others = (folder.split("/")[::-1] if folder else [] for folder in (a, b))
    pairs = zip(parts, others, strict=False)
    return next((n for n, (x, y) in enumerate(pairs) if x != y), min(len(parts), len(others)))
