"""Leave-one-group-out evaluation of one method on a score table, and of many with a paired test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.category_scores import sources
from autoeval.estimation.protocol import BASELINE, LeaveOneSourceOut
from autoeval.model.mixed_model import check_level
from autoeval.model.pair_table import SEED, leave_one_group_out
from autoeval.model.regression import MIN_SOURCES
from autoeval.runtime.progress import progress_bar
from autoeval.stability.methods import methods
from autoeval.stability.methods.registry import make_method
from autoeval.stability.methods.score_rows import (
    groups_of,
    of_labelled_sources,
    sample_rows,
    seed_rows,
)
from autoeval.stability.methods.source_regression import (
    AnyRegression,
    PublishedEstimate,
    make_regression,
)
from autoeval.words import listed


def leave_one_source_out(
    table: pd.DataFrame,
    method: str,
    *,
    target: str = "mAP",
    level: float = 0.9,
    by_group: Mapping[str, pd.DataFrame] | None = None,
) -> LeaveOneSourceOut:
    """Fit on all groups but one, estimate the own images of its sources, for each in turn.

    Source: Yang et al. 2024, section 5.1; sample sets of one source are never on both sides, nor
    sources of one origin.

    Parameters
    ----------
    table : DataFrame
        A score table. A source without a group (column ``group``) is its own.
    method : str
        See `make_method`.
    target : str
        Column of the accuracy.
    level : float
        Nominal coverage of the intervals.
    by_group : mapping of str to DataFrame, optional
        Score tables of the same sources, each in place of `table` where this group is left out,
        such as by a dropout that was searched without it. The result then has no correlation.

    Raises
    ------
    InputError
        If there are fewer than `MIN_SOURCES` groups, some sources have more repeats than others, or
        the table lacks what the method reads.
    """
    table = of_labelled_sources(table, target)
    names = sources(table)
    group_of = groups_of(table)
    different = dict.fromkeys(group_of.values())
    if len(different) < MIN_SOURCES:
        raise InputError(
            f"Expected at least {MIN_SOURCES} groups of sources with {target} to leave one out "
            f"but got {len(different)} ({', '.join(different)}). Add labelled seed sets of other "
            "origin."
        )
    _check_repeats([table, *(by_group or {}).values()], names)
    held_out: dict[str, tuple[dict[str, Any], np.ndarray]] = {}
    with progress_bar(len(names), f"leave one source out ({method})", unit="source") as bar:
        for rest, left_out in leave_one_group_out(table["source"].map(group_of)):
            training, read = table.iloc[rest], table
            left_names = sources(table[["source"]].iloc[left_out])
            if by_group is not None:
                read = by_group[group_of[left_names[0]]]
                training = read[read["source"].isin(sources(training))]
            regression = make_regression(method, target=target, level=level).fit(training)
            for name in left_names:
                record, error = _held_out(read, name, group_of, regression)
                if np.isnan(error).any():
                    constant = make_regression(BASELINE, target=target, level=level)
                    fitted = constant.fit(training)
                    record, error = _held_out(read, name, group_of, fitted)
                    record["missing"] = True
                held_out[name] = (record, error)
                bar.update()
    per_source = pd.DataFrame([held_out[name][0] for name in names])
    by_repeat = np.mean([held_out[name][1] for name in names], axis=0)
    correlation = _correlation(table, method, target) if by_group is None else {}
    return LeaveOneSourceOut(method, target, per_source, by_repeat, correlation)


def _check_repeats(tables: Sequence[pd.DataFrame], names: Sequence[str]) -> None:
    """Refuse score tables in which some of these sources have more repeats than others."""
    repeats = [seed_rows(table).groupby("source")["repeat"].nunique()[names] for table in tables]
    n_repeats = {f"{n} of {name}" for of_table in repeats for name, n in of_table.items()}
    if len({n for of_table in repeats for n in of_table}) > 1:
        raise InputError(
            "Expected the same number of dropout repeats of every source but got "
            f"{listed(sorted(n_repeats))}: leave out the repeats that not all of them have."
        )


def _held_out(
    table: pd.DataFrame, name: str, group_of: Mapping[str, str], regression: AnyRegression
) -> tuple[dict[str, Any], np.ndarray]:
    """Estimate the own images of a source by a regression that has not seen its group."""
    seeds = table[(table["source"] == name) & (table["kind"] == SEED)]
    estimate = regression.predict_rows(seeds)
    true = float(seeds[regression.target].iloc[0])
    error = np.abs(regression.predict_repeats(seeds) - true)
    record = {
        "source": name,
        "group": group_of[name],
        "n_images": estimate.n_images,
        "true": true,
        "estimate": estimate.value,
        "std": estimate.std if isinstance(estimate, PublishedEstimate) else math.nan,
        "error": float(error.mean()),
        "error_std": float(error.std()) if len(error) > 1 else math.nan,
        "lower": estimate.lower,
        "upper": estimate.upper,
        "interval_method": estimate.interval_method,
        "missing": False,
    }
    return record, error


def _correlation(table: pd.DataFrame, method: str, target: str) -> dict[str, float]:
    features = make_method(method).features
    if len(features) != 1:
        return {}
    read = table[["source", "sample_set", "kind", *features, target]]
    rows = sample_rows(read).groupby(["source", "sample_set"])[[*features, target]].mean().dropna()
    if len(rows) < MIN_SOURCES or rows.nunique().min() < 2:
        return {}
    r, rho = rows.corr().iloc[0, 1], rows.corr("spearman").iloc[0, 1]
    return {"r2": float(r**2), "spearman": float(rho)}


@dataclass(frozen=True)
class BenchResult:
    """Held-out results of many methods on one score table.

    Parameters
    ----------
    results : mapping of str to LeaveOneSourceOut
        By method.
    absent : mapping of str to str
        Why a method has no results, such as a score that the detector cannot give.
    coverage : mapping of str to float
        Share of (source, repeat) whose true value lies in the interval, over the repeats that can
        be fitted alone; NaN without any.
    """

    results: Mapping[str, LeaveOneSourceOut]
    absent: Mapping[str, str]
    coverage: Mapping[str, float]

    @property
    def baseline(self) -> str:
        """The published method, or the constant, with the lowest error; each group counts once."""
        registered = methods()
        published = [
            name for name in self.results if name not in registered or registered[name].published
        ]
        return min(published or self.results, key=lambda name: self.by_group(name).mean())

    def errors(self, method: str) -> np.ndarray:
        """Absolute error of each source, mean over repeats, shape (n_sources,).

        Parameters
        ----------
        method : str
            One of ``results``.
        """
        return self.results[method].per_source["error"].to_numpy()

    def p_values(self) -> dict[str, float]:
        """Compare each method with the baseline, group by group; see `paired_p_value`."""
        against = self.by_group(self.baseline)
        return {name: paired_p_value(self.by_group(name), against) for name in self.results}

    def by_group(self, method: str) -> np.ndarray:
        """Mean absolute error of each group, as in `LeaveOneSourceOut.summary`, shape (n_groups,).

        Parameters
        ----------
        method : str
            One of ``results``.
        """
        groups = self.results[method].per_source.groupby("group", sort=False)
        return groups["error"].mean().to_numpy()


def paired_p_value(errors: np.ndarray, baseline: np.ndarray) -> float:
    """Two-sided sign-flip test of the mean difference of paired errors, the pair being a group.

    Errors at sources of one group depend on each other. Exact up to about 13 groups, by 10,000
    draws of a fixed seed beyond.

    Parameters
    ----------
    errors, baseline : ndarray of shape (n_groups,)
        Absolute errors of both methods, the mean or the sum over the sources of each group.

    Returns
    -------
    float
        1 where all differences are 0; NaN with fewer than two groups that both estimate.

    Examples
    --------
    >>> paired_p_value(np.array([.1, .1, .1]), np.array([.2, .3, .4]))
    0.25
    """
    difference = errors - baseline
    difference = difference[np.isfinite(difference)]
    if len(difference) < 2:
        return float("nan")
    if not difference.any():
        return 1.0
    from scipy.stats import permutation_test  # half a second that estimates save

    test = permutation_test(
        (difference,),
        np.mean,
        permutation_type="samples",
        n_resamples=9999,
        rng=np.random.default_rng(0),
    )
    return float(test.pvalue)


def bench(
    table: pd.DataFrame, methods: Sequence[str], *, target: str = "mAP", level: float = 0.9
) -> BenchResult:
    """Evaluate methods by leaving each source out; see `leave_one_source_out`.

    Parameters
    ----------
    table : DataFrame
        A score table.
    methods : sequence of str
        Their names.
    target : str
        Column of the accuracy.
    level : float
        Nominal coverage of the intervals, in (0, 1).

    Raises
    ------
    InputError
        If none can be evaluated, or the level is impossible; a single method that cannot be
        evaluated is in `BenchResult.absent`.
    """
    check_level(level)
    results, absent, coverage = {}, {}, {}
    for method in methods:
        try:
            results[method] = leave_one_source_out(table, method, target=target, level=level)
        except InputError as error:
            absent[method] = str(error)
            continue
        inside = []
        for _, repeat in table.groupby("repeat"):
            with suppress(InputError):  # a score that is the same everywhere in this repeat alone
                alone = leave_one_source_out(repeat, method, target=target, level=level)
                rows = alone.per_source[alone.per_source["lower"].notna()]
                inside += rows["true"].between(rows["lower"], rows["upper"]).tolist()
        coverage[method] = float(np.mean(inside)) if inside else float("nan")
    if not results:
        raise InputError("No method can be evaluated. " + " ".join(dict.fromkeys(absent.values())))
    return BenchResult(results, absent, coverage)
