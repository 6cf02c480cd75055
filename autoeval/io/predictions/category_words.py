"""What the categories of a results file are called, and which of several ways its numbers count.

`find_words`, called by `autoeval.io.predictions.reading`, names the categories of a file. Where all
numbers have a word in several ways, `numbered_by_labels` decides by the boxes that lie on labels.
Without labels the fit decides (`numbered_by_fit`): how often its detector finds each category,
compared with how often the new boxes are of it by each way. At real sites of four detectors,
numbered in three ways, none is read wrong; those whose usual way the frequencies contradict are
refused (a slow test in `tests/io/predictions/test_category_numbers.py`).
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unicodedata import normalize

import numpy as np

from autoeval.boxes import EXAMPLES, NO_NUMBERS, Boxes, Numbering, over_threshold, overlapping_pairs
from autoeval.detections import CONFIDENT
from autoeval.errors import InputError
from autoeval.io.image_identity import normal_id
from autoeval.io.labels.content import SEPARATORS, LabelSet, renamed
from autoeval.runtime.files import YAML, PathLike, name_of, read_json, read_yaml
from autoeval.words import Notice, listed

LABELS = "labels"
FROM_0 = "0"
FROM_1 = "1"
COCO = "coco"
IMAGES = "images"
NUMBERINGS = {
    LABELS: "the numbers of the labels, of --names or of the fit",
    FROM_0: "positions in their list, counted from 0",
    FROM_1: "positions in their list, counted from 1",
    COCO: "COCO's numbers, 1 to 90 with gaps",
    IMAGES: "the numbers of the list of images",
}
"""What category numbers can be: the values of ``numbering=``, each in words."""
COCO_GAPS = frozenset({12, 26, 29, 30, 45, 66, 68, 69, 71, 83})  # numbers up to 90 without a word
N_COCO = 80
FIRST_OF_COCO = ("person", "bicycle", "car")
ON_LABEL = 0.5  # IoU
FEWEST_ON_LABEL = 20  # boxes
A_FIFTH = 0.2  # of the boxes on labels
LEAST_SCORE = 0.05  # of boxes whose scores count for the frequency of their category
PRIOR = 0.05  # weight of equal frequencies of all categories, added to those of the fit
CLEARLY = 0.5  # nats a box by which one way is more likely than another
FAR = 1.0  # the same, where a file of the same kind as in the fit is doubted


@dataclass(frozen=True)
class ReadAs:
    """What is known of a predictions file before it is read.

    Parameters
    ----------
    numbers : mapping of str to str
        The word of each category number, for boxes without a word, in the order of their list.
        Words that have neither numbers nor an order stand for themselves: no number is one of them.
    words : sequence of str, optional
        All words of the detector, where they are known.
    columns : sequence of str
        The names of the columns of text files; see `text_folder.column_names`.
    numbering : str
        How category numbers count: one of `NUMBERINGS`.
    kind : str
        How they mostly do, as the `kind_of` files of the fit; by default as `numbers`, and in text
        and the like as positions from 0. That way is taken where all numbers have a word by it,
        else the one way in which all have.
    undecided : bool
        Whether numbers that several ways fit are left to whoever reads; refused by default.
    of_images : mapping of str to str
        The word of each number by the list of images, where it is a COCO document with categories.
        Results in COCO's form count as the document that they are of, but a list may be another.
    unlabelled : sequence of str
        File names of images that nobody has labelled: where labels list the images, boxes on these
        are of no image that could not be found.
    """

    numbers: Mapping[str, str] = field(default_factory=dict)
    words: Sequence[str] | None = None
    columns: Sequence[str] = ()
    numbering: str = ""
    kind: str = ""
    undecided: bool = False
    of_images: Mapping[str, str] = field(default_factory=dict)
    unlabelled: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Words:
    """The category of each of N boxes.

    Parameters
    ----------
    categories : tuple of str
        The detector's words: those given for its numbers, and those in the file.
    label : ndarray of shape (N,), int64
        Indices into `categories`.
    numbers : dict of str to str
        The word of each number, as far as the file has or uses numbers.
    left_out : tuple of Notice
        Which words were taken for known ones.
    warnings : tuple of Notice
        What was guessed of the numbers.
    numbering : Numbering
        How they were read, and how they might be.
    """

    categories: tuple[str, ...]
    label: np.ndarray
    numbers: dict[str, str]
    left_out: tuple[Notice, ...] = ()
    warnings: tuple[Notice, ...] = ()
    numbering: Numbering = NO_NUMBERS


def find_words(
    path: Path,
    named: list[tuple[Any, Any]],
    how: ReadAs,
    *,
    own: Mapping[str, str] = MappingProxyType({}),
    positions: bool = False,
) -> Words:
    """Name the categories of boxes.

    A word that differs from a known one only by case or separators is that one; see
    `known_spellings`.

    Parameters
    ----------
    path : Path
        Of the file, for messages.
    named : list of tuple
        Number and word of each of N boxes, None for what is not there. A word that is a number, and
        no known word, counts as one; so does its text, where no known word is such a text.
    how : ReadAs
        What is known before.
    own : mapping of str to str
        The file's own words for numbers, which go before those that are known.
    positions : bool
        Whether numbers mostly are positions in a list from 0, as in text files.

    Returns
    -------
    Words
        Of each box, and how numbers were read.

    Raises
    ------
    InputError
        If a number has no word in any way, or not in the one that is named, and,
        unless that is left `undecided`, if several ways fit.

    Examples
    --------
    >>> how = ReadAs({"0": "person", "1": "car"})
    >>> find_words(Path("boxes.json"), [(1, None), (0, None)], how).label.tolist()
    [1, 0]
    >>> find_words(Path("boxes.json"), [(None, "Car"), (None, 0)], how).label.tolist()
    [1, 0]
    """
    known_words = {*(how.words or ()), *how.numbers.values(), *own.values()}
    if known_words:  # ``label`` and the like may hold numbers
        as_text = not any(normal_id(word).isdecimal() for word in known_words)
        of_word = {
            word: str(word) not in known_words
            and (isinstance(word, int | float) or (as_text and normal_id(word).isdecimal()))
            for _, word in set(named)
        }
        named = [
            (word if number is None else number, None) if of_word[word] else (number, word)
            for number, word in named
        ]
    kinds = dict.fromkeys(named)
    used = list(dict.fromkeys(normal_id(n) for n, word in kinds if word is None))
    numbers = own or how.numbers
    in_file = [str(word) for _, word in kinds if word is not None]
    known = [*(how.words or how.numbers.values())]
    if used:  # the words of numbers are of the file where it has them, or else may be respelt
        in_file += own.values() or [word for word in numbers.values() if word not in known]
    spelt = known_spellings(in_file, known)
    left_out = [spelt_otherwise(spelt)] if spelt else []
    apart = known_spellings([word for word in in_file if word not in known], known)
    pairs = [f"{word} beside {apart[word]}" for word in apart if word not in spelt]
    if pairs:
        text = f"words of {path} differ by case or separators alone, and are two categories: "
        left_out.append(Notice("words-nearly-equal", f"{text}{listed(pairs, 3)}"))
    numbers = {number: spelt.get(word, word) for number, word in numbers.items()}
    chosen, numbering, warnings = numbers, Numbering(positions=positions), tuple[Notice, ...]()
    if used:
        of_images = {} if own or positions else how.of_images
        asked = replace(how, numbers=numbers, of_images=of_images)
        chosen, numbering, warnings = _read_numbers(path, used, asked, positions=positions)
    expected: Mapping[str, str] = how.numbers if own and used else {}
    in_order = {str(k): word for k, word in enumerate(expected.values())}
    if positions and numbers.items() <= in_order.items():
        expected = in_order  # the same list, whose numbers labels or the fit count otherwise
    odd = [
        f"{n} is {word}, not {expected[n]}"
        for n, word in numbers.items()
        if expected.get(n, word) != word
    ]
    if odd:
        conflict = (
            f"{path} has its own words for numbers of categories, which are used; in the labels, "
            f"in --names or in the fit they are others: {listed(odd, 3)}"
        )
        # Programs number the categories of an export anew: known words say which are meant. The
        # list beside text files may be of other files.
        by_words = not positions and numbering.used == LABELS and {*numbers.values()} <= {*known}
        notice = Notice(
            "category-numbers-differ", conflict, severity="note" if by_words else "warning"
        )
        warnings = (*warnings, notice)
    words: dict[tuple[Any, Any], str] = {}
    for number, word in kinds:
        given = chosen[normal_id(number)] if word is None else str(word)
        words[number, word] = spelt.get(given, given)
    of_others = [by[number] for by in numbering.numbers.values() for number in used]
    categories = tuple(dict.fromkeys([*chosen.values(), *words.values(), *of_others]))
    index = {word: k for k, word in enumerate(categories)}
    of_kind = {kind: index[word] for kind, word in words.items()}
    label = np.fromiter((of_kind[kind] for kind in named), np.int64, len(named))
    lookups: dict[str, np.ndarray] = {}
    if all(word is None for _, word in kinds):  # numbers alone, which may be read in another way
        for way, of_way in numbering.numbers.items():
            lookups[way] = np.full(len(categories), -1)
            for number in used:
                lookups[way][index[chosen[number]]] = index[of_way[number]]
    # The numbers of the labels, and not positions in a list, where positions were counted.
    by_number = dict(numbers if positions and numbering.used == FROM_0 else chosen) if used else {}
    if not positions:  # with the numbers of entries that have both
        of_both = {normal_id(n): word for (n, _), word in words.items() if n is not None}
        by_number |= {number: of_both[number] for number in sorted(sorted(of_both), key=len)}
    by_own = bool(own) and not positions and numbering.used == LABELS
    numbering = replace(numbering, others=lookups, own=by_own)
    found = Words(categories, label, by_number, tuple(left_out), warnings, numbering)
    if not (numbering.decided or how.undecided):
        raise undecided_numbers(path, found)
    return found


def _read_numbers(
    path: Path, used: Sequence[str], how: ReadAs, *, positions: bool
) -> tuple[dict[str, str], Numbering, tuple[Notice, ...]]:
    """Return the words of category numbers, how they were read, and what was guessed.

    Parameters
    ----------
    path : Path
        Of the file, for messages.
    used : sequence of str
        Numbers of the file.
    how : ReadAs
        What is known before, with the words of the file itself where it has some.
    positions : bool
        Whether numbers mostly are positions in a list from 0; see `find_words`.

    Raises
    ------
    InputError
        If the numbering is none of `NUMBERINGS`, or the numbers have no words by it.
    """
    if how.numbering and how.numbering not in NUMBERINGS:
        raise InputError(
            f"Expected --numbering to be one of {', '.join(NUMBERINGS)} but got '{how.numbering}'."
        )
    # The word of each number by every one of `NUMBERINGS` that can be meant. Words of the list of
    # images count as far as the detector has them.
    in_no_order = [*how.numbers] == [*how.numbers.values()]
    in_no_order &= not all(map(str.isdecimal, how.numbers))  # as YOLO's classes without names
    listed_words = [] if in_no_order else list(how.numbers.values())
    ways = {
        LABELS: dict(how.numbers),
        FROM_0: {str(k): word for k, word in enumerate(listed_words)},
        FROM_1: {str(k): word for k, word in enumerate(listed_words, 1)},
    }
    if len(listed_words) == N_COCO and tuple(listed_words[: len(FIRST_OF_COCO)]) == FIRST_OF_COCO:
        of_coco = (k for k in range(1, N_COCO + len(COCO_GAPS) + 1) if k not in COCO_GAPS)
        ways[COCO] = {str(k): word for k, word in zip(of_coco, listed_words, strict=True)}
    known = [*(how.words or how.numbers.values())]
    spelt = known_spellings(how.of_images.values(), known)
    of_list = {number: spelt.get(word, word) for number, word in how.of_images.items()}
    ways[IMAGES] = {number: word for number, word in of_list.items() if word in known}

    fits = {way: words for way, words in ways.items() if words.keys() >= {*used}}
    if not fits or (how.numbering and how.numbering not in fits):
        raise _without_word(path, used, ways[LABELS], how.numbering)
    of_fit, _, usual = how.kind.partition(":")
    if of_fit != ("text" if positions else "file"):
        usual = FROM_0 if positions else LABELS
    way = how.numbering or (usual if usual in fits else next(iter(fits)))
    chosen = fits[way]
    readings, others = {tuple(chosen[number] for number in used)}, {}
    # Those that give some number another word, each reading once, that of the list of images first.
    for other in sorted(fits, key=lambda way: way != IMAGES):
        words = fits[other]
        reading = tuple(words[number] for number in used)
        if reading not in readings and not how.numbering:
            readings.add(reading)
            others[other] = words
    # The usual way is no more than one of two where the list of images says otherwise.
    expected = way == how.numbering or (way == usual and IMAGES not in others)
    numbering = Numbering(way, {}, others, positions, decided=expected or not others)
    if expected or others:
        return chosen, numbering, ()
    examples = ", ".join(f"{number} is {chosen[number]}" for number in used[:EXAMPLES])
    guessed = Notice(
        "category-numbers-guessed",
        f"{path} has category numbers that are not {NUMBERINGS[usual]}, so they were taken as "
        f"{NUMBERINGS[way]}: {examples}. If this is wrong, write the word of each box as "
        "'category', give the words with --names FILE, or say how numbers count with --numbering",
    )
    return chosen, numbering, (guessed,)


def _without_word(
    path: Path, used: Sequence[str], numbers: Mapping[str, str], numbering: str
) -> InputError:
    """Make the refusal of category numbers that have no word, or not in the way that is named."""
    known = listed([w if k == w else f"{k} {w}" for k, w in numbers.items()], 20)
    if numbering:
        return InputError(
            f"{path}: by --numbering {numbering} ({NUMBERINGS[numbering]}) not all category "
            f"numbers have a word. They are {listed(sorted(used, key=_counting), 20)}; known are "
            f"{known}."
        )
    lost = [number for number in used if number not in numbers]
    text = f" Known are {known}." if numbers else ""
    return InputError(
        f"{path} names categories by numbers that have no word: "
        f"{listed(sorted(lost or used, key=_counting), 20)}.{text} Write the word of each box as "
        "'category', or give the words with --names FILE (data.yaml, JSON, or a word a line)."
    )


def _counting(number: object) -> tuple[int, str]:
    """Sort key by which numbers compare as such, and words follow."""
    number = str(number)
    return (int(number), "") if number.isdecimal() else (sys.maxsize, number)


def undecided_numbers(path: Path, found: Words | Boxes, why: str = "") -> InputError:
    """Make the refusal of category numbers that could mean several things.

    Parameters
    ----------
    path : Path
        Of the file.
    found : Words or Boxes
        As they were read, with their numbering.
    why : str
        Why nothing decides.
    """
    numbering = found.numbering
    readings = "; ".join(
        f"--numbering {way} ({NUMBERINGS[way]}): {numbering.examples(way, found)}"
        for way in (numbering.used, *numbering.others)
    )
    several = f"{path} names categories by numbers that could mean several things"
    return InputError(
        f"{several}{', and ' if why else ''}{why}: {readings}. Say which it is behind the file, or "
        "write the word of each box as 'category'."
    )


def read_names(given: Mapping[Any, str] | Sequence[str] | PathLike) -> dict[str, str]:
    """Read the words for the numbers of categories; empty where none are given.

    Parameters
    ----------
    given : mapping or sequence of str, or path-like
        A mapping has the word of each number, which may be an integer, as ``model.names`` of
        Ultralytics and ``config.id2label`` of transformers. A file is YAML with ``names`` as a list
        or by number, as Ultralytics' ``data.yaml``, JSON with these or the words alone, or text
        with a word a line; lists count from 0.

    Raises
    ------
    InputError
        If the file cannot be read or holds no names, or they are no words.

    Examples
    --------
    >>> read_names({0: "person", 2: "car"}), read_names(["person", "car"])
    ({'0': 'person', '2': 'car'}, {'0': 'person', '1': 'car'})
    """
    if not given:
        return {}
    path, names = name_of(given), given
    if not isinstance(given, str | os.PathLike):
        names = dict(given) if isinstance(given, Mapping) else list(given)
    elif path.suffix.lower() in YAML:
        document = read_yaml(path)
        names = document.get("names") if isinstance(document, dict) else document
    elif path.suffix.lower() == ".json":
        document = read_json(path, "file of names")
        names = document.get("names", document) if isinstance(document, dict) else document
    else:
        try:
            names = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"Cannot read the names {path}: {error}.") from error
    if names is not None and not isinstance(names, list | dict):
        raise InputError(f"{path}: expected `names` as a list or by number, got {names!r:.40}.")
    numbered = names if isinstance(names, dict) else dict(enumerate(names or ()))
    pairs = [(normal_id(number), word) for number, word in numbered.items() if word is not None]
    wrong = [number for number, word in pairs if not isinstance(word, str | int | float)]
    if wrong:
        raise InputError(f"{path}: expected a word for each number, not for {listed(wrong)}.")
    words = {number: str(word).strip() for number, word in pairs if str(word).strip()}
    if not words:
        expected = "expected `names` in YAML or JSON, or a word a line"
        raise InputError(f"{path} holds no names: {expected}.")
    return words


def known_spellings(used: Collection[str], words: Sequence[str]) -> dict[str, str]:
    """Return the known word for each that differs from it only by case, separators or Unicode form.

    Such as ``traffic light`` for ``Traffic_Light``; not where several such are `used`.

    Parameters
    ----------
    used : collection of str
        Words of a file.
    words : sequence of str
        Those that are known.

    Examples
    --------
    >>> known_spellings(["Traffic_Light", "Car", "car"], ["car", "traffic light"])
    {'Traffic_Light': 'traffic light'}
    """
    form = {w: normalize("NFC", SEPARATORS.sub("", w).casefold()) for w in (*words, *used)}
    of_form: dict[str, list[str]] = {}
    for word in dict.fromkeys(words):
        of_form.setdefault(form[word], []).append(word)
    n_used = Counter(form[word] for word in {*used})
    known: dict[str, str] = {}
    for word in dict.fromkeys(used):
        same = of_form.get(form[word], [])
        if len(same) == 1 and same[0] != word and n_used[form[word]] == 1:
            known[word] = same[0]
    return known


def spelt_otherwise(known: Mapping[str, str]) -> Notice:
    """Note which words were taken for which known ones.

    Parameters
    ----------
    known : mapping of str to str
        See `known_spellings`.
    """
    pairs = [f"{word} for {known[word]}" for word in known]
    text = f"words that are spelt otherwise than known ones count as these: {listed(pairs, 3)}"
    return Notice("words-spelt-otherwise", text, "note")


def as_spelt(content: LabelSet, known: Sequence[str]) -> LabelSet:
    """Call categories of labels by the known words that they are, and note which.

    Parameters
    ----------
    content : LabelSet
        Of any words.
    known : sequence of str
        Words that a user names or a detector has; see `known_spellings`.
    """
    spelt = known_spellings(content.categories, known)
    if not spelt:
        return content
    images = {image.image_id: image for image in content.images}
    warnings = (*content.warnings, spelt_otherwise(spelt))
    return replace(renamed(content, images, spelt), warnings=warnings)


def frequencies(boxes: Boxes) -> dict[str, float]:
    """Return the sum of the scores of each category, of boxes with a score from `LEAST_SCORE` on.

    Parameters
    ----------
    boxes : Boxes
        Detected boxes; a category with a sum of 0 is left out.
    """
    kept = boxes.scores >= LEAST_SCORE
    sums = np.bincount(
        boxes.label[kept], boxes.scores[kept], minlength=len(boxes.categories)
    ).tolist()
    return {word: total for word, total in zip(boxes.categories, sums, strict=True) if total}


def numbered_by_labels(boxes: Boxes, truth: Boxes, words: Mapping[str, str], path: Path) -> Boxes:
    """Read category numbers in the way by which boxes lie on labels of their category.

    Of boxes over .3 that overlap a label by an IoU of .5, twenty or more, more than half lie on one
    of their category by the way that is taken; another one than was used goes before only where a
    fifth more of them do.

    Parameters
    ----------
    boxes : Boxes
        In the detector's words, with ``numbering.others``.
    truth : Boxes
        Labels of the same images.
    words : mapping of str to str
        Category of the truth for each word of the detector that counts.
    path : Path
        Of the predictions, for messages.

    Returns
    -------
    Boxes
        With a warning where another way was taken.

    Raises
    ------
    InputError
        Where several ways fit and labels do not decide.
    """
    numbering = boxes.numbering
    sure, single = boxes.where(over_threshold(boxes.scores, CONFIDENT)), truth.where(~truth.crowd)
    rows, columns, _ = overlapping_pairs(
        sure.boxes, sure.image, single.boxes, single.image, least=ON_LABEL
    )
    n_on = len(np.unique(rows))
    index = {name: k for k, name in enumerate(truth.categories)}
    category = np.array([index.get(words.get(word, word), -1) for word in boxes.categories])
    identity = np.arange(len(boxes.categories))
    n_right = {}
    for way, lookup in {numbering.used: identity, **numbering.others}.items():
        of_box = category[lookup[sure.label[rows]]]
        n_right[way] = len(np.unique(rows[of_box == single.label[columns]]))
    best = max(n_right, key=lambda way: n_right[way])
    clear = n_on >= FEWEST_ON_LABEL and n_right[best] > n_on / 2
    if not clear or n_right[best] - n_right[numbering.used] < A_FIFTH * n_on:
        if numbering.decided or clear:
            return boxes.numbered(numbering.used)
        raise undecided_numbers(path, boxes, f"of {n_on} boxes on labelled objects too few decide")
    why = (
        f"by which {n_right[best]} of {n_on} confident boxes on labelled objects have the word of "
        f"the label, and {n_right[numbering.used]} as {NUMBERINGS[numbering.used]}"
    )
    return _guessed(boxes, best, path, why)


def numbered_by_fit(boxes: Boxes, of_fit: Mapping[str, float], usual: str, path: Path) -> Boxes:
    """Read category numbers of a new site in the way that the frequencies of the fit make likely.

    A file with words of its own for its numbers is read by these. One of the kind of the fit's
    (`kind_of`) is read as that was, with a warning where another way is far more likely. One of
    another kind needs frequencies that speak for the way that is used, and none that speak for
    another. Where the list of images has other numbers than the fit, the frequencies decide, with
    a warning.

    Parameters
    ----------
    boxes : Boxes
        In the detector's words.
    of_fit : mapping of str to float
        See `frequencies`.
    usual : str
        Kind of the files of the fit.
    path : Path
        Of the predictions, for messages.

    Raises
    ------
    InputError
        Where they do not decide.
    """
    numbering = boxes.numbering
    if not numbering.others or numbering.own:
        return boxes.numbered(numbering.used)
    same_kind = kind_of(boxes) == usual
    likelihood = _likelihoods(boxes, of_fit)
    first, second = sorted(likelihood, key=lambda way: -likelihood[way])[:2]
    gain = likelihood[first] - likelihood[numbering.used]
    if same_kind and numbering.decided:
        if gain < FAR:
            return boxes.numbered(numbering.used)
        return _numbered(
            boxes,
            numbering.used,
            f"{path}: category numbers are read as in the fit "
            f"({numbering.examples(numbering.used, boxes)}); as {NUMBERINGS[first]} they would be "
            f"{numbering.examples(first, boxes)}, which the fit finds "
            f"{np.exp(min(gain, 9)):.1f} times as often. Add --numbering {first} if that is meant, "
            f"or --numbering {numbering.used} if not",
        )
    clear = likelihood[first] - likelihood[second] >= CLEARLY
    if clear and numbering.decided and first == numbering.used:
        return boxes.numbered(first)
    if clear and not numbering.decided:
        return _guessed(
            boxes, first, path, "which how often the fit finds each category speaks for"
        )
    why = "how often the fit finds each category does not decide"
    if gain >= CLEARLY:
        why = (
            f"the fit finds those by --numbering {first} {np.exp(min(gain, 9)):.1f} times as often"
        )
    raise undecided_numbers(path, boxes, why)


def kind_of(boxes: Boxes) -> str:
    """Return how a file numbers its categories, in one word; empty for a file of words.

    Parameters
    ----------
    boxes : Boxes
        Of the file.
    """
    used = boxes.numbering.used
    return f"{'text' if boxes.numbering.positions else 'file'}:{used}" if used else ""


def _likelihoods(boxes: Boxes, of_fit: Mapping[str, float]) -> dict[str, float]:
    """Return the mean log probability of a box's category by each way; all 0 where none is known.

    The frequencies of the fit, mixed with a uniform distribution of weight one in twenty, are taken
    as the probabilities of the category of a box; scores are weights.

    Returns
    -------
    dict of str to float
        In nats a box.
    """
    of_site = frequencies(boxes)
    weights = np.array([of_site.get(word, 0.0) for word in boxes.categories])
    known = np.array([of_fit.get(word, 0.0) for word in boxes.categories])
    numbering = boxes.numbering
    ways = {numbering.used: np.arange(len(known)), **numbering.others}
    if not known.sum() or not weights.sum():
        return dict.fromkeys(ways, 0.0)
    log_share = np.log((1 - PRIOR) * known / known.sum() + PRIOR / len(known))
    used = weights > 0
    mean = weights[used] / weights.sum()
    return {way: float(mean @ log_share[lookup[used]]) for way, lookup in ways.items()}


def _guessed(boxes: Boxes, way: str, path: Path, why: str) -> Boxes:
    """Read numbers in a way, with a warning that says why."""
    examples = boxes.numbering.examples(way, boxes)
    text = (
        f"{path}: category numbers are taken as {NUMBERINGS[way]} ({examples}), {why}. "
        "If this is wrong, say how they count with --numbering, or write the word "
        "of each box as 'category'"
    )
    return _numbered(boxes, way, text)


def _numbered(boxes: Boxes, way: str, text: str) -> Boxes:
    """Read numbers in a way, with a warning."""
    notice = Notice("category-numbers-guessed", text)
    return replace(boxes.numbered(way), warnings=(*boxes.warnings, notice))
