"""Estimates of rows whose source had no part in the fit: what every study of errors rests on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.intervals import MIN_SOURCES
from autoeval.estimation.methods import make_method
from autoeval.estimation.score_table import Rows, check_score_table, sources
from autoeval.estimation.targets import find_target


def study_rows(table: pd.DataFrame, methods: Sequence[str], target: str) -> Rows:
    """Take the columns that methods and a target need.

    Raises
    ------
    InputError
        If a method or the target is unknown, a column is missing, or there are fewer than three
        sources.
    """
    find_target(target)
    names = dict.fromkeys(name for method in methods for name in make_method(method).features)
    check_score_table(table, (*names, target))
    found = sources(table)
    if len(found) < MIN_SOURCES:
        raise InputError(
            f"Expected at least {MIN_SOURCES} sources to leave one out but got {len(found)} "
            f"({', '.join(found)}). Add labelled seed sets from other places."
        )
    return Rows.of(table, (*names, target))


def estimate_held_out(training: Rows, judged: Rows, method: str, target: str) -> np.ndarray:
    """Estimate each row by the regressor of its repeat, fitted without its source.

    Parameters
    ----------
    training : Rows
        What is fitted on, but for the rows of the source to estimate.
    judged : Rows
        What is estimated; may be, but need not be, rows of the same table.
    method : str
        Name in `autoeval.estimation.methods.METHODS`.
    target : str
        Column of the accuracy.

    Returns
    -------
    ndarray of shape (len(judged),)
        Clipped to what is possible; NaN where a score is missing.

    Raises
    ------
    InputError
        If `judged` has repeats that `training` lacks.
    """
    known = np.unique(training["repeat"]).tolist()
    unknown = np.setdiff1d(judged["repeat"], known).tolist()
    if unknown:
        raise InputError(
            f"Expected dropout repeats {known}, those fitted on, but got {unknown}: score both "
            "meta-sets with the same --repeats."
        )
    estimates = np.full(len(judged), np.nan)
    pairs = {(s, r) for s, r in zip(judged["source"], judged["repeat"], strict=True)}
    for source, repeat in sorted(pairs):
        rows = (judged["source"] == source) & (judged["repeat"] == repeat)
        others = (training["source"] != source) & (training["repeat"] == repeat)
        fitted = make_method(method).fit(training.where(others), target)
        estimates[rows] = fitted.predict(judged.where(rows))
    return find_target(target).clip(estimates)


def mean_by_source(values: np.ndarray, source: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Average values (N,) over the rows of each of S sources, (S,); NaN where there are none."""
    known = np.isfinite(values)
    rows = [values[known & (source == name)] for name in names]
    return np.array([part.mean() if len(part) else np.nan for part in rows])
