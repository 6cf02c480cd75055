"""The scores of groups of images, from their records."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from autoeval.estimation.fit_labelled import scores_of
from autoeval.estimation.observation.presets import PassSettings
from autoeval.estimation.observation.samples import NO_BOXES
from autoeval.estimation.observation.tally import Tally
from autoeval.metasets.sample_set import Sample
from autoeval.monitoring.records.record import CameraImage
from autoeval.monitoring.records.record_rows import SIGNAL

NO_IMAGE = np.zeros((1, 1, 3), np.uint8)


def score_group(
    records: Iterable[CameraImage],
    categories: tuple[str, ...],
    settings: PassSettings,
    features: Sequence[str],
) -> dict[str, Any]:
    """Compute what an estimate is made of, as a pass over the images themselves would.

    Parameters
    ----------
    records : iterable of CameraImage
        At least one.
    categories : tuple of str
        Which labels index.
    settings : PassSettings
    features : sequence of str
        Columns that are needed.

    Returns
    -------
    dict
        ``n_images``, ``n_boxes``, the features (``score/category`` for several categories; of a
        single one ``category`` is the name), and ``signal/NAME``, the mean of each signal.
    """
    tally = Tally(categories, settings, scores_of(features))
    signals: list[dict[str, float]] = []
    for record in records:
        tally.update(Sample(record.file_name, NO_IMAGE, *NO_BOXES), record.evidence())
        signals.append({f"{SIGNAL}{name}": value for name, value in record.signals.items()})
    (row,) = tally.rows()
    kept = {k: v for k, v in row.items() if k.partition("/")[0] in features}
    counts = {"n_images": row["n_images"], "n_boxes": row["n_boxes"]}
    if len(categories) == 1:
        counts["category"] = categories[0]
    return {**counts, **kept, **pd.DataFrame(signals).mean().to_dict()}


def digest_of(index: pd.DataFrame, made_with: str = "") -> str:
    """Hash which images a group consists of, in which state, and how they are scored."""
    names = sorted(zip(index["file_name"], index["stamp"], index["unreadable"], strict=True))
    return hashlib.sha256(repr((made_with, names)).encode()).hexdigest()[:20]
