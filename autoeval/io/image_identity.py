"""Which image is meant: one set of rules by which every file's images are found among those known.

Predictions, labels and lists name images by ids and by file names, which tools rewrite: as other
Unicode forms, with other folders or suffixes, as stems, as numbers, with hashes added. Every reader
of boxes and labels looks images up here.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.image_folder import SUFFIXES, former_name, stored_name
from autoeval.io.labels.content import normal_id, normal_name, split_of, split_word
from autoeval.notices import Notice
from autoeval.words import listed

MISSING, AMBIGUOUS = -1, -2
FEWEST_PLACED = 0.5
LOW_FLOOR = 0.05  # score from which on a detector finds something in nearly every image
SOME = 0.03  # of the images: so many more are empty than a detector leaves empty
ENOUGH_BY_NAME = 0.5  # of images with file names: so many found by them, and ids are not tried
SPLIT_RULE = "file name, in the split of the others"
# Images that this program cannot decode may still be named in labels and predictions.
IMAGE_SUFFIXES = SUFFIXES | {".arw", ".cr2", ".dng", ".heic", ".heif", ".jxl", ".nef", ".npy"}
IMAGE_SUFFIXES |= {".jfif", ".raw", ".tga"}
PLAIN_RULES = frozenset(
    {"file name", "file name without its folder", "id", "file name as id", "stem of the file name"}
)
"""Rules that need no word where they match every image."""
_WHOLE = re.compile(r"0*(\d+)(?:\.0*)?")
_ROBOFLOW = re.compile(r"(?:[_-](?P<suffix>[a-z]{3,4}))?\.rf\.[0-9a-zA-Z]{8,}$", re.IGNORECASE)
_NOT_WORD = re.compile(r"[^0-9A-Za-z]+")

Key = Callable[[str], str]


class Named(NamedTuple):
    """An image as a file names it."""

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

    index (N,), int64: its position there, or `MISSING`, or `AMBIGUOUS` where it could be several.
    rules (N,): what was equal, such as ``"file name"``; empty where there is no match.
    possible: positions of known images that some ambiguous image may be.
    """

    index: np.ndarray
    rules: tuple[str, ...]
    possible: frozenset[int] = frozenset()

    def by_rules(self, known: str) -> tuple[str, ...]:
        """Say how images were matched with `known`, where that was not by one of `PLAIN_RULES`."""
        counts = Counter(rule for rule in self.rules if rule)
        if PLAIN_RULES.issuperset(counts):
            return ()
        each = ", ".join(f"{n} by {rule}" for rule, n in counts.most_common())
        return (Notice("images-matched", f"images matched with {known}: {each}", "note"),)

    def places(self) -> list[int | None]:
        """Return the positions as numbers, None for an image that is not known."""
        return [k if k >= 0 else None for k in self.index.tolist()]


class Rule(NamedTuple):
    """Equal keys of a field of two images mean that they are the same image.

    name: of what is equal, for messages.
    known_key: by default `key`.
    exact: whether several images of one file may be one known image, as an image that is named in
        two equivalent ways; else they are different images, of which the key tells none apart.
    """

    name: str
    key: Key
    known_key: Key | None = None
    field: str = "file_name"
    known_field: str = "file_name"
    exact: bool = False


def base_name(name: str) -> str:
    """Return the last part of a path in `normal_name`'s form."""
    return name.rpartition("/")[2]


def without_suffix(name: str) -> str:
    """Return a path without the suffix of an image, in whatever case, if it has one.

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

    Examples
    --------
    >>> before_roboflow("a-b_jpg.rf.0f1e2d3c4b5a69788796a5b4c3d2e1f0.jpg")
    'a-b'
    >>> before_roboflow("a b.jpg")
    'a-b'
    """
    stem = without_suffix(base_name(name))
    return _NOT_WORD.sub("-", _ROBOFLOW.sub(_known_suffix, stem))


def _known_suffix(match: re.Match[str]) -> str:
    suffix = match["suffix"]
    return "" if suffix is None or f".{suffix.lower()}" in IMAGE_SUFFIXES else f"_{suffix}"


def _stem(name: str) -> str:
    return without_suffix(base_name(name))


def _number(name: str) -> str:
    """Drop leading zeros of a number, as a stem loses them that is written as a number."""
    whole = _WHOLE.fullmatch(name)
    return whole[1] if whole else name


def _numbered_stem(name: str) -> str:
    return _number(_stem(name))


def _stored(name: str) -> str:
    return without_suffix(stored_name(name))


def _former(name: str) -> str:
    return without_suffix(former_name(name))


BY_NAME = (  # the strictest first
    Rule("file name", normal_name, exact=True),
    Rule("file name without its folder", base_name),
    Rule("file name with another suffix", _stem),
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
    if differ and place_of.keys() >= {*values} and not (fields.split or known_fields.split):
        rule = BY_ID[0] if by_id else BY_NAME[0]
        index = np.array([place_of[value] for value in values], np.int64)
        return ImageMatches(index, (rule.name,) * len(values))
    state = _Matching(fields, known_fields, np.full(len(named), MISSING))
    index = state.index
    with_name = [k for k, name in enumerate(names) if name is not None]
    rest = [k for k, name in enumerate(names) if name is None]
    if with_name:
        trial = state.tried(with_name, BY_NAME)
        if len(trial.placed) < ENOUGH_BY_NAME * len(with_name):
            trial = state.best(with_name, (BY_ID, ID_IS_STEM, STEM_IS_ID), trial)
        state.take(trial)
    if rest:
        state.take(state.best(rest, (BY_ID, ID_IS_STEM), _Trial({}, {})))
        # A word is no number that could be either, so that it may still be a stem.
        left = [k for k in rest if index[k] < 0]
        words = [k for k in left if not _WHOLE.fullmatch(ids[k] or "0")]
        state.take(state.tried(words, ID_IS_STEM))
    possible = frozenset[int]()
    if (index < 0).any():
        state.place_by_the_others()
        unclear = (at for k, at in state.candidates.items() if index[k] < 0)
        possible = possible.union(*unclear)
    return ImageMatches(index, tuple(state.rules), possible)


class _Trial(NamedTuple):
    """What one family of rules says of some images: position and rule, or possible positions."""

    placed: dict[int, tuple[int, str]]
    candidates: dict[int, list[int]]


class _Matching:
    """The state of `match_images`: positions and rules found so far."""

    def __init__(self, named: _Fields, known: _Fields, index: np.ndarray) -> None:
        self.named, self.known, self.index = named, known, index
        self.rules = [""] * len(index)
        self.candidates: dict[int, list[int]] = {}
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
        if len(places) == 1 and not self.same_words:
            return places
        path = self.named.file_name[k] or self.named.image_id[k] or ""
        words = splits_of(path)
        if self.same_words and words:
            splits = {place: self.known.splits(place) for place in places}
            places = [place for place in places if not splits[place] or splits[place] & words]
        if len(places) < 2:
            return places
        ends = [_common_end(path, self.known.file_name[place] or "") for place in places]
        return [place for place, n in zip(places, ends, strict=True) if n == max(ends)]

    def place_by_the_others(self) -> None:
        """Place images that could be several by the split that all others lie in."""
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
        claims = Counter(there.values())
        for k, place in there.items():
            if claims[place] == 1:
                self.index[k], self.rules[k] = place, SPLIT_RULE

    def _split(self, place: int) -> str:
        name = self.known.file_name[place] or ""
        return " ".join(sorted(self.known.splits(place))) or name.rpartition("/")[0]


@dataclass(frozen=True, eq=False)
class _Fields:
    """Ids and file names of images in normal form, None where there is none."""

    image_id: list[str | None]
    file_name: list[str | None]
    split: dict[int, str]  # as a data.yaml has it

    @classmethod
    def of(cls, images: Sequence[Named | LabelledImage]) -> _Fields:
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
            names.append(None if name is None else normal_name(name))
        return cls(ids, names, splits)

    def splits(self, k: int) -> frozenset[str]:
        """Words of the splits that an image is in."""
        if k in self.split:
            return frozenset({split_word(self.split[k])})
        return splits_of(self.file_name[k] or "")

    @cached_property
    def split_words(self) -> frozenset[str]:
        """Words of splits in the folders of all names."""
        folders = {name.rpartition("/")[0] for name in self.file_name if name}
        of_files = map(split_word, set(self.split.values()))
        return frozenset(of_files).union(*map(_splits, folders))


def splits_of(name: str) -> frozenset[str]:
    """Return the splits that the folders of a path name: ``val`` for ``images/valid/1.jpg``."""
    return _splits(name.rpartition("/")[0])


@lru_cache(maxsize=4096)
def _splits(folder: str) -> frozenset[str]:
    return frozenset(filter(None, map(split_word, folder.split("/"))))


def _common_end(a: str, b: str) -> int:
    """Count the folders that two paths have in common at their ends."""
    pairs = zip(reversed(a.split("/")[:-1]), reversed(b.split("/")[:-1]), strict=False)
    return next((n for n, (x, y) in enumerate(pairs) if x != y), min(a.count("/"), b.count("/")))


# Predictions: on which listed images they are, and of which they say nothing.


@dataclass(frozen=True, eq=False)
class Placement:
    """Where the n images of a predictions file stand among m that are listed.

    index (n,), int64: position, -1 for an image that is not listed, or could be several.
    images (m,): those that are listed, with the sizes that the file's own list alone knows.
    listed_there (m,): whether the file itself lists the image, with boxes or without; None where
        it has no list of its own.
    lost, several: names of the images of the file that are not listed, and of those that could
        be several.
    matches: as `match_images` returned them, of the file's own list where it has one.
    """

    index: np.ndarray
    images: Sequence[LabelledImage]
    matches: ImageMatches
    lost: tuple[str, ...]
    several: tuple[str, ...]
    listed_there: np.ndarray | None = None


def place_images(
    named: Sequence[Named],
    images: Sequence[LabelledImage],
    where: str,
    *,
    own: Sequence[LabelledImage] | None = None,
) -> Placement:
    """Find each image of a predictions file among those that are listed; see `match_images`.

    Where the file has a list of its own images, `own`, its ids are numbers of that list: its file
    names say which images they are. `where` is what lists the known images, for messages. Raises
    `InputError` if the images could be several of those listed, or if not half of them are listed,
    nor half of the list is among them (predictions of a whole folder, labels of a part).

    Examples
    --------
    >>> names = {"139": "street/000139.jpg", "7": "street/b.jpg"}
    >>> known = [LabelledImage(number, name, None) for number, name in names.items()]
    >>> place_images([Named("b", None), Named("139", None)], known, "val.json").index
    array([1, 0])
    """
    listed_there = None
    if own is None:
        in_file = named
        matches = match_images(in_file, images)
        index = matches.index
    else:
        # A document without file names has nothing but its ids.
        in_file = [
            Named(image.image_id if image.image_id == image.file_name else None, image.file_name)
            for image in own
        ]
        matches = match_images(in_file, images)
        at = match_images(named, own).index
        strangers = [named[k].text for k in np.flatnonzero(at < 0).tolist()]
        if len(strangers) > FEWEST_PLACED * len(named):
            raise InputError(
                f"{len(strangers)} of {len(named)} images of the predictions are not in their own "
                f"list of images ({listed(strangers)}): expected boxes with an image_id of that "
                "list, or a file without one."
            )
        index = np.where(at >= 0, matches.index[at], at)
        listed_there = np.zeros(len(images), bool)
        listed_there[matches.index[matches.index >= 0]] = True
        _check_sizes(own, images, matches, where)
        places = matches.index.tolist()
        sizes = {k: image.size for k, image in zip(places, own, strict=True) if image.size}
        images = [
            replace(image, size=sizes.get(k)) if image.size is None else image
            for k, image in enumerate(images)
        ]
    several = tuple(in_file[k].text for k in np.flatnonzero(matches.index == AMBIGUOUS).tolist())
    lost = tuple(in_file[k].text for k in np.flatnonzero(matches.index == MISSING).tolist())
    if len(several) > FEWEST_PLACED * len(in_file):
        raise InputError(
            f"{len(several)} of {len(in_file)} images of the predictions could each be several of "
            f"{where} ({listed(several)}): file names repeat in its folders. Write the path of the "
            "image as 'file_name', or give the labels of one split or folder alone."
        )
    placed = np.unique(matches.index[matches.index >= 0])
    covered = len(placed) >= FEWEST_PLACED * len(images)
    if not covered and len(lost) + len(several) > FEWEST_PLACED * len(in_file):
        there = listed([f"{image.image_id} ({image.file_name})" for image in images], 3)
        lost += several
        own_list = " (by its own list of images)" if own is not None else ""
        raise InputError(
            f"The predictions are of other images than {where}: {len(lost)} of their "
            f"{len(in_file)} images{own_list} are not there ({listed(lost)}), neither by file "
            "name, in any folder and with any suffix, nor by id, nor by the stem of a file name. "
            f"There are: {there}."
        )
    return Placement(np.maximum(index, -1), images, matches, lost, several, listed_there)


def _check_sizes(
    own: Sequence[LabelledImage],
    images: Sequence[LabelledImage],
    matches: ImageMatches,
    where: str,
) -> None:
    """Refuse boxes in pixels of images that are as large as others, by the sizes of both lists."""
    pairs = [(own[k], images[place]) for k, place in enumerate(matches.index) if place >= 0]
    sized = [(a.file_name, a.size, b.size) for a, b in pairs if a.size and b.size]
    other = [(name, a, b) for name, a, b in sized if a != b]
    if len(other) > FEWEST_PLACED * len(sized):
        name, (height, width), (other_height, other_width) = other[0]
        raise InputError(
            f"The predictions are of images of other sizes than {where}: {len(other)} of "
            f"{len(sized)} differ, such as {name}, {width} x {height} pixels there and "
            f"{other_width} x {other_height} here. Expected boxes in pixels of the same images."
        )


def uncovered_images(
    placement: Placement,
    images: Sequence[LabelledImage],
    n_boxes: np.ndarray,
    floor: float,
    where: str,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the listed images of which the predictions say nothing, (k,) int64, and warnings.

    They are the images of whole splits (``train``, ``val``) that the predictions are not of; those
    that the predictions' own list of images lacks; and, where images of the predictions could not
    be placed, the ones without a box that these may be. A detector did not miss the objects there.
    They may be those without a box where at least as many of them are listed as could not be
    placed, or more than a detector leaves empty; see `unseen_images`.

    n_boxes (m,): of each listed image. floor: the lowest score.
    """
    outside = np.zeros(len(images), bool)
    of_split: tuple[Notice, ...] = ()
    if not n_boxes.all():
        outside, of_split = _other_splits(images, n_boxes)
    lost, several = placement.lost, placement.several
    empty = (n_boxes == 0) & ~outside
    possible = np.zeros(len(images), bool)
    if placement.listed_there is not None:
        possible = ~placement.listed_there & ~outside
    elif lost or several:
        n = int((~outside).sum())
        excess = empty.sum() - 2 * np.count_nonzero(n_boxes == 1)
        many = floor <= np.float32(LOW_FLOOR) and excess > SOME * n
        if len(lost) + len(several) <= empty.sum() or many:
            possible = empty
        else:
            possible[list(placement.matches.possible)] = True
            possible &= empty
    uncovered = np.flatnonzero(outside | possible)
    kinds = {
        f"images of the predictions that are not in {where}": lost,
        f"images of the predictions that could be several of {where}": several,
    }
    reasons = [f"{kind}: {len(names)} ({listed(names)})" for kind, names in kinds.items() if names]
    if possible.any():
        out = [images[k].file_name for k in np.flatnonzero(possible).tolist()]
        why = (
            "the list of images in the predictions does not have them"
            if placement.listed_there is not None
            else "they have no box, and may be images of the predictions that were not placed"
        )
        reasons = [
            f"{len(out)} of {len(images)} images of {where} are left out with their labels "
            f"({listed(out)}): {why}",
            *reasons,
        ]
    notices = of_split
    if reasons:
        notices += (Notice("images-not-placed", "; ".join(reasons)),)
    return uncovered, (*notices, *placement.matches.by_rules(where))


def _other_splits(
    images: Sequence[LabelledImage], n_boxes: np.ndarray
) -> tuple[np.ndarray, tuple[Notice, ...]]:
    """Mask the images of splits without any box, where another split has some."""
    splits = np.array([split_of(image) for image in images])
    covered = sorted(set(splits[n_boxes > 0].tolist()))
    left = sorted(set(splits.tolist()) - set(covered))
    if not left or not covered:
        return np.zeros(len(images), bool), ()
    outside = np.isin(splits, left)
    others = listed(
        [f"{name or 'no split'} ({np.count_nonzero(splits == name)} images)" for name in left]
    )
    note = Notice(
        "splits-left-out",
        f"the predictions are of the split {listed(covered)} ({np.count_nonzero(~outside)} images)"
        f", and only its images and labels are used; not of {others}",
    )
    return outside, (note,)
