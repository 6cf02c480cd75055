"""Models that answer in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autoeval.counting.counters.base import COUNT, TEXT, CountResult
from autoeval.runtime.states import SKIPPED


class TextCounter:
    """Asks a question about an image and reads a number out of the answer.

    Parameters
    ----------
    ask : callable of (image, prompt) -> str
        Answers the prompt, the whole question, about an image (H, W, 3) uint8 BGR. With an
        attribute ``concurrent`` that is true it is called from several threads at once.
    parse : callable of str -> float or None
        Reads the count out of the answer; None where it gives none, which is a skipped answer.
    name : str
        Identifies the counter in result files.

    Examples
    --------
    >>> counter = TextCounter(lambda image, prompt: "7", float, name="lucky")
    >>> counter.count(np.zeros((2, 2, 3), np.uint8), "How many cars?").count
    7.0
    """

    capabilities = frozenset({COUNT, TEXT})

    def __init__(
        self,
        ask: Callable[[np.ndarray, str], str],
        parse: Callable[[str], float | None],
        *,
        name: str = "text",
    ) -> None:
        self.ask = ask
        self.parse = parse
        self.name = name
        self.concurrent = bool(getattr(ask, "concurrent", False))

    def count(
        self, image: np.ndarray, prompt: str, context: Mapping[str, Any] | None = None
    ) -> CountResult:
        """Ask `prompt` about ``image`` (H, W, 3) uint8 BGR."""
        answer = self.ask(image, prompt)
        number = self.parse(answer)
        if number is None:
            return CountResult(float("nan"), text=answer, status=SKIPPED, context=context or {})
        return CountResult(float(number), text=answer, context=context or {})
