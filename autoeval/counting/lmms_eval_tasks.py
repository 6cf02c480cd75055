"""Functions that exported lmms-eval tasks call; they need the standard library alone.

PrACo's pictures need Pillow, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from autoeval.counting.capture.answers import Extraction, extract_choice, extract_count

Answer = Mapping[str, Any]


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """Return the picture of an item, which is within it or, where many share one, a file.

    Parameters
    ----------
    doc : mapping
        A row of the task: ``image``, or ``image_path``.

    Returns
    -------
    list of PIL.Image.Image
        One, RGB.
    """
    if "image" in doc:
        return [doc["image"].convert("RGB")]
    from PIL import Image

    with Image.open(doc["image_path"]) as image:
        return [image.convert("RGB")]


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Any = None) -> str:
    """Return the question about an item, with what a model's configuration puts around it.

    Parameters
    ----------
    doc : mapping
        A row of the task.
    lmms_eval_specific_kwargs : mapping, optional
        ``pre_prompt`` and ``post_prompt``.
    """
    around = lmms_eval_specific_kwargs or {}
    return f"{around.get('pre_prompt', '')}{doc['question']}{around.get('post_prompt', '')}"


def process_count(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Score an answer that should be a count; means over items are the measures of CAPTURe.

    Parameters
    ----------
    doc : mapping
        A row of the task.
    results : sequence of str
        The answer.

    Returns
    -------
    dict of str to float
        ``smape`` in percent, 100 for a skipped answer; ``exact`` and ``skipped``, 0 or 1.
    """
    return _scored(doc, extract_count(results[0]))


def process_hidden(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Score an answer that should be a count of hidden objects, see `process_count`.

    Parameters
    ----------
    doc : mapping
        A row of the task.
    results : sequence of str
        The answer.
    """
    return _scored(doc, extract_count(results[0], hidden=True))


def _scored(doc: Mapping[str, Any], read: Extraction) -> dict[str, float]:
    """Return the measures of one answer that has been read, see `process_count`."""
    truth, value = float(doc["target"]), read.value
    if value is None:
        return {"smape": 100.0, "exact": 0.0, "skipped": 1.0}
    scale = truth + value
    smape = 100 * abs(value - truth) / scale if scale else 0.0
    return {"smape": smape, "exact": float(value == truth), "skipped": 0.0}


def process_choice(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Score an answer that should be a pattern.

    Parameters
    ----------
    doc : mapping
        A row of the task.
    results : sequence of str
        The answer.

    Returns
    -------
    dict of str to float
        ``exact`` and ``skipped``, 0 or 1.
    """
    value = extract_choice(results[0], doc["choices"].split(", "))
    return {"exact": float(value == doc["target"]), "skipped": float(value is None)}


def process_praco(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Read the count out of an answer; the measures are made of all answers about an image.

    Parameters
    ----------
    doc : mapping
        A row of the task.
    results : sequence of str
        The answer.

    Returns
    -------
    dict
        Under each measure what its aggregation needs; ``skipped``, 0 or 1.
    """
    value = extract_count(results[0]).value
    answer = {"image": doc["image_id"], "own": doc["own"], "count": doc["count"], "value": value}
    metrics = ("nmn", "pccn", "pccn_released", "mae", "rmse")
    return {**dict.fromkeys(metrics, answer), "skipped": float(value is None)}


def aggregate_nmn(answers: Sequence[Answer]) -> float:
    """Mean over images of the mean count of absent classes over the true count (equation 2).

    Parameters
    ----------
    answers : sequence of mapping
        Of `process_praco`. Those without a count are left out.
    """
    return _mean(
        fmean(absent_counts) / count
        for count, _, absent_counts in _images(answers)
        if absent_counts
    )


def aggregate_pccn(answers: Sequence[Answer]) -> float:
    """Share (%) of images whose own count is nearer than absent ones (equation 3, as printed).

    Parameters
    ----------
    answers : sequence of mapping
        Of `process_praco`. An image without a count of its own class, or of any other, is left out.
    """
    return 100 * _mean(
        abs(own_count - count) < abs(sum(absent_counts) / (len(absent_counts) + 1) - count)
        for count, own_count, absent_counts in _images(answers)
        if own_count is not None and absent_counts
    )


def aggregate_pccn_released(answers: Sequence[Answer]) -> float:
    """Do the same as the authors' code does: divided by the absent classes; no answer fails.

    Parameters
    ----------
    answers : sequence of mapping
        Of `process_praco`.
    """
    return 100 * _mean(
        own_count is not None
        and bool(absent_counts)
        and abs(own_count - count) < abs(fmean(absent_counts) - count)
        for count, own_count, absent_counts in _images(answers)
    )


def aggregate_mae(answers: Sequence[Answer]) -> float:
    """Mean absolute error of the class that is there.

    Parameters
    ----------
    answers : sequence of mapping
        Of `process_praco`. Those without a count are left out.
    """
    return _mean(
        abs(own_count - count) for count, own_count, _ in _images(answers) if own_count is not None
    )


def aggregate_rmse(answers: Sequence[Answer]) -> float:
    """Root mean squared error of the class that is there.

    Parameters
    ----------
    answers : sequence of mapping
        Of `process_praco`. Those without a count are left out.
    """
    errors = (
        (own_count - count) ** 2
        for count, own_count, _ in _images(answers)
        if own_count is not None
    )
    return math.sqrt(_mean(errors))


def _images(answers: Sequence[Answer]) -> list[tuple[float, float | None, list[float]]]:
    """Return the true count, the own count and the known counts of absent classes of each image."""
    by_image: dict[str, tuple[float, list[float | None], list[float]]] = {}
    for answer in answers:
        _, own_counts, absent_counts = by_image.setdefault(
            answer["image"], (answer["count"], [], [])
        )
        if answer["own"]:
            own_counts.append(answer["value"])
        elif answer["value"] is not None:
            absent_counts.append(answer["value"])
    return [
        (count, own_counts[0] if own_counts else None, absent_counts)
        for count, own_counts, absent_counts in by_image.values()
    ]


def _mean(values: Any) -> float:
    numbers = [float(value) for value in values]
    return fmean(numbers) if numbers else math.nan
