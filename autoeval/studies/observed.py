"""The boxes of every image of a meta-set, kept as rows so that a pass is made once.

Studies of single boxes, of images, and of subsets of images start from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from autoeval.detections import Detections, Evidence
from autoeval.detectors.detector import Detector
from autoeval.errors import InputError
from autoeval.estimation.collect import Samples, collect
from autoeval.estimation.meta_set import sample_set_jobs
from autoeval.estimation.presets import PassSettings
from autoeval.metasets.recipe import Recipe
from autoeval.metasets.sample_set import Sample
from autoeval.metasets.seed_set import SeedSet
from autoeval.metasets.task import Task
from autoeval.runtime.jobs import run_jobs
from autoeval.runtime.store import OK, RowStore
from autoeval.scores.box_stability import BoxStabilitySettings

IMAGE, TRUE, CLEAN, PERTURBED = "image", "true", "clean", "perturbed"
_CORNERS = ["x1", "y1", "x2", "y2"]


@dataclass(frozen=True, eq=False)
class ObservedImage:
    """What a pass left of one labelled image.

    Parameters
    ----------
    evidence : Evidence
        Clean and perturbed boxes.
    boxes : ndarray of shape (M, 4), float64
        True boxes as xyxy, pixels.
    labels : ndarray of shape (M,), int64
    iscrowd : ndarray of shape (M,), bool
    """

    evidence: Evidence
    boxes: np.ndarray
    labels: np.ndarray
    iscrowd: np.ndarray


@dataclass(frozen=True, eq=False)
class ObservedSet:
    """The images of one sample set.

    Parameters
    ----------
    source, sample_set, kind : str
        As in the score table.
    images : tuple of ObservedImage
    """

    source: str
    sample_set: str
    kind: str
    images: tuple[ObservedImage, ...]


@dataclass(frozen=True, eq=False)
class Observations:
    """What a pass over a meta-set left behind.

    Parameters
    ----------
    sets : tuple of ObservedSet
    categories : tuple of str
        Categories of the task, which labels index into.
    stability : BoxStabilitySettings
        How clean and perturbed boxes are to be compared.
    problems : tuple of str
        What could not be observed, and why.
    """

    sets: tuple[ObservedSet, ...]
    categories: tuple[str, ...]
    stability: BoxStabilitySettings = field(default_factory=BoxStabilitySettings)
    problems: tuple[str, ...] = ()

    def of_kind(self, kind: str) -> Observations:
        """Keep the sets of a kind, `SEED` or `SAMPLE`.

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


def rows_of(image: ObservedImage) -> list[dict[str, Any]]:
    """Turn an image into rows: itself, its true boxes, its clean and its perturbed boxes.

    Returns
    -------
    list of dict
        ``image_id``, ``what`` (`IMAGE`, `TRUE`, `CLEAN` or `PERTURBED`), ``repeat`` (0 where there
        is none), ``x1``, ``y1``, ``x2``, ``y2`` (pixels; of the whole image for `IMAGE`),
        ``score`` (1 where there is none), ``label``, ``iscrowd``.
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


def _row(image_id, what, repeat, box, score=1.0, label=0, crowd=False) -> dict[str, Any]:
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
