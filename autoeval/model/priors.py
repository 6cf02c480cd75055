"""The priors of the default regression, fitted on a panel of detectors and shipped as files.

`autoeval/model/train_prior.py` writes them; what they rest on is in
docs/explanation/calibration.md and docs/how-to/operating-point.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from autoeval.errors import InputError
from autoeval.io.config_file import shipped_config
from autoeval.model.away import Away
from autoeval.model.calibration import CalibrationPrior, Usual
from autoeval.model.pairs import Scaling
from autoeval.model.variances import Prior
from autoeval.targets import OperatingPoint

FILES = ("panel_prior.json", "operating_point_prior.json")
SYNONYMS = {
    "person": (
        "people",
        "persons",
        "human",
        "humans",
        "human being",
        "man",
        "men",
        "woman",
        "women",
        "pedestrian",
        "pedestrians",
        "walker",
        "worker",
        "workers",
    )
}
"""Other words of labels and detectors for a category that the prior knows by name."""
TRAINED = "trained_here_prior.json"
PAIRS = "panel_pairs.json"
FULL = 0.0  # floor of files as they come, from .05 on or lower


def calibration_prior(floor: float = FULL) -> CalibrationPrior:
    """Return the usual calibration of detectors whose files hold boxes from a score on."""
    content = _content(FILES[0])
    missed = _at_floor(FILES[0], floor)["missed"]
    return read_calibration_prior({"boxes": content["boxes"], "missed": missed})


def read_calibration_prior(coefficients: Mapping[str, Any]) -> CalibrationPrior:
    """Read the calibration of a file of this kind."""
    return CalibrationPrior(
        tuple(_usual(box) for box in coefficients["boxes"]), _usual(coefficients["missed"])
    )


def regression_prior(
    features: Sequence[str], target: str, floor: float = FULL
) -> tuple[Scaling, Prior]:
    """Return the units of some scores and what is believed of their slopes.

    target: ``mAP``, ``mAP50``, ``mAP75``; at a threshold such as ``recall@0.3`` the prior is that
        of ``recall`` at any.
    floor: score from which on boxes are in the files; that of the panel's tables which is nearest
        by ratio counts.
    """
    if OperatingPoint.of(target):
        features, target = [_kind(name) for name in features], _kind(target)
    regressions = [
        regression for name in FILES for regression in _at_floor(name, floor)["regressions"]
    ]
    for fitted in regressions:
        if fitted["target"] == target and set(fitted["scores"]) == set(features):
            units = [fitted["scores"][name] for name in features]
            location, scale, slopes = np.array(units).T
            prior = Prior(tuple(slopes.tolist()), **fitted["prior"])
            return Scaling(location, scale), with_synonyms(prior)
    same_target = (regression for regression in regressions if regression["target"] == target)
    possible = "; ".join(", ".join(regression["scores"]) for regression in same_target)
    raise InputError(
        f"No prior of a regression of {target} on {', '.join(features)}. The panel has those on "
        f"{possible}."
    )


def away_prior(target: str) -> Away:
    """Return what is known of detectors away from the site that they were trained on."""
    return Away(**_content(TRAINED)[_kind(target)])


def panel_pairs(floor: float = FULL) -> dict[str, np.ndarray]:
    """Return the pairs of site and category that the prior was fitted on, of all its detectors.

    By name of a score or of an average precision, the values of all pairs, (N,). For `floor` see
    `regression_prior`.
    """
    columns = {name: column for name, column in _at_floor(PAIRS, floor).items() if name != "floor"}
    return {name: np.array(column, np.float64) for name, column in columns.items()}


def with_synonyms(prior: Prior) -> Prior:
    """Give other words for a category the effect that the prior knows by its name.

    Examples
    --------
    >>> with_synonyms(Prior((), categories={"person": -.1})).of_category("Pedestrian")
    -0.1
    """
    effects = dict(prior.categories)
    for name, words in SYNONYMS.items():
        effects |= dict.fromkeys(words, effects[name]) if name in effects else {}
    return replace(prior, categories=effects)


def _at_floor(name: str, floor: float) -> Any:
    """Return the part of a file that was fitted nearest to a floor; NaN counts as `FULL`."""
    parts = _content(name)["floors"]
    if not floor > parts[0]["floor"]:
        return parts[0]
    return min(parts, key=lambda part: abs(math.log(part["floor"] / floor)))


def _kind(name: str) -> str:
    return name.partition("@")[0]


def _usual(values_by_name: Mapping[str, Any]) -> Usual:
    return Usual(**{name: np.array(values) for name, values in values_by_name.items()})


@cache
def _content(name: str) -> Any:
    return json.loads(shipped_config(name).read_text(encoding="utf-8"))
