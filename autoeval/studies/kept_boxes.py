"""A pass that keeps the boxes of every image, so that it is made once.

Studies of single boxes, of images, and of subsets of images start from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from autoeval.errors import InputError
from autoeval.estimation.meta_set import sample_set_jobs
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.pass_log import PassLog
from autoeval.metasets.config import MetaSetConfig
from autoeval.metasets.recipe import Recipe, draw_recipes
from autoeval.metasets.recipe import own_images as draw_own_images
from autoeval.metasets.seed_set import SeedSet
from autoeval.runtime.job import Advance, Job
from autoeval.runtime.jobs import run_jobs
from autoeval.runtime.states import OK
from autoeval.runtime.store import RowStore
from autoeval.scores.finite import check_finite
from autoeval.studies.box_rows import observed_set, rows_of
from autoeval.studies.observed import Observations, ObservedImage


def observe_sets(
    observer: Observer, seed_sets: Sequence[SeedSet], recipes: Iterable[Recipe], *, store: RowStore
) -> Observations:
    """Run a detector over sample sets and keep all boxes; what the store holds is not done again.

    Parameters
    ----------
    observer : Observer
    seed_sets : sequence of SeedSet
    recipes : iterable of Recipe
    store : RowStore
        One row a box, and one an image; see `rows_of`.

    Returns
    -------
    Observations
        With the sets that could be observed, in the order of the recipes.

    Raises
    ------
    InputError
        If no sample set could be observed.
    """
    jobs = sample_set_jobs(observer, seed_sets, recipes)

    def work(job: Job, advance: Advance) -> list[dict[str, Any]]:
        log, rows = PassLog(), []
        for sample, evidence in observer.each(job.payload, log=log):
            check_finite(evidence)
            image = ObservedImage(evidence, sample.boxes, sample.labels, sample.iscrowd)
            rows += [{**job.columns, **row} for row in rows_of(image)]
            advance(1)
        log.check(len(rows))
        unreadable = "; ".join(log.unreadable.values())
        return [{**row, "unreadable": unreadable} for row in rows]

    counts = run_jobs(jobs, work, store, what="observing sample sets")
    problems = [f"{key}: {error}" for key, error in counts.failed.items()]
    tables = [store.table([job.key]) for job in jobs]
    good = [table for table in tables if len(table) and (table["status"] == OK).all()]
    if not good:
        raise InputError("No sample set could be observed. " + " ".join(problems[:1]))
    problems += [text for table in good for text in set(table["unreadable"]) if text]
    sets = tuple(observed_set(table) for table in good)
    stability = observer.settings.stability
    return Observations(sets, observer.task.categories, stability, tuple(problems))


def observe_task(
    observer: Observer,
    *,
    folder: Path,
    meta_set: MetaSetConfig | None = None,
    own_images: int = 5000,
    seed_sets: Sequence[SeedSet] = (),
) -> Observations:
    """Run a detector over the own images of every source of its task, and over sample sets of them.

    Parameters
    ----------
    observer : Observer
        The seed of its settings also draws the images.
    folder : Path
        Of the rows; what it holds is not done again.
    meta_set : MetaSetConfig, optional
        What sample sets there are; none by default.
    own_images : int
        Of each source, at most.
    seed_sets : sequence of SeedSet
        Sources; by default all of the task.
    """
    seed_sets = seed_sets or observer.task.load_seed_sets()
    recipes: list[Recipe] = []
    seed = observer.settings.seed
    for seed_set in seed_sets:
        recipes.append(draw_own_images(seed_set, n_images=own_images, seed=seed))
        if meta_set is not None:
            recipes += draw_recipes(seed_set, **asdict(meta_set), seed=seed)
    return observe_sets(observer, seed_sets, recipes, store=RowStore(folder))
