"""Labelled sites observed as they come and under corruptions, and the changes that are known so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.accuracy.mean_ap import MeanAP
from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.calibrating import calibrated_rows, without_each_fold
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import PassLog
from autoeval.io.tasks.labelled_samples import Sample
from autoeval.io.tasks.seed_set import SeedSet
from autoeval.model.calibration import ScoreCalibration
from autoeval.monitoring.changes.image_numbers import image_numbers
from autoeval.monitoring.observing.signals import image_signals
from autoeval.monitoring.site_records import CameraImage, record_of, row_of
from autoeval.runtime import OK
from autoeval.runtime.job import Advance, Job
from autoeval.runtime.jobs import run_jobs
from autoeval.runtime.store import RowStore
from autoeval.sites.labelled_set import LabelledSet, labelled_set, truth_of_samples
from autoeval.sites.site_boxes import SiteBoxes
from autoeval.stability.fitting.meta_set import sample_set_jobs
from autoeval.stability.metasets.recipe import MetaSetConfig, Recipe, draw_recipes, own_images
from autoeval.stability.metasets.transforms import TransformStep

TRUE_BOXES, TRUE_LABELS, TRUE_CROWDS = "true/boxes", "true/labels", "true/crowds"
KEYS = ["site", "group", "category"]


@dataclass(frozen=True, eq=False)
class ChangedImages:
    """One site under one corruption, or untouched.

    change: name of the corruption; empty where the images are untouched.
    severity: from 1 to 5; 0 where the images are untouched.
    truth (tuple of (boxes, labels, crowds)): of each image: (N, 4) float64 xyxy pixels, (N,) int64,
        (N,) bool.
    """

    site: str
    group: str
    change: str
    severity: int
    records: tuple[CameraImage, ...]
    truth: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]

    def __len__(self) -> int:
        return len(self.records)


def _change_recipes(
    seed_set: SeedSet, meta_set: MetaSetConfig, everywhere: Sequence[TransformStep], seed: int
) -> list[Recipe]:
    """List what is observed of a site.

    All its images as they come; the sets of the meta-set; and the corruptions of `everywhere`, on
    images drawn once.
    """
    drawn = draw_recipes(seed_set, **vars(meta_set), seed=seed) if meta_set.n_sets else []
    chosen = own_images(seed_set, n_images=meta_set.n_images, seed=seed)
    return [own_images(seed_set), *drawn, *(replace(chosen, steps=(step,)) for step in everywhere)]


def observe_changes(
    observer: Observer,
    *,
    folder: Path,
    meta_set: MetaSetConfig,
    everywhere: Sequence[TransformStep] = (),
    untouched: int = 64,
) -> tuple[list[ChangedImages], tuple[str, ...]]:
    """Observe every site of the observer's task; what the folder holds is not done again.

    observer: the seed of its settings draws images, corruptions and severities.
    meta_set: with one transform for each sample set, or with none of these.
    untouched: images of each site, at most, that are observed as they come; those that are changed
        are drawn from them.
    Returned: observed (the untouched images of a site come first); warnings (what could not be
        observed, and why).
    """
    seed = observer.settings.seed
    seed_sets = []
    for seed_set in observer.task.load_seed_sets():
        chosen = set(own_images(seed_set, n_images=untouched, seed=seed).image_ids)
        kept = tuple(image for image in seed_set.images if image.image_id in chosen)
        seed_sets.append(replace(seed_set, images=kept))
    recipes_by_site = [
        _change_recipes(seed_set, meta_set, everywhere, seed) for seed_set in seed_sets
    ]
    # By change, then by site: a run that was cut off has the same changes of nearly every site.
    recipes = [recipe for of_sites in zip(*recipes_by_site, strict=True) for recipe in of_sites]
    jobs = sample_set_jobs(observer, seed_sets, recipes)
    store = RowStore(folder)

    def work(job: Job, advance: Advance) -> list[dict[str, Any]]:
        log, rows = PassLog(), []
        for sample, evidence in observer.each(job.payload, log=log):
            rows.append(_row(sample, evidence.clean, evidence.half_size) | job.columns)
            advance(1)
        log.check(len(rows))
        return rows

    counts = run_jobs(jobs, work, store, what="observing changed images")
    warnings = [f"{key}: {error}" for key, error in counts.failed.items()]
    groups = observer.task.groups
    tables = [(recipe, store.table([job.key])) for recipe, job in zip(recipes, jobs, strict=True)]
    observed = [
        _changed(recipe, rows, groups[recipe.seed_set])
        for recipe, rows in tables
        if len(rows) and (rows["status"] == OK).all()
    ]
    return observed, tuple(warnings)


def true_precision(images: ChangedImages, category: int, only: Sequence[int] = ()) -> float:
    """Average precision of a category on these images, in [0, 1]; NaN without a true box.

    only: positions of the images that count; all by default.
    """
    metric = MeanAP(("category",))
    for k in only if len(only) else range(len(images)):
        boxes, labels, crowds = images.truth[k]
        in_category, detections = labels == category, images.records[k].clean
        detections = detections[detections.labels == category]
        relabelled = Detections(detections.boxes, detections.scores, np.zeros(len(detections)))
        true_labels = np.zeros(in_category.sum(), np.int64)
        metric.update(relabelled, boxes[in_category], true_labels, crowds[in_category])
    return metric.compute()["mAP"]


def _row(sample: Sample, clean: Detections, half_size: Detections | None) -> dict[str, Any]:
    size = (sample.image.shape[0], sample.image.shape[1])
    signals = image_signals(sample.image)
    record = CameraImage(sample.image_id, size, None, "", clean, half_size, signals)
    return {
        **row_of(record),
        TRUE_BOXES: sample.boxes.astype(np.float64).tobytes(),
        TRUE_LABELS: sample.labels.astype(np.int64).tobytes(),
        TRUE_CROWDS: sample.iscrowd.astype(bool).tobytes(),
    }


def _changed(recipe: Recipe, rows: pd.DataFrame, group: str) -> ChangedImages:
    step = recipe.steps[0] if recipe.steps else TransformStep("", 0)
    listed = rows.to_dict("records")
    truth = tuple(
        (
            np.frombuffer(row[TRUE_BOXES], np.float64).reshape(-1, 4),
            np.frombuffer(row[TRUE_LABELS], np.int64),
            np.frombuffer(row[TRUE_CROWDS], bool),
        )
        for row in listed
    )
    records = tuple(record_of(row) for row in listed)
    severity = int(step.magnitude or 0)
    return ChangedImages(recipe.seed_set, group, step.name, severity, records, truth)


@dataclass(frozen=True, eq=False)
class KnownChanges:
    """Sites and categories under changes, each compared with the same images untouched.

    rows: one row a change of a site and category: ``site``, ``group``, ``category``, ``kind``,
        ``severity``, ``n_images``, ``true`` (change of mAP, in [-1, 1]) and ``level`` (mAP of the
        untouched site as estimated by the other groups).
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
        have not seen the group of the site, rather than confidences.
    Returned: changes; levels (the untouched sites: ``site``, ``group``, ``category``,
        ``n_images``, ``true`` (mAP), ``estimate`` (by the other groups)).
    """
    untouched = {images.site: images for images in observed if not images.change}
    sets = []
    for images in untouched.values():
        boxes = SiteBoxes.of_evidence([record.evidence() for record in images.records], categories)
        truth = truth_of_samples(boxes.clean, images.truth)
        sets.append(
            labelled_set(boxes, truth, name=images.site, group=images.group, everywhere=True)
        )
    if len({labelled.group for labelled in sets}) < 2:
        raise InputError(
            "Expected labelled sites of two groups or more: each is estimated by the others."
        )
    # All images of a site are in one fold, that of its group: the calibration has not seen it.
    folds, calibration_of_fold = without_each_fold(sets)
    calibrations = {
        labelled.name: calibration_of_fold[image_folds[0]]
        for labelled, image_folds in zip(sets, folds, strict=True)
    }
    levels = _estimated_levels(sets, calibrations)

    def numbers_of(images: ChangedImages, category: int) -> np.ndarray:
        return image_numbers(
            images.records, category, calibrations[images.site] if calibrate else None
        )

    untouched_numbers = {
        (name, category): numbers_of(untouched[name], categories.index(category))
        for name, category in zip(levels["site"], levels["category"], strict=True)
    }
    rows, before, unchanged, changed = [], [], [], []
    for images in observed:
        base = untouched.get(images.site)
        site_levels = levels[levels["site"] == images.site]
        if not images.change or base is None:
            continue
        same = positions(base, images)
        for site in site_levels.to_dict("records"):
            k = categories.index(site["category"])
            true = true_precision(images, k) - true_precision(base, k, same)
            if not np.isfinite(true):
                continue
            kept = {name: site[name] for name in KEYS}
            what = {"kind": images.change, "severity": images.severity, "n_images": len(images)}
            rows.append({**kept, **what, "true": true, "level": site["estimate"]})
            numbers = untouched_numbers[images.site, site["category"]]
            before.append(numbers[same].mean(axis=0))
            unchanged.append(np.delete(numbers, same, axis=0))
            changed.append(numbers_of(images, k))
    if not rows:
        raise InputError(
            "Expected sites that were observed as they come and changed, but there are none."
        )
    changes = KnownChanges(
        pd.DataFrame(rows),
        np.array(before),
        np.array([numbers.mean(axis=0) for numbers in changed]),
        tuple(unchanged),
        tuple(changed),
        untouched_numbers,
        calibrate,
    )
    return changes, levels


def positions(base: ChangedImages, images: ChangedImages) -> list[int]:
    """Return where the images of a changed set are in the untouched one."""
    at = {record.file_name: k for k, record in enumerate(base.records)}
    return [at[record.file_name] for record in images.records]


def _estimated_levels(
    sets: Sequence[LabelledSet], calibrations: Mapping[str, ScoreCalibration]
) -> pd.DataFrame:
    """Estimate every untouched site and category by the sites of other groups."""
    probabilities = [
        calibrations[images.name].probabilities(images.boxes.clean.scores, images.boxes.clean.boxes)
        for images in sets
    ]
    table = calibrated_rows(sets, probabilities=probabilities)[0]
    rows = BayesianRegression().fit(table[table["n_boxes"] > 0]).cross_validated_
    estimates = rows["estimate"].fillna(rows["raw"].clip(0, 1))
    return rows.assign(estimate=estimates).rename(columns={"source": "site"})[
        [*KEYS, "n_images", "true", "estimate"]
    ]
