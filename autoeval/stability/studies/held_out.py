"""Errors on sources left out of the fit, also by severity of a corruption."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from autoeval.accuracy.resampling import resampled_counts
from autoeval.errors import InputError
from autoeval.estimation.score_table import sources
from autoeval.model.regression import MIN_SOURCES
from autoeval.stability.methods import make_method, readable
from autoeval.stability.methods.score_rows import Rows, check_score_table
from autoeval.stability.studies.correlation import RESAMPLES, percentile_interval
from autoeval.targets import find_target

CLEAN = "none"
_STEP = re.compile(r"(?P<name>\w+) (?P<severity>[1-5])")


@dataclass(frozen=True)
class StudySettings:
    """What is estimated, by which methods, and how errors are summed up.

    Methods are names in `autoeval.stability.methods.methods`; intervals resample sources.
    """

    methods: Sequence[str]
    target: str = "mAP"
    seed: int = 0

    def rows(self, table: pd.DataFrame) -> Rows:
        """Take the columns that the methods and the target need, of three sources or more."""
        find_target(self.target)
        names = {name for method in self.methods for name in readable(make_method(method), table)}
        check_score_table(table, (*sorted(names), self.target))
        source_names = sources(table)
        if len(source_names) < MIN_SOURCES:
            raise InputError(
                f"Expected at least {MIN_SOURCES} sources to leave one out but got "
                f"{len(source_names)} ({', '.join(source_names)}). Add labelled seed sets "
                "from other sites."
            )
        return Rows.of(table, (*sorted(names), self.target))

    def summarise(self, errors: np.ndarray) -> dict[str, float]:
        """Sum up absolute errors (n_draws, n_sources), NaN where there was no estimate.

        ``error`` is the mean over sources, ``std`` that of this mean over draws, with ``lower`` and
        ``upper``; ``sources`` have an estimate; ``no_estimate`` is the share of the estimates that
        could not be made for want of a score.
        """
        missing = np.isnan(errors)
        source_errors = errors[:, ~missing.all(axis=0)]
        if not source_errors.size:
            nothing = dict.fromkeys(("error", "std", "lower", "upper"), np.nan)
            return {**nothing, "sources": 0, "no_estimate": 1.0}
        lower, upper = mean_interval(np.nanmean(source_errors, axis=0), seed=self.seed)
        return {
            "error": float(np.nanmean(source_errors, axis=0).mean()),
            "std": float(np.nanmean(source_errors, axis=1).std()),
            "lower": lower,
            "upper": upper,
            "sources": source_errors.shape[1],
            "no_estimate": float(missing.mean()),
        }


def mean_interval(values: np.ndarray, *, seed: int = 0) -> tuple[float, float]:
    """Percentile bootstrap interval for the mean over sources (n_sources,), NaN for one without.

    The unit of resampling is the source: nine sites are nine observations.

    Examples
    --------
    >>> mean_interval(np.array([.5, .5, .5]))
    (0.5, 0.5)
    """
    defined = values[np.isfinite(values)]
    if len(defined) < 2:
        return np.nan, np.nan
    counts = resampled_counts(len(defined), resamples=RESAMPLES, seed=seed)
    return percentile_interval(counts @ defined / len(defined))


def estimate_held_out(training: Rows, evaluated: Rows, method: str, target: str) -> np.ndarray:
    """Estimate each row (N,) by the regressor of its repeat, fitted without its source.

    Values are clipped to what is possible, NaN where a score is missing.
    """
    fitted_repeats = np.unique(training["repeat"]).tolist()
    unknown = np.setdiff1d(evaluated["repeat"], fitted_repeats).tolist()
    if unknown:
        raise InputError(
            f"Expected dropout repeats {fitted_repeats}, those fitted on, but got {unknown}: "
            "score both meta-sets with the same --repeats."
        )
    estimates = np.full(len(evaluated), np.nan)
    pairs = {(s, r) for s, r in zip(evaluated["source"], evaluated["repeat"], strict=True)}
    for source, repeat in sorted(pairs):
        rows = (evaluated["source"] == source) & (evaluated["repeat"] == repeat)
        unseen = (training["source"] != source) & (training["repeat"] == repeat)
        fitted = make_method(method).fit(training.where(unseen), target)
        estimates[rows] = fitted.predict(evaluated.where(rows))
    return find_target(target).clip(estimates)


def mean_by_source(values: np.ndarray, source: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Average values (N,) over the rows of each of S sources, (S,); NaN where there are none."""
    defined = np.isfinite(values)
    rows = [values[defined & (source == name)] for name in names]
    return np.array([part.mean() if len(part) else np.nan for part in rows])


def held_out_errors(
    training: Rows, evaluated: Rows, method: str, target: str, names: Sequence[str]
) -> np.ndarray:
    """Absolute error of each of S sources, mean over its own rows; (S,)."""
    missed = np.abs(estimate_held_out(training, evaluated, method, target) - evaluated[target])
    return mean_by_source(missed, evaluated["source"], names)
