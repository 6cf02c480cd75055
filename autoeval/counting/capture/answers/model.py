"""A language model as the answer extractor, as in the paper (section 3.2)."""

from __future__ import annotations

import re
from collections.abc import Callable

from autoeval.counting.capture.answers.extract import Extraction


class ModelExtractor:
    """Has a language model read the count.

    Parameters
    ----------
    ask : callable of (None, str) -> str
        Answers a prompt without an image, such as `EndpointAsk`.
    prompt : str
        With ``{answer}`` in place of what is to be read; asks for a number or -1.

    Examples
    --------
    >>> extractor = ModelExtractor(lambda image, prompt: "12", "Which number? {answer}")
    >>> extractor("a dozen dots")
    Extraction(value=12, rule='model')
    """

    def __init__(self, ask: Callable[[None, str], str], prompt: str) -> None:
        self.ask = ask
        self.prompt = prompt

    def __call__(self, answer: str) -> Extraction:
        """Read an answer; anything but one whole number from 0 up makes it a skipped one."""
        if not answer.strip():
            return Extraction(None, "empty")
        reply = self.ask(None, self.prompt.replace("{answer}", answer)).strip()
        number = re.fullmatch(r"(\d{1,7})(?:\.0+)?\.?", reply)
        return Extraction(int(number[1]) if number else None, "model")
