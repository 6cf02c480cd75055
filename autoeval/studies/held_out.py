"""Estimates of rows whose source had no part in the fit: what every study of errors rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.intervals import MIN_SOURCES
from autoeval.estimation.methods import make_method, readable
from autoeval.estimation.score_table import Rows, check_score_table, sources
from autoeval.studies.source_resampling import mean_interval
from autoeval.targets import find_target


@dataclass(frozen=True)
class StudySettings:
    """What is estimated, by which methods, and how errors are summed up.

    Parameters
    ----------
    methods : sequence of str
        Names in `autoeval.estimation.methods.methods`.
    target : str
        Column of the accuracy.
    level : float
        Nominal coverage of the intervals, which resample sources.
    seed : int
        Of every draw.
    """

    methods: Sequence[str] = ("bos", "bos_strict", "ac", "constant")
    target: str = "mAP"
    level: float = 0.9
    seed: int = 0

    def rows(self, table: pd.DataFrame) -> Rows:
        """Take the columns that the methods and the target need.

        Raises
        ------
        InputError
            If a method or the target is unknown, a column is missing, or there are fewer than three
            sources.
        """
        find_target(self.target)
        names = {name for method in self.methods for name in readable(make_method(method), table)}
        check_score_table(table, (*sorted(names), self.target))
        found = sources(table)
        if len(found) < MIN_SOURCES:
            raise InputError(
                f"Expected at least {MIN_SOURCES} sources to leave one out but got {len(found)} "
                f"({', '.join(found)}). Add labelled seed sets from other places."
            )
        return Rows.of(table, (*sorted(names), self.target))

    def summarise(self, errors: np.ndarray) -> dict[str, float]:
        """Sum up absolute errors of draws and sources.

        Parameters
        ----------
        errors : ndarray of shape (n_draws, n_sources)
            NaN where there was no estimate.

        Returns
        -------
        dict
            ``error`` (mean over sources), ``std`` (of that mean over draws), ``lower``, ``upper``,
            ``sources`` (with an estimate), ``no_estimate`` (share of the estimates that could not
            be made for want of a score).
        """
        missing = np.isnan(errors)
        of_sources = errors[:, ~missing.all(axis=0)]
        if not of_sources.size:
            nothing = dict.fromkeys(("error", "std", "lower", "upper"), np.nan)
            return {**nothing, "sources": 0, "no_estimate": 1.0}
        lower, upper = self.interval(np.nanmean(of_sources, axis=0))
        return {
            "error": float(np.nanmean(of_sources, axis=0).mean()),
            "std": float(np.nanmean(of_sources, axis=1).std()),
            "lower": lower,
            "upper": upper,
            "sources": of_sources.shape[1],
            "no_estimate": float(missing.mean()),
        }

    def interval(self, values: np.ndarray) -> tuple[float, float]:
        """Bootstrap interval for the mean of one value a source; see `mean_interval`."""
        return mean_interval(values, level=self.level, seed=self.seed)


PLAIN = StudySettings()


def estimate_held_out(training: Rows, evaluated: Rows, method: str, target: str) -> np.ndarray:
    """Estimate each row by the regressor of its repeat, fitted without its source.

    Parameters
    ----------
    training : Rows
        What is fitted on, but for the rows of the source to estimate.
    evaluated : Rows
        What is estimated; may be, but need not be, rows of the same table.
    method : str
        Name in `autoeval.estimation.methods.methods`.
    target : str
        Column of the accuracy.

    Returns
    -------
    ndarray of shape (len(evaluated),)
        Clipped to what is possible; NaN where a score is missing.

    Raises
    ------
    InputError
        If `evaluated` has repeats that `training` lacks.
    """
    known = np.unique(training["repeat"]).tolist()
    unknown = np.setdiff1d(evaluated["repeat"], known).tolist()
    if unknown:
        raise InputError(
            f"Expected dropout repeats {known}, those fitted on, but got {unknown}: score both "
            "meta-sets with the same --repeats."
        )
    estimates = np.full(len(evaluated), np.nan)
    pairs = {(s, r) for s, r in zip(evaluated["source"], evaluated["repeat"], strict=True)}
    for source, repeat in sorted(pairs):
        rows = (evaluated["source"] == source) & (evaluated["repeat"] == repeat)
        others = (training["source"] != source) & (training["repeat"] == repeat)
        fitted = make_method(method).fit(training.where(others), target)
        estimates[rows] = fitted.predict(evaluated.where(rows))
    return find_target(target).clip(estimates)


def mean_by_source(values: np.ndarray, source: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Average values (N,) over the rows of each of S sources, (S,); NaN where there are none."""
    known = np.isfinite(values)
    rows = [values[known & (source == name)] for name in names]
    return np.array([part.mean() if len(part) else np.nan for part in rows])
