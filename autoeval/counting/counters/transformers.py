"""Vision-language models of the ``transformers`` library, for `TextCounter`."""

from __future__ import annotations

from typing import Any

import numpy as np

from autoeval.errors import InputError


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
