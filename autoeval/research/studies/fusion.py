"""Does a second score help the first: errors of single and fused scores, and their significance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from autoeval.errors import InputError
from autoeval.estimation.bench import paired_p_value
from autoeval.estimation.protocol import LeaveOneSourceOut, leave_one_source_out

MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def compare_with_first(
    table: pd.DataFrame, methods: Sequence[str], *, target: str = "mAP"
) -> tuple[pd.DataFrame, list[str]]:
    """Leave each source out, and compare the error of every method with that of the first.

    Source: Yang et al. 2024, section 5.2 and figure 3 (c), which does not name its test.

    Parameters
    ----------
    table : DataFrame
        See `autoeval.estimation.score_table`.
    methods : sequence of str
        Names that `make_method` takes, such as ``"bos"`` and ``"bos+es"``.
    target : str

    Returns
    -------
    DataFrame
        One row a method: ``method``, ``error`` (mean over sources of the absolute error), ``std``
        (mean over sources of its standard deviation over dropout repeats), ``difference`` to the
        first method's error, ``p_runs`` and ``mark`` (paired t-test over repeats, the marks of
        `_significance_mark`), and ``p_sources`` (`paired_p_value` over sources).
    list of str
        Why a method is not among them, and of how many sources one has no estimate.

    Raises
    ------
    InputError
        If the first method has no result.
    """
    first, *others = dict.fromkeys(methods)
    results = {first: leave_one_source_out(table, first, target=target)}
    warnings: list[str] = []
    for name in others:
        try:
            results[name] = leave_one_source_out(table, name, target=target)
        except InputError as error:
            warnings.append(f"{name}: {error}")
    for name, result in results.items():
        if n := int(result.per_source["missing"].sum()):
            warnings.append(f"{name} has no estimate of {n} sources; the constant stands there")
    rows = [_row(name, result, results[first]) for name, result in results.items()]
    return pd.DataFrame(rows), warnings


def _row(name: str, result: LeaveOneSourceOut, first: LeaveOneSourceOut) -> dict[str, object]:
    errors, against = result.per_source["error"], first.per_source["error"]
    same = result is first
    p_runs = np.nan if same else paired_t_test(result.error_by_repeat, first.error_by_repeat)
    return {
        "method": name,
        "error": float(errors.mean()),
        "std": float(result.per_source["error_std"].mean()),
        "difference": float(errors.mean() - against.mean()),
        "p_runs": p_runs,
        "mark": _significance_mark(p_runs),
        "p_sources": np.nan if same else paired_p_value(errors.to_numpy(), against.to_numpy()),
    }


def paired_t_test(one: np.ndarray, other: np.ndarray) -> float:
    """Two-sided p-value of the mean difference of paired numbers.

    Parameters
    ----------
    one, other : ndarray of shape (n,)
    """
    difference = np.asarray(one) - np.asarray(other)
    if len(difference) < 2:
        return float("nan")
    if not np.ptp(difference):
        return 0.0 if difference[0] else 1.0
    return float(stats.ttest_1samp(difference, 0).pvalue)


def _significance_mark(p: float) -> str:
    """Write a p-value as the caption of figure 3 does; ``***``, under .001, is ours.

    Examples
    --------
    >>> [_significance_mark(p) for p in (.2, .03, .005, .0001, float("nan"))]
    ['n.s.', '*', '**', '***', '']
    """
    if np.isnan(p):
        return ""
    return next((mark for bound, mark in MARKS if p < bound), "n.s.")
