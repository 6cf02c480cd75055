"""The prior of the default regression, fitted on a panel of detectors and shipped as a file.

`benchmarks/panel.py` writes it; docs/explanation/calibration.md says what it rests on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from autoeval.calibration import CalibrationPrior, Usual
from autoeval.data.config_file import shipped_config
from autoeval.errors import InputError
from autoeval.regression import Prior, Scaling

FILE = "panel_prior.json"


def calibration_prior() -> CalibrationPrior:
    """Return the usual calibration of detectors."""
    return read_calibration_prior(_content()["calibration"])


def read_calibration_prior(known: Mapping[str, Any]) -> CalibrationPrior:
    """Read the calibration of a file of this kind."""
    return CalibrationPrior(tuple(_usual(of) for of in known["boxes"]), _usual(known["missed"]))


def regression_prior(features: Sequence[str], target: str) -> tuple[Scaling, Prior]:
    """Return the units of some scores and what is believed of their slopes.

    Parameters
    ----------
    features : sequence of str
    target : {"mAP", "mAP50", "mAP75"}

    Raises
    ------
    InputError
        If the panel has no regression on these scores.
    """
    for fitted in _content()["regressions"]:
        if fitted["target"] == target and set(fitted["scores"]) == set(features):
            units = [fitted["scores"][name] for name in features]
            location, scale, slopes = np.array(units).T
            return Scaling(location, scale), Prior(tuple(slopes.tolist()), **fitted["prior"])
    same_target = (of for of in _content()["regressions"] if of["target"] == target)
    known = "; ".join(", ".join(of["scores"]) for of in same_target)
    raise InputError(
        f"No prior of a regression of {target} on {', '.join(features)}. The panel has those on "
        f"{known}."
    )


def _usual(of: Mapping[str, Any]) -> Usual:
    return Usual(**{name: np.array(values) for name, values in of.items()})


@cache
def _content() -> Any:
    return json.loads(shipped_config(FILE).read_text(encoding="utf-8"))
