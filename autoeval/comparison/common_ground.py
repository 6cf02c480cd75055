"""What several detectors are compared on: the same images and the same categories."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import DEFAULT_METHOD, BayesianRegression
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.site import Site
from autoeval.report.tables import counted


def check_fits(fits: Mapping[str, AccuracyEstimator]) -> None:
    """Refuse fewer than two estimators, other methods than the default, and different targets."""
    if len(fits) < 2:
        raise InputError(f"Expected two detectors or more to compare but got {len(fits)}.")
    for name, fitted in fits.items():
        if not isinstance(fitted.regression_, BayesianRegression):
            raise InputError(
                f"{name} is a fit by '{fitted.method}': detectors are compared by fits of the "
                f"default method '{DEFAULT_METHOD}' (`autoeval fit`)."
            )
    targets = {name: fitted.target for name, fitted in fits.items()}
    if len(set(targets.values())) > 1:
        raise InputError(
            "Expected estimators of one target but got "
            f"{', '.join(f'{name}: {target}' for name, target in targets.items())}. Fit them with "
            "the same --target."
        )


def check_trained(names: Collection[str], fits: Mapping[str, AccuracyEstimator]) -> None:
    """Refuse a detector that is said to be trained at the labelled site and is not compared."""
    unknown = [name for name in names if name not in fits]
    if unknown:
        raise InputError(
            f"trained_here names {listed(unknown)}, which is not compared. Expected some of "
            f"{listed(list(fits))}."
        )


def at_floors(
    fits: Mapping[str, AccuracyEstimator], sites: Mapping[str, Site]
) -> tuple[dict[str, AccuracyEstimator], dict[str, Site]]:
    """Take each fit at the score at which the boxes of its site begin; see `Site.floor`."""
    there = {name: fitted.at_floor(sites[name].floor) for name, fitted in fits.items()}
    return there, {name: replace(site, floor=0.0) for name, site in sites.items()}


def on_common_ground(
    fits: Mapping[str, AccuracyEstimator], sites: Mapping[str, Site]
) -> tuple[dict[str, Site], list[str]]:
    """Bring sites to the images and the categories that all detectors share; say what was left out.

    Where categories were not named, those that any of the detectors finds are compared, if all of
    them have a word for it: a detector that finds nothing of it is not spared. The sites returned
    have the same images in the same order, and the same named categories, calibrated. Raises
    InputError if no image or no category is common, or two detectors found exactly the same boxes.
    """
    images, warnings = _common_images(sites)
    made = {
        name: replace(
            site,
            boxes=replace(site.boxes.on_images(images[name]), calibration=fits[name].calibration_),
            evidence=(),
        )
        for name, site in sites.items()
    }
    names, left = _common_categories(fits, made)
    own = {name: name for name in names}
    made = {
        name: replace(site, boxes=site.boxes.as_categories(names, own), named=True)
        for name, site in made.items()
    }
    _refuse_equal(made)
    return made, [*warnings, *left]


def _common_images(sites: Mapping[str, Site]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the places of the common images among those of each site, in one order."""
    places = {
        name: {image.image_id: k for k, image in enumerate(site.boxes.clean.images)}
        for name, site in sites.items()
    }
    first, *others = places.values()
    common = [image for image in first if all(image in of for of in others)]
    if not common:
        some = "; ".join(f"{name}: {listed(of, most=3)}" for name, of in places.items())
        raise InputError(
            f"The detectors have no image in common ({some}). Give predictions of the same images."
        )
    warnings = [
        f"{name} has {counted(len(of), 'image')}, of which {len(common)} are common to all and "
        "compared"
        for name, of in places.items()
        if len(of) > len(common)
    ]
    return {
        name: np.array([of[image] for image in common]) for name, of in places.items()
    }, warnings


def _common_categories(
    fits: Mapping[str, AccuracyEstimator], sites: Mapping[str, Site]
) -> tuple[list[str], list[str]]:
    """Return the categories that are compared, and what was left out."""
    named = all(site.named for site in sites.values())
    wanted: dict[str, str] = {}  # category: a detector that finds it
    known = {}
    for name, site in sites.items():
        own = site.boxes.clean.categories
        found = own if named else [own[k] for k in site.boxes.likely]
        wanted = {**dict.fromkeys(found, name), **wanted}
        known[name] = {*own} if named else {*own, *fits[name].statistics_.categories}
    kept, warnings = [], []
    for category, finder in wanted.items():
        without = [name for name, words in known.items() if category not in words]
        if without:
            warnings.append(
                f"{category}, found by {finder}, is left out: {listed(without)} has no such word"
            )
        else:
            kept.append(category)
    if not kept:
        some = "; ".join(f"{name}: {listed(sorted(words))}" for name, words in known.items())
        raise InputError(
            f"The detectors have no category in common that one of them finds here ({some}). Name "
            "one with the words of each detector: --category NAME=WORD,WORD."
        )
    return kept, warnings


def _refuse_equal(sites: Mapping[str, Site]) -> None:
    """Refuse a detector that is given twice."""
    seen: dict[bytes, str] = {}
    for name, site in sites.items():
        clean = site.boxes.clean
        digest = b"".join(np.ascontiguousarray(of).tobytes() for of in (clean.boxes, clean.scores))
        if digest in seen and len(clean):
            raise InputError(
                f"{seen[digest]} and {name} found exactly the same boxes: is one detector given "
                "twice?"
            )
        seen[digest] = name
