"""A pass that keeps the boxes of every image, so that it is made once.

Studies of single boxes, of images, and of subsets of images start from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from autoeval.detections import Evidence
from autoeval.detectors.detector import Detector
from autoeval.errors import InputError
from autoeval.estimation.collect import Samples, collect
from autoeval.estimation.meta_set import sample_set_jobs
from autoeval.estimation.presets import PassSettings
from autoeval.metasets.config import MetaSetConfig
from autoeval.metasets.recipe import Recipe, draw_recipes
from autoeval.metasets.recipe import own_images as draw_own_images
from autoeval.metasets.sample_set import Sample
from autoeval.metasets.seed_set import SeedSet
from autoeval.metasets.task import Task
from autoeval.runtime.jobs import run_jobs
from autoeval.runtime.store import OK, RowStore
from autoeval.studies.box_rows import observed_set, rows_of
from autoeval.studies.observed import Observations, ObservedImage


def observe_sets(
    detector: Detector,
    task: Task,
    seed_sets: Sequence[SeedSet],
    recipes: Iterable[Recipe],
    *,
    settings: PassSettings,
    store: RowStore,
    batch_size: int = 4,
) -> Observations:
    """Run a detector over sample sets and keep all boxes; what the store holds is not done again.

    Parameters
    ----------
    detector : Detector
    task : Task
    seed_sets : sequence of SeedSet
    recipes : iterable of Recipe
    settings : PassSettings
    store : RowStore
        One row a box, and one an image; see `rows_of`.
    batch_size : int
        Changes no number.

    Returns
    -------
    Observations
        With the sets that could be observed, in the order of the recipes.

    Raises
    ------
    InputError
        If no sample set could be observed.
    """
    jobs = sample_set_jobs(detector, task, seed_sets, recipes, settings)
    lookup = task.lookup(detector.categories)

    def work(job, advance) -> list[dict[str, Any]]:
        kept = _Kept(job.payload)
        (row, *_) = collect(
            detector,
            kept,
            categories=task.categories,
            lookup=lookup,
            settings=settings,
            batch_size=batch_size,
            advance=advance,
            watch=kept.watch,
        )
        columns = {**job.columns, "unreadable": row["unreadable"]}
        return [{**columns, **box} for image in kept.images for box in rows_of(image)]

    counts = run_jobs(jobs, work, store, what="observing sample sets")
    problems = [f"{key}: {error}" for key, error in counts.failed.items()]
    tables = [store.table([job.key]) for job in jobs]
    good = [table for table in tables if len(table) and (table["status"] == OK).all()]
    if not good:
        raise InputError("No sample set could be observed. " + " ".join(problems[:1]))
    problems += [text for table in good for text in set(table["unreadable"]) if text]
    sets = tuple(observed_set(table) for table in good)
    return Observations(sets, task.categories, settings.stability, tuple(problems))


def observe_task(
    detector: Detector,
    task: Task,
    *,
    settings: PassSettings,
    folder: Path,
    meta_set: MetaSetConfig | None = None,
    own_images: int = 5000,
    batch_size: int = 4,
) -> Observations:
    """Run a detector over the own images of every source, and over sample sets of them.

    Parameters
    ----------
    detector : Detector
    task : Task
    settings : PassSettings
        Its seed also draws the images.
    folder : Path
        Of the rows; what it holds is not done again.
    meta_set : MetaSetConfig, optional
        What sample sets there are; none by default.
    own_images : int
        Of each source, at most.
    batch_size : int
        Changes no number.
    """
    seed_sets, recipes = task.load_seed_sets(), []
    for seed_set in seed_sets:
        recipes.append(draw_own_images(seed_set, n_images=own_images, seed=settings.seed))
        if meta_set is not None:
            recipes += draw_recipes(seed_set, **asdict(meta_set), seed=settings.seed)
    return observe_sets(
        detector,
        task,
        seed_sets,
        recipes,
        settings=settings,
        store=RowStore(folder),
        batch_size=batch_size,
    )


class _Kept:
    """Samples that remember the labels they gave out, until the detector has seen the image."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self.images: list[ObservedImage] = []
        self._waiting: dict[str, Sample] = {}

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Sample:
        sample = self.samples[index]
        self._waiting[sample.image_id] = sample
        return sample

    def watch(self, evidence: Evidence) -> None:
        """Keep the boxes of an image."""
        sample = self._waiting.pop(evidence.image_id)
        self.images.append(ObservedImage(evidence, sample.boxes, sample.labels, sample.iscrowd))
