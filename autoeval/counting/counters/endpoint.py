"""Vision-language models behind an OpenAI-compatible HTTP endpoint, for `TextCounter`."""

from __future__ import annotations

import base64
from typing import Any

import cv2
import numpy as np

from autoeval.counting.counters.http_json import EndpointError, JsonPoster


class EndpointAsk:
    """Asks a model about an image over ``/chat/completions``.

    Parameters
    ----------
    url : str
        Base address, for example ``http://localhost:8000/v1``.
    model : str
        Name of the model at the endpoint.
    max_tokens : int
        Most tokens of an answer. The paper gives 4096 to GPT-4o, 4000 to InternVL2, 2000 to Molmo
        and 8192 to Qwen2-VL (appendix A.2).
    temperature : float, optional
        Of the draws; the endpoint's own default where it is None.
    **options
        Passed to `JsonPoster`: ``key_variable``, ``timeout``, ``retries``, ...

    Raises
    ------
    InputError
        If the address cannot be used; see `JsonPoster`.
    """

    concurrent = True

    def __init__(
        self,
        url: str,
        model: str,
        *,
        max_tokens: int = 4096,
        temperature: float | None = None,
        **options: Any,
    ) -> None:
        self.model = model
        self.max_tokens = max_tokens
        self.temperature = temperature
        self.poster = JsonPoster(f"{url.rstrip('/')}/chat/completions", **options)

    def __call__(
        self,
        image: np.ndarray | None,
        prompt: str,
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> str:
        """Return the answer to ``prompt`` about ``image`` (H, W, 3) uint8 BGR, or about no image.

        ``temperature`` takes the place of the counter's own for this question; ``seed`` is passed
        on, for endpoints whose draws repeat.

        Raises
        ------
        EndpointError
            If there is no answer to this question.
        InputError
            If the endpoint can answer no question; see `JsonPoster.post`.
        """
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "messages": [{"role": "user", "content": _content(image, prompt)}],
        }
        chosen = self.temperature if temperature is None else temperature
        if chosen is not None:
            body["temperature"] = chosen
        if seed is not None:
            body["seed"] = seed
        return self._text_of(self.poster.post(body))

    def _text_of(self, answer: dict[str, Any]) -> str:
        try:
            content = answer["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            raise EndpointError(f"no message in: {self.poster.clean(str(answer))}") from None
        if isinstance(content, list):
            parts = (part.get("text") for part in content if isinstance(part, dict))
            return "".join(str(part) for part in parts if part)
        return "" if content is None else str(content)


def _content(image: np.ndarray | None, prompt: str) -> list[dict[str, Any]]:
    text = {"type": "text", "text": prompt}
    if image is None:
        return [text]
    picture = base64.b64encode(cv2.imencode(".png", image)[1].tobytes()).decode()
    return [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}},
        text,
    ]
