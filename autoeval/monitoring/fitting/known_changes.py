"""Changes whose effect is known: labelled places as they come, and as corruptions change them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.fit_labelled import scores_of
from autoeval.estimation.observation.category_tally import CategoryTally
from autoeval.estimation.pairs.pair_estimator import PairEstimator
from autoeval.estimation.pairs.pair_table import FEATURES
from autoeval.estimation.score_table import SEED
from autoeval.monitoring.changes.image_numbers import image_numbers
from autoeval.monitoring.fitting.changed_images import ChangedImages, true_precision

KEYS = ["place", "family", "category"]


@dataclass(frozen=True, eq=False)
class KnownChanges:
    """Places and categories under changes, each compared with the same images untouched.

    Parameters
    ----------
    rows : DataFrame
        One row a change of a place and category: ``place``, ``family``, ``category``, ``kind``,
        ``severity``, ``n_images``, ``true`` (change of mAP, in [-1, 1]) and ``level`` (mAP of the
        untouched place as estimated by the other families).
    before, after : ndarray of shape (N, len(NUMBERS))
        Means of the numbers of the images, untouched and changed.
    untouched, changed : tuple of ndarray of shape (n_images, len(NUMBERS))
        The place's images but for those that were changed, and those that were.
    """

    rows: pd.DataFrame
    before: np.ndarray
    after: np.ndarray
    untouched: tuple[np.ndarray, ...]
    changed: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return len(self.rows)


def known_changes(
    observed: Sequence[ChangedImages], categories: Sequence[str]
) -> tuple[KnownChanges, pd.DataFrame]:
    """Compare every changed set of images with the same images untouched.

    Parameters
    ----------
    observed : sequence of ChangedImages
        From `observe_changes`.
    categories : sequence of str
        Of the task.

    Returns
    -------
    changes : KnownChanges
    levels : DataFrame
        The untouched places: ``place``, ``family``, ``category``, ``n_images``, ``true`` (mAP),
        ``estimate`` (by the other families).

    Raises
    ------
    InputError
        If no place was observed both untouched and changed, or all are of one family.
    """
    untouched = {images.place: images for images in observed if not images.change}
    levels = estimated_levels(list(untouched.values()), categories)
    numbers_of = cache(lambda place, k: image_numbers(untouched[place].records, k))
    rows, before, untouched_images, changed = [], [], [], []
    for images in observed:
        base = untouched.get(images.place)
        own = levels[levels["place"] == images.place]
        if not images.change or base is None:
            continue
        same = positions(base, images)
        for place in own.to_dict("records"):
            k = categories.index(place["category"])
            true = true_precision(images, k) - true_precision(base, k, same)
            if not np.isfinite(true):
                continue
            kept = {name: place[name] for name in KEYS}
            what = {"kind": images.change, "severity": images.severity, "n_images": len(images)}
            rows.append({**kept, **what, "true": true, "level": place["estimate"]})
            numbers = numbers_of(images.place, k)
            before.append(numbers[same].mean(axis=0))
            untouched_images.append(np.delete(numbers, same, axis=0))
            changed.append(image_numbers(images.records, k))
    if not rows:
        raise InputError(
            "Expected places that were observed as they come and changed, but there are none."
        )
    after = np.array([numbers.mean(axis=0) for numbers in changed])
    several = tuple(untouched_images), tuple(changed)
    return KnownChanges(pd.DataFrame(rows), np.array(before), after, *several), levels


def positions(base: ChangedImages, images: ChangedImages) -> list[int]:
    """Return where the images of a changed set are in the untouched one."""
    at = {record.file_name: k for k, record in enumerate(base.records)}
    return [at[record.file_name] for record in images.records]


def estimated_levels(untouched: Sequence[ChangedImages], categories: Sequence[str]) -> pd.DataFrame:
    """Estimate every untouched place and category by the places of other families.

    Returns
    -------
    DataFrame
        See `known_changes`. Categories of which a place has no true box are left out.
    """
    parts = [_place_rows(images, categories) for images in untouched]
    table = pd.DataFrame([row for part in parts for row in part])
    if table.empty or table["family"].nunique() < 2:
        raise InputError(
            "Expected labelled places of two families or more: each is estimated by the others."
        )
    held_out = PairEstimator().fit(table.assign(kind=SEED)).held_out()
    told = held_out["estimate"].fillna(held_out["raw"].clip(0, 1))
    return held_out.assign(estimate=told).rename(columns={"source": "place"})[
        [*KEYS, "n_images", "true", "estimate"]
    ]


def _place_rows(images: ChangedImages, categories: Sequence[str]) -> list[dict]:
    present = np.unique(np.concatenate([labels for _, labels, _ in images.truth]))
    tally = CategoryTally(categories, scores_of(FEATURES))
    for record, truth in zip(images.records, images.truth, strict=True):
        tally.update_on(present, record.evidence(), *truth)
    rows, _ = tally.rows(min_images=1, min_boxes=1)
    return [{"source": images.place, "family": images.family, **row} for row in rows]
