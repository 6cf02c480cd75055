"""Warnings of a result, each once, in the order of their importance."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import IntEnum

from autoeval.report.tables import counted

MOST = 5  # in the short form on the terminal
WIDE = "too wide to act on"
"""How a warning begins that an interval is too wide."""
_LEFT_OUT = re.compile(r"\b(left out|dropped)( of the mean)?(:|;|$)|^no change estimated")
"""How warnings name what was not used: most end in ``left out:`` with a number and examples."""


OF_INPUT = frozenset(
    {
        "category-numbers-differ",
        "category-numbers-guessed",
        "images-not-covered",
        "labelled-twice",
        "labels-displaced",
        "labels-elsewhere",
        "nothing-found",
        "nothing-right",
        "objects-unlabelled",
        "other-words",
        "words-exchanged",
    }
)
"""Codes of warnings that inputs do not seem to belong together, so that any number may be wrong."""


class Importance(IntEnum):
    """What a warning is about, the most important first."""

    INPUT = 0
    VALUE = 1
    WIDTH = 2
    LEFT_OUT = 3


def importance(warning: str) -> Importance:
    """Return what a warning is about.

    >>> importance("too wide to act on: ±17 points").name
    'WIDTH'
    >>> importance("labelled boxes without area, left out: 2").name
    'LEFT_OUT'
    >>> importance("the scores rest on only 3 images: under 50 they are noisy").name
    'VALUE'
    >>> from autoeval.notices import Notice
    >>> importance(Notice("labels-displaced", "labelled boxes lie 20 px to the right")).name
    'INPUT'
    """
    if getattr(warning, "code", "") in OF_INPUT:
        return Importance.INPUT
    if warning.startswith(WIDE):
        return Importance.WIDTH
    return Importance.LEFT_OUT if _LEFT_OUT.search(warning) else Importance.VALUE


def ordered_warnings(warnings: Iterable[str]) -> list[str]:
    """Return each warning once: of the input, of the value, of the width, of what was left out.

    >>> ordered_warnings(["boxes, left out: 2", "boxes, left out: 2", "only 3 images"])
    ['only 3 images', 'boxes, left out: 2']
    """
    return sorted(dict.fromkeys(filter(None, warnings)), key=importance)


def warning_lines(
    warnings: Iterable[str], most: int | None = None, *, of_fit: Collection[str] = ()
) -> list[str]:
    """Return the lines that a terminal shows, `most` warnings and the number of the others.

    Those `of_fit`, which the fit has printed, are counted alone.

    >>> warning_lines(["a", "b", "c"], most=2)[1:]
    ['warning: b', '1 more warning is on the page; --verbose prints it']
    >>> warning_lines(["a", "b"], of_fit=["b"])
    ['warning: a', '1 warning of the fit holds here, too; --verbose prints it']
    """
    ordered = ordered_warnings(warnings)
    unprinted = [warning for warning in ordered if warning not in of_fit]
    lines = [f"warning: {warning}" for warning in unprinted[:most]]
    n_more = len(unprinted) - len(lines)
    if n_more:
        verb, them = ("is", "it") if n_more == 1 else ("are", "them")
        more = counted(n_more, "more warning")
        lines.append(f"{more} {verb} on the page; --verbose prints {them}")
    n_repeated = len(ordered) - len(unprinted)
    if n_repeated:
        hold, them = ("holds", "it") if n_repeated == 1 else ("hold", "them")
        repeated = counted(n_repeated, "warning")
        lines.append(f"{repeated} of the fit {hold} here, too; --verbose prints {them}")
    return lines
