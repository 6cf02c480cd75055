"""A pass over the images of labelled sites as they come, and as corruptions change them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.detections import Detections
from autoeval.estimation.meta_set import sample_set_jobs
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.pass_log import PassLog
from autoeval.metasets.recipe import MetaSetConfig, Recipe, draw_recipes, own_images
from autoeval.metasets.sample_set import Sample
from autoeval.metasets.seed_set import SeedSet
from autoeval.metasets.transforms import TransformStep
from autoeval.metrics.mean_ap import MeanAP
from autoeval.monitoring.observing.signals import image_signals
from autoeval.monitoring.site_records import CameraImage, record_of, row_of
from autoeval.runtime import OK
from autoeval.runtime.job import Advance, Job
from autoeval.runtime.jobs import run_jobs
from autoeval.runtime.store import RowStore

TRUE_BOXES, TRUE_LABELS, TRUE_CROWDS = "true/boxes", "true/labels", "true/crowds"


@dataclass(frozen=True, eq=False)
class ChangedImages:
    """One site under one corruption, or untouched.

    change: name of the corruption; empty where the images are untouched.
    severity: from 1 to 5; 0 where the images are untouched.
    truth (tuple of (boxes, labels, crowds)): of each image: (N, 4) float64 xyxy pixels, (N,) int64,
        (N,) bool.
    """

    site: str
    family: str
    change: str
    severity: int
    records: tuple[CameraImage, ...]
    truth: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]

    def __len__(self) -> int:
        return len(self.records)


def _fewer_images(seed_set: SeedSet, n_images: int, seed: int) -> SeedSet:
    """Draw images of a site without replacement; all of them where it has no more."""
    chosen = set(own_images(seed_set, n_images=n_images, seed=seed).image_ids)
    return replace(seed_set, images=tuple(i for i in seed_set.images if i.image_id in chosen))


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
    seed_sets = [_fewer_images(own, untouched, seed) for own in observer.task.load_seed_sets()]
    each = [_change_recipes(own, meta_set, everywhere, seed) for own in seed_sets]
    recipes = [recipe for same in zip(*each, strict=True) for recipe in same]
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
    families = observer.task.families
    tables = [(recipe, store.table([job.key])) for recipe, job in zip(recipes, jobs, strict=True)]
    observed = [
        _changed(recipe, rows, families[recipe.seed_set])
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
        own, found = labels == category, images.records[k].clean
        found = found[found.labels == category]
        here = Detections(found.boxes, found.scores, np.zeros(len(found)))
        metric.update(here, boxes[own], np.zeros(own.sum(), np.int64), crowds[own])
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


def _changed(recipe: Recipe, rows: pd.DataFrame, family: str) -> ChangedImages:
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
    return ChangedImages(recipe.seed_set, family, step.name, severity, records, truth)
