"""Labelled sets: their boxes read from files, or found by a detector, with the checks of both.

A fit begins here: `labels_with_files` and `task_with_files` read predictions, `observed_labels` and
`observed_sources` run a detector. Each makes a `Site` with truth, checked by `labelled_site`:
copies are left out, labels are compared with boxes, categories with too few labels are noted.
`autoeval.estimation.fitting` fits on the result.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from autoeval.boxes import Boxes, Categories, words_of
from autoeval.detectors.detector_spec import CLASSES_OPTION
from autoeval.errors import InputError, TooFewLabelsError
from autoeval.estimation.checks import unreadable_warning
from autoeval.estimation.given import GivenLabels, Predictions, is_coco_file, read_labels
from autoeval.estimation.observation.reference_boxes import PredictionsReference, Reference
from autoeval.estimation.run_detector import Detector, any_task, detect_samples
from autoeval.io.labels.content import (
    LabelSet,
    held_out_of_training,
    ignoring_unchecked,
    labelled_boxes,
    of_images,
)
from autoeval.io.predictions.category_words import as_spelt, known_spellings, numbered_by_labels
from autoeval.io.predictions.covered_images import (
    copies,
    copies_left_out,
    unseen_images,
)
from autoeval.io.predictions.reading import NoBoxError, unknown_sizes
from autoeval.io.tasks.seed_set import thinned
from autoeval.io.tasks.task import Task
from autoeval.runtime.files import PathLike
from autoeval.sites.file_looks import (
    ConfidentBoxes,
    Looks,
    check_floor,
    check_limit,
    overlaps_of,
)
from autoeval.sites.label_warnings import (
    exchanged_words,
    label_warnings,
    never_predicted,
    other_readings,
)
from autoeval.sites.site import FEWEST_BOXES, FEWEST_IMAGES, Site, is_labelled_enough
from autoeval.words import Notice, listed, prefixed

if TYPE_CHECKING:
    from autoeval.io.tasks.seed_set import SeedSet

ALL_WRONG = 0.01
HARDLY_RIGHT = 0.02
LABELLED = "images with labelled objects"
FILES_WRONG = (
    "do category numbers and image ids mean what the labels mean? Write words and file names into "
    "predictions files"
)
LABELS_WRONG = "are the labels of these images, in its words?"


def _too_few_labels(site: str) -> TooFewLabelsError:
    """Return the error of a labelled set none of whose categories is labelled enough.

    Parameters
    ----------
    site : str
        Its name, for the message.
    """
    return TooFewLabelsError(
        f"No category of {site} has {FEWEST_BOXES} boxes in {FEWEST_IMAGES} images: label "
        "more images."
    )


def labelled_site(site: Site) -> Site:
    """Leave out the copies among the images of a labelled set, and check labels against boxes.

    Parameters
    ----------
    site : Site
        With truth and a name; its group is the name by default, its looks are of the boxes in the
        detector's own words, by default of the boxes.

    Returns
    -------
    Site
        Its warnings are now those of its looks, which every estimate of a fit repeats.

    Raises
    ------
    TooFewLabelsError
        If no category has labels enough.
    InputError
        If the labels are of other images or of other sizes; see `label_warnings`.
    """
    name, looks = site.name, site.looks or Looks.of(site.boxes)
    later = copies(site.boxes, site.evaluation.truth)
    if len(later):
        site = replace(site, left_out=(*site.left_out, *copies_left_out(len(later))))
        site = site.without_images(later)
    evaluation = site.evaluation
    if not any(evaluation.enough):
        raise _too_few_labels(name)
    left_out = [*site.left_out, *evaluation.truth.left_out]
    labelled = [ranking.n_true.any() for ranking in evaluation.rankings]
    categories = zip(site.boxes.categories, labelled, evaluation.enough, strict=True)
    rare = [name for name, any_label, enough in categories if any_label and not enough]
    if rare:
        text = (
            f"categories with fewer than {FEWEST_BOXES} boxes or in fewer than {FEWEST_IMAGES} "
            f"images, left out: {len(rare)} ({listed(rare)})"
        )
        left_out.append(Notice("categories-rarely-labelled", text, severity="note"))
    of_labels = label_warnings(site.boxes, evaluation.truth, evaluation.rankings, name)
    repeated = (*looks.warnings, *prefixed(name, (*site.warnings, *of_labels)))
    if site.everywhere:  # new boxes are in these categories, too, when they are compared
        looks = replace(looks, confident=(ConfidentBoxes.of(site.boxes),))
    return replace(
        site,
        group=site.group or name,
        grouped=bool(site.group),
        looks=replace(looks, warnings=repeated),
        warnings=(),
        left_out=tuple(left_out),
    )


def set_of_samples(site: Site) -> Site:
    """Check a labelled set that a detector was run on earlier, as `labelled_site` and as files are.

    Parameters
    ----------
    site : Site
        With truth, in categories that are expected in all images.

    Returns
    -------
    Site
        As of `labelled_site`, with the warnings of its boxes.

    Raises
    ------
    InputError
        As `labelled_site`.
    """
    boxes_name = f"what the detector found on {site.name}"
    floor = check_floor(site.boxes, boxes_name, complete=False, ran=True)
    limit = check_limit(site.boxes, boxes_name, ran=True)
    labelled = labelled_site(
        replace(site, everywhere=True, left_out=(*site.left_out, *floor), warnings=limit)
    )
    return _noting_all_wrong(labelled, boxes_name, LABELS_WRONG)


def labels_with_files(
    labels: GivenLabels,
    files: Predictions,
    *,
    img_dir: PathLike | None = None,
    group: str | None = None,
    words: Mapping[str, str] | None = None,
    unpredicted: bool = False,
) -> Site:
    """Read one labelled set and its predictions; every category counts as a site.

    Parameters
    ----------
    labels : path-like or object in memory
        See `read_labels`.
    files : Predictions
        Of the same images, with one reference or none.
    img_dir : path-like, optional
        Folder of the images.
    group : str, optional
        Origin of the set; by default its name, which is that of the file of labels.
    words : mapping of str to str, optional
        Category of each word of the detector that counts; these categories count instead,
        on all images. Labels have the same words, or the names of the categories.
    unpredicted : bool
        Whether categories of which no box is found are kept.

    Returns
    -------
    Site

    Raises
    ------
    InputError
        If files cannot be read, or boxes and labels do not belong together.
    """
    content = read_labels(labels, img_dir)
    name = content.path.name
    site = name.removesuffix(".gz").rpartition(".")[0] or name
    labelled = _with_files(
        site, content, files, group=group, words=words or None, unpredicted=unpredicted
    )
    called = {*labelled.looks.categories, *content.categories}
    unknown = [word for word in words or () if word not in called]
    if not unknown:
        return labelled
    text = f"neither a box nor a label is called {listed(unknown)}: check the word"
    return labelled.noting(Notice("word-not-known", text))


def task_with_files(task: Task, files: Mapping[str, Predictions]) -> list[Site]:
    """Read the sites of a task and their predictions.

    Parameters
    ----------
    task : Task
        Whose sites are labelled.
    files : mapping of str to Predictions
        By name of a site.

    Returns
    -------
    list of Site
        In the order of the task.

    Raises
    ------
    InputError
        If a site has no predictions; as `labels_with_files`.
    """
    lost = [seed_set.name for seed_set in task.seed_sets if seed_set.name not in files]
    if lost:
        raise InputError(f"No predictions of the sites {', '.join(lost)}: expected NAME.json.")
    sites = []
    for seed_set in task.seed_sets:
        content = read_labels(
            seed_set.labels,
            None if is_coco_file(seed_set.labels, seed_set.layout) else seed_set.img_dir,
            layout=seed_set.layout,
            options=seed_set.options,
        )
        content = thinned(content, task.max_images)
        content = of_images(content, content.images)
        site = _with_files(
            seed_set.name,
            content,
            files[seed_set.name],
            group=seed_set.group,
            words=task.words,
            label_words=task.label_words(content, seed_set),
        )
        sites.append(site)
    return sites


def _with_files(
    name: str,
    content: LabelSet,
    files: Predictions,
    *,
    group: str | None,
    words: Mapping[str, str] | None,
    label_words: Mapping[str, str] | None = None,
    unpredicted: bool = False,
) -> Site:
    """Read the predictions of labels, match both by images and words, and check them.

    Parameters
    ----------
    name : str
        Of the set.
    content : LabelSet
        Its labels.
    files : Predictions
        Its boxes.
    group : str, optional
        Origin of the set.
    words : mapping of str to str or None
        Category of each word of the detector; these categories are then expected on all images.
        By default each word of the labels is one of its own.
    label_words : mapping of str to str, optional
        The same of the labels, of a task; by default the words, and the categories' names.
    unpredicted : bool
        Without words, whether categories of which no box is found are kept.
    """
    everywhere, of_task = words is not None, label_words is not None
    words = words or {word: word for word in content.categories}
    categories: Sequence[str] = tuple(dict.fromkeys(words.values()))
    if everywhere and not of_task:
        label_words = {**{name: name for name in categories}, **words}
    if label_words is not None:
        content = as_spelt(content, [*label_words])
    # The labels of a task may spell words otherwise than the detector, whose they are here.
    spelt = known_spellings(content.categories, [*words])
    detector_words = [spelt.get(word, word) for word in content.categories]
    in_order = tuple(str(k) for k in range(len(content.categories)))
    # VOC files and words in tables have no order, in which a number could be a place.
    has_order = content.lists_categories or len(in_order) == 1
    numbers_of_labels = content.numbers or (in_order if has_order else detector_words)
    numbers = dict(zip(numbers_of_labels, detector_words, strict=True))
    known_words = [*words] if everywhere else None
    site = files.read(
        content.images,
        where=str(content.path),
        numbers=numbers,
        words=known_words,
        unlabelled=content.unlabelled,
    )
    if content.unlabelled:
        n, names = len(content.unlabelled), listed(content.unlabelled)
        text = f"images without labels, left out: {n} ({names})"
        note = Notice("images-without-labels", text, "note")
        if note.code not in {warning.code for warning in content.warnings}:  # said before
            site = replace(site, left_out=(note, *site.left_out))
    if everywhere and not len(site.boxes) and site.boxes.run is None:
        raise NoBoxError(f"{files.name} holds no box: expected one or more, to fit on.")
    run, boxes_name = site.boxes.run, str(files.name)
    if run is not None:
        boxes_name = f"what the detector found on {name}"
        lost_images = unreadable_warning(run.unreadable, len(site) + len(run.unreadable))
        site = replace(site, left_out=(*site.left_out, *lost_images))
    # low scores that are missing may be mended in a file, which is refused
    complete = files.complete and run is None
    floor = check_floor(site.boxes, boxes_name, complete=complete, ran=run is not None)
    truth = labelled_boxes(content, categories, label_words, site.boxes.images)
    if site.boxes.numbering.others:
        site = replace(site, boxes=numbered_by_labels(site.boxes, truth, words, files.name))
    unseen, uncovered = unseen_images(
        site.boxes,
        np.unique(truth.image[~truth.crowd]),
        boxes_name,
        images_name=LABELLED,
        complete=files.complete,
        refuse=True,
    )
    if len(unseen):
        site = site.without_images(unseen)
        truth = labelled_boxes(content, categories, label_words, site.boxes.images)
    looks = replace(Looks.of(site.boxes), overlaps=overlaps_of(site.boxes))
    if site.reference is not None and len(site.reference):
        looks = replace(looks, reference_floor=site.reference.floor)
    # What numbers mean in labels holds for later files, too, unless predictions contradict; each
    # site of a task may count its categories in its own way. Words in no order are no numbers.
    agree = all(numbers.get(n, word) == word for n, word in looks.numbers.items())
    in_no_order = not (content.numbers or has_order)
    if not of_task and agree and not (in_no_order and looks.numbers):
        looks = replace(looks, numbers={**numbers, **looks.numbers})
    lost, mismatch = _words_that_differ(
        site, truth, content, words if everywhere else None, label_words, of_task=of_task
    )
    if not everywhere:
        # of a run its words are known: few labels of another one are of none of them, too
        known = {*categories} if run is None else {*run.categories, *site.boxes.categories}
        predicted_categories = [
            name for name in categories if unpredicted or (name in known and name not in lost)
        ]
        predicted = [k for k, name in enumerate(categories) if name in predicted_categories]
        n_true = (np.bincount(truth.image[~truth.crowd & (truth.label == k)]) for k in predicted)
        if any(map(is_labelled_enough, n_true)):  # else the words are others, and not labels few
            categories = predicted_categories
            truth = labelled_boxes(content, predicted_categories, images=site.boxes.images)
    of_categories = site.as_categories(categories, words)
    passes = (of_categories.boxes, of_categories.reference)
    detectors = [boxes for boxes in passes if boxes is not None]
    of_reference = () if site.reference is None else prefixed("reference", site.reference.warnings)
    limit = check_limit(site.boxes, boxes_name, ran=run is not None)
    labelled = labelled_site(
        replace(
            of_categories,
            looks=looks,
            truth=ignoring_unchecked(truth, content, detectors, label_words),
            name=name,
            group=group or "",
            everywhere=everywhere,
            left_out=(*content.warnings, *site.left_out, *unknown_sizes(site.boxes), *floor),
            warnings=(*site.boxes.warnings, *of_reference, *uncovered, *limit, *mismatch),
        )
    )
    if everywhere:
        return _noting_all_wrong(labelled, boxes_name, FILES_WRONG if run is None else LABELS_WRONG)
    if _mean_right(labelled) < HARDLY_RIGHT:
        question = _why_not_right(labelled, mismatch)
        raise _hardly_right(labelled, boxes_name, f"by {content.path}", question)
    return labelled


def _words_that_differ(
    site: Site,
    truth: Boxes,
    content: LabelSet,
    words: Mapping[str, str] | None,
    label_words: Mapping[str, str] | None,
    *,
    of_task: bool,
) -> tuple[Collection[str], tuple[Notice, ...]]:
    """Say which words of labels and of predictions have no counterpart on the other side.

    Parameters
    ----------
    site : Site
        With the boxes of the detector.
    truth : Boxes
        The labels on its images.
    content : LabelSet
        As they were read.
    words, label_words : mapping of str to str or None
        As of `_with_files`; None where no categories were named.
    of_task : bool
        Whether a task names the words of both.

    Returns
    -------
    lost : collection of str
        Categories that the detector never predicts; see `never_predicted`.
    notices : tuple of Notice
        About these and about words that are left out.
    """
    run = site.boxes.run
    lost, notices = never_predicted(site.boxes, truth, words)
    found = {site.boxes.categories[k] for k in np.unique(site.boxes.label).tolist()}
    uncounted = [word for word in label_words or () if word in found and word not in (words or ())]
    if of_task and uncounted:
        text = (
            f"boxes have words that count in the labels by `mapping`: {listed(uncounted)}. They "
            "are left out, and what they find is missed: add these words to `detector_mapping`"
        )
        notices = (*notices, Notice("other-words", text))
    known_or_named = found.union(label_words or content.categories, run.categories if run else ())
    labelled_words = np.unique(content.boxes.category[~content.boxes.iscrowd]).tolist()
    labelled_words = [content.boxes.categories[k] for k in labelled_words]
    unnamed = [word for word in labelled_words if word not in known_or_named]
    # images that a detector is run on have said it of all that are left out
    if unnamed and "categories-not-mapped" not in [notice.code for notice in content.warnings]:
        text = (
            "labelled categories that are neither named nor words of the detector, left out: "
            f"{len(unnamed)} ({listed(unnamed, 10)}). What is detected there counts as wrong: if "
            "one is a word for a category that counts, name it there, too (--category "
            "vehicle=car,van)"
        )
        notices = (*notices, Notice("categories-not-named", text, "note"))
    return lost, notices


def _why_not_right(labelled: Site, mismatch: Sequence[str]) -> str:
    """Ask what may be wrong where hardly a box of a file is right.

    Parameters
    ----------
    labelled : Site
        The set.
    mismatch : sequence of str
        What is known of words that labels and predictions do not share.
    """
    exchanged = exchanged_words(labelled.boxes, labelled.evaluation.truth)
    if exchanged:
        return f"{exchanged[0][0].upper()}{exchanged[0][1:]}."
    if mismatch:
        return (
            f"{mismatch[0]} If so, translate them, such as with --category "
            "vehicle=car,bus,truck (categories=), or in a task file with `detector_mapping`."
        )
    question = "Are they of the same images, and do image ids and category numbers mean the same?"
    return question + other_readings(labelled.boxes)


def check_some_right(sets: Sequence[Site]) -> None:
    """Refuse labelled sets where hardly a box is right at any of them.

    One site of several where a detector fails, such as one in fog, is what a fit learns from; where
    it fails at all of them, boxes and labels do not belong together. Hardly right is a mAP50 under
    `HARDLY_RIGHT`.

    Parameters
    ----------
    sets : sequence of Site
        Labelled; at least one.

    Raises
    ------
    InputError
        If the mAP50 of all is under `HARDLY_RIGHT`.
    """
    if all(_mean_right(labelled_set) < HARDLY_RIGHT for labelled_set in sets):
        where = f"on {listed([labelled_set.name for labelled_set in sets])}"
        question = "Do image ids and category numbers mean the same in predictions and in labels?"
        raise _hardly_right(max(sets, key=_mean_right), f"those {where}", "by the labels", question)


def _mean_right(site: Site) -> float:
    """Return the mAP at IoU .5, mean over the categories with labels enough."""
    return float(np.mean(site.evaluation.average_precision[site.evaluation.enough, 0]))


def _hardly_right(site: Site, boxes: str, labels: str, question: str) -> InputError:
    """Return the error of a set hardly a box of which is right."""
    return InputError(
        f"Hardly a box of {boxes} is right {labels}: mAP50 {_mean_right(site):.1%}, mean over "
        f"categories, so nothing can be learned from them. {question}"
    )


def _noting_all_wrong(site: Site, boxes_name: str, question: str = FILES_WRONG) -> Site:
    """Note a set no category of which has a mAP50 over `ALL_WRONG`, as with other numbers."""
    if site.evaluation.average_precision[site.evaluation.enough, 0].max() > ALL_WRONG:
        return site
    return site.noting(
        Notice(
            "nothing-right",
            f"no category of {boxes_name} is right anywhere (mAP50 under 1): {question}",
        )
    )


def observed_labels(
    run: Detector,
    labels: PathLike,
    *,
    img_dir: PathLike | None,
    group: str | None,
    folder: Path | None,
    categories: Categories | None,
) -> tuple[Site, dict[str, Any]]:
    """Run a detector once over a labelled set; every category that both know counts as a site.

    Parameters
    ----------
    run : Detector
        The detector, and how it is run.
    labels : path-like
        In any format of `autoeval.load_labels`. The detector should not have seen the images in
        training: its accuracy there would be too high. Those of a split ``train`` are left out.
    img_dir : path-like or None
        Folder of the images, where the format does not say.
    group : str or None
        Where the set comes from, if others that it is joined with come from there too.
    folder : Path or None
        Where to keep what is observed, so that an interrupted pass goes on.
    categories : mapping of str to sequence of str or None
        Instead of every one that both know, expected in all images.

    Returns
    -------
    tuple of Site and dict
        The set, and what its scores are made with; see `Observer.context`.

    Raises
    ------
    InputError
        If labels and detector have no word in common, or do not belong together.
    TooFewLabelsError
        If no category has labels enough; without `categories` before the detector is run.
    """
    from autoeval.io.labels.any_format import load_labels
    from autoeval.io.tasks.seed_set import seed_set_of

    reference = run.loaded_reference
    words, name = run.loaded.categories, Path(labels).name
    name = name.removesuffix(".gz").rpartition(".")[0] or name
    content = held_out_of_training(load_labels(labels, img_dir))
    content = as_spelt(content, [*(categories or ()), *words])
    if categories:
        spelt = known_spellings(words_of(categories), words)  # as boxes in files are respelt
        categories = {
            category: [spelt.get(word, word) for word in own_words or [category]]
            for category, own_words in categories.items()
        }
        task = replace(any_task(categories, words), name=name)
        label_words = words_of(categories)
        seed_set = seed_set_of(content, name, task.categories, words=label_words, clip=False)
        place = folder and folder / "sources" / name
        content, files = _detect_labelled(run, seed_set, content, folder=place, reference=reference)
        labelled = _with_files(name, content, files, group=group, words=label_words)
        return labelled, run.observer(task).context()
    common = tuple(dict.fromkeys(word for word in words if word in content.categories))
    if not common:
        numbers = all(word.isdecimal() for word in words)
        raise InputError(
            f"The labels {content.path} and the detector have no word in common. The labels have "
            f"{listed(content.categories, most=10)}; the detector has {listed(words, most=10)}. "
            "Give the detector's words for each word of the labels, --category NAME=WORD,WORD"
            + (f"; or name the detector's labels: {CLASSES_OPTION}." if numbers else ".")
        )
    seed_set = seed_set_of(content, name, common, {word: word for word in common}, clip=False)
    n_true = [
        np.bincount(image.labels[~image.iscrowd], minlength=len(common))
        for image in seed_set.images
    ]
    if not any(map(is_labelled_enough, np.array(n_true).T)):  # before the detector is run
        raise _too_few_labels(name)
    content, files = _detect_labelled(run, seed_set, content, folder=folder, reference=reference)
    labelled = _with_files(name, content, files, group=group, words=None)
    context = run.observer().context()
    del context["task"]  # of every category that is found
    return labelled, context


def observed_sources(
    run: Detector, task: Task, *, folder: Path | None
) -> tuple[list[Site], dict[str, Any]]:
    """Run a detector once over the sites of a task; see `observed_labels`.

    The categories of the task are expected in all images of its sites, which are read whole,
    whatever their splits.

    Parameters
    ----------
    run : Detector
        The detector, and how it is run.
    task : Task
        Whose sites are labelled.
    folder : Path or None
        Where to keep what is observed, in ``sources/NAME`` of each site.

    Returns
    -------
    tuple of list of Site and dict
        The sets, and what their scores are made with.
    """
    from autoeval.io.labels.any_format import load_labels

    task.lookup(run.loaded.categories)  # refused before the detector is run
    context, reference = run.observer(task).context(), run.loaded_reference
    sets = list[Site]()
    for source in task.seed_sets:
        content = load_labels(source.labels, source.img_dir, layout=source.layout, **source.options)
        label_words = task.label_words(content, source)
        content, files = _detect_labelled(
            run,
            task.seed_set_of(content, source, clip=False),
            content,
            folder=folder and folder / "sources" / source.name,
            reference=reference,
        )
        site = _with_files(
            source.name,
            content,
            files,
            group=source.group,
            words=task.words,
            label_words=label_words,
        )
        sets.append(site)
    return sets, context


def _detect_labelled(
    run: Detector,
    seed_set: SeedSet,
    content: LabelSet,
    *,
    folder: Path | None,
    reference: Reference | None,
) -> tuple[LabelSet, Predictions]:
    """Run a detector over the images of labels.

    Parameters
    ----------
    run : Detector
        The detector, and how it is run.
    seed_set : SeedSet
        The images, on disk.
    content : LabelSet
        Their labels.
    folder : Path or None
        Where to keep what is observed.
    reference : Reference or None
        One whose boxes are in files may have a file for each set.

    Returns
    -------
    tuple of LabelSet and Predictions
        The labels of the images that could be read, and what was found there.
    """
    from autoeval.io.tasks.seed_set import SeedSetSamples

    found = detect_samples(
        SeedSetSamples(seed_set),
        {record.image_id: record.file_name for record in seed_set.images},
        run,
        reference=reference,
        keep=run.keeping(folder),
        activity=f"observing {seed_set.name}",
    )
    sizes = {image.image_id: image.size for image in found.boxes.images}
    images = [replace(i, size=sizes[i.image_id]) for i in content.images if i.image_id in sizes]
    # boxes without area are counted where labels are compared with boxes
    warnings = tuple(w for w in seed_set.warnings if w.code != "label-boxes-unusable")
    content = replace(of_images(content, images), warnings=warnings)
    if isinstance(reference, PredictionsReference):
        path, names = reference.of_site(seed_set.name), reference.names
        return content, Predictions(found.boxes, reference=path, reference_names=names)
    return content, Predictions(found.boxes, reference=found.reference)
