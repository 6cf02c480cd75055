"""The scores of groups of images, from their records."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from autoeval.estimation.category_scores import scores_everywhere
from autoeval.estimation.site_boxes import SiteBoxes
from autoeval.monitoring.records.record import CameraImage
from autoeval.monitoring.records.record_rows import SIGNAL


def score_group(
    records: Iterable[CameraImage],
    categories: tuple[str, ...],
    features: Sequence[str],
    *,
    score_thr: float,
) -> dict[str, Any]:
    """Compute what an estimate is made of, as a pass over the images themselves would.

    Parameters
    ----------
    records : iterable of CameraImage
        At least one.
    categories : tuple of str
        Which labels index.
    features : sequence of str
        Columns that are needed.
    score_thr : float
        Boxes with a lower score count in no score.

    Returns
    -------
    dict
        ``n_images``, ``n_boxes``, the features (``score/category`` for several categories; of a
        single one ``category`` is the name), and ``signal/NAME``, the mean of each signal.
    """
    seen = list(records)
    boxes = SiteBoxes.of_evidence([record.evidence() for record in seen], categories)
    rows = [of.row() for of in scores_everywhere(boxes, features, score_thr=score_thr)]
    row: dict[str, Any] = {"n_images": len(seen), "n_boxes": len(boxes.clean)}
    if len(rows) == 1:
        row |= {"category": categories[0]} | {name: rows[0][name] for name in features}
    else:
        row |= {f"{name}/{of['category']}": of[name] for of in rows for name in features}
    signals = pd.DataFrame([dict(record.signals) for record in seen]).mean()
    return row | {f"{SIGNAL}{name}": value for name, value in signals.items()}


def digest_of(index: pd.DataFrame, made_with: str = "") -> str:
    """Hash which images a group consists of, in which state, and how they are scored."""
    names = sorted(zip(index["file_name"], index["stamp"], index["unreadable"], strict=True))
    return hashlib.sha256(repr((made_with, names)).encode()).hexdigest()[:20]
