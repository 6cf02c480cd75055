"""What the categories of a results file are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.errors import InputError
from autoeval.io.wording import listed
from autoeval.io.yaml_file import read_yaml
from autoeval.notices import Notice

EXAMPLES = 3  # of words, in the warning of a guess


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


def find_words(path: Path, named: list[tuple[Any, Any]], numbers: Mapping[str, str]) -> Words:
    """Name the categories of boxes, given number and word of each, None for what is not there.

    `numbers` has the word of each number, for boxes without a word. Raises `InputError` if a number
    has no word; unless all fit when they count from 0, or from 1, in the order of `numbers`, and
    only one of the two fits.
    """
    kinds = dict.fromkeys(named)
    lost = {str(number) for number, word in kinds if word is None} - numbers.keys()
    warnings: tuple[str, ...] = ()
    if lost:
        used = list(dict.fromkeys(str(n) for n, word in kinds if word is None))
        numbers, warning = _counted(path, used, lost, numbers)
        warnings = (warning,)
    words = {kind: numbers[str(kind[0])] if kind[1] is None else str(kind[1]) for kind in kinds}
    categories = tuple(dict.fromkeys([*numbers.values(), *words.values()]))
    index = {word: k for k, word in enumerate(categories)}
    of_kind = {kind: index[word] for kind, word in words.items()}
    label = np.fromiter((of_kind[kind] for kind in named), np.int64, len(named))
    by_number = any(word is None for _, word in kinds)
    beside = {
        str(number): word for (number, _), word in words.items() if number is not None
    }  # of entries with both
    return Words(categories, label, {**(numbers if by_number else {}), **beside}, warnings)


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
            f"in names= or in the fit they are others: {listed(odd, 3)}",
        ),
    )


def _counted(
    path: Path, used: list[str], lost: set[str], numbers: Mapping[str, str]
) -> tuple[dict[str, str], str]:
    """Count categories from 0 or 1, as Ultralytics does, where the given numbers do not fit.

    Returned: the word of each number, and a warning that states the guess.
    """
    counts = {
        first: {str(k + first): word for k, word in enumerate(numbers.values())} for first in (0, 1)
    }
    fits = [first for first, counted in counts.items() if counted.keys() >= set(used)]
    if len(fits) == 1:
        counted = counts[fits[0]]
        examples = ", ".join(f"{number} is {counted[number]}" for number in used[:EXAMPLES])
        return counted, (
            Notice(
                "category-numbers-guessed",
                f"{path} has category numbers that are not those of the labels or of the fit, so "
                f"they were taken as positions in that list, counted from {fits[0]}: {examples}. "
                "If this is wrong, write the word of each box as 'category', or give the words "
                "with names=FILE",
            )
        )
    words = f" Known are {listed([f'{k} {w}' for k, w in numbers.items()], 20)}." if numbers else ""
    raise InputError(
        f"{path} names categories by numbers that have no word: {listed(sorted(lost), 20)}.{words} "
        "Write the word of each box as 'category', or give the words with names=FILE."
    )


def read_names(path: Path) -> dict[str, str]:
    """Read the words for the numbers of categories.

    The file is YAML with ``names`` as a list or by number, as Ultralytics' ``data.yaml``, or text
    with a word a line; lists count from 0.
    """
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
