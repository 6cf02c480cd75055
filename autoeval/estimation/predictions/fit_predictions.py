"""From labels and predictions to a fitted estimator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from autoeval.data.coco import read_coco
from autoeval.data.labels.content import LabelSet
from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions, read_predictions
from autoeval.errors import InputError
from autoeval.estimation.predictions.doubts.labelled_twice import labelled_twice
from autoeval.estimation.predictions.doubts.lost_words import lost_words
from autoeval.estimation.predictions.doubts.surer_than_right import surer_than_right
from autoeval.estimation.predictions.memory import Memory, check_floor
from autoeval.estimation.predictions.prediction_fit import (
    PredictionsFit,
    fit_pairs,
    joined,
    unlike,
)
from autoeval.estimation.predictions.prediction_pairs import labelled_pairs
from autoeval.metrics.by_category import rank_categories

if TYPE_CHECKING:
    from autoeval.metasets.task import SeedSetFiles, Task

PathLike = str | os.PathLike[str]
HOPELESS = 0.01
USELESS = 0.02


@dataclass(frozen=True)
class Files:
    """The predictions of one set of images, and how to read them.

    Parameters
    ----------
    clean : path-like
    half_size : path-like, optional
        Those of a second pass at half the size, in pixels of the full size.
    names : mapping of str to str
        Word of each category number, where neither the file nor the labels have it.
    truncated : bool
        Whether it is known that low scores were cut off.
    """

    clean: PathLike
    half_size: PathLike | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    truncated: bool = False


def fit_labels(
    labels: PathLike,
    files: Files,
    *,
    img_dir: PathLike | None = None,
    family: str | None = None,
    target: str = "mAP",
    level: float = 0.9,
) -> PredictionsFit:
    """Fit on one labelled set, every category of which is a source.

    Parameters
    ----------
    labels : path-like
        In any format that `load_labels` reads.
    files : Files
    img_dir : path-like, optional
        Folder of the images, for label formats that need it.
    family : str, optional
        Origin of the labelled set, if other sources share it.
    target : {"mAP", "mAP50", "mAP75"}
    level : float
        Nominal coverage of the intervals.

    Raises
    ------
    InputError
        If labels or predictions cannot be read or do not belong together, hardly a box is right, or
        no category has boxes enough.
    """
    content = _labels(Path(labels), img_dir)
    place = _Place(Path(labels).stem, content, family)
    table, memory, problems = place.pairs(files, content.categories, {}, everywhere=False)
    right = table["mAP50"].mean()
    if right < USELESS:
        raise InputError(
            f"Hardly a box of {files.clean} is right by {labels}: mAP50 {right:.1%}, mean over "
            "categories, so nothing can be learnt from them. Are they of the same images, and do "
            "image ids and category numbers mean the same in both?"
        )
    return fit_pairs(table, memory, problems, target, level)


def fit_sources(
    task: Task,
    files: Mapping[str, Files],
    *,
    target: str = "mAP",
    level: float = 0.9,
) -> PredictionsFit:
    """Fit on the sources of a task.

    Parameters
    ----------
    task : Task
    files : mapping of str to Files
        By the name of the source.
    target, level
        As in `fit_labels`.

    Raises
    ------
    InputError
        If a source has no predictions, or as `fit_labels`.
    """
    lost = [seed_set.name for seed_set in task.seed_sets if seed_set.name not in files]
    if lost:
        raise InputError(f"No predictions of the sources {', '.join(lost)}: expected NAME.json.")
    tables, memories, problems = [], [], []
    words = {**{name: name for name in task.categories}, **task.detector_mapping}
    for seed_set in task.seed_sets:
        place = _Place(seed_set.name, _labels_of(seed_set), seed_set.family)
        own = place.pairs(
            files[seed_set.name],
            task.categories,
            words,
            everywhere=True,
            label_words=seed_set.mapping or words,
        )
        tables.append(own[0])
        memories.append(own[1])
        problems += own[2]
    problems += unlike(memories, [seed_set.name for seed_set in task.seed_sets])
    return fit_pairs(pd.concat(tables), joined(memories), problems, target, level)


@dataclass(frozen=True)
class _Place:
    """A labelled place."""

    name: str
    content: LabelSet
    family: str | None = None

    def pairs(
        self,
        files: Files,
        categories: Sequence[str],
        words: Mapping[str, str],
        *,
        everywhere: bool,
        label_words: Mapping[str, str] | None = None,
    ) -> tuple[pd.DataFrame, Memory, list[str]]:
        """Score and judge it; words translate the detector's words into categories."""
        found = self._read(files.clean, files)
        problems = [*self.content.problems, *found.problems]
        problems += check_floor(found, str(files.clean), truncated=files.truncated)
        truth = Truth.of(self.content, categories, label_words)
        mine = found.as_categories(categories, dict(words) or {name: name for name in categories})
        half = None
        if files.half_size is not None:
            read = self._read(files.half_size, files)
            problems += read.problems
            half = read.as_categories(categories, dict(words) or {n: n for n in categories})
        ranked = rank_categories(mine, truth)
        table = labelled_pairs(
            mine,
            truth,
            source=self.name,
            family=self.family,
            half=half,
            everywhere=everywhere,
            ranked=ranked,
        )
        doubts = [*surer_than_right(mine, ranked), *labelled_twice(truth)]
        doubts += () if words else lost_words(found, truth)
        problems += [*truth.problems, *_hopeless(table, files)]
        told, doubted = ([f"{self.name}: {p}" for p in of] for of in (problems, doubts))
        memory = Memory.of(found, half_size=half is not None).doubting(*doubted)
        return table, memory, [*told, *doubted]

    def _read(self, path: PathLike, files: Files) -> Predictions:
        content = self.content
        given = content.numbers or tuple(str(k) for k in range(len(content.categories)))
        numbers = dict(zip(given, content.categories, strict=True))
        return read_predictions(
            path,
            images=content.images,
            where=str(content.path),
            numbers=files.names or numbers,
        )


def _labels(
    path: Path, img_dir: PathLike | None, *, layout: str | None = None, **options: Any
) -> LabelSet:
    """Read labels; a COCO file needs no library that reads images."""
    if not path.exists():
        raise InputError(f"No labels {path}: check the path.")
    if path.suffix == ".json" and path.is_file() and layout in (None, "coco"):
        return read_coco(path)
    from autoeval.data.labels.any_format import load_labels

    return load_labels(path, img_dir, layout=layout, **options)


def _labels_of(files: SeedSetFiles) -> LabelSet:
    return _labels(files.labels, files.img_dir, layout=files.layout, **files.options)


def _hopeless(table: pd.DataFrame, files: Files) -> list[str]:
    """Doubt predictions that are right nowhere: their categories or images may be shifted."""
    if table["mAP50"].max() > HOPELESS:
        return []
    return [
        f"no category of {files.clean} is right anywhere (mAP50 under 1): do its category numbers "
        "and image ids mean what the labels mean? Write words and file names into it"
    ]
