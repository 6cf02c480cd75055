"""Which image is meant: one set of rules by which every file's images are found among those known.

Predictions, labels and lists name images by ids and by file names, which tools rewrite: as other
Unicode forms, with other folders or suffixes, as stems, as numbers, with hashes added. Every reader
of boxes and labels looks images up here.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from autoeval.io.image_folder import SUFFIXES, former_name, stored_name
from autoeval.io.labels.content import LabelledImage, normal_id, normal_name, split_word
from autoeval.notices import Notice

MISSING, AMBIGUOUS = -1, -2
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

    @property
    def found(self) -> np.ndarray:
        """Whether each image is known, (N,) bool."""
        return self.index >= 0

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
    exact: whether several images of one file may be one known image, as an image that is named in
        two equivalent ways; else they are different images, of which the key tells none apart.
    """

    name: str
    field: str
    key: Key
    known_field: str
    known_key: Key
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


def _folded(name: str) -> str:
    return _stem(name).casefold()


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


def _by_name(kinds: tuple[str, str]) -> tuple[Rule, ...]:
    """Return the rules by which file names are compared, the strictest first."""

    def rule(name: str, key: Key, other: Key | None = None, *, exact: bool = False) -> Rule:
        return Rule(name, kinds[0], key, kinds[1], other or key, exact)

    return (
        rule("file name", normal_name, exact=True),
        rule("file name without its folder", base_name),
        rule("file name with another suffix", _stem),
        rule("file name in other case", _folded),
        rule("name before Label Studio", _stored),
        rule("name before Label Studio", _stored, _former),
        rule("name before Label Studio", _former, _stored),
        rule("name before Roboflow", before_roboflow),
    )


def _identity(text: str) -> str:
    return text


BY_NAME = _by_name(("file_name", "file_name"))
BY_ID = (
    Rule("id", "image_id", _identity, "image_id", _identity, True),
    Rule("id as a whole number", "image_id", _number, "image_id", _number, True),
)
ID_IS_STEM = (
    Rule("file name as id", "image_id", _identity, "file_name", without_suffix, True),
    Rule("stem of the file name", "image_id", _stem, "file_name", _stem),
    Rule("stem of the file name", "image_id", _number, "file_name", _numbered_stem),
    Rule(
        "name before Label Studio", "image_id", _number, "file_name", lambda n: _number(_former(n))
    ),
    Rule("name before Roboflow", "image_id", before_roboflow, "file_name", before_roboflow),
)
STEM_IS_ID = (
    Rule("file name as id", "file_name", without_suffix, "image_id", _identity, True),
    Rule("stem of the file name", "file_name", _stem, "image_id", _stem),
    Rule("stem of the file name", "file_name", _numbered_stem, "image_id", _number),
    Rule(
        "name before Label Studio", "file_name", lambda n: _number(_former(n)), "image_id", _number
    ),
    Rule("name before Roboflow", "file_name", before_roboflow, "image_id", before_roboflow),
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
    return _Matching(named, known).matches()


class _Trial(NamedTuple):
    """What one family of rules says of some images: position and rule, or possible positions."""

    placed: dict[int, tuple[int, str]]
    candidates: dict[int, list[int]]

    @property
    def rank(self) -> tuple[int, int]:
        """Of several families the largest counts."""
        return len(self.placed), len(self.candidates)


class _Matching:
    """The state of `match_images`: positions and rules found so far."""

    def __init__(
        self, named: Sequence[Named | LabelledImage], known: Sequence[LabelledImage]
    ) -> None:
        self._named, self._known = _Fields.of(named), _Fields.of(known)
        self._index = np.full(len(named), MISSING)
        self._rules = [""] * len(named)
        self._candidates: dict[int, list[int]] = {}
        words = self._named.split_words
        self._same_words = bool(words) and bool(words & self._known.split_words)

    def matches(self) -> ImageMatches:
        with_name = [k for k, name in enumerate(self._named.file_name) if name is not None]
        rest = [k for k, name in enumerate(self._named.file_name) if name is None]
        if with_name:
            trial = self._tried(with_name, BY_NAME)
            if len(trial.placed) < ENOUGH_BY_NAME * len(with_name):
                trial = self._best(with_name, (BY_ID, ID_IS_STEM, STEM_IS_ID), trial)
            self._take(trial)
        if rest:
            self._take(self._best(rest, (BY_ID, ID_IS_STEM), _Trial({}, {})))
            # A word is no number that could be either, so that it may still be a stem.
            words = [k for k in rest if self._index[k] < 0 and not self._is_number(k)]
            self._take(self._tried(words, ID_IS_STEM))
        self._by_the_others()
        unclear = (at for k, at in self._candidates.items() if self._index[k] < 0)
        possible = frozenset().union(*unclear)
        return ImageMatches(self._index, tuple(self._rules), possible)

    def _best(
        self, images: Sequence[int], families: Sequence[Sequence[Rule]], best: _Trial
    ) -> _Trial:
        """Try families until all images are placed; of equally good ones the first counts."""
        for family in families:
            if len(best.placed) < len(images):
                best = max(best, self._tried(images, family), key=lambda trial: trial.rank)
        return best

    def _is_number(self, k: int) -> bool:
        image_id = self._named.image_id[k]
        return image_id is None or _WHOLE.fullmatch(image_id) is not None

    def _tried(self, images: Sequence[int], family: Sequence[Rule]) -> _Trial:
        taken = set(self._index[self._index >= 0].tolist())
        trial = _Trial({}, {})
        for rule in family:
            left = [k for k in images if k not in trial.placed]
            if not left:
                break
            for place, those in self._of_rule(left, rule, trial.candidates).items():
                if rule.exact or (len(those) == 1 and place not in taken):
                    trial.placed.update(dict.fromkeys(those, (place, rule.name)))
                elif place not in taken:
                    trial.candidates.update({k: [place] for k in those})
            taken |= {place for place, _ in trial.placed.values()}
        for k in trial.placed:
            trial.candidates.pop(k, None)
        return trial

    def _of_rule(
        self, images: Sequence[int], rule: Rule, candidates: dict[int, list[int]]
    ) -> dict[int, list[int]]:
        """Return by position the images that a rule places there; of several take a note."""
        values = getattr(self._named, rule.field)
        keys = {k: rule.key(values[k]) for k in images if values[k] is not None}
        wanted = set(keys.values()) - {""}
        places: dict[str, list[int]] = defaultdict(list)
        for k, value in enumerate(getattr(self._known, rule.known_field)):
            if value is not None and (key := rule.known_key(value)) in wanted:
                places[key].append(k)
        found: dict[int, list[int]] = defaultdict(list)
        for k, key in keys.items():
            chosen = self._chosen(k, places[key]) if key in places else ()
            if len(chosen) == 1:
                found[chosen[0]].append(k)
            elif chosen:
                candidates.setdefault(k, list(chosen))
        return found

    def _chosen(self, k: int, places: Sequence[int]) -> Sequence[int]:
        """Return those of some known images whose paths end most like that of an image."""
        if len(places) == 1 and not self._same_words:
            return places
        path = self._named.file_name[k] or self._named.image_id[k] or ""
        words = splits_of(path)
        if self._same_words and words:
            places = [place for place in places if not self._contradicts(words, place)]
        if len(places) < 2:
            return places
        ends = [_common_end(path, self._known.file_name[place] or "") for place in places]
        return [place for place, n in zip(places, ends, strict=True) if n == max(ends)]

    def _contradicts(self, words: frozenset[str], place: int) -> bool:
        known = self._known.splits(place)
        return bool(known) and not known & words

    def _take(self, trial: _Trial) -> None:
        for k, (place, rule) in trial.placed.items():
            self._index[k], self._rules[k] = place, rule
        self._candidates |= trial.candidates

    def _by_the_others(self) -> None:
        """Place images that could be several by the split that all others lie in."""
        unclear = {k: at for k, at in self._candidates.items() if self._index[k] < 0}
        if not unclear:
            return
        taken = set(self._index[self._index >= 0].tolist())
        splits = {self._split(place) for place in taken}
        there: dict[int, int] = {}
        for k, places in unclear.items():
            self._index[k] = AMBIGUOUS
            if len(splits) == 1:
                in_split = [p for p in places if p not in taken and {self._split(p)} == splits]
                if len(in_split) == 1:
                    there[k] = in_split[0]
        claims = Counter(there.values())
        for k, place in there.items():
            if claims[place] == 1:
                self._index[k], self._rules[k] = place, SPLIT_RULE

    def _split(self, place: int) -> str:
        name = self._known.file_name[place] or ""
        return " ".join(sorted(self._known.splits(place))) or name.rpartition("/")[0]


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
            if name is None and image_id is not None and is_file_name(image_id):
                name = image_id
            elif name == image_id and name is not None and not is_file_name(name):
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


def is_file_name(name: str) -> bool:
    """Whether a name ends with the suffix of an image."""
    return without_suffix(name) != name


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
