"""Numbers in words."""

from __future__ import annotations

import re

_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: n for n, word in enumerate(_UNITS)} | {
    word: 10 * n for n, word in enumerate(_TENS, start=2)
}
_LARGE = {"dozen": 12, "hundred": 100, "thousand": 1000}
_WORD = "|".join(sorted([*_SMALL, *_LARGE], key=len, reverse=True))

# A run of number words; "and" joins after hundred and thousand; "a dozen" counts as one dozen.
_JOINT = r"(?:(?:(?<=hundred)|(?<=thousand))\s+and\s+|[\s-]+)"
_ARTICLE = r"(?:(?:half\s+)?an?\s+(?=dozen|hundred|thousand))?"
NUMBER_WORDS = rf"\b{_ARTICLE}(?:{_WORD})(?:{_JOINT}(?:{_WORD})){{0,7}}\b"


def words_to_number(text: str) -> int:
    """Turn number words into a number.

    Parameters
    ----------
    text : str
        Something that `NUMBER_WORDS` matches.

    Examples
    --------
    >>> [words_to_number(w) for w in ("twenty-one", "one hundred and twelve", "two dozen")]
    [21, 112, 24]
    >>> words_to_number("half a dozen")
    6
    """
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
