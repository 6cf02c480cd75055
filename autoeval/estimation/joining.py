"""Several fits of one detector as one: any number of labelled sets and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autoeval.errors import InputError
from autoeval.estimation.artefact import refuse_differences
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.pairs.joined_pairs import joined_rows
from autoeval.estimation.pairs.pair_regression import NAME

TEACHER = "teacher"


def join_fits(
    fits: Mapping[str, MapEstimator], *, target: str = "mAP", level: float = 0.9
) -> MapEstimator:
    """Fit on all pairs of place and category that some fits of one detector rest on.

    Parameters
    ----------
    fits : mapping of str to MapEstimator
        By a name for messages. The first says for which categories the images of `predict` are
        looked at, and what few labels of them are helped by.
    target, level
        As in `MapEstimator`.

    Raises
    ------
    InputError
        If a fit is not by ``bayes``, is of another detector or of other passes than the first, or a
        pair is in two of them.
    """
    (first, one), *_ = fits.items()
    for name, other in fits.items():
        if other.method != NAME:
            raise InputError(f"{name} is a fit by '{other.method}': those by '{NAME}' are joined.")
        _check_alike(first, one, name, other)
    rows = joined_rows({name: fit.table_ for name, fit in fits.items()})
    context = dict(one.context_)
    if not all(TEACHER in fit.context_["pass"] for fit in fits.values()):
        context["pass"] = _without(context["pass"], TEACHER)
    return MapEstimator(target=target, level=level).fit_rows(rows, context=context, aid=one.aid_)


def _check_alike(first: str, one: MapEstimator, name: str, other: MapEstimator) -> None:
    """Refuse other detectors and passes; a teacher that some had is not read."""
    before, now = (
        {"detector": c["detector"], "pass": _without(c["pass"], "measures", "domain", TEACHER)}
        for c in (one.context_, other.context_)
    )
    try:
        refuse_differences(before, now)
    except InputError as error:
        raise InputError(f"{first} and {name} do not go together. {error}") from error


def _without(of_pass: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in of_pass.items() if key not in names}
