"""How the words behind an option become the value that its parameter takes.

`READERS` has them by parameter; options that are not there are read as their kind says, by
`autoeval.commands.command_line.value_of`. All errors are `InputError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from autoeval.errors import InputError


def comma_words(texts: Sequence[str]) -> list[str]:
    """Read ``WORD,WORD``; words apart are taken, too.

    Parameters
    ----------
    texts : sequence of str
        As typed.

    Examples
    --------
    >>> comma_words(["car,bus", "van"])
    ['car', 'bus', 'van']
    """
    return [word for text in texts for word in text.split(",") if word]


def named_pairs(texts: Sequence[str], option: str, form: str) -> list[tuple[str, str]]:
    """Read ``NAME=VALUE ...``.

    Parameters
    ----------
    texts : sequence of str
        As typed.
    option, form : str
        For the error: the option, and what it expects.

    Raises
    ------
    InputError
        If a text has no name or no value.

    Examples
    --------
    >>> named_pairs(["gate=a=b.json"], "--labelled", "SITE=FILE")
    [('gate', 'a=b.json')]
    """
    pairs = []
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value:
            raise InputError(f"Expected {option} {form} but got '{text}'.")
        pairs.append((name, value))
    return pairs


def named_values(texts: Sequence[str], option: str, form: str) -> dict[str, str]:
    """Read ``NAME=VALUE ...`` as `named_pairs`, where a name has one value.

    Parameters
    ----------
    texts : sequence of str
        As typed.
    option, form : str
        For the error: the option, and what it expects.

    Raises
    ------
    InputError
        As `named_pairs`, or if a name has two values.
    """
    values: dict[str, str] = {}
    for name, value in named_pairs(texts, option, form):
        if values.setdefault(name, value) != value:
            raise InputError(f"{option} gives '{name}' two values: expected one.")
    return values


def accuracy_in_points(text: str, name: str) -> float:
    """Read a known accuracy in points of 100, and return it in [0, 1].

    Parameters
    ----------
    text : str
        As typed.
    name : str
        What it is the accuracy of, for the error.

    Raises
    ------
    InputError
        If it is neither 0 nor from 1 to 100, as a share such as .312.

    Examples
    --------
    >>> accuracy_in_points("31.2", "gate")
    0.312
    """
    try:
        points = float(text)
    except ValueError:
        points = math.nan
    if not (points == 0 or 1 <= points <= 100):
        raise InputError(
            f"Expected {name}=POINTS, the accuracy in points of 100 such as {name}=31.2, but got "
            f"{name}={text}."
        )
    return points / 100


def known_at_sites(text: str) -> dict[str, float]:
    """Read ``SITE=POINTS,SITE=POINTS`` of ``--against-known``: the known accuracy at each site.

    Parameters
    ----------
    text : str
        As typed; a name may hold a comma.

    Raises
    ------
    InputError
        See `named_values` and `accuracy_in_points`.

    Examples
    --------
    >>> known_at_sites("gate=31,yard, north=40")
    {'gate': 0.31, 'yard, north': 0.4}
    """
    parts, begun = [], ""
    for piece in text.split(","):
        begun += piece
        if "=" in piece:
            parts.append(begun)
            begun = ""
        else:
            begun += ","  # of a site with a comma in its name
    if begun:
        parts.append(begun.removesuffix(","))
    pairs = named_values(parts, "--against-known", "SITE=POINTS,..., such as gate=31.2,")
    return {site: accuracy_in_points(points, site) for site, points in pairs.items()}


def known_accuracies(texts: Sequence[str]) -> dict[str, float]:
    """Read ``NAME=POINTS ...``: the known accuracy of each detector.

    Parameters
    ----------
    texts : sequence of str
        As typed.

    Raises
    ------
    InputError
        See `named_values` and `accuracy_in_points`.
    """
    pairs = named_values(texts, "--known", "NAME=POINTS, such as weaker=31.2,")
    return {name: accuracy_in_points(points, name) for name, points in pairs.items()}


def named_categories(texts: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Read ``vehicle=car,bus`` as a category and the detector's words for it; None for nothing.

    Parameters
    ----------
    texts : sequence of str, optional
        As typed.

    Raises
    ------
    InputError
        If a category has no name.

    Examples
    --------
    >>> named_categories(["vehicle=car,bus", "person"])
    {'vehicle': ['car', 'bus'], 'person': ['person']}
    """
    categories: dict[str, list[str]] = {}
    for name, _, words in (text.partition("=") for text in texts or []):
        if not name:
            raise InputError("Expected --category NAME or NAME=WORD,... but got no name.")
        its_words = categories.setdefault(name, [])
        its_words += [w for w in words.split(",") or [name] if w and w not in its_words]
    return {name: words or [name] for name, words in categories.items()} or None


def categories_of_sites(pairs: Sequence[Sequence[str]]) -> dict[str, dict[str, list[str]]]:
    """Read ``SITE NAME[=WORD,...]`` of ``--site-category``: the categories of single sites.

    Parameters
    ----------
    pairs : sequence of sequence of str
        The two words behind each ``--site-category``.

    Raises
    ------
    InputError
        If they are not two, or a category has no name.

    Examples
    --------
    >>> categories_of_sites([["gate", "vehicle=car,bus"]])
    {'gate': {'vehicle': ['car', 'bus']}}
    """
    texts: dict[str, list[str]] = {}
    for words in pairs:
        if len(words) != 2:
            raise InputError(
                f"Expected --site-category SITE NAME[=WORD,...] but got '{' '.join(words)}'."
            )
        site, category = words
        texts.setdefault(site, []).append(category)
    return {site: named_categories(categories) or {} for site, categories in texts.items()}


def named_folders(texts: Sequence[str]) -> Sequence[str] | dict[str, str]:
    """Read ``[NAME=]WORK_DIR ...``: folders by name where all are named, else the folders.

    Parameters
    ----------
    texts : sequence of str
        As typed; a text that is a path has no name.

    Raises
    ------
    InputError
        If some have a name and others have none, or two have the same.
    """
    pairs = [text.partition("=") for text in texts]
    named = {
        name: path for name, sep, path in pairs if sep and not Path(name + sep + path).exists()
    }
    if not named:
        return texts
    if len(named) < len(texts):
        raise InputError("Expected NAME=WORK_DIR of every detector, each name once, or of none.")
    return named


#: How the words of an option become the value that its parameter takes.
READERS: Mapping[str, Callable[[Any], Any]] = {
    "against_known": lambda texts: known_at_sites(",".join(texts)),
    "categories": named_categories,
    "estimators": named_folders,
    "exclude": comma_words,
    "leave_out": comma_words,
    "stages": comma_words,
    "known": known_accuracies,
    "known_sites": lambda texts: named_values(
        texts, "--site", "SITE=NAME, such as gate=gate_2025,"
    ),
    "labelled": lambda texts: named_values(
        texts, "--labelled", "SITE=FILE, such as gate=gate.json,"
    ),
    "option": lambda texts: named_values(texts, "--option", "as KEY=VALUE"),
    "site_categories": categories_of_sites,
    "words": lambda texts: named_values(",".join(texts).split(","), "--words", "WORD=CATEGORY"),
}
