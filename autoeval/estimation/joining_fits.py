"""Several fits of one detector become one, on all pairs of site and category that they rest on."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.artefact import refuse_differences
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fit_state import CALIBRATIONS
from autoeval.estimation.fitting import fit_table
from autoeval.estimation.observation.pass_settings import FORMER_SETTINGS, of_plain_pass
from autoeval.estimation.pair_table import pair_rows
from autoeval.estimation.reference_choice import CHOSEN
from autoeval.estimation.score_floors import FloorFit
from autoeval.io.wording import listed, short_names
from autoeval.model.calibration import ScoreCalibration
from autoeval.runtime.blas_threads import one_blas_thread
from autoeval.sites.reference_statistics import different_floors, joined_statistics

PAIR = ["source", "category"]
REFERENCE = "reference"
NOT_COMPARED = ("measures", "domain", REFERENCE, *FORMER_SETTINGS)


@one_blas_thread
def join_fits(
    fits: Mapping[str, AccuracyEstimator], *, target: str = "mAP", level: float = 0.9
) -> AccuracyEstimator:
    """Fit on all pairs of site and category that some fits of one detector rest on.

    fits: by a name for messages. The label assistance is that of the first, the calibration has the
        mean of their coefficients; new images of a known site take that of its own fit.
    """
    (first, one), *_ = fits.items()
    for name, other in fits.items():
        if ("detector" in one.context_) != ("detector" in other.context_):
            raise InputError("Fits on predictions and fits with a detector are not joined.")
        _check_alike(first, one, name, other)
    _check_calibrations(fits)
    tables = {name: fit.table_ for name, fit in fits.items()}
    renamed = names_of_sources(tables)
    rows, calibration, of_sites = _joined(fits, renamed)
    statistics = [fit.statistics_ for fit in fits.values()]
    together = joined_statistics(statistics)
    floors = {}
    for floor, _ in together.floors:
        there, of_floor, sites = _joined(
            {name: fitted.at_floor(floor) for name, fitted in fits.items()}, renamed
        )
        if of_floor is not None:
            floors[floor] = FloorFit(there, of_floor, sites)
    context = {name: value for name, value in one.context_.items() if name != "task"}
    if "pass" in context and not all(REFERENCE in fit.context_["pass"] for fit in fits.values()):
        context = {**context, "pass": _without(context["pass"], REFERENCE)}
    if any(fit.context_.get(CHOSEN) != context.get(CHOSEN) for fit in fits.values()):
        context.pop(CHOSEN, None)  # they read references of different places in their lists
    warnings = tuple(dict.fromkeys(w for part in statistics for w in part.warnings))
    boxes = (
        replace(
            together,
            floors=tuple((floor, share) for floor, share in together.floors if floor in floors),
        )
        .warning(*warnings)
        .to_dict()
    )
    context |= {"boxes": boxes} | ({CALIBRATIONS: of_sites} if of_sites else {})
    return fit_table(
        rows,
        context=context,
        target=target,
        level=level,
        calibration=calibration,
        reference_calibration=_reference_of(list(fits.values())),
        label_assistance=one.label_assistance_,
        warnings=tuple(different_floors(statistics, list(fits))),
        loading=one.loading_,
        floors=floors,
    )


def joined_rows(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Join the pairs of score tables, each of which counts once; see `pair_table`."""
    parts = {name: pair_rows(table) for name, table in tables.items()}
    rows = pd.concat(parts.values(), ignore_index=True)
    twice = rows[rows.duplicated(PAIR)]
    if len(twice):
        names = [f"{category} of {source}" for source, category in twice[PAIR].to_numpy()]
        raise InputError(
            f"{listed(names, most=10)}: in more than one of {listed(list(tables))}. Each labelled "
            "place counts once: leave one of them out."
        )
    measured = rows.select_dtypes("number").drop(columns="repeat", errors="ignore")
    measured = measured.dropna(axis=1, how="all").assign(category=rows["category"])
    same = measured.duplicated(keep=False) & (rows["mAP"] > 0)
    if same.any():
        first, *_ = (part for _, part in rows[same].groupby([*measured], dropna=False))
        names = [f"{category} of {source}" for source, category in first[PAIR].to_numpy()]
        raise InputError(
            f"{int(same.sum())} pairs have equal scores and accuracies, such as {listed(names)}: "
            "one labelled set by several names? Each counts once: leave one of them out."
        )
    return rows


def names_of_sources(tables: Mapping[str, pd.DataFrame]) -> dict[str, dict[str, str]]:
    """Return new names of sources of several fits that share one and have other labels.

    Labelled sets are named after their files, such as ``annotations``; those of a fit then get its
    name before their own. Sets with as many images and boxes of each category are one set.
    """
    parts = {name: pair_rows(table) for name, table in tables.items()}
    short = dict(zip(parts, short_names(list(parts)), strict=True))
    counts = [
        name for name in ("n_images", "n_boxes") if all(name in pairs for pairs in parts.values())
    ]
    renamed: dict[str, dict[str, str]] = {name: {} for name in parts}
    for (one, first), (other, second) in itertools.combinations(parts.items(), 2):
        both = first.merge(second, on=PAIR, suffixes=("", " of other"))
        alike = [both[name] == both[f"{name} of other"] for name in counts]
        differ = both.assign(same=np.all(alike, axis=0) if alike else True)
        for source, same in differ.groupby("source")["same"].all().items():
            if not same:
                for fit in (one, other):
                    renamed[fit][str(source)] = f"{short[fit]}/{source}"
    return renamed


def _with_names(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Give sources, and groups that bear their name, other names."""
    columns = [name for name in ("source", "group") if name in table]
    return table.assign(**{name: table[name].replace(dict(names)) for name in columns})


def _reference_of(fits: Sequence[AccuracyEstimator]) -> ScoreCalibration | None:
    """Average the calibrations of the reference detector of some fits; None where one has none."""
    calibrations = [
        fitted.reference_calibration_
        for fitted in fits
        if fitted.reference_calibration_ is not None
    ]
    return ScoreCalibration.mean(calibrations) if len(calibrations) == len(fits) else None


def _joined(
    fits: Mapping[str, AccuracyEstimator], renamed: Mapping[str, Mapping[str, str]]
) -> tuple[pd.DataFrame, ScoreCalibration | None, dict[str, Any]]:
    """Join the pairs of fits, and average their calibrations; return those of the sites, too.

    renamed: new names of sources of each fit; see `names_of_sources`.
    """
    of_sites: dict[str, Any] = {}
    calibrations = []
    for name, fit in fits.items():
        if fit.calibration_ is not None:
            calibrations.append(fit.calibration_)
            of_fit = dict.fromkeys(fit.regression_.sources_, fit.calibration_.to_dict())
            of_fit |= fit.context_.get(CALIBRATIONS, {})
            of_sites |= {
                renamed[name].get(site, site): coefficients for site, coefficients in of_fit.items()
            }
    rows = joined_rows(
        {name: _with_names(fitted.table_, renamed[name]) for name, fitted in fits.items()}
    )
    return rows, ScoreCalibration.mean(calibrations) if calibrations else None, of_sites


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


def _check_calibrations(fits: Mapping[str, AccuracyEstimator]) -> None:
    """Refuse fits with a calibration of their own beside fits with the usual one.

    The scores of a calibrated box are of another scale in each.
    """
    calibrations = {
        name: fitted.calibration_
        for name, fitted in fits.items()
        if fitted.calibration_ is not None
    }
    usual = [name for name, calibration in calibrations.items() if calibration.usual]
    of_detector = [name for name, calibration in calibrations.items() if not calibration.usual]
    if usual and of_detector:
        raise InputError(
            f"The confidences of {listed(of_detector, 10)} were calibrated in the fit, those of "
            f"{listed(usual, most=10)} were not (--no-calibration), so that their scores do not "
            f"compare: fit {listed(usual, most=10)} again without --no-calibration."
        )


def _without(of_pass: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in of_pass.items() if key not in names}
