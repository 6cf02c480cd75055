"""Finding the numbers of a sentence that may be its count."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_NUMERAL = r"(?:\d{1,3}(?:,\d{3}){1,3}|\d{1,12})(?:\.\d{1,12})?"
_ARTICLE = r"(?:(?:half\s+)?an?\s+(?=dozen|hundred|thousand))?"
# A run of number words; "and" joins after hundred and thousand; "a dozen" counts as one dozen.
_JOINT = r"(?:(?:(?<=hundred)|(?<=thousand))\s+and\s+|[\s-]+)"
_LARGE = {"dozen": 12, "hundred": 100, "thousand": 1000}
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_SMALL = {word: n for n, word in enumerate(_UNITS)} | {
    word: 10 * n for n, word in enumerate(_TENS, start=2)
}
_WORD = "|".join(sorted([*_SMALL, *_LARGE], key=len, reverse=True))
NUMBER_WORDS = rf"\b{_ARTICLE}(?:{_WORD})(?:{_JOINT}(?:{_WORD})){{0,7}}\b"
_ONE = rf"(?:{_NUMERAL}|{NUMBER_WORDS})"
# A share of a number, not half a dozen.
_SHARE = (
    rf"\b(?:{_ONE}[\s-]+|an?\s+)?(?:half|thirds?|quarters?|fifths?|tenths?)\b(?!\s+a\b)"
    r"|\b\d+\s*/\s*\d+"
)
_SHARE = rf"(?:{_SHARE})"
# Numbers that say something else than how many objects there are.
_OTHER = [
    rf"\(\s*-?{_NUMERAL}\s*,\s*-?{_NUMERAL}\s*\)",  # coordinates
    r"\d+(?:\.\d+)?\s*(?:%|percent)",
    r"confidence\W{1,5}\d+(?:\.\d+)?",
    r"\d+(?:st|nd|rd|th)\b",
    r"^\s*\d+[.)]\s",  # the number of a list's line
    r"\b(?:step|row|column|line|figure|image|no\.)\s+\d+",
    rf"{_ONE}\s*(?:x|×|\*|by)\s*{_ONE}",
    rf"{_ONE}\s+(?:rows?|columns?|lines?|layers?)(?:\s+(?:of|with|and|by)\s+{_ONE}"
    r"(?:\s+columns?)?)?",
    rf"{_ONE}\s+(?:\w+\s+)?(?:each|per\s+\w+|in\s+(?:each|every|a\s+row))\b",
    rf"(?:\bnot|rather\s+than|instead\s+of)\s+{_ONE}",
    rf"(?<![\w)])-\s?{_NUMERAL}",  # below zero
]
_VAGUE = [
    rf"\bbetween\s+{_ONE}\s+and\s+{_ONE}",
    rf"{_NUMERAL}\s*[-–—]\s*{_NUMERAL}",
    rf"{_ONE}\s*,?\s+(?:to|or|possibly|maybe|perhaps)\s+{_ONE}",
    rf"\b(?:at\s+least|at\s+most|(?:more|less|fewer|greater)\s+than|over|under|up\s+to)\s+{_ONE}",
    rf"{_ONE}(?:\s*\+|\s+plus\b)(?!\s*{_ONE})",  # 50+
    rf"{_ONE}\s+(?:or|and)\s+(?:more|above|over|fewer|less)\b",
    rf"{_ONE}\s+and\s+an?\s+(?:half|third|quarter)\b",
    rf"{_SHARE}\s+(?:of\s+)?(?:(?:the|these|those|all)\s+)*{_ONE}",
    rf"\b(?:twice|double|triple)\s+(?:(?:the|as\s+many\s+as)\s+)?{_ONE}",
    r"\b(?:couple|few|several|many)\s+(?:of\s+)?(?:dozen|hundred|thousand)s?\b",
    rf"{_ONE}(?:\s*\+\s*{_ONE})+(?!\d|\s*[+=])",  # a sum that nobody added up
]
_NONE = r"\bthere\s+(?:are|is|were)\s+no\b|^\W*none\b"
# "One" is mostly a pronoun; it is a number where it ends the statement or is stressed.
_PRONOUN = r"(?<!only )(?<!exactly )(?<!just )(?<!is )(?<!: )\bone\b(?!\s*[.!]?\s*$)"
_FLAGS = re.IGNORECASE | re.MULTILINE


@dataclass(frozen=True)
class Mention:
    """A number in a text and where it stands; a range or a bound has no `value`."""

    start: int
    end: int
    value: float | None


def find_mentions(sentence: str) -> list[Mention]:
    """List the numbers of a sentence that may be a count, from left to right.

    Numbers of rows and columns, list numbers, coordinates, percentages, ordinals, negated and
    negative numbers are left out; ranges, bounds ("50+"), shares of a number and sums that are not
    added up are no single number.

    Examples
    --------
    >>> [m.value for m in find_mentions("2. Four rows of 3 make 12 dots, at 90 %")]
    [12.0]
    >>> [m.value for m in find_mentions("Between 8 and 10, or about eleven")]
    [None, 11.0]
    """
    mentions: list[Mention] = []
    rest = sentence
    for pattern in _VAGUE:
        rest = _take(pattern, rest, mentions, lambda text: None)
    for pattern in _OTHER:
        rest = re.sub(pattern, lambda match: " " * len(match[0]), rest, flags=_FLAGS)
    rest = _take(_NONE, rest, mentions, lambda text: 0.0)
    rest = re.sub(_PRONOUN, "   ", rest, flags=_FLAGS)
    rest = _take(_NUMERAL, rest, mentions, lambda text: float(text.replace(",", "")))
    _take(NUMBER_WORDS, rest, mentions, lambda text: float(words_to_number(text)))
    return sorted(mentions, key=lambda mention: mention.start)


def _take(
    pattern: str, text: str, mentions: list[Mention], value: Callable[[str], float | None]
) -> str:
    for match in re.finditer(pattern, text, _FLAGS):
        mentions.append(Mention(match.start(), match.end(), value(match[0])))
    return re.sub(pattern, lambda match: " " * len(match[0]), text, flags=_FLAGS)


def words_to_number(text: str) -> int:
    """Turn number words into a number."""
    total = part = 0
    for word in re.findall(rf"{_WORD}", text.lower()):
        if word == "thousand":
            total, part = total + max(part, 1) * 1000, 0
        elif word in _LARGE:
            part = max(part, 1) * _LARGE[word]
        else:
            part += _SMALL[word]
    whole = total + part
    return whole // 2 if text.lower().startswith("half") else whole
