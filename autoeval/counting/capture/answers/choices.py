"""Reading a pattern's name or a confidence out of an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A plural such as "circles" is what is counted, not how it is arranged.
_FORMS = {
    "circle": r"\bcircle\b(?!s)|\bcircular|\bring\b",
    "triangle": r"\btriangle\b|\btriangular|\bpyramid",
    "rectangle": r"\brectangle\b|\brectangular|\bgrid\b|\bline\b|\bcolumn\b",
}
_STATED = r"\bconfidence(?:\s(?:level|score))?(?:\s(?:is|of))?\W{0,6}?"
_NUMBER = r"\b(\d{1,3}(?:\.\d{1,9})?)"


def extract_choice(answer: str, choices: Sequence[str]) -> str | None:
    """Read which of ``choices`` an answer names.

    Parameters
    ----------
    answer : str
    choices : sequence of str
        Names of patterns.

    Returns
    -------
    str or None
        The choice named last; None where none is named.

    Examples
    --------
    >>> extract_choice("The circles form a triangle.", ("circle", "triangle"))
    'triangle'
    """
    text = re.sub(r"<(think(?:ing)?)>.*?(?:</\1>|$)", " ", answer, flags=re.I | re.S)
    last = {
        choice: max((m.start() for m in _occurrences(choice, text)), default=-1)
        for choice in choices
    }
    best = max(last, key=lambda choice: last[choice])
    return best if last[best] >= 0 else None


def extract_confidence(answer: str) -> float | None:
    """Read a confidence in [0, 1] out of an answer.

    The number behind the last "confidence" counts, else the last percentage. Numbers above 1, and
    those with a percent sign, are percentages.

    Examples
    --------
    >>> extract_confidence("12 dots. Confidence: 85 %"), extract_confidence("I am 90% sure: 12")
    (0.85, 0.9)
    """
    found = re.findall(rf"{_STATED}{_NUMBER}\s?(%|percent)?", answer, re.I)
    found = found or re.findall(rf"{_NUMBER}\s?(%|percent)", answer, re.I)
    if not found:
        return None
    number, sign = found[-1]
    value = float(number) / 100 if sign or float(number) > 1 else float(number)
    return value if value <= 1 else None


def _occurrences(choice: str, text: str) -> list[re.Match[str]]:
    return list(re.finditer(_FORMS.get(choice, rf"\b{re.escape(choice)}\b"), text, re.I))
