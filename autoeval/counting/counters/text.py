"""Language models as counters, from a function or the ``transformers`` library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autoeval.counting.counters.base import COUNT, TEXT, CountResult
from autoeval.errors import InputError
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


class TransformersAsk:
    """Asks a model of the hub, or of a local folder, about an image.

    Parameters
    ----------
    model : str
        Name or folder of a model for the task ``image-text-to-text``.
    device : str
        Where it runs.
    temperature : float
        0 takes the likeliest words; above, words are drawn.
    max_new_tokens : int
        Most tokens of an answer.
    **options
        Passed to `transformers.pipeline`.

    Raises
    ------
    InputError
        If transformers is not installed.
    """

    def __init__(
        self,
        model: str,
        *,
        device: str = "cpu",
        temperature: float = 0.0,
        max_new_tokens: int = 128,
        **options: Any,
    ) -> None:
        try:
            from transformers import pipeline
        except ImportError as error:
            raise InputError(
                "Vision-language models need transformers: pip install 'autoeval[vlm]'"
            ) from error
        self.temperature = temperature
        self.max_new_tokens = max_new_tokens
        self.pipeline = pipeline("image-text-to-text", model=model, device=device, **options)

    def __call__(
        self,
        image: np.ndarray,
        prompt: str,
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> str:
        """Return the answer to `prompt` about ``image`` (H, W, 3) uint8 BGR.

        ``temperature`` takes the place of the counter's own for this question; ``seed`` makes the
        draws repeat.
        """
        from PIL import Image

        picture = Image.fromarray(np.ascontiguousarray(image[..., ::-1]))
        content = [{"type": "image", "image": picture}, {"type": "text", "text": prompt}]
        chosen = self.temperature if temperature is None else temperature
        sampling: dict[str, Any] = {
            "max_new_tokens": self.max_new_tokens,
            "do_sample": chosen > 0,
        }
        if chosen > 0:
            sampling["temperature"] = chosen
        if seed is not None:
            from transformers import set_seed

            set_seed(seed)
        [answer] = self.pipeline(
            text=[{"role": "user", "content": content}],
            return_full_text=False,
            generate_kwargs=sampling,
        )
        return answer["generated_text"].strip()
