"""Scoring a meta-set: one job a sample set, resumable, gathered into the score table.

The boxes of the sources' own images are kept, to learn from for few labels elsewhere.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from autoeval.boxes import Boxes, LabelledImage
from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.estimation.observation.detector_identity import (
    LoadDetector,
    TravellingObserver,
    kept_with,
)
from autoeval.estimation.observation.observing import Observer
from autoeval.io.find_images import file_stamp
from autoeval.io.labels.content import NO_BOXES
from autoeval.io.tasks.seed_set import SeedSet
from autoeval.model.pair_table import SAMPLE, SEED
from autoeval.runtime.jobs import Advance, Executor, Job, JobCounts, run_jobs
from autoeval.runtime.store import RowStore
from autoeval.sites.file_looks import Looks
from autoeval.sites.site import Site
from autoeval.stability.metasets.recipe import Recipe, SampleSet
from autoeval.stability.passes.tally import scored_rows
from autoeval.stability.scores.base import revisions
from autoeval.version import __version__

# Column of a source's own images that holds them with their boxes and labels, as bytes.
LABELLED = "labelled_boxes"
BOXES_FILE = "boxes.parquet"  # of a work dir, with the columns ``source``, ``group`` and `LABELLED`
MOST_IMAGES = 300  # of a source, at equal distances
FOUND = ("image", "label", "boxes", "scores")
TRUE = ("image", "label", "boxes", "crowd")


class Scorer(TravellingObserver):
    """Scores the `SampleSet` that a job brings along; for parameters see `TravellingObserver`."""

    def __call__(self, job: Job, advance: Advance) -> list[dict[str, Any]]:
        """Return the rows of one sample set, one a repeat; own images also with all their boxes."""
        samples, seen = job.payload, list[Evidence]()
        untouched = job.columns.get("kind") == SEED
        n_kept = min(len(samples), MOST_IMAGES) if untouched else 0
        # The first images may be of one video, while the accuracy is that of all.
        numbers = np.linspace(0, len(samples) - 1, n_kept).round().astype(int).tolist()
        unread = (samples.unread(number) for number in numbers)
        truth_by_image = {one.image_id: (one.boxes, one.labels, one.iscrowd) for one in unread}

        def keep(evidence: Evidence) -> None:
            if evidence.image_id in truth_by_image:
                seen.append(evidence.boxes_alone())

        rows = scored_rows(self.observer, samples, advance=advance, watch=keep)
        if untouched:
            pool = Site.of_evidence(seen, self.observer.task.categories).pool
            labels = [truth_by_image[evidence.image_id] for evidence in seen]
            truth = truth_of_samples(pool, labels)
            rows[0][LABELLED] = pack_set(pool, truth)
        return [{**job.columns, **row} for row in rows]


def truth_of_samples(
    detected: Boxes, labels: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> Boxes:
    """Lay out the labels of the images of `detected`.

    Parameters
    ----------
    detected : Boxes
        Whose images and categories the result has.
    labels : iterable of tuple of ndarray
        Of each image boxes (N, 4) as xyxy in pixels, categories (N,) and crowds (N,).
    """
    parts = [*labels, NO_BOXES]
    image = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    boxes, label, crowd = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Boxes(detected.images, detected.categories, image, label, boxes, crowd=crowd)


def score_meta_set(
    observer: Observer,
    seed_sets: Sequence[SeedSet],
    recipes: Iterable[Recipe],
    *,
    store: RowStore,
    executor: Executor | None = None,
    load: LoadDetector | None = None,
) -> tuple[pd.DataFrame, JobCounts]:
    """Score and evaluate a detector on every sample set; what the store holds is not done again.

    Parameters
    ----------
    observer : Observer
        With `ScoredSettings`.
    seed_sets : sequence of SeedSet
        Labelled sources.
    recipes : iterable of Recipe
        Recipes without transforms give the rows of a source's own images.
    store : RowStore
        Keeps the rows of each sample set.
    executor : Executor, optional
        Runs the jobs; by default they run here.
    load : callable, optional
        Loads the detector on another machine.

    Returns
    -------
    table : DataFrame
        The score table, with the rows of failed jobs (see ``status`` and ``error``).
    counts : JobCounts
        What was done and what failed.
    """
    jobs = sample_set_jobs(observer, seed_sets, recipes)
    work = Scorer(observer, load=load)
    counts = run_jobs(jobs, work, store, activity="scoring sample sets", executor=executor)
    return store.table(job.key for job in jobs), counts


def sample_set_jobs(
    observer: Observer, seed_sets: Sequence[SeedSet], recipes: Iterable[Recipe]
) -> list[Job]:
    """Make one job a recipe, whose payload is the `SampleSet`.

    Keys differ where anything differs that the rows depend on: detector, settings, data, recipe,
    and which scores there are in which revision.

    Parameters
    ----------
    observer : Observer
        With `ScoredSettings`.
    seed_sets : sequence of SeedSet
        Labelled sources.
    recipes : iterable of Recipe
        Each of one of them.
    """
    by_name = {seed_set.name: seed_set for seed_set in seed_sets}
    made_with: dict[str, Any] = {"version": __version__, "scores": revisions()}
    made_with |= observer.settings.kept_with
    made_with |= {**observer.context(), **kept_with(observer)}
    digests = {name: seed_set_digest(seed_set) for name, seed_set in by_name.items()}
    return [
        _job(by_name[recipe.seed_set], recipe, {**made_with, "data": digests[recipe.seed_set]})
        for recipe in recipes
    ]


def seed_set_digest(seed_set: SeedSet) -> str:
    """Return a hash of the ids, labels, sizes and file stamps of a seed set's images.

    Parameters
    ----------
    seed_set : SeedSet
        Whose files are there.
    """
    digest = hashlib.sha256()
    for image in seed_set.images:
        stamped = (image.width, image.height, file_stamp(image.path))
        digest.update(repr((image.image_id, stamped)).encode())
        for array in (image.boxes, image.labels, image.iscrowd):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _job(seed_set: SeedSet, recipe: Recipe, made_with: dict[str, Any]) -> Job:
    content = json.dumps({**made_with, "recipe": recipe.to_dict()}, sort_keys=True)
    columns = {
        "source": seed_set.name,
        "sample_set": recipe.recipe_id,
        "kind": SAMPLE if recipe.steps else SEED,
        "transforms": ", ".join(
            step.name if step.magnitude is None else f"{step.name} {step.magnitude:.3g}"
            for step in recipe.steps
        ),
    }
    key = f"{seed_set.name}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    file_name = "".join(c if c.isalnum() or c in "-_." else "_" for c in key)
    return Job(file_name, len(recipe.image_ids), SampleSet(seed_set, recipe), columns)


def apart(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Take the boxes out of a score table.

    Parameters
    ----------
    table : DataFrame
        A score table, with or without a column `LABELLED`.

    Returns
    -------
    table : DataFrame
        Without them.
    boxes : DataFrame
        One row a source that has them: ``source``, ``group`` (its own name by default), `LABELLED`.
    """
    columns = ["source", "group", LABELLED]
    if LABELLED not in table:
        return table, pd.DataFrame(columns=columns)
    rows = table[table[LABELLED].notna()].drop_duplicates("source")
    if "group" not in rows:
        rows = rows.assign(group=rows["source"])
    boxes = rows.assign(group=rows["group"].fillna(rows["source"]))[columns]
    return table.drop(columns=LABELLED), boxes.reset_index(drop=True)


def recorded_sets(boxes: pd.DataFrame) -> list[Site]:
    """Return the labelled sets that a table holds.

    Parameters
    ----------
    boxes : DataFrame
        The second table of `apart`.

    Raises
    ------
    InputError
        See `unpack_set`.
    """
    columns: Iterable = zip(boxes[LABELLED], boxes["source"], boxes["group"], strict=True)
    return [unpack_set(content, str(name), str(group)) for content, name, group in columns]


def pack_set(boxes: Boxes, truth: Boxes) -> bytes:
    """Write boxes and their labels as bytes, so that they fit a row of a table.

    Parameters
    ----------
    boxes : Boxes
        Detected boxes.
    truth : Boxes
        Labels, on the same images and in the same categories.
    """
    box_arrays = {f"found_{name}": getattr(boxes, name) for name in FOUND}
    true = {f"true_{name}": getattr(truth, name) for name in TRUE}
    described = {
        "images": [(image.image_id, image.size) for image in boxes.images],
        "categories": boxes.categories,
    }
    text = np.frombuffer(json.dumps(described).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, described=text, **box_arrays, **true)
    return buffer.getvalue()


def unpack_set(content: bytes, name: str, group: str) -> Site:
    """Read what `pack_set` wrote.

    Parameters
    ----------
    content : bytes
        What it returned.
    name, group : str
        Of the site.

    Raises
    ------
    InputError
        If it is something else.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = dict(stored)
        described = json.loads(arrays["described"].tobytes())
        images = tuple(
            LabelledImage(image_id, image_id, tuple(size) if size else None)
            for image_id, size in described["images"]
        )
        categories = tuple(described["categories"])
        columns = {name: arrays[f"found_{name}"] for name in FOUND}
        detected = Boxes(images, categories, **columns)
        true = {name: arrays[f"true_{name}"] for name in TRUE}
        truth = Boxes(images, categories, **true)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"The boxes of source '{name}' cannot be read: {error}.") from error
    return Site(
        detected,
        truth=truth,
        looks=Looks.of(detected),
        name=name,
        group=group,
        everywhere=True,
    )
