"""What several detectors are compared on: the same images and the same categories.

`compare_sites` and `plan_difference` call `check_fits` and `on_common_ground` first. All that
follows finds the sites of the detectors with images in one order and categories of the same names.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from autoeval.accuracy.measures import OperatingPoint
from autoeval.boxes import same_boxes
from autoeval.comparison.comparison import ALL
from autoeval.errors import InputError
from autoeval.estimation.checks import nothing_found_text
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.io.image_identity import match_images
from autoeval.io.labels.content import LabelSet
from autoeval.io.predictions.category_words import known_spellings, spelt_otherwise
from autoeval.labels.labelled_categories import (
    categories_with_a_box,
    expected_objects,
    false_without_labels,
    has_labels,
    labelled_categories,
)
from autoeval.sites.label_warnings import of_other_images
from autoeval.sites.site import Site
from autoeval.words import Notice, counted, listed, prefixed

NOTHING_KNOWN: Mapping[str, float] = MappingProxyType({})


def check_fits(
    fits: Mapping[str, AccuracyEstimator],
    trained_here: Collection[str] = (),
    accuracy: Mapping[str, float] = NOTHING_KNOWN,
) -> None:
    """Check that estimators can be compared, and what is said to be known of their detectors.

    At a threshold `trained_here` is refused, since it would not act: the difference is that of the
    two estimates, which a fit with ``--trained-here`` corrects.

    Parameters
    ----------
    fits : mapping of str to AccuracyEstimator
        By name of the detector, two or more of one target.
    trained_here : collection of str
        Names of detectors that were trained at the labelled site.
    accuracy : mapping of str to float
        Accuracy in [0, 1] that is known of one of them.

    Raises
    ------
    InputError
        For fewer than two fits, several targets, unknown names, more than one known accuracy or one
        outside [0, 1], or `trained_here` at a threshold.
    """
    if len(fits) < 2:
        raise InputError(f"Expected two detectors or more to compare but got {len(fits)}.")
    targets = {name: fitted.target for name, fitted in fits.items()}
    if len(set(targets.values())) > 1:
        raise InputError(
            "Expected estimators of one target but got "
            f"{', '.join(f'{name}: {target}' for name, target in targets.items())}. Fit them with "
            "the same --target."
        )
    unknown = [name for name in trained_here if name not in fits]
    if unknown:
        raise InputError(
            f"trained_here names {listed(unknown)}, which is not compared. Expected some of "
            f"{listed(list(fits))}."
        )
    target = next(iter(targets.values()))
    if trained_here and OperatingPoint.of(target):
        raise InputError(
            f"trained_here of a comparison acts on differences of average precision but the target "
            f"is {target}. Say it of the fit: `autoeval fit --labels PATH --trained-here` "
            "corrects the estimates of recall and F1 themselves."
        )
    if len(accuracy) > 1 or any(name not in fits for name in accuracy):
        raise InputError(
            f"`known` has {listed(list(accuracy))}. Expected one of the compared detectors, "
            f"{listed(list(fits))}: one known accuracy shows the error of the estimates here."
        )
    for name, value in accuracy.items():
        if not 0 <= value <= 1:
            raise InputError(
                f"Expected the known accuracy of {name} in [0, 1] but got {value:g} (on the "
                "command line in points of 100)."
            )


def on_common_ground(
    fits: Mapping[str, AccuracyEstimator],
    sites: Mapping[str, Site],
    labels: LabelSet | None = None,
    words: Mapping[str, str] | None = None,
) -> tuple[dict[str, AccuracyEstimator], dict[str, Site], list[Notice]]:
    """Restrict sites to the images and the categories that all detectors share.

    A category that counts for any of the detectors, see `autoeval.sites.site`, is compared if all
    of them have a word for it, also with a detector that finds nothing of it. Words that differ by
    case or separators alone are one category, called as in the labels or else by the first detector
    that has one, unless the labels or a detector have two such; see `known_spellings`. With
    `labels` the categories are those that the labels distinguish, see `labelled_categories`; a
    detector without a word for one of them has found none of its objects. Where a fit counts chosen
    categories, its site has lost the boxes of others: these are not compared.

    Parameters
    ----------
    fits : mapping of str to AccuracyEstimator
        By name of the detector.
    sites : mapping of str to Site
        What each detector found, by the same names.
    labels : LabelSet, optional
        Labels of some of the images, which have the names of the first site's images (`labels_on`).
    words : mapping of str to str, optional
        Category for each word of the labels; by default equal words.

    Returns
    -------
    fits : dict of str to AccuracyEstimator
        Each at the score at which the boxes of its site begin, see `Site.floor`, with the common
        words.
    sites : dict of str to Site
        With the same images in the same order and blocks of time, and the same named categories,
        calibrated.
    warnings : list of Notice
        What was left out, words that are spelt otherwise, detectors whose boxes seem to be of
        different images, and those that found exactly the same.

    Raises
    ------
    InputError
        If no image or no category is common, or no detector finds anything and there are no labels;
        if one of several categories is called `ALL`.
    """
    sites = {name: fits[name].calibrated(site) for name, site in sites.items()}
    fits = {name: fitted.at_floor(sites[name].floor) for name, fitted in fits.items()}
    words_of: dict[str, Collection[str]] = {  # that each can find: here, or where it was fitted
        name: dict.fromkeys(
            [
                *site.boxes.categories,
                *(() if site.named else fits[name].known_looks().categories),
            ]
        )
        for name, site in sites.items()
    }
    called = [*(words.values() if words else () if labels is None else labels.categories)]
    for own_words in words_of.values():
        spelt = known_spellings(own_words, called)
        called += [word for word in own_words if word not in spelt]
    of_words = list[Notice]()
    for name, own_words in words_of.items():  # again: a later one may have two such words
        if spelt := known_spellings(own_words, called):
            fits[name] = _respelt_fit(fits[name], spelt)
            sites[name] = sites[name].respelt(spelt)
            words_of[name] = [spelt.get(word, word) for word in own_words]
            of_words += prefixed(name, [spelt_otherwise(spelt)])
    images = [site.boxes.images for site in sites.values()]
    common_images, warnings = sites, list[Notice]()
    if any(other_images != images[0] for other_images in images[1:]):
        common_images, warnings = _on_common_images(sites)
    blocks = (site.blocks for site in common_images.values() if site.blocks is not None)
    of_images = next(blocks, None)  # some files know of frames, others have the same images
    common_sites = {
        name: replace(site, blocks=of_images, evidence=(), floor=0.0)
        for name, site in common_images.items()
    }
    pool = next(iter(common_sites.values())).boxes
    labelled: set[str] = set()
    if labels is not None:
        used = categories_with_a_box(labels, pool)
        labelled = {words[word] for word in used if word in words} if words else set(used)
    target = next(iter(fits.values())).target
    chosen_of = {  # where other categories were chosen to count, here or in the fit
        name: set(site.boxes.categories) for name, site in sites.items() if site.named
    }
    names, category_warnings = _common_categories(
        common_sites, words_of, chosen_of, labelled, target
    )
    unlisted: OperatingPoint | None = None  # where labels list no categories, and all may count
    if labels is not None:
        names, of_labels, unlisted = _distinguished_by_labels(
            names, common_sites, chosen_of, labels, words, target
        )
        category_warnings += of_labels
    if ALL in names and len(names) > 1:
        raise InputError(
            f"A category is called '{ALL}', as the mean over categories is in a comparison: give "
            f"it another name, with --category NAME={ALL} beside those of the others."
        )
    for name, site in common_sites.items():
        if without := [category for category in names if category not in words_of[name]]:
            category_warnings.append(
                Notice(
                    "category-not-known",
                    f"{name}: no word for labelled categories, so that its average precision there "
                    f"is 0: {len(without)} ({listed(without, 10)}). To leave them out, name those "
                    "that count with --category",
                )
            )
        common_sites[name] = on_categories(site, names)
        if unlisted is not None and labels is not None:
            boxes = common_sites[name].boxes
            on_labelled = has_labels(pool.images, labels)  # the first detector names them so
            odd = false_without_labels(boxes, on_labelled, labels, words, unlisted.score_thr)
            category_warnings += prefixed(name, odd)
    between = [
        Notice(
            "detectors-elsewhere",
            f"boxes of {a} and {b} lie on each other no more often than on those of other images: "
            "are they of the same images, in pixels of one size, and do image ids mean the same in "
            "both? If not, the difference is wrong",
        )
        for a, b in itertools.combinations(common_sites, 2)
        if of_other_images(common_sites[a].boxes, common_sites[b].boxes)
        and of_other_images(common_sites[b].boxes, common_sites[a].boxes)
    ]
    between += [
        Notice(
            "same-boxes",
            f"{a} and {b} found exactly the same boxes, so their difference is 0: is one of them "
            "given twice?",
        )
        for a, b in itertools.combinations(common_sites, 2)
        if same_boxes(common_sites[a].boxes, common_sites[b].boxes)
    ]
    return fits, common_sites, [*warnings, *of_words, *category_warnings, *between]


def on_categories(site: Site, names: Sequence[str]) -> Site:
    """Return a site in which the named categories count, and no others.

    Parameters
    ----------
    site : Site
        What a detector found; boxes of other categories are left out.
    names : sequence of str
        The categories, in this order. One that the site does not know has no box.

    Returns
    -------
    Site
        With these categories as its named ones, all of them taken to be present.
    """
    if site.boxes.categories != tuple(names):
        site = site.knowing(names).as_categories(names, {name: name for name in names})
    return replace(site, named=True, present=tuple(names))


def _respelt_fit(fitted: AccuracyEstimator, spelt: Mapping[str, str]) -> AccuracyEstimator:
    """Call categories otherwise in the pairs of a fit; `spelt` has the new word of each."""
    rows = {name: np.asarray(fitted.rows_[name]) for name in fitted.rows_}
    of_pairs = [spelt.get(word, word) for word in rows["category"].tolist()]
    rows["category"] = np.array(of_pairs, object)
    return replace(fitted, rows_=rows, fit_result_=None, regressions_={})


def _on_common_images(sites: Mapping[str, Site]) -> tuple[dict[str, Site], list[Notice]]:
    """Keep the images that all sites have, in one order, and say what was left out.

    Detectors may name images in different ways: they are looked up among those of one detector, by
    whose names most are found; of equal ones the first. With names of two folders, those without
    folders tell less.
    """
    images = {name: site.boxes.images for name, site in sites.items()}
    ways = []
    for reference in images:
        matches = {
            name: match_images(of_site, images[reference])
            for name, of_site in images.items()
            if name != reference
        }
        places = {reference: {k: k for k in range(len(images[reference]))}}
        for name, match in matches.items():
            places[name] = {place: k for k, place in enumerate(match.index.tolist()) if place >= 0}
        common = [k for k in places[reference] if all(k in of_site for of_site in places.values())]
        ways.append((common, places, matches, reference))
    common, places, matches, reference = max(ways, key=lambda way: len(way[0]))
    warnings: list[Notice] = []
    for name, match in matches.items():
        warnings += prefixed(name, match.by_rules(reference))
    if not common:
        examples = "; ".join(
            f"{name}: {listed([image.image_id for image in of_site], most=3)}"
            for name, of_site in images.items()
        )
        raise InputError(
            f"The detectors have no image in common ({examples}). Give predictions of "
            "the same images."
        )
    warnings += [
        Notice(
            "images-not-common",
            f"{name} has {counted(len(of_site), 'image')}, of which {len(common)} are common to "
            "all and compared",
        )
        for name, of_site in images.items()
        if len(of_site) > len(common)
    ]
    on_common = {
        name: site.on_images([places[name][k] for k in common]) for name, site in sites.items()
    }
    return on_common, warnings


def _common_categories(
    sites: Mapping[str, Site],
    words_of: Mapping[str, Collection[str]],
    chosen_of: Mapping[str, Collection[str]],
    labelled: Collection[str],
    target: str,
) -> tuple[list[str], list[Notice]]:
    """Return the categories that are compared, and what was left out.

    Parameters
    ----------
    sites : mapping of str to Site
        Of each detector, on the same images.
    words_of, chosen_of : mapping of str to collection of str
        What a detector has a word for; those that may count of it, where they were chosen.
    labelled : collection of str
        Categories of the labels, which are compared whoever finds them.
    target : str
        What is compared, for the message where nothing is found.

    Raises
    ------
    InputError
        If no detector finds anything and there are no labels, or no category is common.
    """
    wanted: dict[str, str] = {}  # category: a detector that finds it
    for name, site in sites.items():
        wanted = {**dict.fromkeys(site.presence.counted, name), **wanted}
    if not wanted:  # then labels alone say what there is
        if not labelled:
            nothing = nothing_found_text(len(next(iter(sites.values()))), target)
            raise InputError(f"No detector finds anything to compare: {nothing}.")
        wanted = dict.fromkeys(sorted(labelled), "")
    kept, warnings = list[str](), list[Notice]()
    known_to_some = {category for site in sites.values() for category in site.boxes.categories}
    outside = {  # category: the detectors whose fits do not count it
        category: without
        for category in dict.fromkeys([*wanted, *sorted(known_to_some & set(labelled))])
        if (without := [name for name, chosen in chosen_of.items() if category not in chosen])
    }
    if outside:
        fitted_on_others = listed(list(dict.fromkeys(itertools.chain(*outside.values()))))
        warnings.append(
            Notice(
                "category-not-common",
                f"left out, since {fitted_on_others} was fitted on other categories: "
                f"{len(outside)} ({listed(list(outside), 10)}). To compare them, fit again with "
                "them",
            )
        )
    for category, finder in wanted.items():
        if category in outside:
            continue
        without = [name for name, words in words_of.items() if category not in words]
        if without and category not in labelled:
            warnings.append(
                Notice(
                    "category-not-common",
                    f"{category}, found by {finder}, is left out: {listed(without)} has no such "
                    "word",
                )
            )
            continue
        kept.append(category)
    if not kept:
        examples = "; ".join(f"{name}: {listed(sorted(words))}" for name, words in words_of.items())
        raise InputError(
            f"The detectors have no category in common that one of them finds here ({examples}). "
            "Name one with the words of each detector: --category NAME=WORD,WORD."
        )
    return kept, warnings


def _distinguished_by_labels(
    found: Sequence[str],
    sites: Mapping[str, Site],
    chosen_of: Mapping[str, Collection[str]],
    labels: LabelSet,
    words: Mapping[str, str] | None,
    target: str,
) -> tuple[list[str], list[Notice], OperatingPoint | None]:
    """Return the categories that labels let compare, and what was added or left out.

    Parameters
    ----------
    found : sequence of str
        The categories that are compared without labels.
    sites : mapping of str to Site
        Of each detector, on the same images, calibrated.
    chosen_of : mapping of str to collection of str
        What may count of a detector, where that was chosen.
    labels, words
        As of `on_common_ground`.
    target : str
        What is compared.

    Returns
    -------
    names : list of str
        At a threshold with every other category that a detector has a box of, if none was chosen: a
        box of a category without an object is a false positive, see `on_all_categories`.
    warnings : list of Notice
        Of `labelled_categories`.
    unlisted : OperatingPoint or None
        The threshold, where labels do not list their categories, so that all may count.
    """
    pool = next(iter(sites.values())).boxes
    vocabulary: Collection[str] | None = None
    if len(chosen_of) == len(sites):
        vocabulary = pool.categories
    elif words:
        vocabulary = ()
    elif chosen_of:
        vocabulary = categories_with_a_box(labels, pool)
    if vocabulary is not None:
        vocabulary = [
            word
            for word in vocabulary
            if all(word in chosen_words for chosen_words in chosen_of.values())
        ]
    on_labelled = has_labels(pool.images, labels)
    expected: dict[str, float] = {}
    if vocabulary is None:
        for site in sites.values():
            of_site = expected_objects(site.boxes, site.right_at_half, on_labelled)
            for word, n in of_site.items():
                expected[word] = max(n, expected.get(word, 0.0))
    chosen = labelled_categories(found, labels, pool, words, named=vocabulary, expected=expected)
    names, point = [*chosen.kept, *chosen.added], OperatingPoint.of(target)
    if vocabulary is not None or point is None:
        return names, [*chosen.warnings], None
    with_box = {
        site.boxes.categories[k]
        for site in sites.values()
        for k in np.unique(site.boxes.label).tolist()
    }
    candidates = sorted(with_box) if chosen.looked_for is None else labels.categories
    names += [word for word in candidates if word in with_box and word not in names]
    return names, [*chosen.warnings], point if chosen.looked_for is None else None
