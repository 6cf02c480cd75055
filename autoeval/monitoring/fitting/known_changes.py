"""Changes whose effect is known: labelled sites as they come, and as corruptions change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from autoeval.calibration import ScoreCalibration
from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.calibrating import calibrated_rows, without_each_fold
from autoeval.estimation.site_boxes import SiteBoxes
from autoeval.estimation.training_set import TrainingSet, training_set, truth_of_samples
from autoeval.monitoring.changes.image_numbers import image_numbers
from autoeval.monitoring.fitting.changed_images import ChangedImages, true_precision

KEYS = ["site", "family", "category"]


@dataclass(frozen=True, eq=False)
class KnownChanges:
    """Sites and categories under changes, each compared with the same images untouched.

    rows: one row a change of a site and category: ``site``, ``family``, ``category``, ``kind``,
        ``severity``, ``n_images``, ``true`` (change of mAP, in [-1, 1]) and ``level`` (mAP of the
        untouched site as estimated by the other families).
    before, after (N, len(NUMBERS)): means of the numbers of the images, untouched and changed.
    untouched, changed (n_images, len(NUMBERS)): the site's images but for those that were changed,
        and those that were.
    images (n_images, len(NUMBERS)): all untouched images of each site.
    """

    rows: pd.DataFrame
    before: np.ndarray
    after: np.ndarray
    untouched: tuple[np.ndarray, ...]
    changed: tuple[np.ndarray, ...]
    images: Mapping[tuple[str, str], np.ndarray]
    calibrated: bool

    def __len__(self) -> int:
        return len(self.rows)


def known_changes(
    observed: Sequence[ChangedImages], categories: Sequence[str], *, calibrate: bool = True
) -> tuple[KnownChanges, pd.DataFrame]:
    """Compare every changed set of images with the same images untouched.

    calibrate: whether the numbers of images read true-positive probabilities, by calibrations that
        have not seen the family of the site, rather than confidences.
    Returned: changes; levels (the untouched sites: ``site``, ``family``, ``category``,
        ``n_images``, ``true`` (mAP), ``estimate`` (by the other families)).
    """
    untouched = {images.site: images for images in observed if not images.change}
    sets = [_training_set(images, categories) for images in untouched.values()]
    if len({of.family for of in sets}) < 2:
        raise InputError(
            "Expected labelled sites of two families or more: each is estimated by the others."
        )
    folds, of_fold = without_each_fold(sets)
    calibrations = {of.name: of_fold[own[0]] for of, own in zip(sets, folds, strict=True)}
    levels = _estimated_levels(sets, calibrations)

    def numbers_of(images: ChangedImages, category: int) -> np.ndarray:
        return image_numbers(
            images.records, category, calibrations[images.site] if calibrate else None
        )

    of_sites = {
        (name, category): numbers_of(untouched[name], categories.index(category))
        for name, category in zip(levels["site"], levels["category"], strict=True)
    }
    rows, before, others, changed = [], [], [], []
    for images in observed:
        base = untouched.get(images.site)
        own_levels = levels[levels["site"] == images.site]
        if not images.change or base is None:
            continue
        same = positions(base, images)
        for site in own_levels.to_dict("records"):
            k = categories.index(site["category"])
            true = true_precision(images, k) - true_precision(base, k, same)
            if not np.isfinite(true):
                continue
            kept = {name: site[name] for name in KEYS}
            what = {"kind": images.change, "severity": images.severity, "n_images": len(images)}
            rows.append({**kept, **what, "true": true, "level": site["estimate"]})
            numbers = of_sites[images.site, site["category"]]
            before.append(numbers[same].mean(axis=0))
            others.append(np.delete(numbers, same, axis=0))
            changed.append(numbers_of(images, k))
    if not rows:
        raise InputError(
            "Expected sites that were observed as they come and changed, but there are none."
        )
    changes = KnownChanges(
        pd.DataFrame(rows),
        np.array(before),
        np.array([numbers.mean(axis=0) for numbers in changed]),
        tuple(others),
        tuple(changed),
        of_sites,
        calibrate,
    )
    return changes, levels


def positions(base: ChangedImages, images: ChangedImages) -> list[int]:
    """Return where the images of a changed set are in the untouched one."""
    at = {record.file_name: k for k, record in enumerate(base.records)}
    return [at[record.file_name] for record in images.records]


def _estimated_levels(
    sets: Sequence[TrainingSet], calibrations: Mapping[str, ScoreCalibration]
) -> pd.DataFrame:
    """Estimate every untouched site and category by the sites of other families."""
    probabilities = [calibrations[of.name].probabilities(of.boxes.clean.scores) for of in sets]
    table = calibrated_rows(sets, probabilities=probabilities)[0]
    rows = BayesianRegression().fit(table[table["n_boxes"] > 0]).cross_validated_
    estimates = rows["estimate"].fillna(rows["raw"].clip(0, 1))
    return rows.assign(estimate=estimates).rename(columns={"source": "site"})[
        [*KEYS, "n_images", "true", "estimate"]
    ]


def _training_set(images: ChangedImages, categories: Sequence[str]) -> TrainingSet:
    boxes = SiteBoxes.of_evidence([record.evidence() for record in images.records], categories)
    truth = truth_of_samples(boxes.clean, images.truth)
    return training_set(boxes, truth, name=images.site, family=images.family, everywhere=True)
