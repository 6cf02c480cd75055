"""Detectors that take words (GLIP, Grounding DINO): their categories are the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autoeval.errors import InputError

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector


def takes_words(model: object) -> bool:
    """Say whether a model is told what to look for."""
    return hasattr(model, "language_model")


def prompt(model: BaseDetector, categories: Sequence[str]) -> dict[str, Any]:
    """Return what data samples carry for a model that takes words, nothing for others.

    Raises
    ------
    InputError
        If the categories make a longer text than the model reads at once.
    """
    if not takes_words(model):
        return {}
    if not asks_in_parts(model):
        _check_length(model, categories)
    return {"text": tuple(categories), "custom_entities": True}


def asks_in_parts(model: BaseDetector) -> bool:
    """Say whether a model asks for some of its words at a time, which it does image by image."""
    return takes_words(model) and model.test_cfg.get("chunked_size", -1) > 0


def _check_length(model: BaseDetector, categories: Sequence[str]) -> None:
    text = ". ".join(categories) + "."
    n_tokens = len(model.language_model.tokenizer(text)["input_ids"])
    limit = model.language_model.max_tokens
    if n_tokens > limit:
        raise InputError(
            f"{type(model).__name__} reads {limit} tokens at once, but its {len(categories)} "
            f"categories make {n_tokens}: name fewer with --classes FILE, or let it ask for some "
            "at a time with --cfg-options model.test_cfg.chunked_size=40."
        )
