"""Functions that an exported lmms-eval task calls; the standard library is enough for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autoeval.counting.capture.answers import extract_choice, extract_count


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """Return the picture of an item."""
    return [doc["image"].convert("RGB")]


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Any = None) -> str:
    """Return the question about an item, with what a model's configuration puts around it."""
    around = lmms_eval_specific_kwargs or {}
    return f"{around.get('pre_prompt', '')}{doc['question']}{around.get('post_prompt', '')}"


def process_count(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Score an answer that should be a count; means over items are the measures of CAPTURe.

    Examples
    --------
    >>> process_count({"target": "12"}, ["There are 8."])
    {'smape': 20.0, 'exact': 0.0, 'skipped': 0.0}
    >>> process_count({"target": "12"}, ["I cannot tell."])
    {'smape': 100.0, 'exact': 0.0, 'skipped': 1.0}
    """
    truth, value = float(doc["target"]), extract_count(results[0]).value
    if value is None:
        return {"smape": 100.0, "exact": 0.0, "skipped": 1.0}
    scale = truth + value
    smape = 100 * abs(value - truth) / scale if scale else 0.0
    return {"smape": smape, "exact": float(value == truth), "skipped": 0.0}


def process_choice(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Score an answer that should be a pattern."""
    value = extract_choice(results[0], doc["choices"].split(", "))
    return {"exact": float(value == doc["target"]), "skipped": float(value is None)}
