"""Compare detectors on the same images: `autoeval.compare`, and the command of that name.

The sites of all detectors are read here, each as its own fit reads it; differences and their
probabilities are in `autoeval.comparison`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from autoeval.accuracy.measures import IOUS, MEASURES
from autoeval.api.options import (
    OF_REFERENCE,
    PassOptions,
    check_names,
    detector_of_fit,
    found_images,
    given_boxes_of,
    load_estimator,
    reference_is_for,
)
from autoeval.errors import InputError
from autoeval.words import refuse_given

if TYPE_CHECKING:
    from autoeval.boxes import Categories
    from autoeval.comparison.comparison import Comparison
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.estimation.given import GivenLabels, Predictions
    from autoeval.estimation.run_detector import Detector
    from autoeval.runtime.files import PathLike

NOT_FILES = "-"  # in place of the predictions of a detector that is run


def compare(
    estimators: Mapping[str, AccuracyEstimator | PathLike] | Sequence[AccuracyEstimator | PathLike],
    predictions: Sequence[Any] | None = None,
    *,
    images: Any = None,
    img_dir: PathLike | None = None,
    every: str | None = None,
    names: Sequence[Any] = (),
    numbering: Sequence[str] = (),
    columns: Sequence[str] = (),
    incomplete: bool = False,
    reference: Sequence[str] | None = None,
    reference_names: Any = None,
    reference_checkpoint: str | None = None,
    labels: GivenLabels | None = None,
    words: Mapping[str, str] | None = None,
    categories: Categories | None = None,
    present: Collection[str] = (),
    target: str | None = None,
    score_thr: float | None = None,
    iou: float = IOUS[0],
    level: float = 0.9,
    seed: int = 0,
    trained_here: Collection[str] = (),
    known: Mapping[str, float] | None = None,
    device: str | None = None,
    work_dir: PathLike | None = None,
    **run: Unpack[PassOptions],
) -> Comparison:
    """Compare detectors on the same images: which is better, by how much, how certainly.

    Each is named by the work dir of its fit (`autoeval fit`), best on the same labelled set.
    Without labels the difference is estimated; a few labels make it certain. On the command line
    --max-loss makes the first detector a candidate: status 0 is passed, 3 failed, 4 undecided.

    Parameters
    ----------
    estimators : mapping or sequence of AccuracyEstimator or path-like
        The fit of each detector, as WORK_DIR or NAME=WORK_DIR; those without a name are named after
        their folders. In Python a mapping by name, or a sequence.
    predictions : sequence of path-like, Predictions, Detector, ImageDetector or None, optional
        Boxes of each detector on these images, in the same order, as in `fit`; - (in Python None)
        for one that is run as it was fitted.
    images : path-like or sequence, optional
        The images: a folder, COCO JSON, video, image, pattern ('site/**/*.jpg'), text file of
        paths, or - for paths on standard input; with predictions a list of them, a COCO JSON or a
        folder.
    img_dir : path-like, optional
        Folder of the images that labels, a COCO JSON or a list name.
    every : str, optional
        Frames of videos: 2s for one in so many seconds, or every Nth.
    names : sequence of path-like or mapping
        Words for the category numbers of the predictions, as in `estimate`; one for all, or one a
        file in their order.
    numbering : sequence of str
        How category numbers count, as in `estimate`; one for all, or one a file in their order.
    columns : sequence of str
        What stands in which column of text files, as in `estimate`; one for all, or one a file in
        their order.
    incomplete : bool
        The detectors were run on all images: those without a box in a file count as images in which
        its detector found nothing, also where nearly every other one has a box.
    reference : sequence of str, optional
        A stronger detector, whose boxes count as probable labels: its results on the same images,
        or one to run (an alias or FILE.py:NAME); of several results the strongest is read. It goes
        to the fits that had one.
    reference_names : path-like, optional
        Words of the detector for the category numbers of the reference, as names.
    reference_checkpoint : path-like, optional
        Weights of the reference detector.
    labels : path-like, optional
        Labels of some of the images, COCO, YOLO or VOC, the same for all detectors. Those in a
        folder that `label plan` wrote are taken as its plan drew them, others as a simple random
        sample.
    words : mapping of str to str, optional
        Words of the labels that count, each with its category, as WORD=CATEGORY,...; by default
        equal words, and the detector's words for a category where these were given.
    categories : mapping of str to sequence of str, optional
        A category, with the detectors' words for it if the fits lack them, as NAME or
        NAME=WORD,...; repeated for several (default: those of the fits, or all words).
    present : collection of str
        A category that is there and counts, found or not; may be given several times.
    target : str, optional
        mAP, mAP50, mAP75, or with a score threshold precision, recall or f1 (default: that of the
        fits).
    score_thr : float, optional
        Score threshold of the target precision, recall or f1.
    iou : float
        At which IoU with a labelled object a box over the threshold is a true positive.
    level : float
        Nominal coverage of the intervals.
    seed : int
        Of the draws behind the probability of three or more detectors to be the best.
    trained_here : collection of str
        Detectors that were trained on images like the labelled ones, by name or folder: the
        difference there says little of elsewhere and is not used, and their estimates are lowered.
        For average precision only.
    known : mapping of str to float, optional
        Accuracy here of a detector that was measured when labels were at hand, as NAME=POINTS, of
        100 (in Python in [0, 1]). The others' values are it plus the estimated difference.
    device : str, optional
        Where detectors are run: cpu, cuda, cuda:1 ... (default: as they were fitted).
    work_dir : path-like, optional
        Keeps what each detector that is run observes.
    **run
        See `autoeval.api.options.PassOptions`.

    Returns
    -------
    Comparison
        Accuracy of each detector, differences between them with intervals, and the probability of
        each to be the best.

    Raises
    ------
    InputError
        If fewer than two detectors are given or one twice, or options exclude each other; as
        `AccuracyEstimator.predict` and `autoeval.comparison.compare_sites.compare_sites`.

    Examples
    --------
    One detector twice, the second time without every third of its boxes (mostly the estimators are
    work dirs of fits, and predictions and images are paths):

    >>> from autoeval import fit
    >>> size = {"height": 480, "width": 640}
    >>> images = [{"id": k, "file_name": f"{k}.jpg", **size} for k in range(12)]
    >>> cars = [
    ...     {"image_id": k // 2, "category_id": 1, "bbox": [20 + 300 * (k % 2), 99, 60, 40]}
    ...     for k in range(24)
    ... ]
    >>> labels = {"images": images, "categories": [{"id": 1, "name": "car"}], "annotations": cars}
    >>> boxes = [{**car, "score": 0.9 - 0.03 * k} for k, car in enumerate(cars)]
    >>> boxes += [{**car, "bbox": [20, 300, 60, 40], "score": 0.02} for car in cars[::2]]
    >>> fitted, fewer = fit(labels, boxes), [box for k, box in enumerate(boxes) if k % 3]
    >>> compared = compare({"all": fitted, "fewer": fitted}, [boxes, fewer], images=labels)
    >>> compared.detectors, compared.value > 0
    (('all', 'fewer'), True)
    """
    from autoeval.comparison.compare_sites import DetectorFacts, SiteLabels, compare_sites
    from autoeval.estimation.given import Predictions, given_boxes, plan_folder_of, read_labels
    from autoeval.estimation.run_detector import Detector
    from autoeval.io.image_lists import STANDARD_INPUT, read_image_list
    from autoeval.labels.plan_folder import load_plan
    from autoeval.model.mixed_model import check_level

    check_level(level)
    check_names(run, PassOptions)
    # None for a detector that is run as it was fitted
    items = [None if isinstance(x, str) and x == NOT_FILES else x for x in predictions or ()]
    by_files = bool(items) and all(
        isinstance(item, str | os.PathLike)
        or (item is not None and isinstance(given_boxes(item), Predictions))
        for item in items
    )
    of_files: dict[str, Any] = {"names": names, "numbering": numbering, "columns": columns}
    of_files["incomplete"] = incomplete
    of_images = {"images": images, "img_dir": img_dir, "every": every}
    of_run: dict[str, Any] = {**run, "device": device, "reference_checkpoint": reference_checkpoint}
    _refuse_unread({**of_images, "words": words}, of_files, of_run, items, labels, by_files)
    if not reference:
        of_reference = {
            "reference_names": reference_names,
            "reference_checkpoint": reference_checkpoint,
        }
        refuse_given(of_reference, "goes with --reference")
    if score_thr is None:
        refuse_given({"iou": None if iou == IOUS[0] else iou}, "goes with --score-thr")
    if target not in MEASURES:
        refuse_given(
            {"score_thr": score_thr},
            f"is for a comparison by --target {', '.join(MEASURES)}, but it is by "
            f"{target or 'the target of the fits'}: name one of these, or leave it out.",
        )
    fits = {
        name: load_estimator(fitted, target, score_thr, iou)
        for name, fitted in named_estimators(estimators).items()
    }
    folders = estimators.values() if isinstance(estimators, Mapping) else estimators
    by_folder = {
        str(folder): name
        for folder, name in zip(folders, fits, strict=True)
        if isinstance(folder, str | os.PathLike)
    }
    by_folder |= {name: name for name in fits}  # a name goes before the folder of another one
    if reference:
        of_run |= {"reference": reference, "reference_names": reference_names}
    boxes = _boxes(fits, items, of_files, of_run)
    if not by_files and images is not None:
        images = found_images(of_images, labels=labels is not None)
    elif isinstance(images, str) and images == STANDARD_INPUT:  # which is read once, for all
        images = read_image_list(images)
    plan_folder = None if labels is None else plan_folder_of(labels)
    plan = None if plan_folder is None else load_plan(plan_folder)
    content = None if labels is None else read_labels(labels, img_dir)
    of_plan = None if plan is None else plan.found.images
    sites = {}
    for name, fitted in fits.items():
        keep = None
        run_here = boxes[name]
        if isinstance(run_here, Detector):
            folder = None if work_dir is None else Path(work_dir) / name.replace("/", "_")
            keep = run_here.keeping(folder)
        sites[name] = fitted.read_site(
            run_here,
            images=of_plan if images is None else images,
            categories=categories,
            present=present,
            labelled=content if plan is None else None,  # a plan was drawn without the labels
            keep=keep,
        )
    return compare_sites(
        fits,
        sites,
        None if content is None else SiteLabels(content, words, plan),
        facts=DetectorFacts(
            [by_folder.get(name, name) for name in trained_here],
            {by_folder.get(name, name): value for name, value in (known or {}).items()},
        ),
        level=level,
        seed=seed,
    )


def named_estimators(
    estimators: Mapping[str, AccuracyEstimator | PathLike] | Sequence[AccuracyEstimator | PathLike],
) -> dict[str, AccuracyEstimator]:
    """Load estimators, named after the last parts of their paths that tell them apart.

    Parameters
    ----------
    estimators : mapping or sequence of AccuracyEstimator or path-like
        A mapping has their names; in a sequence one that is no path is called by its place, such as
        ``detector 2``.

    Returns
    -------
    dict of str to AccuracyEstimator
        In the order given.

    Raises
    ------
    InputError
        If one is given twice, or cannot be loaded.
    """
    from autoeval.estimation.fit_file import ESTIMATOR
    from autoeval.words import short_names

    if isinstance(estimators, Mapping):
        return {name: load_estimator(estimator) for name, estimator in estimators.items()}
    paths = [
        Path(estimator) if isinstance(estimator, str | os.PathLike) else Path(f"detector {k}")
        for k, estimator in enumerate(estimators, 1)
    ]
    whole = [path.parent if path.name == ESTIMATOR else path for path in paths]
    resolved = [path.resolve() for path in whole]
    if twice := [path for k, path in enumerate(whole) if resolved[k] in resolved[:k]]:
        raise InputError(f"{twice[0]} is given twice: name each detector once.")
    named = zip(short_names(whole), estimators, strict=True)
    return {name: load_estimator(estimator) for name, estimator in named}


def _refuse_unread(
    of_images: Mapping[str, Any],
    of_files: Mapping[str, Any],
    of_run: Mapping[str, Any],
    predictions: Sequence[Any],
    labels: Any,
    by_files: bool,
) -> None:
    """Raise `InputError`, before anything is read, for what this comparison would not read.

    Parameters
    ----------
    of_images : mapping
        ``images``, ``img_dir``, ``every`` and ``words``, as given to `compare`.
    of_files : mapping
        What is given about files of predictions.
    of_run : mapping
        What is given about running detectors.
    predictions : sequence
        Of each detector, None for one that is run; empty where all are.
    labels : object, optional
        As given.
    by_files : bool
        Whether no detector is run.
    """
    if of_images["images"] is None and not predictions:
        raise InputError("Expected --images PATH, or --predictions of each detector.")
    if all(item is None for item in predictions):
        options = {name: value or None for name, value in of_files.items()}
        refuse_given(options, "is about --predictions: give them, too, or leave it out.")
    img_dir, every = {"img_dir": of_images["img_dir"]}, {"every": of_images["every"]}
    if labels is None:
        refuse_given({"words": of_images["words"] or None}, "goes with --labels")
    if of_images["images"] is None:
        refuse_given(every, "goes with --images")
        if labels is None:
            refuse_given(img_dir, "goes with --images or --labels")
    if by_files:
        if labels is None:
            refuse_given(img_dir, "is for labels, or images that a detector is run on.")
        refuse_given(
            {**of_run, **every},
            "is for images that a detector is run on. With --predictions of every detector "
            "--images only lists the images: leave it out, or put - in place of the predictions of "
            "a detector to run.",
        )


def _boxes(
    fits: Mapping[str, AccuracyEstimator],
    predictions: Sequence[Any],
    of_files: Mapping[str, Any],
    of_run: Mapping[str, Any],
) -> dict[str, Predictions | Detector | None]:
    """Return the boxes of each detector with their facts, or the detector as it was fitted.

    Parameters
    ----------
    fits : mapping of str to AccuracyEstimator
        By name.
    predictions : sequence
        Of each detector, None for one that is run; empty where all are.
    of_files : mapping
        ``names``, ``numbering`` and ``columns``, each once for all, or once for each, and
        ``incomplete``.
    of_run : mapping
        What is given about running detectors, with the reference.

    Returns
    -------
    dict of str to Predictions, Detector or None
        By name; None for a detector that nobody knows how to load, which is refused where it is
        read. For which of them a reference is, see `reference_is_for`.

    Raises
    ------
    InputError
        If there are not as many predictions as fits, or one file is given for two detectors.
    """
    from autoeval.estimation.given import Predictions

    items = predictions or [None] * len(fits)
    if len(items) != len(fits):
        raise InputError(
            f"Expected predictions of each of {len(fits)} detectors, in their order, but got "
            f"{len(items)}."
        )
    facts = [dict[str, Any]() for _ in items]
    for name, values in of_files.items():
        single = isinstance(values, str | os.PathLike | Mapping | bool)
        listed = [values] if single else list(values) or [None]
        if len(listed) not in (1, len(items)):
            raise InputError(
                f"Expected --{name} once for all --predictions, or once for each, but got "
                f"{len(listed)} for {len(items)}."
            )
        for k, of_file in enumerate(facts):
            of_file[name] = listed[k % len(listed)]
    of_reference = {name: of_run.get(name) for name in ("reference", "reference_names")}
    boxes_by_name: dict[str, Predictions | Detector | None] = {}
    for (name, fitted), item, item_facts, referred in zip(
        fits.items(), items, facts, reference_is_for(fits.values()), strict=True
    ):
        if item is not None:
            of_item = of_reference if referred else {}
            boxes_by_name[name] = given_boxes_of(item, {**item_facts, **of_item})
            continue
        of_detector = {k: v for k, v in of_run.items() if referred or k not in OF_REFERENCE}
        boxes_by_name[name] = detector_of_fit(fitted, of_detector)
    paths = [
        Path(boxes.path).resolve()
        for boxes in boxes_by_name.values()
        if isinstance(boxes, Predictions) and isinstance(boxes.path, str | os.PathLike)
    ]
    if twice := [path for path in paths if paths.count(path) > 1]:
        raise InputError(
            f"{twice[0]} is given as the predictions of two detectors, so that nothing is compared:"
            " give each detector its own, in the order of the fits."
        )
    return boxes_by_name
