"""From one labelled set of several categories to a fitted estimator: every category is a source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from autoeval.data.labels.any_format import load_labels
from autoeval.data.labels.content import LabelSet
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.observation.category_tally import MIN_BOXES, MIN_IMAGES, CategoryTally
from autoeval.estimation.observation.kept_observer import keeping
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.presets import light
from autoeval.estimation.observation.teacher_boxes import Teacher
from autoeval.estimation.pairs.pair_table import (
    CATEGORY,
    FEATURES,
    OF_THE_SAME_PASSES,
    WITH_TEACHER,
)
from autoeval.metasets import SampleSet, own_images
from autoeval.metasets.seed_set import load_seed_set
from autoeval.metasets.task import Task
from autoeval.scores.registry import score_of

FEWEST = 3


@dataclass(frozen=True)
class LabelledFit:
    """A fitted estimator and the pairs that it was fitted on.

    Parameters
    ----------
    estimator : MapEstimator
    table : DataFrame
        Pair table; see `autoeval.estimation.pairs.pair_table`.
    problems : tuple of str
        What was left out on the way, one sentence each.
    file_names : tuple of str
        The labelled images.
    """

    estimator: MapEstimator
    table: pd.DataFrame
    problems: tuple[str, ...]
    file_names: tuple[str, ...]


def fit_labelled(
    detector: ImageDetector,
    labels: str | os.PathLike[str],
    img_dir: str | os.PathLike[str] | None = None,
    *,
    family: str | None = None,
    places: pd.DataFrame | None = None,
    teacher: Teacher | None = None,
    target: str = "mAP",
    level: float = 0.9,
    min_images: int = MIN_IMAGES,
    min_boxes: int = MIN_BOXES,
    work_dir: Path | None = None,
    batch_size: int = 4,
) -> LabelledFit:
    """Observe a labelled set once and fit on all its categories that occur often enough.

    Parameters
    ----------
    detector : ImageDetector
    labels : path-like
        In any format of `autoeval.data.labels.load_labels`. The detector should not have seen the
        images in training: it would be judged too well.
    img_dir : path-like, optional
        Folder of the images; by default where the format has it.
    family : str, optional
        Where the set comes from, if `places` come from there too; by default its own name.
    places : DataFrame, optional
        Score table of labelled places (`fit_task`), which are fitted on too.
    teacher : Teacher, optional
        A stronger detector; agreement with it becomes a score.
    target, level
        As in `MapEstimator`.
    min_images, min_boxes : int
        What a category needs; the others are named.
    work_dir : Path, optional
        Keeps what is observed: the same call goes on where one was interrupted.
    batch_size : int
        Changes no number.

    Raises
    ------
    InputError
        If the labels cannot be read, share no word with the detector, or hold fewer than three
        categories often enough.
    """
    content = load_labels(labels, img_dir)
    categories = _shared(content, detector.categories)
    name = Path(labels).stem
    seed_set = load_seed_set(name, labels, img_dir, categories, {word: word for word in categories})
    settings = replace(light(), teacher=teacher)
    observer = Observer(detector, Task(name, categories, ()), settings, batch_size=batch_size)
    observer = keeping(observer, work_dir)
    samples = SampleSet(seed_set, own_images(seed_set))
    kept = (*FEATURES, *OF_THE_SAME_PASSES, *((WITH_TEACHER,) if teacher else ()))
    names = scores_of(kept)
    tally = CategoryTally(categories, names, settings.stability)
    with observer.begin(samples, len(samples), f"observing {name}") as bar:
        for sample, evidence in observer.each(samples):
            tally.update(evidence, sample.boxes, sample.labels, sample.iscrowd)
            bar.update()
    rows, rare = tally.rows(min_images=min_images, min_boxes=min_boxes)
    if len(rows) < FEWEST and places is None:
        raise InputError(
            f"{labels}: only {len(rows)} of {len(categories)} categories occur in {min_images} "
            f"images and {min_boxes} boxes or more, at least {FEWEST} are needed: label more, "
            "or fit on labelled places (--task)."
        )
    table = pd.DataFrame(rows).assign(
        source=name, family=family or name, kind=CATEGORY, repeat=0, sample_set=name
    )
    if places is not None:
        table = pd.concat([table, places], ignore_index=True)
    estimator = MapEstimator(target=target, level=level).fit_rows(table, context=observer.context())
    problems = [*seed_set.problems, *_left_out(rare, min_images, min_boxes)]
    file_names = tuple(image.file_name for image in content.images)
    return LabelledFit(estimator, table, tuple(problems), file_names)


def scores_of(features: Sequence[str]) -> set[str]:
    """Return the names of the scores that fill some columns."""
    return {score.name for score in map(score_of, features) if score is not None}


def _shared(content: LabelSet, words: Sequence[str]) -> tuple[str, ...]:
    shared = tuple(word for word in words if word in set(content.categories))
    if not shared:
        raise InputError(
            f"The labels {content.path} and the detector have no word in common. The labels say "
            f"{listed(content.categories, most=10)}; the detector says {listed(words, most=10)}. "
            "Convert the labels with the detector's words, or write a task file with `mapping`."
        )
    return shared


def _left_out(rare: Sequence[str], min_images: int, min_boxes: int) -> list[str]:
    if not rare:
        return []
    return [
        f"categories in fewer than {min_images} images or {min_boxes} boxes, left out: "
        f"{len(rare)} ({listed(rare, most=10)})"
    ]
