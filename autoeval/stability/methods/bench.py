"""All methods on the same score table, under the same protocol, with a paired test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.protocol import LeaveOneSourceOut
from autoeval.model.prediction_interval import check_level
from autoeval.stability.methods import methods
from autoeval.stability.methods.leave_one_out import leave_one_source_out


@dataclass(frozen=True)
class BenchResult:
    """Held-out results of many methods on one score table.

    absent: why a method has no results, such as a score that the detector cannot give.
    coverage: share of (source, repeat) whose true value lies in the interval; NaN without any.
    """

    results: Mapping[str, LeaveOneSourceOut]
    absent: Mapping[str, str]
    coverage: Mapping[str, float]

    @property
    def baseline(self) -> str:
        """The published method, or the constant, with the lowest error."""
        registered = methods()
        published = [
            name for name in self.results if name not in registered or registered[name].published
        ]
        return min(published or self.results, key=lambda name: self.errors(name).mean())

    def errors(self, method: str) -> np.ndarray:
        """Absolute error of each source, mean over repeats, shape (n_sources,)."""
        return self.results[method].per_source["error"].to_numpy()

    def p_values(self) -> dict[str, float]:
        """Compare each method with the baseline; see `paired_p_value`."""
        against = self.errors(self.baseline)
        return {name: paired_p_value(self.errors(name), against) for name in self.results}


def paired_p_value(errors: np.ndarray, baseline: np.ndarray) -> float:
    """Two-sided sign-flip test of the mean difference of paired errors, the pair being a source.

    Exact up to about 13 sources, by 10,000 draws of a fixed seed beyond.

    errors, baseline (n_sources,)
    Returned: 1 where all differences are 0; NaN with fewer than two sources that both estimate.

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
    """Judge methods by leaving each source out; see `leave_one_source_out`."""
    check_level(level)
    results, absent, coverage = {}, {}, {}
    for method in methods:
        try:
            results[method] = leave_one_source_out(table, method, target=target, level=level)
            inside = []
            for _, repeat in table.groupby("repeat"):
                alone = leave_one_source_out(repeat, method, target=target, level=level)
                rows = alone.per_source[alone.per_source["lower"].notna()]
                inside += rows["true"].between(rows["lower"], rows["upper"]).tolist()
            coverage[method] = float(np.mean(inside)) if inside else float("nan")
        except InputError as error:
            absent[method] = str(error)
    if not results:
        raise InputError("No method can be evaluated. " + " ".join(dict.fromkeys(absent.values())))
    return BenchResult(results, absent, coverage)
