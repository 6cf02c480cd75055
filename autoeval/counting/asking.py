"""Asking a language model until its answer can be read: one way for all evaluations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autoeval.counting.capture.answers import Extraction

Extractor = Callable[[str], Extraction]
# CAPTURe, appendix C.1: from 1.0 down in steps of .1; the question is skipped after 0.
BACKOFF = tuple(round(1 - k / 10, 1) for k in range(11))
CUT_OFF = "cut off"


class CutOffAnswer(str):
    """The text of an answer that reached the limit of tokens: nothing is read from it."""


@dataclass(frozen=True)
class Reading:
    """What was read from the last answer, by which rule, and the answers before it."""

    value: float | str | None
    rule: str
    text: str
    temperature: float | None
    attempts: Sequence[dict[str, Any]] = ()


def ask_until_read(
    ask: Callable[..., str],
    image: np.ndarray | None,
    question: str,
    read: Callable[[str], Any],
    *,
    temperatures: Sequence[float | None] = (None,),
    seed: int | None = None,
) -> Reading:
    """Ask at each of the temperatures in turn until an answer can be read.

    `read` returns what has a ``value`` and a ``rule``, such as an `Extraction`. A temperature or
    seed of None is not passed on. An answer that was cut off counts as one that cannot be read.
    """
    attempts: list[dict[str, Any]] = []
    for temperature in temperatures:
        given = {"temperature": temperature, "seed": seed}
        text = ask(image, question, **{k: v for k, v in given.items() if v is not None})
        attempts.append({"temperature": temperature, "text": str(text)})
        found = Extraction(None, CUT_OFF) if isinstance(text, CutOffAnswer) else read(text)
        if found.value is not None:
            break
    return Reading(found.value, found.rule, text, temperature, attempts[:-1])
