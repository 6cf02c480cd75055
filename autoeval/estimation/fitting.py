"""From labelled data and a detector, or its predictions, to a fitted estimator; and joined fits.

`autoeval.fit` calls `fit_files` or `fit_site_files` for boxes in files, of a labelled set or of the
sites of a task, and `autoeval.join` calls `join_fits`. They, and fits with a detector that is run,
read labelled sets (`autoeval.estimation.labelled_sets`) and end in `fit_sets`, which calibrates,
scores, checks, regresses and evaluates, in this order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from autoeval.accuracy.coco_evaluation import coco_summary
from autoeval.boxes import Categories, over_threshold, overlapping_pairs, words_of
from autoeval.errors import InputError
from autoeval.estimation.calibrating import (
    ConfidenceCheck,
    calibrate,
    check_confidences,
    fits_above,
    reliability,
    with_calibrated_reference,
)
from autoeval.estimation.checks import reference_of_fit
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fit_file import SUFFIX, FittedSites
from autoeval.estimation.given import GivenLabels, Predictions
from autoeval.estimation.labelled_sets import (
    check_some_right,
    labels_with_files,
    task_with_files,
)
from autoeval.estimation.observation.detector_identity import refuse_differences
from autoeval.estimation.observation.pass_settings import of_plain_pass
from autoeval.estimation.observation.reference_boxes import OF_FILES
from autoeval.estimation.protocol import (
    FitResult,
    HeldOutErrors,
    evaluate_pairs,
    worse_than_constant,
)
from autoeval.estimation.read_site import CHOSEN, SAME, rows_as_bytes
from autoeval.estimation.run_detector import Detector
from autoeval.io.predictions.category_words import known_spellings
from autoeval.io.predictions.covered_images import content_of_images
from autoeval.io.predictions.reading import files_by_site
from autoeval.io.tasks.task import Task
from autoeval.labels.assistance import LabelAssistance
from autoeval.labels.fit_assistance import fit_assistance
from autoeval.model.calibration import FOUND
from autoeval.model.pair_table import CONFIDENCE, REFERENCE_TRUE
from autoeval.runtime.files import PathLike, name_of
from autoeval.sites.file_looks import (
    FEWEST_SURE,
    LOW_FLOOR,
    SURE,
    Looks,
    joined_statistics,
)
from autoeval.sites.site import Site
from autoeval.words import Notice, listed, prefixed, short_names

REFERENCE = "reference"
SAME_LABEL = 0.5  # IoU of two labels of one object
FEWEST_SHARED = 3  # images with the boxes of another site: fewer may be so by chance
# The matrices of a fit are small: on a busy machine several threads wait for each other and take
# more processor time than one.
one_blas_thread = threadpool_limits.wrap(limits=1, user_api="blas")


@dataclass(frozen=True)
class FitSettings:
    """Settings of a fit.

    Parameters
    ----------
    target : str
        What is estimated; see `AccuracyEstimator`.
    level : float
        Nominal coverage of the intervals.
    trained_here : bool
        Whether the detector was trained on other images of all labelled sites.
    """

    target: str = "mAP"
    level: float = 0.9
    trained_here: bool = False


USUAL = FitSettings()


def _read_with_strongest(
    files: Predictions, read: Callable[[Predictions], Sequence[Site]]
) -> tuple[list[Site], dict[str, Any]]:
    """Read labelled sets with the reference that is strongest there.

    Two never did better than the stronger one alone (docs/results/generality.md), so one is read.

    Parameters
    ----------
    files : Predictions
        With any number of references.
    read : callable
        From predictions with one reference, or none, to labelled sets.

    Returns
    -------
    tuple of list of Site and dict
        The sets, the first with a note where there was a choice; and what the context of the fit
        says of the choice, under `CHOSEN`, empty without one.
    """
    several = files.references
    if len(several) < 2:
        return list(read(files)), {}
    every = [list(read(replace(files, reference=path))) for path in several]
    strengths = [_reference_strength(sets) for sets in every]
    best = int(np.argmax(strengths))
    names = [
        f"{name_of(path)} ({100 * strength:.1f})"
        for path, strength in zip(several, strengths, strict=True)
    ]
    note = Notice(
        "reference-chosen",
        f"of {len(several)} reference detectors the strongest on the labelled images is read, "
        f"{name_of(several[best])}; AP there: {listed(names)}. Of new images give its boxes alone, "
        "or those of all in the same order",
        severity="note",
    )
    first_site, *later_sites = every[best]
    return [first_site.noting(note), *later_sites], {CHOSEN: {"number": best, "of": len(several)}}


def _reference_strength(sets: Sequence[Site]) -> float:
    """Return the mean average precision of the reference over categories with labels enough.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets with a reference.

    Returns
    -------
    float
        Mean over pairs of set and category and over ten IoU thresholds, in [0, 1]; 0 without a
        pair.
    """
    strengths = [
        ranking.average_precision().mean()
        for labelled in sets
        for ranking, enough in zip(
            labelled.of_reference.rankings, labelled.evaluation.enough, strict=True
        )
        if enough
    ]
    return float(np.mean(strengths)) if strengths else 0.0


def fit_files(
    files: Predictions,
    labels: GivenLabels,
    *,
    img_dir: PathLike | None,
    group: str | None,
    categories: Categories | None,
    settings: FitSettings,
) -> AccuracyEstimator:
    """Fit on the prediction files of one labelled set.

    Parameters
    ----------
    files : Predictions
        Boxes of the detector, and of references.
    labels : path-like or object in memory
        Of the same images; see `read_labels`.
    img_dir : path-like or None
        Folder of the images.
    group : str or None
        Origin of the labelled set; by default its name.
    categories : mapping of str to sequence of str or None
        Each with the detector's words for it, which are expected in all images; by default
        every category of the labels, on the images that hold it.
    settings : FitSettings
        See `FitSettings`.

    Returns
    -------
    AccuracyEstimator

    Raises
    ------
    InputError
        If files cannot be read, or boxes and labels do not belong together.
    """
    words = words_of(categories) if categories else None
    sets, context = _read_with_strongest(
        files,
        lambda predictions: [
            labels_with_files(labels, predictions, img_dir=img_dir, group=group, words=words)
        ],
    )
    if categories:
        context["task"] = {"name": sets[0].name, "words": categories}
    return fit_sets(sets, context=context, settings=settings)


def fit_site_files(files: Predictions, task: Task, settings: FitSettings) -> AccuracyEstimator:
    """Fit on the prediction files of the sites of a task.

    Its categories are expected in all images of its sites.

    Parameters
    ----------
    files : Predictions
        Whose path is a folder with ``NAME.json``, or another format, for each site.
    task : Task
        Whose sites are labelled.
    settings : FitSettings
        See `FitSettings`.

    Raises
    ------
    InputError
        As `fit_files`, if there is no such folder, or a site has no file in it.
    """
    folder = files.name
    if not folder.is_dir():
        raise InputError(
            f"No folder {folder}: with --task, --predictions is a folder with NAME.json for each "
            "source."
        )
    names = {seed_set.name for seed_set in task.seed_sets}
    by_site = {site: file for site, file in files_by_site(folder).items() if site in names}
    sets, chosen = _read_with_strongest(
        files,
        lambda predictions: task_with_files(
            task, {site: predictions.of_site(site, file) for site, file in by_site.items()}
        ),
    )
    expected: dict[str, list[str]] = {name: [] for name in task.categories}
    for word, name in task.words.items():
        expected[name].append(word)
    context = {"task": {"name": task.name, "words": expected}, **chosen}
    return fit_sets(sets, context=context, settings=settings)


@one_blas_thread
def fit_sets(
    sets: Sequence[Site],
    *,
    context: Mapping[str, Any],
    settings: FitSettings = USUAL,
    run: Detector | None = None,
    scored: pd.DataFrame | None = None,
) -> AccuracyEstimator:
    """Fit on labelled sets whose boxes are known, and evaluate by leaving groups out.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets, as `autoeval.estimation.labelled_sets` makes them.
    context : mapping
        What the boxes were found with; see `AccuracyEstimator`.
    settings : FitSettings
        See `FitSettings`.
    run : Detector, optional
        The detector that found them, where it was run.
    scored : DataFrame, optional
        Score table of the same sites, with sample sets and other scores, that the estimator
        carries in place of the pairs alone.

    Returns
    -------
    AccuracyEstimator
        With a `fit_result_`.

    Raises
    ------
    InputError
        If hardly a box is right at any site, confidences predict nothing, or no category has a box
        that is right with a probability over `FOUND`.
    """
    check_some_right(sets)
    if settings.trained_here:
        sets = [replace(labelled_set, trained_here=True) for labelled_set in sets]
    sites = FittedSites(tuple(sets))

    # Calibrations, and by them the pairs of site and category, at every floor.
    of_reference = None
    if any(labelled_set.reference is not None for labelled_set in sets):
        sets, of_reference = with_calibrated_reference(sets)
    check = check_confidences(sets)
    pairs, calibration, probabilities = calibrate(sets)
    floors = fits_above(sets, calibration, probabilities)

    # What is known of the files, and what was found wrong in them.
    warnings, looks = checked_sets(sets, check)
    scores = np.concatenate([labelled_set.boxes.scores for labelled_set in sets], dtype=np.float32)
    shares = ((floor, float(np.mean(scores >= np.float32(floor)))) for floor in floors)
    looks = replace(looks, floors=tuple(shares))
    if "detector" in context:  # it was run here
        looks = replace(looks, detector=of_plain_pass(context["detector"]))
    assistance, why_none = _assistance_of(sets)

    # The regression.
    if pairs and CONFIDENCE not in pairs:
        categories = list(dict.fromkeys(pairs["category"].tolist()))
        raise InputError(
            f"On the labelled images no box of {listed(categories, 10)} is right "
            f"with a probability over {FOUND:g}, by the calibration on their labels, so nothing "
            "can be learned from them. Are the predictions of these images, are their categories "
            "those of the labels, and are boxes as [left, top, width, height]?"
        )
    if scored is not None:
        from autoeval.estimation.category_scores import with_pairs

        joined = with_pairs(scored, pd.DataFrame(pairs))
        pairs = {str(name): joined[name].to_numpy() for name in joined}
    estimator = AccuracyEstimator(
        pairs,
        settings.target,
        settings.level,
        context_=context,
        looks_=looks,
        calibration_=calibration,
        reference_calibration_=of_reference,
        assistance_=assistance,
        loading_=(run.loading if run else None) or {},
        floors_=floors,
        sites_=sites,
        detector_=run.loaded if run else None,
    )

    # Its error on groups that it has not seen; a bad one is repeated by every estimate.
    regression = estimator.regression_
    results = evaluate_pairs(regression)
    held_out = HeldOutErrors.of(results)
    useless = worse_than_constant(held_out)
    not_read = reference_of_fit(pairs, regression) if REFERENCE_TRUE in pairs else ()
    evaluated = FitResult(
        estimator.table_,
        results,
        (*useless, *warnings, *looks.warnings, *why_none, *not_read),
        reliability=reliability(sets, probabilities),
        target=settings.target,
        level=settings.level,
        labelled_sets=pd.DataFrame(map(_described, sets)),
    )
    looks = replace(looks, warnings=(*looks.warnings, *useless))
    return replace(estimator, looks_=looks, fit_result_=evaluated, held_out_=held_out)


def _described(labelled: Site) -> dict[str, Any]:
    """Return a row of `FitResult.labelled_sets`."""
    every = labelled.evaluation.average_precision
    with_labels = every[np.isfinite(every[:, 0])]
    return {
        "source": labelled.name,
        "n_images": len(labelled),
        "n_categories": len(with_labels),
        "n_fitted": sum(labelled.evaluation.enough),
        # as pycocotools prints them: the mean over the categories that have a label
        **coco_summary(with_labels.mean(axis=0)),
    }


def _assistance_of(
    sets: Sequence[Site],
) -> tuple[LabelAssistance | None, tuple[Notice, ...]]:
    """Fit label assistance; where there is too little to learn from, say so instead.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets.

    Returns
    -------
    assistance : LabelAssistance or None
        None where there is too little to learn from.
    warnings : tuple of Notice
        Why there is none; empty otherwise.
    """
    try:
        return fit_assistance(sets), ()
    except InputError as error:
        return None, (
            Notice(
                "no-label-assistance",
                f"estimates with labels are not possible: {error}",
                severity="note",
            ),
        )


def checked_sets(sets: Sequence[Site], check: ConfidenceCheck) -> tuple[list[Notice], Looks]:
    """Return the warnings of a fit on some sets, and how their boxes look together.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets.
    check : ConfidenceCheck
        Of the same sets.

    Returns
    -------
    warnings : list of Notice
        What was left out, and files that look as if another detector had written them.
    looks : Looks
        Their warnings are those that every estimate repeats.
    """
    looks, warnings = [labelled_set.looks for labelled_set in sets], list[Notice]()
    for labelled_set in sets:
        warnings += prefixed(labelled_set.name, labelled_set.left_out)
    # files that look as if another detector had written them
    for k, (labelled_set, part) in enumerate(zip(sets, looks, strict=True)):
        others = [of.floor for of in (*looks[:k], *looks[k + 1 :]) if np.isfinite(of.floor)]
        usual = float(np.median(others or part.floor))
        if part.floor > max(3 * usual, LOW_FLOOR):
            text = (
                f"{labelled_set.name}: its lowest score is {part.floor:.3g}, that of most others "
                f"{usual:.3g}: another threshold, or another detector?"
            )
            warnings.append(Notice("another-threshold", text))
    if len({labelled_set.group for labelled_set in sets}) > 1:
        warnings += _shared_by_groups(sets)
    repeated = (*(warning for part in looks for warning in part.warnings), *check.warnings)
    together = joined_statistics(looks)
    return warnings, replace(together, widening=check.widening, warnings=repeated)


def _shared_by_groups(sets: Sequence[Site]) -> list[Notice]:
    """Warn of images in sets of two groups: where one is left out the other one holds them.

    Images are the same where all confident boxes are.
    """
    contents = list[set[bytes]]()
    for labelled_set in sets:
        sure = labelled_set.boxes.where(over_threshold(labelled_set.boxes.scores, SURE))
        sure = replace(sure, label=np.zeros_like(sure.label))  # sets number categories otherwise
        contents.append({*content_of_images(sure).values()})
    return [
        Notice(
            "images-in-several-groups",
            f"{len(of_a & of_b)} images of {a.name} have exactly the confident boxes of images of "
            f"{b.name}, which is of another group: the errors of groups left out are then too "
            "small, and so are intervals. Leave these images out of one of them, or give both one "
            "group",
        )
        for (a, of_a), (b, of_b) in itertools.combinations(zip(sets, contents, strict=True), 2)
        if a.group != b.group and len(of_a & of_b) >= FEWEST_SHARED
    ]


@one_blas_thread
def join_fits(
    fits: Mapping[str, AccuracyEstimator], *, target: str = "mAP", level: float = 0.9
) -> AccuracyEstimator:
    """Fit the labelled sites of some fits of one detector together, as one fit on all of them.

    A reference is read if all sites have one.

    Parameters
    ----------
    fits : mapping of str to AccuracyEstimator
        By a name for messages.
    target, level
        See `FitSettings`.

    Returns
    -------
    AccuracyEstimator
        With the loading of the first fit with a detector that was run.

    Raises
    ------
    InputError
        If the fits are of different detectors or references that were run, share a labelled set,
        do not hold their sites, or give a category different words.
    """
    run = {name: fitted for name, fitted in fits.items() if "detector" in fitted.context_}
    unknown = [name for name in fits if name not in run and not fits[name].known_looks().detector]
    if run and unknown:
        raise InputError(
            "Fits on predictions and fits with a detector are not joined, unless `autoeval detect` "
            f"wrote the predictions, with their detector: not so those of {listed(unknown)}."
        )
    first_name, first_estimator = next(iter((run or fits).items()))
    for name, estimator in fits.items():
        _check_same_detector(first_name, first_estimator, name, estimator)
    words, category_names = list[str](), list[str]()
    sites: dict[str, list[Site]] = {name: [] for name in fits}
    in_fits = [(name, site) for name, fitted in fits.items() for site in _sites_of(name, fitted)]
    # Sites in the detector's words come first: a category that is named nearly as one is this word.
    for name, labelled in sorted(in_fits, key=lambda of_fit: of_fit[1].everywhere):
        sites[name].append(_as_spelt_before(labelled, words, category_names))
    by_word = {
        word
        for of_fit in sites.values()
        for labelled in of_fit
        if not labelled.everywhere
        for word in labelled.boxes.categories
    }
    sets = [
        labelled_set
        for name, names in _names_of_sites(sites).items()
        for labelled_set in _named_sets(sites[name], names)
    ]
    of_first, loading = first_estimator.context_, first_estimator.loading_
    context = {name: value for name, value in of_first.items() if name not in ("task", "words")}
    if any(labelled_set.reference is None for labelled_set in sets):
        sets = [replace(labelled_set, reference=None) for labelled_set in sets]
        if "pass" in context:
            of_pass = {key: of for key, of in context["pass"].items() if key != REFERENCE}
            context = {**context, "pass": of_pass}
        loading = loading and {**loading, REFERENCE: None}
    else:
        digests = [fitted.context_.get("pass", {}).get(REFERENCE, "") for fitted in fits.values()]
        if len({digest for digest in digests if digest and not digest.startswith(OF_FILES)}) > 1:
            raise InputError(
                f"{listed(list(fits))} have different reference detectors, whose boxes do not "
                "compare: fit them with the same one (--reference), or without."
            )
    if any(fit.context_.get(CHOSEN) != context.get(CHOSEN) for fit in fits.values()):
        context.pop(CHOSEN, None)  # they read references of different places in their lists
    joined = fit_sets(
        sets,
        context=context | _words_of(fits, words, category_names, by_word),
        settings=FitSettings(target, level),
    )
    return replace(joined, loading_=loading)


def _sites_of(name: str, fitted: AccuracyEstimator) -> tuple[Site, ...]:
    """Return the labelled sites of a fit; refused where it does not hold them."""
    sets = fitted.sites_.read()
    if not sets:
        raise InputError(
            f"{name} does not hold its labelled sites, which are fitted together when fits are "
            f"joined: fit it again, or copy its whole folder, with the file that ends in {SUFFIX}."
        )
    return sets


def _as_spelt_before(labelled: Site, words: list[str], names: list[str]) -> Site:
    """Spell a labelled set as earlier sets, whose `words` and `names` take in its further ones.

    Where one set has ``Car`` and another ``car`` it is one category. Categories that were named
    need not be words of the detector: ``person`` may be the one of ``Person``, unless an earlier
    set has that word as a category. All categories are in `names`.
    """
    looks, categories = labelled.looks, labelled.boxes.categories
    used = dict.fromkeys([*looks.categories, *(() if labelled.everywhere else categories)])
    spelt = known_spellings(used, words)
    words += [word for word in used if word not in words and word not in spelt]
    of_names = spelt
    if labelled.everywhere:
        of_names = {**spelt, **known_spellings(categories, names)}
        of_names = {name: known for name, known in of_names.items() if name not in names}
    called = [of_names.get(name, name) for name in categories]
    names += [name for name in called if name not in names]
    known = replace(
        looks,
        categories=tuple(spelt.get(word, word) for word in looks.categories),
        numbers={number: spelt.get(word, word) for number, word in looks.numbers.items()},
        frequencies={spelt.get(word, word): n for word, n in looks.frequencies.items()},
    )
    labelled = labelled.respelt(of_names) if of_names else labelled
    return replace(labelled, looks=known) if spelt else labelled


def _words_of(
    fits: Mapping[str, AccuracyEstimator],
    spellings: Sequence[str],
    names: Sequence[str],
    by_word: Collection[str],
) -> dict[str, Any]:
    """Join the detector's words for the categories of all fits, as ``task``.

    As ``words`` where a fit has none: then every word may count at a new site, and a category that
    is named there still has its words. Words are spelt as in `spellings`, categories as in `names`.

    Raises InputError where they give a category different words, or one that is called by a word of
    the detector has words that are categories of their own in a fit without names, `by_word`.
    """
    words: dict[str, list[str]] = {}
    for name, fitted in fits.items():
        known = fitted.categories_ or fitted.context_.get("words", {})
        spelt = known_spellings(words_of(known), spellings)
        of_names = {**known_spellings(known, spellings), **known_spellings(known, names)}
        for category, its_words in known.items():
            category = category if category in names else of_names.get(category, category)
            its_words = [spelt.get(word, word) for word in its_words]
            # the name of a category is a word of it, whether it was given as one or not
            before = words.setdefault(category, list(its_words))
            if {category, *before} != {category, *its_words}:
                raise InputError(
                    f"{name} has {listed(list(its_words))} for the category {category}, another "
                    f"fit {listed(before)}: fit them with the same words (--category)."
                )
            words[category] = list(dict.fromkeys([*before, *its_words]))
            apart = [word for word in its_words if word in by_word and word != category]
            if apart and category in by_word:
                raise InputError(
                    f"{name} has {listed(list(its_words))} for the category {category}, and "
                    f"in another fit {listed([category, *apart])} are categories of their own: fit "
                    "them with the same words, or call the category otherwise (--category)."
                )
    if any(fitted.categories_ is None for fitted in fits.values()):
        return {"words": words} if words else {}
    return {"task": {"name": "joined", "words": words}}


def _names_of_sites(
    sites: Mapping[str, Sequence[Site]],
) -> dict[str, dict[str, str]]:
    """Return new names of the labelled sets of each fit that share one and have other images.

    Labelled sets are named after their files, such as ``annotations``; those of a fit then get its
    name before their own.

    Parameters
    ----------
    sites : mapping of str to sequence of Site
        Labelled sets of each fit, by its name.

    Returns
    -------
    dict of str to dict of str to str
        By fit, then by old name the new one; only of sets that are renamed.

    Raises
    ------
    InputError
        For one set, or most boxes of one, in two fits: it counts once.
    """
    short = dict(zip(sites, short_names(list(sites)), strict=True))
    renamed: dict[str, dict[str, str]] = {name: {} for name in sites}
    rows = {id(k): rows_as_bytes(k.boxes) for of_fit in sites.values() for k in of_fit}
    for (first_name, first_sites), (second_name, second_sites) in itertools.combinations(
        sites.items(), 2
    ):
        for a, b in itertools.product(first_sites, second_sites):
            common = [k for k in _labelled_categories(a) if k in _labelled_categories(b)]
            same_images = _image_names(a) == _image_names(b) and _same_labels(a, b, common)
            # of a part of the images, or of a file that was cut at a score
            fewer, shared = min(len(rows[id(a)]), len(rows[id(b)])), rows[id(a)] & rows[id(b)]
            in_part = fewer >= FEWEST_SURE and len(shared) >= SAME * fewer
            # labels of one set by other names have boxes of another detector, or of a new export
            if a.evaluation.content_key == b.evaluation.content_key or (
                common and (in_part or same_images)
            ):
                names = listed(list(dict.fromkeys([a.name, b.name])))
                raise InputError(
                    f"The labelled set {names} is in more than one of "
                    f"{listed([first_name, second_name])}. Each counts once: leave one of them out."
                )
            if a.name == b.name and not same_images:
                for fit in (first_name, second_name):
                    renamed[fit][a.name] = f"{short[fit]}/{a.name}"
    return renamed


def _image_names(labelled: Site) -> list[str]:
    """Return the file names of the images of a set, in its order; ids are numbers of a file."""
    return [image.file_name for image in labelled.boxes.images]


def _same_labels(a: Site, b: Site, categories: Sequence[str]) -> bool:
    """Whether most labels of some categories are those of another set on equally named images.

    Frames of several cameras are often numbered alike. Labels are the same by an IoU of
    `SAME_LABEL`. True without categories.

    Parameters
    ----------
    a, b : Site
        Labelled sets with images of equal names in equal order.
    categories : sequence of str
        Those that are compared.
    """
    if not categories:
        return True
    labels = []
    for truth in (a.evaluation.truth, b.evaluation.truth):
        of_all = truth.as_categories(categories)
        labels.append((of_all.boxes, of_all.image * len(categories) + of_all.label))
    (first, of_first), (second, of_second) = labels
    same, _, _ = overlapping_pairs(first, of_first, second, of_second, least=SAME_LABEL)
    return 2 * len(np.unique(same)) >= len(first)


def _labelled_categories(labelled: Site) -> list[str]:
    """Return the categories of a set that have labels enough to be fitted on."""
    names = zip(labelled.boxes.categories, labelled.evaluation.enough, strict=True)
    return [name for name, enough in names if enough]


def _check_same_detector(
    first_name: str, first_estimator: AccuracyEstimator, name: str, estimator: AccuracyEstimator
) -> None:
    """Raise `InputError` for fits of different detectors.

    Passes may differ: joined are boxes, on which neither dropout nor its seed acts.
    """
    words = set(estimator.known_looks().categories)
    words_of_first = set(first_estimator.known_looks().categories)
    if not words & words_of_first and not known_spellings(words, [*words_of_first]):
        raise InputError(
            f"{name} knows {listed(sorted(words), 10)}, the first fit "
            f"{listed(sorted(words_of_first), 10)}: they are of other detectors."
        )

    fitted, other = (
        of_plain_pass(of.context_.get("detector") or of.known_looks().detector)
        for of in (first_estimator, estimator)
    )
    if not fitted or not other:  # files say nothing of their detector
        return
    try:
        refuse_differences(fitted, other, "detector.")
    except InputError as error:
        raise InputError(f"{first_name} and {name} do not go together. {error}") from error


def _named_sets(sets: Sequence[Site], names: Mapping[str, str]) -> list[Site]:
    """Give labelled sets other names, and groups that bear their name and were not given.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets.
    names : mapping of str to str
        New name by old name; others stay.
    """
    return [
        replace(
            labelled,
            name=names.get(labelled.name, labelled.name),
            group=labelled.group if labelled.grouped else names.get(labelled.group, labelled.group),
        )
        for labelled in sets
    ]
