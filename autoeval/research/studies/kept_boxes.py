"""A pass that keeps the boxes of every image, so that it runs once.

Studies of single boxes, of images, and of subsets of images start from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError
from autoeval.estimation.meta_set import sample_set_jobs
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import PassLog
from autoeval.metasets.recipe import MetaSetConfig, Recipe, draw_recipes
from autoeval.metasets.recipe import own_images as draw_own_images
from autoeval.metasets.seed_set import SeedSet
from autoeval.runtime import OK
from autoeval.runtime.job import Advance, Job
from autoeval.runtime.jobs import run_jobs
from autoeval.runtime.store import RowStore
from autoeval.scores.box_stability_settings import BoxStabilitySettings
from autoeval.scores.score_set import check_finite

IMAGE, TRUE, CLEAN, PERTURBED = "image", "true", "clean", "perturbed"
_CORNERS = ["x1", "y1", "x2", "y2"]


def observe_sets(
    observer: Observer, seed_sets: Sequence[SeedSet], recipes: Iterable[Recipe], *, store: RowStore
) -> Observations:
    """Run a detector over sample sets and keep all boxes; what the store has is not done again."""
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
    warnings = [f"{key}: {error}" for key, error in counts.failed.items()]
    tables = [store.table([job.key]) for job in jobs]
    good = [table for table in tables if len(table) and (table["status"] == OK).all()]
    if not good:
        raise InputError("No sample set could be observed. " + " ".join(warnings[:1]))
    warnings += [text for table in good for text in set(table["unreadable"]) if text]
    sets = tuple(observed_set(table) for table in good)
    stability = observer.settings.stability
    return Observations(sets, observer.task.categories, stability, tuple(warnings))


def observe_task(
    observer: Observer,
    *,
    folder: Path,
    meta_set: MetaSetConfig | None = None,
    own_images: int = 5000,
    seed_sets: Sequence[SeedSet] = (),
) -> Observations:
    """Run a detector over the own images of every source of its task, and over sample sets of them.

    The seed of the observer's settings also draws the images, at most `own_images` of each source;
    what `folder` holds is not done again. There are no sample sets without a `meta_set`.
    """
    seed_sets = seed_sets or observer.task.load_seed_sets()
    recipes: list[Recipe] = []
    seed = observer.settings.seed
    for seed_set in seed_sets:
        recipes.append(draw_own_images(seed_set, n_images=own_images, seed=seed))
        if meta_set is not None:
            recipes += draw_recipes(seed_set, **asdict(meta_set), seed=seed)
    return observe_sets(observer, seed_sets, recipes, store=RowStore(folder))


def rows_of(image: ObservedImage) -> list[dict[str, Any]]:
    """Turn an image into rows: itself (`IMAGE`), its true, clean and perturbed boxes.

    ``x1`` to ``y2`` are pixels, of the whole image for `IMAGE`, whose ``repeat`` counts the
    repeats.
    """
    evidence = image.evidence
    height, width = evidence.image_size
    rows = [_row(evidence.image_id, IMAGE, len(evidence.perturbed), (0, 0, width, height))]
    for box, label, crowd in zip(image.boxes, image.labels, image.iscrowd, strict=True):
        rows.append(_row(evidence.image_id, TRUE, 0, box, 1.0, label, crowd))
    passes = [(CLEAN, 0, evidence.clean)]
    passes += [(PERTURBED, k, boxes) for k, boxes in enumerate(evidence.perturbed)]
    for what, repeat, found in passes:
        for box, score, label in zip(found.boxes, found.scores, found.labels, strict=True):
            rows.append(_row(evidence.image_id, what, repeat, box, score, label))
    return rows


def observed_set(rows: pd.DataFrame) -> ObservedSet:
    """Put the images of one sample set together again from their rows."""
    first = rows.iloc[0]
    images = tuple(_image(part) for _, part in rows.groupby("image_id", sort=False))
    return ObservedSet(first["source"], first["sample_set"], first["kind"], images)


def _row(
    image_id: str,
    what: str,
    repeat: int,
    box: Iterable[float],
    score: float = 1.0,
    label: int = 0,
    crowd: bool = False,
) -> dict[str, Any]:
    corners = dict(zip(_CORNERS, map(float, box), strict=True))
    rest = {"score": float(score), "label": int(label), "iscrowd": bool(crowd)}
    return {"image_id": image_id, "what": what, "repeat": repeat, **corners, **rest}


def _image(rows: pd.DataFrame) -> ObservedImage:
    parts = dict(iter(rows.groupby("what")))
    whole = parts[IMAGE].iloc[0]
    none = rows.iloc[:0]
    true, perturbed = parts.get(TRUE, none), parts.get(PERTURBED, none)
    evidence = Evidence(
        whole["image_id"],
        (int(whole["y2"]), int(whole["x2"])),
        _detections(parts.get(CLEAN, none)),
        tuple(_detections(perturbed[perturbed["repeat"] == k]) for k in range(whole["repeat"])),
    )
    return ObservedImage(
        evidence,
        true[_CORNERS].to_numpy(np.float64),
        true["label"].to_numpy(np.int64),
        true["iscrowd"].to_numpy(bool),
    )


def _detections(rows: pd.DataFrame) -> Detections:
    return Detections(rows[_CORNERS].to_numpy(), rows["score"], rows["label"])


@dataclass(frozen=True, eq=False)
class ObservedImage:
    """What a pass left of one labelled image; true boxes (M, 4) are xyxy, pixels."""

    evidence: Evidence
    boxes: np.ndarray
    labels: np.ndarray
    iscrowd: np.ndarray


@dataclass(frozen=True, eq=False)
class ObservedSet:
    """The images of one sample set, called as in the score table."""

    source: str
    sample_set: str
    kind: str
    images: tuple[ObservedImage, ...]


@dataclass(frozen=True, eq=False)
class Observations:
    """What a pass over a meta-set left behind.

    Labels index into the `categories`; `stability` is how clean and perturbed boxes are compared;
    `warnings` say what could not be observed, and why.
    """

    sets: tuple[ObservedSet, ...]
    categories: tuple[str, ...]
    stability: BoxStabilitySettings = field(default_factory=BoxStabilitySettings)
    warnings: tuple[str, ...] = ()

    def of_kind(self, kind: str) -> Observations:
        """Keep the sets of a kind, `SEED` or `SAMPLE`."""
        sets = tuple(observed for observed in self.sets if observed.kind == kind)
        if not sets:
            raise InputError(f"Expected observed images of kind '{kind}' but there are none.")
        return replace(self, sets=sets)

    @property
    def largest(self) -> int:
        """Number of images of the largest set."""
        return max(len(observed.images) for observed in self.sets)
