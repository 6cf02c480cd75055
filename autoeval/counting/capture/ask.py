"""One question to one model: its answers, its value, and a second try at a lower temperature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autoeval.counting.capture.answers import (
    Extraction,
    extract_choice,
    extract_confidence,
)
from autoeval.counting.capture.tasks import CHOICE, PATTERN_CHOICES, CaptureTask

Ask = Callable[..., str]
Extractor = Callable[[str], Extraction]
# Appendix C.1: from 1.0 down in steps of .1; the question is skipped after 0.
BACKOFF = tuple(round(1 - k / 10, 1) for k in range(11))


@dataclass(frozen=True)
class Reply:
    """What came of a question.

    Parameters
    ----------
    value : int, str or None
        Count or pattern; None makes it a skipped answer.
    rule : str
        How the value was read.
    attempts : tuple of dict
        Temperature and text of every try; the last one was read.
    confidence : float or None
        In [0, 1], where the answer states one.
    """

    value: int | str | None
    rule: str
    attempts: tuple[dict[str, Any], ...]
    confidence: float | None = None


def put_question(
    ask: Ask,
    image: np.ndarray,
    question: str,
    task: CaptureTask,
    *,
    extractor: Extractor,
    temperatures: tuple[float | None, ...] = (None,),
    seed: int | None = None,
) -> Reply:
    """Ask until an answer can be read or the temperatures are used up.

    Parameters
    ----------
    ask : callable
        ``ask(image, question, **options) -> str``; options are ``temperature`` and ``seed``, given
        only where they are not None.
    image : ndarray of shape (H, W, 3), uint8, BGR
    question : str
    task : CaptureTask
    extractor : callable of str -> Extraction
        Reads counts.
    temperatures : tuple of float or None
        One try each, in this order; `BACKOFF` is the paper's.
    seed : int, optional
    """
    attempts: list[dict[str, Any]] = []
    for temperature in temperatures:
        options = {"temperature": temperature, "seed": seed}
        given = {name: value for name, value in options.items() if value is not None}
        text = ask(image, question, **given)
        attempts.append({"temperature": temperature, "text": text})
        value, rule = _read(text, task, extractor)
        if value is not None:
            break
    confidence = extract_confidence(text) if task.prompted_confidence else None
    return Reply(value, rule, tuple(attempts), confidence)


def _read(text: str, task: CaptureTask, extractor: Extractor) -> tuple[int | str | None, str]:
    if task.kind == CHOICE:
        choice = extract_choice(text, PATTERN_CHOICES)
        return choice, "choice" if choice else "no choice"
    found = extractor(text)
    return found.value, found.rule
