"""Makers of counters, named by the configuration files in ``configs/counting/capture``."""

from __future__ import annotations

from typing import Any

from autoeval.counting.capture.answers import extract_count
from autoeval.counting.counters.endpoint import EndpointAsk
from autoeval.counting.counters.text import TextCounter, TransformersAsk


def endpoint(url: str, model: str, *, name: str | None = None, **options: Any) -> TextCounter:
    """Make a counter of a model behind an OpenAI-compatible endpoint; see `EndpointAsk`."""
    return TextCounter(EndpointAsk(url, model, **options), parse, name=name or model)


def local_model(model: str, *, name: str | None = None, **options: Any) -> TextCounter:
    """Make a counter of a model that ``transformers`` runs here; see `TransformersAsk`."""
    return TextCounter(TransformersAsk(model, **options), parse, name=name or model)


def parse(answer: str) -> float | None:
    """Read the count out of an answer by `extract_count`."""
    value = extract_count(answer).value
    return None if value is None else float(value)
