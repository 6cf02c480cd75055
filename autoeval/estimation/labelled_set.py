"""A labelled set with what a detector found on it: what a fit learns from, by any route."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import Self

from autoeval.data.coco import read_coco
from autoeval.data.labels.content import LabelSet, of_splits, split_of
from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import FoundBoxes
from autoeval.data.predictions.prediction_checks import check_coverage
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.estimation.given_boxes import Predictions
from autoeval.estimation.observation.samples import NO_BOXES
from autoeval.estimation.reference_statistics import ReferenceStatistics
from autoeval.estimation.site_boxes import (
    PathLike,
    SiteBoxes,
    check_floor,
    check_limit,
)
from autoeval.labels.label_warnings import exchanged_words, label_warnings, mismatched_words
from autoeval.metrics.average_precision import RankedDetections
from autoeval.metrics.coco_matching import match_categories, rank_categories
from autoeval.notices import Notice, prefixed

if TYPE_CHECKING:
    from autoeval.data.tasks.task import Task

ALL_WRONG, HARDLY_RIGHT = 0.01, 0.02
FEWEST_IMAGES, FEWEST_BOXES = 5, 8  # of a category of a labelled set


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """One labelled set of a fit, with boxes in the categories of `truth`.

    statistics: of the boxes in the detector's own words; its warnings are those of this set.
    everywhere: whether it is of a task, whose categories are evaluated on all its images; otherwise
        each is on those that hold it.
    trained_here: whether the detector was trained on other images of this site.
    """

    name: str
    family: str
    boxes: SiteBoxes
    truth: Truth
    statistics: ReferenceStatistics
    everywhere: bool = False
    left_out: tuple[str, ...] = ()
    trained_here: bool = False

    @cached_property
    def matches(self) -> tuple[np.ndarray, np.ndarray]:
        """Which clean boxes are true positives and which are ignored, (10, N) each."""
        return match_categories(self.boxes.clean, self.truth)

    @cached_property
    def rankings(self) -> list[RankedDetections]:
        """Ranked clean boxes of each category, with its labels."""
        return rank_categories(self.boxes.clean, self.truth, self.matches)

    @cached_property
    def reference_rankings(self) -> list[RankedDetections]:
        """Ranked boxes of the reference detector in each category, with its labels."""
        assert self.boxes.teacher is not None
        return rank_categories(self.boxes.teacher, self.truth)

    @property
    def enough(self) -> list[bool]:
        """Whether each category has labels enough to be a pair of the regression."""
        return [self.everywhere or is_labelled_enough(of.n_true) for of in self.rankings]

    @property
    def right_at_half(self) -> np.ndarray:
        """Average precision at IoU .5 of the categories with labels enough."""
        pairs = zip(self.rankings, self.enough, strict=True)
        every = [of.average_precision()[0] for of, enough in pairs if enough and of.n_true.any()]
        return np.array(every or [np.nan])

    def noting(self, note: str) -> Self:
        """Return the same with one more line of what was left out."""
        return self.changed(left_out=(*self.left_out, note))

    def above(self, floor: float) -> Self:
        """Return the same without the boxes of the clean pass that score lower.

        Boxes are matched from the most confident one on, so those that stay match as before.
        """
        kept = self.boxes.clean.scores >= np.float32(floor)
        boxes = replace(self.boxes, clean=self.boxes.clean.where(kept))
        made = replace(self, boxes=boxes)
        hits, ignored = self.matches
        made.__dict__["matches"] = hits[:, kept], ignored[:, kept]
        if boxes.teacher is not None:
            made.__dict__["reference_rankings"] = self.reference_rankings
        return made

    def changed(self, **fields: Any) -> Self:
        """Return the same with other fields than boxes and truth, and what is computed of these."""
        other = replace(self, **fields)
        other.__dict__.update({name: getattr(self, name) for name in ("matches", "rankings")})
        return other


def is_labelled_enough(n_true: np.ndarray) -> bool:
    """Whether a category with so many labelled boxes in each image can be a source of a fit."""
    return bool(np.count_nonzero(n_true) >= FEWEST_IMAGES and n_true.sum() >= FEWEST_BOXES)


def too_few_labels(source: str) -> InputError:
    """Return the error of a labelled set none of whose categories is labelled enough."""
    return InputError(
        f"No category of {source} has {FEWEST_BOXES} boxes in {FEWEST_IMAGES} images: label "
        "more images."
    )


def labelled_set(
    boxes: SiteBoxes,
    truth: Truth,
    *,
    name: str,
    family: str | None = None,
    everywhere: bool = False,
    statistics: ReferenceStatistics | None = None,
    left_out: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> LabelledSet:
    """Evaluate a labelled set, and check its labels against the boxes.

    family: origin that it shares with other sets; its own name by default.
    statistics: of the boxes in the detector's own words; by default those of `boxes`.
    """
    made = LabelledSet(
        name,
        name if family is None else family,
        boxes,
        truth,
        statistics or ReferenceStatistics.of(boxes.clean),
        everywhere,
        (*left_out, *truth.warnings),
    )
    if not any(made.enough):
        raise too_few_labels(name)
    found = [*warnings, *label_warnings(boxes.clean, truth, made.rankings)]
    made = made.changed(statistics=made.statistics.warning(*prefixed(name, found)))
    categories = zip(truth.categories, made.rankings, made.enough, strict=True)
    rare = [name for name, of, enough in categories if of.n_true.any() and not enough]
    if rare:
        made = made.noting(
            Notice(
                "categories-rarely-labelled",
                f"categories with fewer than {FEWEST_BOXES} boxes or in fewer than {FEWEST_IMAGES} "
                f"images, left out: {len(rare)} ({listed(rare)})",
            )
        )
    return made


def set_of_detector(
    boxes: SiteBoxes, truth: Truth, *, name: str, left_out: Sequence[str] = (), **of_set: Any
) -> LabelledSet:
    """Evaluate a labelled set on which a detector was run, with the checks that files get.

    Low scores that are missing are a warning: a file of them would be refused, but may be mended.
    **of_set: of `labelled_set`.
    """
    what = f"what the detector found on {name}"
    made = labelled_set(
        boxes,
        truth,
        name=name,
        left_out=(*left_out, *check_floor(boxes.clean, what, complete=False)),
        warnings=check_limit(boxes.clean, what),
        **of_set,
    )
    return _noting_all_wrong(made, what)


def labels_with_files(
    labels: PathLike,
    files: Predictions,
    *,
    img_dir: PathLike | None = None,
    family: str | None = None,
    words: Mapping[str, str] | None = None,
) -> LabelledSet:
    """Read one labelled set and its predictions; every category is a source.

    words: category of each word of the detector that counts; these categories are sources instead,
        on all images. Labels have the same words, or the names of the categories.
    """
    path = Path(labels)
    content = read_labels(path, img_dir)
    if not words:
        own = {word: word for word in content.categories}
        return _with_files(path.stem, content, files, content.categories, own, family=family)
    categories = tuple(dict.fromkeys(words.values()))
    made = _with_files(
        path.stem,
        content,
        files,
        categories,
        words,
        family=family,
        everywhere=True,
        label_words={**{name: name for name in categories}, **words},
    )
    numbers = _joined_numbers(made.statistics.numbers, _numbers_of(content))
    made = made.changed(statistics=replace(made.statistics, numbers=numbers))
    unknown = [of for of in words if of not in {*made.statistics.categories, *content.categories}]
    if not unknown:
        return made
    text = f"neither a box nor a label is called {listed(unknown)}: check the word"
    return made.noting(Notice("word-not-known", text))


def task_with_files(task: Task, files: Mapping[str, Predictions]) -> list[LabelledSet]:
    """Read the sources of a task and their predictions."""
    lost = [seed_set.name for seed_set in task.seed_sets if seed_set.name not in files]
    if lost:
        raise InputError(f"No predictions of the sources {', '.join(lost)}: expected NAME.json.")
    words = {**{name: name for name in task.categories}, **task.detector_mapping}
    return [
        _with_files(
            of.name,
            read_labels(
                of.labels,
                None if is_coco_file(of.labels, of.layout) else of.img_dir,
                layout=of.layout,
                **of.options,
            ),
            files[of.name],
            task.categories,
            words,
            family=of.family,
            everywhere=True,
            label_words=of.mapping or words,
        )
        for of in task.seed_sets
    ]


def truth_of_samples(
    found: FoundBoxes, labels: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> Truth:
    """Lay out the labels of the images of `found`.

    labels: of each image boxes (N, 4) as xyxy in pixels, categories (N,) and crowds (N,).
    """
    parts = [*labels, NO_BOXES]
    image = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    boxes, label, crowd = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Truth(found.images, found.categories, image, label, boxes, crowd)


def is_coco_file(path: Path, layout: str | None = None) -> bool:
    """Whether labels are one COCO file, which names its images without their folder."""
    return path.suffix == ".json" and path.is_file() and layout in (None, "coco")


def read_labels(
    path: Path, img_dir: PathLike | None, *, layout: str | None = None, **options: Any
) -> LabelSet:
    """Read labels; a COCO file without a folder of images needs no library that reads images.

    With one, its images get the names of the files there, and one of them at least is among these.
    """
    if not path.exists():
        raise InputError(f"No labels {path}: check the path.")
    is_coco = is_coco_file(path, layout)
    if is_coco and img_dir is None:
        return read_coco(path)
    from autoeval.data.labels.any_format import load_labels

    folder = None if img_dir is None else os.fspath(img_dir)
    content = load_labels(path, folder, layout=layout, **options)
    there = (Path(folder or "") / image.file_name for image in content.images)
    if is_coco and not any(path.is_file() for path in there):
        raise InputError(
            f"Expected images of {path} in {img_dir} but found none of them there: check "
            "`img_dir` (img_dir=), or leave it out."
        )
    return content


def _with_files(
    name: str,
    content: LabelSet,
    files: Predictions,
    categories: Sequence[str],
    words: Mapping[str, str],
    *,
    family: str | None,
    everywhere: bool = False,
    label_words: Mapping[str, str] | None = None,
) -> LabelledSet:
    numbers = _numbers_of(content)
    found = files.read(content.images, where=str(content.path), numbers=numbers)
    content, found, of_split = _covered_splits(content, found)
    floor = check_floor(found.clean, str(files.path), complete=files.complete)
    truth = Truth.of(content, categories, label_words)
    uncovered = check_coverage(
        found.clean,
        np.unique(truth.image),
        str(files.path),
        what="images with labelled objects",
        refuse=files.complete,
    )
    statistics = ReferenceStatistics.of(found.clean)
    mismatch: tuple[str, ...] = ()
    if not label_words:
        statistics = replace(statistics, numbers=_joined_numbers(statistics.numbers, numbers))
        mismatch = mismatched_words(found.clean, truth)
    made = labelled_set(
        found.as_categories(categories, words),
        truth,
        name=name,
        family=family,
        everywhere=everywhere,
        statistics=statistics,
        left_out=(*content.warnings, *of_split, *found.left_out, *floor),
        warnings=(
            *found.clean.warnings,
            *uncovered,
            *check_limit(found.clean, str(files.path)),
            *mismatch,
        ),
    )
    right = float(np.nanmean(made.right_at_half))
    if not everywhere and right < HARDLY_RIGHT:
        others = "Are they of the same images, and do image ids and category numbers mean the same?"
        exchanged = exchanged_words(made.boxes.clean, made.truth)
        if exchanged:
            others = f"{exchanged[0][0].upper()}{exchanged[0][1:]}."
        elif mismatch:
            others = f"{mismatch[0]} If so, give --task a file with `detector_mapping`."
        raise InputError(
            f"Hardly a box of {files.path} is right by {content.path}: mAP50 {right:.1%}, mean "
            f"over categories, so nothing can be learned from them. {others}"
        )
    return _noting_all_wrong(made, str(files.path))


def _numbers_of(content: LabelSet) -> dict[str, str]:
    """Return the word of each category number of labels."""
    given = content.numbers or tuple(str(k) for k in range(len(content.categories)))
    return dict(zip(given, content.categories, strict=True))


def _noting_all_wrong(made: LabelledSet, what: str) -> LabelledSet:
    """Note where hardly a box is right, as where numbers of categories are of another list."""
    right = made.right_at_half
    if np.isnan(right).all() or np.nanmax(right) > ALL_WRONG:
        return made
    return made.noting(
        Notice(
            "nothing-right",
            f"no category of {what} is right anywhere (mAP50 under 1): do category numbers and "
            "image ids mean what the labels mean? Write words and file names into predictions "
            "files",
        )
    )


def _joined_numbers(own: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """Add the labels' words for numbers to those of the predictions, unless they contradict."""
    if any(labels.get(number, word) != word for number, word in own.items()):
        return dict(own)
    return {**labels, **own}


def _covered_splits(
    content: LabelSet, found: SiteBoxes
) -> tuple[LabelSet, SiteBoxes, tuple[str, ...]]:
    """Keep the splits of a whole data set that the predictions cover."""
    splits = np.array([split_of(image) for image in content.images])
    covered = sorted(set(splits[found.clean.image].tolist()))
    left = {name: int(np.sum(splits == name)) for name in set(splits) - set(covered)}
    if not left or not covered:
        return content, found, ()
    kept = np.flatnonzero(np.isin(splits, covered))
    others = listed([f"{name or 'no split'} ({n} images)" for name, n in sorted(left.items())])
    note = Notice(
        "splits-left-out",
        f"the predictions are of the split {listed(covered)} ({len(kept)} images) of "
        f"{content.path}, and only its labels are used; not of {others}",
    )
    return of_splits(content, covered), found.on_images(kept), (note,)
