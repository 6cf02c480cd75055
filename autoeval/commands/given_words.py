"""What words behind options say: pairs, translations, categories, accuracies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from autoeval.errors import InputError


def comma_words(texts: Sequence[str]) -> list[str]:
    """Read ``WORD,WORD``; words apart are taken, too."""
    return [word for text in texts for word in text.split(",") if word]


def word_pairs(text: str) -> dict[str, str] | None:
    """Read ``WORD=CATEGORY,WORD=CATEGORY``."""
    return translation(text.split(","), "--words")


def named_pairs(texts: Sequence[str], option: str, form: str) -> list[tuple[str, str]]:
    """Read ``NAME=VALUE ...``; `form` says in the error what an option expects."""
    pairs = []
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value:
            raise InputError(f"Expected {option} {form} but got '{text}'.")
        pairs.append((name, value))
    return pairs


def named_values(texts: Sequence[str], option: str, form: str) -> dict[str, str]:
    """Read ``NAME=VALUE ...`` as `named_pairs`, where a name has one value."""
    values: dict[str, str] = {}
    for name, value in named_pairs(texts, option, form):
        if values.setdefault(name, value) != value:
            raise InputError(f"{option} gives '{name}' two values: expected one.")
    return values


def accuracy_in_points(text: str, name: str) -> float:
    """Read a known accuracy in points of 100, which a share such as .312 is not, as in [0, 1]."""
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
    """Read ``SITE=POINTS,SITE=POINTS`` of ``--against-known``: the known accuracy at each site."""
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
    """Read ``NAME=POINTS ...``: the known accuracy of each detector."""
    pairs = named_values(texts, "--known", "NAME=POINTS, such as weaker=31.2,")
    return {name: accuracy_in_points(points, name) for name, points in pairs.items()}


def translation(texts: Sequence[str], option: str) -> dict[str, str] | None:
    """Read ``WORD=CATEGORY ...``, where a word has one category; None for nothing."""
    return named_values(texts, option, "WORD=CATEGORY") or None


def named_categories(given: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Read ``vehicle=car,bus`` as a category and the detector's words for it; None for nothing."""
    categories: dict[str, list[str]] = {}
    for name, _, words in (text.partition("=") for text in given or []):
        if not name:
            raise InputError("Expected --category NAME or NAME=WORD,... but got no name.")
        its_words = categories.setdefault(name, [])
        its_words += [w for w in words.split(",") or [name] if w and w not in its_words]
    return {name: words or [name] for name, words in categories.items()} or None


def categories_of_sites(given: Sequence[Sequence[str]]) -> dict[str, dict[str, list[str]]]:
    """Read ``SITE NAME[=WORD,...]`` of ``--site-category``: the categories of single sites."""
    texts: dict[str, list[str]] = {}
    for words in given:
        if len(words) != 2:
            raise InputError(
                f"Expected --site-category SITE NAME[=WORD,...] but got '{' '.join(words)}'."
            )
        site, category = words
        texts.setdefault(site, []).append(category)
    return {site: named_categories(categories) or {} for site, categories in texts.items()}


def sites_of_fit(texts: Sequence[str]) -> dict[str, str]:
    """Read ``SITE=NAME ...``: the labelled set of the fit that a site is."""
    return named_values(texts, "--site", "SITE=NAME, such as gate=gate_2025,")


def labelled_at_sites(texts: Sequence[str]) -> dict[str, str]:
    """Read ``SITE=FILE ...``: the file with the labelled accuracy of a site."""
    return named_values(texts, "--labelled", "SITE=FILE, such as gate=gate.json,")


def named_folders(texts: Sequence[str]) -> Sequence[str] | dict[str, str]:
    """Read ``[NAME=]WORK_DIR ...``: folders by name where all are named, else the folders."""
    pairs = [text.partition("=") for text in texts]
    named = {
        name: path for name, sep, path in pairs if sep and not Path(name + sep + path).exists()
    }
    if not named:
        return texts
    if len(named) < len(texts):
        raise InputError("Expected NAME=WORK_DIR of every detector, each name once, or of none.")
    return named
