"""Labelled sets whose boxes are in files, and the checks that all labelled sets get."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from autoeval.boxes import Boxes
from autoeval.errors import InputError
from autoeval.estimation.given_boxes import Predictions
from autoeval.estimation.read_site import left_out_of
from autoeval.io.coco import read_coco
from autoeval.io.image_folder import image_folders, with_sizes
from autoeval.io.in_memory import labels_in_memory
from autoeval.io.json_file import is_json
from autoeval.io.labels.content import LabelSet, of_images
from autoeval.io.labels.truth import ignoring_unchecked, labelled_boxes
from autoeval.io.predictions.box_checks import unseen_images
from autoeval.io.wording import listed
from autoeval.labels.plan_folder import PLAN
from autoeval.notices import Notice
from autoeval.runtime.files import PathLike
from autoeval.sites.category_numbers import numbered_by_labels
from autoeval.sites.file_looks import Looks, check_floor, check_limit
from autoeval.sites.label_warnings import (
    exchanged_words,
    mismatched_words,
    never_predicted,
    unpredicted_categories,
)
from autoeval.sites.pool import unknown_sizes
from autoeval.sites.site import Site, labelled_site

if TYPE_CHECKING:
    from autoeval.io.tasks.task import Task

ALL_WRONG, HARDLY_RIGHT = 0.01, 0.02
GivenLabels = PathLike | Any
"""A path, or labels in memory; see `labels_in_memory`."""
LABELLED = "images with labelled objects"
FILES_WRONG = (
    "do category numbers and image ids mean what the labels mean? Write words and file names into "
    "predictions files"
)


def set_of_detector(
    site: Site, truth: Boxes, *, name: str, left_out: Sequence[str] = (), **of_set: Any
) -> Site:
    """Evaluate a labelled set on which a detector was run, with the checks that files get.

    Low scores that are missing are a warning: a file of them would be refused, but may be mended.
    Images without a box were seen: they are no reason to doubt.
    **of_set: of `labelled_set`.
    """
    what = f"what the detector found on {name}"
    made = labelled_site(
        site,
        truth,
        name=name,
        left_out=(*left_out, *check_floor(site.boxes, what, complete=False, ran=True)),
        warnings=check_limit(site.boxes, what, ran=True),
        **of_set,
    )
    if not of_set.get("everywhere") and _mean_right(made) < HARDLY_RIGHT:
        others = "Are the labels of these images, in pixels of them?"
        raise _hardly_right(made, what, "by its labels", others)
    return _noting_all_wrong(made, what, "are the labels of these images, in its words?")


def labels_with_files(
    labels: GivenLabels,
    files: Predictions,
    *,
    img_dir: PathLike | None = None,
    group: str | None = None,
    words: Mapping[str, str] | None = None,
    unpredicted: bool = False,
) -> Site:
    """Read one labelled set and its predictions; every category is a source.

    unpredicted: whether categories of which no box is found are kept.
    words: category of each word of the detector that counts; these categories are sources instead,
        on all images. Labels have the same words, or the names of the categories.
    """
    content = read_labels(labels, img_dir)
    name = content.path.name
    site = name.removesuffix(".gz").rpartition(".")[0] or name
    if not words:
        same_words = {word: word for word in content.categories}
        return _with_files(
            site,
            content,
            files,
            content.categories,
            same_words,
            group=group,
            unpredicted=unpredicted,
        )
    categories = tuple(dict.fromkeys(words.values()))
    made = _with_files(
        site,
        content,
        files,
        categories,
        words,
        group=group,
        everywhere=True,
        label_words={**{name: name for name in categories}, **words},
    )
    numbers = _joined_numbers(made.looks.numbers, _numbers_of(content))
    made = made.changed(statistics=replace(made.looks, numbers=numbers))
    unknown = [word for word in words if word not in {*made.looks.categories, *content.categories}]
    if not unknown:
        return made
    text = f"neither a box nor a label is called {listed(unknown)}: check the word"
    return made.noting(Notice("word-not-known", text))


def task_with_files(task: Task, files: Mapping[str, Predictions]) -> list[Site]:
    """Read the sources of a task and their predictions."""
    lost = [seed_set.name for seed_set in task.seed_sets if seed_set.name not in files]
    if lost:
        raise InputError(f"No predictions of the sources {', '.join(lost)}: expected NAME.json.")
    words = {**{name: name for name in task.categories}, **task.detector_mapping}
    return [
        _with_files(
            seed_set.name,
            read_labels(
                seed_set.labels,
                None if is_coco_file(seed_set.labels, seed_set.layout) else seed_set.img_dir,
                layout=seed_set.layout,
                **seed_set.options,
            ),
            files[seed_set.name],
            task.categories,
            words,
            group=seed_set.group,
            everywhere=True,
            label_words=seed_set.mapping or words,
        )
        for seed_set in task.seed_sets
    ]


def is_coco_file(path: Path, layout: str | None = None) -> bool:
    """Whether labels are one COCO file, which names its images without their folder."""
    return is_json(path) and path.is_file() and layout in (None, "coco")


def plan_beside(labels: GivenLabels) -> Path | None:
    """Return the folder of the plan that drew the labelled images, where labels lie in one."""
    if not isinstance(labels, str | os.PathLike):
        return None
    folder = Path(labels).parent
    return folder if (folder / PLAN).exists() else None


def read_labels(
    labels: GivenLabels, img_dir: PathLike | None, *, layout: str | None = None, **options: Any
) -> LabelSet:
    """Read labels; a COCO file without a folder of images needs no library that reads images.

    With one, its images get the names of the files there, and one of them at least is among these.
    """
    if not isinstance(labels, str | os.PathLike):
        if img_dir is not None:
            raise InputError(
                "`img_dir` is for label files that do not say where their images lie, and these "
                "labels are in memory: leave it out."
            )
        return labels_in_memory(labels)
    path = Path(labels)
    if not path.exists():
        raise InputError(f"No labels {path}: check the path.")
    is_coco = is_coco_file(path, layout)
    if is_coco and img_dir is None:
        content = read_coco(path)
        return replace(content, images=with_sizes(content.images, image_folders(path)))
    from autoeval.io.labels.any_format import load_labels

    folder = None if img_dir is None else os.fspath(img_dir)
    content = load_labels(path, folder, layout=layout, **options)
    there = (Path(folder or "") / image.file_name for image in content.images)
    if is_coco and not any(path.is_file() for path in there):
        raise InputError(
            f"Expected images of {path} in {img_dir} but found none of them there: check "
            "`img_dir` (--img-dir), or leave it out."
        )
    return content


def _with_files(
    name: str,
    content: LabelSet,
    files: Predictions,
    categories: Sequence[str],
    words: Mapping[str, str],
    *,
    group: str | None,
    everywhere: bool = False,
    label_words: Mapping[str, str] | None = None,
    unpredicted: bool = False,
) -> Site:
    numbers = _numbers_of(content)
    site = files.read(content.images, where=str(content.path), numbers=numbers)
    content = of_images(content, site.boxes.images)
    floor = check_floor(site.boxes, str(files.name), complete=files.complete)
    truth = labelled_boxes(content, categories, label_words)
    site = replace(site, boxes=numbered_by_labels(site.boxes, truth, words, files.name))
    unseen, uncovered = unseen_images(
        site.boxes,
        np.unique(truth.image),
        str(files.name),
        what=LABELLED,
        complete=files.complete,
        refuse=True,
    )
    if len(unseen):
        site = site.on_images(np.setdiff1d(np.arange(len(site)), unseen))
        content = of_images(content, site.boxes.images)
        truth = labelled_boxes(content, categories, label_words)
    statistics = Looks.of(site.boxes)
    mismatch: tuple[str, ...] = ()
    if not label_words:
        statistics = replace(statistics, numbers=_joined_numbers(statistics.numbers, numbers))
        mismatch = mismatched_words(site.boxes, truth)
        lost = [] if unpredicted else never_predicted(site.boxes, truth)
        known = [name for name in categories if name not in lost]
        if np.isin(truth.label, [k for k, name in enumerate(categories) if name in known]).any():
            categories, truth = known, labelled_boxes(content, known)
    else:
        mismatch = unpredicted_categories(site.boxes, truth, words)
    of_categories = site.as_categories(categories, words)
    made = labelled_site(
        of_categories,
        ignoring_unchecked(truth, content, of_categories.boxes, label_words),
        name=name,
        group=group,
        everywhere=everywhere,
        statistics=statistics,
        left_out=(*content.warnings, *left_out_of(site), *unknown_sizes(site.boxes), *floor),
        warnings=(
            *site.boxes.warnings,
            *uncovered,
            *check_limit(site.boxes, str(files.name)),
            *mismatch,
        ),
    )
    if not everywhere and _mean_right(made) < HARDLY_RIGHT:
        others = "Are they of the same images, and do image ids and category numbers mean the same?"
        exchanged = exchanged_words(made.boxes, made.labels)
        if exchanged:
            others = f"{exchanged[0][0].upper()}{exchanged[0][1:]}."
        elif mismatch:
            others = (
                f"{mismatch[0]} If so, translate them, such as with --category "
                "vehicle=car,bus,truck (categories=), or in a task file with `detector_mapping`."
            )
        raise _hardly_right(made, str(files.name), f"by {content.path}", others)
    return _noting_all_wrong(made, str(files.name))


def _numbers_of(content: LabelSet) -> dict[str, str]:
    """Return the word of each category number of labels."""
    given = content.numbers or tuple(str(k) for k in range(len(content.categories)))
    return dict(zip(given, content.categories, strict=True))


def check_some_right(sets: Sequence[Site]) -> None:
    """Refuse a fit where hardly a box is right at any of its sites.

    One site of several where a detector fails, such as one in fog, is what a fit learns from; where
    it fails at all of them, boxes and labels do not belong together.
    """
    if all(_mean_right(labelled_set) < HARDLY_RIGHT for labelled_set in sets):
        where = f"on {listed([labelled_set.name for labelled_set in sets])}"
        question = "Do image ids and category numbers mean the same in predictions and in labels?"
        raise _hardly_right(max(sets, key=_mean_right), f"those {where}", "by the labels", question)


def _mean_right(made: Site) -> float:
    """Return the mAP at IoU .5, mean over the categories that are labelled."""
    return float(np.nanmean(made.ap50))


def _hardly_right(made: Site, boxes: str, labels: str, question: str) -> InputError:
    return InputError(
        f"Hardly a box of {boxes} is right {labels}: mAP50 {_mean_right(made):.1%}, mean over "
        f"categories, so nothing can be learned from them. {question}"
    )


def _noting_all_wrong(made: Site, what: str, question: str = FILES_WRONG) -> Site:
    """Note where hardly a box is right, as where numbers of categories are of another list."""
    right = made.ap50
    if np.isnan(right).all() or np.nanmax(right) > ALL_WRONG:
        return made
    return made.noting(
        Notice(
            "nothing-right",
            f"no category of {what} is right anywhere (mAP50 under 1): {question}",
        )
    )


def _joined_numbers(of_boxes: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """Add the labels' words for numbers to those of the predictions, unless they contradict."""
    if any(labels.get(number, word) != word for number, word in of_boxes.items()):
        return dict(of_boxes)
    return {**labels, **of_boxes}
