"""Several fits of one detector become one: their labelled sites are fitted together."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fitted_sites import SUFFIX, named_sets
from autoeval.estimation.fitting import fit_sets
from autoeval.estimation.observation.detector_identity import refuse_differences
from autoeval.estimation.observation.pass_settings import PASS_OF_DROPOUT, of_plain_pass
from autoeval.estimation.reference_choice import CHOSEN
from autoeval.io.wording import listed, short_names
from autoeval.runtime.blas_threads import one_blas_thread
from autoeval.sites.site import Site

REFERENCE = "reference"
NOT_COMPARED = ("measures", "domain", REFERENCE, *PASS_OF_DROPOUT)


@one_blas_thread
def join_fits(
    fits: Mapping[str, AccuracyEstimator], *, target: str = "mAP", level: float = 0.9
) -> AccuracyEstimator:
    """Fit the labelled sites of some fits of one detector together, as one fit on all of them.

    fits: by a name for messages.
    """
    (first, one), *_ = fits.items()
    for name, other in fits.items():
        if ("detector" in one.context_) != ("detector" in other.context_):
            raise InputError("Fits on predictions and fits with a detector are not joined.")
        _check_alike(first, one, name, other)
    sites = {name: _sites_of(name, fitted) for name, fitted in fits.items()}
    sets = [
        labelled_set
        for name, names in names_of_sites(sites).items()
        for labelled_set in named_sets(sites[name], names)
    ]
    context = {name: value for name, value in one.context_.items() if name not in ("task", "boxes")}
    if any(labelled_set.reference is None for labelled_set in sets):
        sets = [labelled_set.changed(reference=None) for labelled_set in sets]
        if "pass" in context:
            context = {**context, "pass": _without(context["pass"], REFERENCE)}
    if any(fit.context_.get(CHOSEN) != context.get(CHOSEN) for fit in fits.values()):
        context.pop(CHOSEN, None)  # they read references of different places in their lists
    return fit_sets(
        sets,
        context=context | _words_of(fits),
        target=target,
        level=level,
        loading=one.loading_,
    )


def _sites_of(name: str, fitted: AccuracyEstimator) -> tuple[Site, ...]:
    """Return the labelled sites of a fit; refused where it does not hold them."""
    sets = fitted.sites_.read()
    if not sets:
        raise InputError(
            f"{name} does not hold its labelled sites, which are fitted together when fits are "
            f"joined: fit it again, or copy its whole folder, with the file that ends in {SUFFIX}."
        )
    return sets


def _words_of(fits: Mapping[str, AccuracyEstimator]) -> dict[str, Any]:
    """Join the detector's words for the categories of all fits; nothing where one has none.

    Raises InputError where they give a category different words.
    """
    words: dict[str, list[str]] = {}
    for name, fitted in fits.items():
        if fitted.words_ is None:
            return {}
        for category, its_words in fitted.words_.items():
            # the name of a category is a word of it, whether it was given as one or not
            before = words.setdefault(category, list(its_words))
            if {category, *before} != {category, *its_words}:
                raise InputError(
                    f"{name} has {listed(list(its_words))} for the category {category}, another "
                    f"fit {listed(before)}: fit them with the same words (--category)."
                )
            words[category] = list(dict.fromkeys([*before, *its_words]))
    return {"task": {"name": "joined", "words": words}}


def names_of_sites(
    sites: Mapping[str, Sequence[Site]],
) -> dict[str, dict[str, str]]:
    """Return new names of the labelled sets of each fit that share one and have other images.

    Labelled sets are named after their files, such as ``annotations``; those of a fit then get its
    name before their own. Raises InputError for one set in two fits: it counts once.
    """
    short = dict(zip(sites, short_names(list(sites)), strict=True))
    renamed: dict[str, dict[str, str]] = {name: {} for name in sites}
    for (one, first), (other, second) in itertools.combinations(sites.items(), 2):
        for a, b in itertools.product(first, second):
            same_images = _image_ids(a) == _image_ids(b)
            common = set(_labelled_categories(a)) & set(_labelled_categories(b))
            if a.content_key == b.content_key or (a.name == b.name and same_images and common):
                names = listed(list(dict.fromkeys([a.name, b.name])))
                raise InputError(
                    f"The labelled set {names} is in more than one of {listed([one, other])}. Each "
                    "counts once: leave one of them out."
                )
            if a.name == b.name and not same_images:
                for fit in (one, other):
                    renamed[fit][a.name] = f"{short[fit]}/{a.name}"
    return renamed


def _image_ids(labelled: Site) -> list[str]:
    return [image.image_id for image in labelled.boxes.images]


def _labelled_categories(labelled: Site) -> list[str]:
    names = zip(labelled.labels.categories, labelled.enough, strict=True)
    return [name for name, enough in names if enough]


def _check_alike(first: str, one: AccuracyEstimator, name: str, other: AccuracyEstimator) -> None:
    """Refuse other detectors and passes; a reference that some had is not read."""
    before, now = (
        {
            "detector": of_plain_pass(c.get("detector", {})),
            "pass": _without(c.get("pass", {}), *NOT_COMPARED),
        }
        for c in (one.context_, other.context_)
    )
    words, words_of_first = set(other.statistics_.categories), set(one.statistics_.categories)
    if not words & words_of_first:
        raise InputError(
            f"{name} knows {listed(sorted(words), 10)}, the first fit "
            f"{listed(sorted(words_of_first), 10)}: they are of other detectors."
        )
    try:
        refuse_differences(before, now)
    except InputError as error:
        raise InputError(f"{first} and {name} do not go together. {error}") from error


def _without(of_pass: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in of_pass.items() if key not in names}
