"""Errors on sources left out of the fit, also by severity of a corruption."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from autoeval.accuracy.resampling import resampled_counts
from autoeval.errors import InputError
from autoeval.estimation.intervals import MIN_SOURCES
from autoeval.estimation.score_table import SEED, sources
from autoeval.stability.metasets.transforms import get_transform
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
            "score both meta-sets with the same --preset repeats=."
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


def held_out_under_corruption(
    table: pd.DataFrame, settings: StudySettings, *, fitted_on: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Estimate every corrupted sample set by a regressor that never saw its source.

    `table` is of a meta-set such as `configs/metasets/corruptions.py`; `fitted_on` that of another
    of the same sources, by default `table` itself; scores that `table` lacks are not fitted on. A
    source's own images have corruption `CLEAN` and severity 0.
    """
    steps = _corruptions(table)
    table = table[steps["severity"].notna()]
    evaluated = settings.rows(table)
    if fitted_on is None:
        training = evaluated
    else:
        training = settings.rows(fitted_on[fitted_on.columns.intersection(table.columns)])
    corrupted = steps.loc[table.index].reset_index(drop=True)
    parts = [
        corrupted.assign(
            source=evaluated["source"],
            sample_set=evaluated["sample_set"],
            method=method,
            true=evaluated[settings.target],
            estimate=estimate_held_out(training, evaluated, method, settings.target),
        )
        for method in settings.methods
    ]
    return pd.concat(parts, ignore_index=True).astype({"severity": int})


def error_by(held_out: pd.DataFrame, column: str = "severity", *, seed: int = 0) -> pd.DataFrame:
    """Average the errors of `held_out_under_corruption`, sources having equal weight.

    ``bias`` is the mean of estimate less true, ``sources`` those with an estimate, ``no_estimate``
    the share of sample sets without one for want of a box, which no mean holds.
    """
    names = sources(held_out)
    off = held_out["estimate"] - held_out["true"]
    records = []
    for (value, method), rows in held_out.assign(error=off.abs(), bias=off).groupby(
        [column, "method"], sort=False
    ):
        means = {
            name: mean_by_source(rows[name].to_numpy(), rows["source"].to_numpy(), names)
            for name in ("true", "estimate", "error", "bias")
        }
        lower, upper = mean_interval(means["error"], seed=seed)
        records.append(
            {column: value, "method": method, "sample_sets": rows["sample_set"].nunique()}
            | {name: float(np.nanmean(by_source)) for name, by_source in means.items()}
            | {"lower": lower, "upper": upper, "sources": int(np.isfinite(means["error"]).sum())}
            | {"no_estimate": float(rows["estimate"].isna().mean())}
        )
    return pd.DataFrame(records).sort_values(column, kind="stable", ignore_index=True)


def _corruptions(table: pd.DataFrame) -> pd.DataFrame:
    """Read ``corruption`` and ``severity`` of each row; NaN where it is something else."""
    if "transforms" not in table:
        raise InputError("Expected a score table with a column `transforms`, which is missing.")
    steps = [
        (CLEAN, 0) if kind == SEED else _corruption(text)
        for kind, text in zip(table["kind"], table["transforms"], strict=True)
    ]
    columns = pd.DataFrame(steps, columns=["corruption", "severity"], index=table.index)
    if not (columns["severity"] > 0).any():
        example = next((t for t in table["transforms"] if t), "none at all")
        raise InputError(
            f"Expected sample sets of one corruption, such as 'gaussian_noise 3', but got "
            f"'{example}': make them with --metaset configs/metasets/corruptions.py."
        )
    return columns


def _corruption(text: str) -> tuple[str | None, float]:
    match = _STEP.fullmatch(text)
    if match is None or get_transform(match["name"]).meaning != "severity":
        return None, np.nan
    return match["name"], int(match["severity"])
