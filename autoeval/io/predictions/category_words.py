"""What the categories of a results file are called."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.boxes import EXAMPLES, NO_NUMBERS, Boxes, Numbering
from autoeval.errors import InputError
from autoeval.io.documents import read_yaml
from autoeval.io.image_identity import normal_id
from autoeval.notices import Notice
from autoeval.runtime.files import PathLike
from autoeval.words import listed

LABELS, FROM_0, FROM_1, COCO = "labels", "0", "1", "coco"
NUMBERINGS = {
    LABELS: "the numbers of the labels, of --names or of the fit",
    FROM_0: "positions in their list, counted from 0",
    FROM_1: "positions in their list, counted from 1",
    COCO: "COCO's numbers, 1 to 90 with gaps",
}
"""What category numbers can be: the values of ``numbering=``, each in words."""
COCO_GAPS = frozenset({12, 26, 29, 30, 45, 66, 68, 69, 71, 83})  # numbers up to 90 without a word
N_COCO, FIRST_OF_COCO = 80, ("person", "bicycle", "car")


@dataclass(frozen=True, eq=False)
class Words:
    """The category of each of N boxes: `label` (N,) int64 indexes into `categories`.

    These are the detector's words: those given for its numbers, and those in the file. `numbers`
    has the word of each number, as far as the file has or uses numbers. `warnings` states what was
    guessed of the numbers.
    """

    categories: tuple[str, ...]
    label: np.ndarray
    numbers: dict[str, str]
    warnings: tuple[str, ...] = ()
    numbering: Numbering = NO_NUMBERS


def find_words(
    path: Path,
    named: list[tuple[Any, Any]],
    numbers: Mapping[str, str],
    *,
    text: bool = False,
    numbering: str = "",
    usual: str = "",
) -> Words:
    """Name the categories of boxes, given number and word of each, None for what is not there.

    numbers: the word of each number, for boxes without a word, in the order of their list.
    text: whether they are of text files.
    numbering: which of `NUMBERINGS` it is, where that is known.
    usual: which it mostly is; by default the given numbers, and positions from 0 in text. It is
        taken where all numbers have a word by it, else the one way in which all have.

    Raises `InputError` if a number has no word in any way, or not in the one that is named. Where
    several other ways fit, one is used and is not `decided`.
    """
    kinds = dict.fromkeys(named)
    used = list(dict.fromkeys(normal_id(n) for n, word in kinds if word is None))
    found, chosen, warnings = Numbering(text=text), dict(numbers), tuple[str, ...]()
    usual = usual or (FROM_0 if text else LABELS)
    if used:
        listed_words = list(numbers.values())
        ways = {
            LABELS: dict(numbers),
            FROM_0: {str(k): word for k, word in enumerate(listed_words)},
            FROM_1: {str(k): word for k, word in enumerate(listed_words, 1)},
        }
        if (
            len(listed_words) == N_COCO
            and tuple(listed_words[: len(FIRST_OF_COCO)]) == FIRST_OF_COCO
        ):
            of_coco = (k for k in range(1, N_COCO + len(COCO_GAPS) + 1) if k not in COCO_GAPS)
            ways[COCO] = {str(k): word for k, word in zip(of_coco, listed_words, strict=True)}
        fits = {way: words for way, words in ways.items() if words.keys() >= {*used}}
        way = _way(path, fits, used, numbers, usual, numbering)
        chosen = fits[way]
        # ways that give some number another word, each reading once
        readings = {tuple(chosen[number] for number in used)}
        others = []
        for other, words_of_way in fits.items():
            reading = tuple(words_of_way[number] for number in used)
            if reading not in readings and not numbering:
                readings.add(reading)
                others.append(other)
        expected = way in (numbering, usual)
        warnings = () if expected or others else (_guessed(path, way, chosen, used),)
        decided = expected or not others
        found = Numbering(way, {}, {k: fits[k] for k in others}, text, decided)
    words = {
        kind: chosen[normal_id(kind[0])] if kind[1] is None else str(kind[1]) for kind in kinds
    }
    categories = tuple(dict.fromkeys([*chosen.values(), *words.values()]))
    index = {word: k for k, word in enumerate(categories)}
    of_kind = {kind: index[word] for kind, word in words.items()}
    label = np.fromiter((of_kind[kind] for kind in named), np.int64, len(named))
    lookups = {way: np.full(len(categories), -1) for way in found.numbers}
    for way, lookup in lookups.items():
        for number in used:
            lookup[index[chosen[number]]] = index[found.numbers[way][number]]
    only_numbers = all(word is None for _, word in kinds)
    found = replace(found, others=lookups if only_numbers else {})
    beside = {
        normal_id(number): word for (number, _), word in words.items() if number is not None
    }  # of entries with both
    # The numbers of the labels, and not positions in a list, where classes of text were counted.
    by_number = dict(numbers if text and found.used == FROM_0 else chosen) if used else {}
    return Words(categories, label, by_number if text else {**by_number, **beside}, warnings, found)


def _way(
    path: Path,
    fits: Mapping[str, Mapping[str, str]],
    used: Sequence[str],
    numbers: Mapping[str, str],
    usual: str,
    numbering: str,
) -> str:
    """Return the way in which numbers are read: the named one, the usual one, or one that fits."""
    if numbering and numbering not in NUMBERINGS:
        raise InputError(
            f"Expected --numbering to be one of {', '.join(NUMBERINGS)} but got '{numbering}'."
        )
    if numbering in fits:
        return numbering
    if fits and not numbering:
        return usual if usual in fits else next(iter(fits))
    known = listed([f"{k} {w}" for k, w in numbers.items()], 20)
    lost = [number for number in used if number not in numbers]
    if numbering:
        raise InputError(
            f"{path}: by --numbering {numbering} ({NUMBERINGS[numbering]}) not all category "
            f"numbers have a word. They are {listed(sorted(used, key=_counting), 20)}; known are "
            f"{known}."
        )
    text = f" Known are {known}." if numbers else ""
    raise InputError(
        f"{path} names categories by numbers that have no word: "
        f"{listed(sorted(lost or used, key=_counting), 20)}.{text} Write the word of each box as "
        "'category', or give the words with --names FILE (data.yaml, or a word a line)."
    )


def _counting(number: object) -> tuple[int, str]:
    number = str(number)
    return (int(number), "") if number.isdecimal() else (sys.maxsize, number)


def _guessed(path: Path, way: str, words: Mapping[str, str], used: Sequence[str]) -> Notice:
    examples = ", ".join(f"{number} is {words[number]}" for number in used[:EXAMPLES])
    how = f"taken as {NUMBERINGS[way]}"
    return Notice(
        "category-numbers-guessed",
        f"{path} has category numbers that are not those of the labels or of the fit, so they were "
        f"{how}: {examples}. If this is wrong, write the word of each box as 'category', give the "
        "words with --names FILE, or say how numbers count with --numbering",
    )


def undecided_numbers(path: Path, words: Words) -> InputError:
    """Make the refusal of category numbers that several ways fit."""
    numbering = words.numbering
    ways = (numbering.used, *numbering.others)
    readings = "; ".join(
        f"--numbering {way} ({NUMBERINGS[way]}): "
        f"{numbering.examples(way, words.categories, words.label)}"
        for way in ways
    )
    return InputError(
        f"{path} names categories by numbers that could mean several things: {readings}. Say which "
        "behind the file, or write the word of each box as 'category'."
    )


def numbering_conflict(
    path: Path, words: Mapping[str, str], other: Mapping[str, str]
) -> tuple[str, ...]:
    """Warn where a file's own words for numbers are not those of the labels or of the fit."""
    odd = [
        f"{n} is {word}, not {other[n]}" for n, word in words.items() if other.get(n, word) != word
    ]
    if not odd:
        return ()
    return (
        Notice(
            "category-numbers-differ",
            f"{path} has its own words for numbers of categories, which are used; in the labels, "
            f"in --names or in the fit they are others: {listed(odd, 3)}",
        ),
    )


def read_names(given: Mapping[str, str] | PathLike) -> Mapping[str, str]:
    """Read the words for the numbers of categories; a mapping has them already.

    The file is YAML with ``names`` as a list or by number, as Ultralytics' ``data.yaml``, or text
    with a word a line; lists count from 0.
    """
    if isinstance(given, Mapping):
        return given
    path = Path(given)
    names: Any
    if path.suffix in (".yaml", ".yml"):
        document = read_yaml(path)
        names = document.get("names") if isinstance(document, dict) else document
    else:
        try:
            names = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"Cannot read the names {path}: {error}.") from error
    if names is not None and not isinstance(names, list | dict):
        raise InputError(f"{path}: expected `names` as a list or by number, got {names!r:.40}.")
    numbered = names if isinstance(names, dict) else dict(enumerate(names or ()))
    pairs = [(str(number), word) for number, word in numbered.items() if word is not None]
    wrong = [number for number, word in pairs if not isinstance(word, str | int | float)]
    if wrong:
        raise InputError(f"{path}: expected a word for each number, not for {listed(wrong)}.")
    words = {number: str(word).strip() for number, word in pairs if str(word).strip()}
    if not words:
        raise InputError(f"{path} holds no names: expected `names` in YAML, or a word a line.")
    return words


def known_spellings(used: Collection[str], words: Sequence[str]) -> dict[str, str]:
    """Return the known word for each that differs from it only by case or separators.

    Such as ``traffic light`` for ``Traffic_Light``; not where both are `used`.

    >>> known_spellings(["Traffic_Light", "Car", "car"], ["car", "traffic light"])
    {'Traffic_Light': 'traffic light'}
    """
    form = {word: re.sub(r"[\s_-]+", "", word).casefold() for word in (*words, *used)}
    of_form: dict[str, list[str]] = {}
    for word in dict.fromkeys(words):
        of_form.setdefault(form[word], []).append(word)
    known: dict[str, str] = {}
    for word in dict.fromkeys(used):
        alike = of_form.get(form[word], [])
        if len(alike) == 1 and alike[0] not in used and alike[0] not in known.values():
            known[word] = alike[0]
    return known


def spelt_otherwise(known: Mapping[str, str]) -> Notice:
    """Say which words were taken for which known ones; see `known_spellings`."""
    pairs = [f"{word} for {known[word]}" for word in known]
    text = f"words that are spelt otherwise than known ones count as these: {listed(pairs, 3)}"
    return Notice("words-spelt-otherwise", text, "note")


def spelt_as(boxes: Boxes, words: Sequence[str]) -> Boxes:
    """Give boxes the known spelling of their words; see `known_spellings`."""
    used = [boxes.categories[k] for k in np.flatnonzero(np.bincount(boxes.label)).tolist()]
    known = known_spellings(used, words)
    if not known:
        return boxes
    named = [known.get(word, word) for word in boxes.categories]
    index = {word: k for k, word in enumerate(dict.fromkeys(named))}
    return replace(
        boxes,
        categories=tuple(index),
        label=np.array([index[word] for word in named], np.int64)[boxes.label],
        numbers={number: known.get(word, word) for number, word in boxes.numbers.items()},
        left_out=(*boxes.left_out, spelt_otherwise(known)),
    )
