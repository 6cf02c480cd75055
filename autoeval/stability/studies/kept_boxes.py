"""A pass that keeps the boxes of every image, so that it runs once.

Studies of single boxes, of images, and of subsets of images start from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.estimation.checks import unreadable_warning
from autoeval.estimation.observation.kept_observer import pack_evidence, unpack_evidence
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import PassLog
from autoeval.io.tasks.seed_set import SeedSet
from autoeval.runtime import OK
from autoeval.runtime.jobs import Advance, Job, run_jobs
from autoeval.runtime.store import RowStore
from autoeval.stability.fitting.meta_set import sample_set_jobs
from autoeval.stability.metasets.recipe import MetaSetConfig, Recipe, draw_recipes
from autoeval.stability.metasets.recipe import own_images as draw_own_images
from autoeval.stability.passes.presets import scored_settings
from autoeval.stability.scores.box_stability import BoxStabilitySettings
from autoeval.stability.scores.score_set import check_finite

TRUE = {"boxes": "f8", "labels": "i8", "iscrowd": "?"}  # of `ObservedImage`


def observe_sets(
    observer: Observer, seed_sets: Sequence[SeedSet], recipes: Iterable[Recipe], *, store: RowStore
) -> Observations:
    """Run a detector over sample sets and keep all boxes; what the store has is not done again.

    Parameters
    ----------
    observer : Observer
        With `ScoredSettings`.
    seed_sets : sequence of SeedSet
        Sources of the sample sets.
    recipes : iterable of Recipe
        One a sample set.
    store : RowStore
        Of the boxes.

    Returns
    -------
    Observations
        Of the sets that could be observed; what went wrong with others is among its warnings.

    Raises
    ------
    InputError
        If none could be observed.
    """
    jobs = [
        replace(job, key=f"packed-{job.key}")
        for job in sample_set_jobs(observer, seed_sets, recipes)
    ]

    def work(job: Job, advance: Advance) -> list[dict[str, Any]]:
        log, images = PassLog(), []
        for sample, evidence in observer.each(job.payload, log=log):
            check_finite(evidence)
            images.append(ObservedImage(evidence, sample.boxes, sample.labels, sample.iscrowd))
            advance(1)
        log.check(len(images))
        unreadable = "; ".join(log.unreadable.values())
        return [{**job.columns, **pack_images(images), "unreadable": unreadable}]

    counts = run_jobs(jobs, work, store, activity="observing sample sets")
    warnings = [f"{key}: {error}" for key, error in counts.failed.items()]
    tables = [store.table([job.key]) for job in jobs]
    good = [table for table in tables if len(table) and (table["status"] == OK).all()]
    if not good:
        raise InputError("No sample set could be observed. " + " ".join(warnings[:1]))
    rows = [table.iloc[0] for table in good]
    lost = [reason for row in rows for reason in row["unreadable"].split("; ") if reason]
    warnings += unreadable_warning(list(dict.fromkeys(lost)))
    sets = tuple(
        ObservedSet(
            row["source"],
            row["sample_set"],
            row["kind"],
            unpack_images(row),
            observer.task.groups.get(row["source"], ""),
        )
        for row in rows
    )
    stability = scored_settings(observer).stability
    return Observations(sets, observer.task.categories, stability, tuple(warnings))


def observe_task(
    observer: Observer,
    *,
    folder: Path,
    meta_set: MetaSetConfig | None,
    own_images: int = 5000,
    seed_sets: Sequence[SeedSet] = (),
) -> Observations:
    """Run a detector over the own images of every source of its task, and over sample sets of them.

    Parameters
    ----------
    observer : Observer
        With `ScoredSettings`, whose seed also draws the images.
    folder : Path
        What it holds is not done again.
    meta_set : MetaSetConfig or None
        Sample sets to make; None for none.
    own_images : int
        Images of each source, at most.
    seed_sets : sequence of SeedSet
        By default those of the task.
    """
    seed_sets = seed_sets or observer.task.load_seed_sets()
    recipes: list[Recipe] = []
    seed = observer.settings.seed
    for seed_set in seed_sets:
        recipes.append(draw_own_images(seed_set, n_images=own_images, seed=seed))
        if meta_set is not None:
            recipes += draw_recipes(seed_set, meta_set, seed=seed)
    return observe_sets(observer, seed_sets, recipes, store=RowStore(folder))


def pack_images(images: Sequence[ObservedImage]) -> dict[str, bytes]:
    """Write clean, perturbed and true boxes of images as bytes; `unpack_images` reads them.

    Parameters
    ----------
    images : sequence of ObservedImage
        Those of one sample set, one or more.
    """
    kept = [
        Evidence(e.image_id, e.image_size, e.clean, e.perturbed)
        for e in (image.evidence for image in images)
    ]
    counts = np.array([len(image.boxes) for image in images], np.int64)
    true = {
        name: np.concatenate([getattr(image, name) for image in images]).astype(kind).tobytes()
        for name, kind in TRUE.items()
    }
    return {"evidence": pack_evidence(kept), "counts": counts.tobytes(), **true}


def unpack_images(row: Mapping[str, Any]) -> tuple[ObservedImage, ...]:
    """Read what `pack_images` wrote.

    Parameters
    ----------
    row : mapping of str to bytes
        It may have further columns.
    """
    ends = np.cumsum(np.frombuffer(row["counts"], np.int64))[:-1]
    true = {name: np.frombuffer(row[name], kind) for name, kind in TRUE.items()}
    boxes = np.split(true["boxes"].reshape(-1, 4), ends)
    labels, iscrowd = np.split(true["labels"], ends), np.split(true["iscrowd"], ends)
    return tuple(map(ObservedImage, unpack_evidence(row["evidence"]), boxes, labels, iscrowd))


@dataclass(frozen=True, eq=False)
class ObservedImage:
    """What a pass left of one labelled image.

    Parameters
    ----------
    evidence : Evidence
        With clean and perturbed boxes.
    boxes : ndarray of shape (M, 4)
        True boxes, xyxy, pixels.
    labels, iscrowd : ndarray of shape (M,)
        Their categories, and whether they are crowds.
    """

    evidence: Evidence
    boxes: np.ndarray
    labels: np.ndarray
    iscrowd: np.ndarray


@dataclass(frozen=True, eq=False)
class ObservedSet:
    """The images of one sample set, called as in the score table.

    Parameters
    ----------
    source, sample_set, kind : str
        Columns of the score table.
    images : tuple of ObservedImage
        In the order of the recipe.
    group : str
        Of the source; empty where it is a group of its own.
    """

    source: str
    sample_set: str
    kind: str
    images: tuple[ObservedImage, ...]
    group: str = ""


@dataclass(frozen=True, eq=False)
class Observations:
    """What a pass over a meta-set left behind.

    Parameters
    ----------
    sets : tuple of ObservedSet
        The sample sets, and the sources' own images.
    categories : tuple of str
        What labels index.
    stability : BoxStabilitySettings
        How clean and perturbed boxes are compared.
    warnings : tuple of Notice
        What could not be observed, and why.
    """

    sets: tuple[ObservedSet, ...]
    categories: tuple[str, ...]
    stability: BoxStabilitySettings = field(default_factory=BoxStabilitySettings)
    warnings: tuple[str, ...] = ()

    def of_kind(self, kind: str) -> Observations:
        """Keep the sets of a kind.

        Parameters
        ----------
        kind : str
            `SEED` or `SAMPLE`.

        Raises
        ------
        InputError
            If there are none.
        """
        sets = tuple(observed for observed in self.sets if observed.kind == kind)
        if not sets:
            raise InputError(f"Expected observed images of kind '{kind}' but there are none.")
        return replace(self, sets=sets)

    @property
    def largest(self) -> int:
        """Number of images of the largest set."""
        return max(len(observed.images) for observed in self.sets)
