"""R² and ρ of every score with the accuracy, and of thresholded scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from autoeval.accuracy.measures import resampled_counts
from autoeval.errors import InputError
from autoeval.estimation.category_scores import feature_columns
from autoeval.stability.methods.score_rows import (
    groups_of,
    labelled_sample_sets,
    sample_rows,
    split_threshold,
)

RESAMPLES = 1000
LEVEL = 0.9
"""Nominal coverage of bootstrap intervals; they resample groups of sources."""
MIN_KNOWN = 0.9
"""A score that fewer sample sets have is not ranked among the others: over two of them R² is 1."""
THRESHOLD = r"@\d\.\d\d"  # in a column, also of a category: ps@0.95/car
PAPER = {"ps": 0.95, "es": 0.30, "atc": 0.40}
"""Thresholds of Yang et al. 2024, appendix A.4."""


def percentile_interval(values: np.ndarray) -> tuple[float, float]:
    """Return the two ends of the central share `LEVEL` of the values that are not NaN.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Statistics of resamples; those that are not finite are left out.
    """
    defined = values[np.isfinite(values)]
    if not len(defined):
        return np.nan, np.nan
    lower, upper = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(lower), float(upper)


class SquaredCorrelation:
    """R² of a straight line through points that come in sources; those with a NaN are left out.

    Sums of each source are kept, so that a resample of groups costs a product of matrices.

    Parameters
    ----------
    x, y : ndarray of shape (N,)
        Score and accuracy of each sample set.
    source : ndarray of shape (N,)
        Its source.
    groups : mapping of str to str, optional
        Group of each source; one that is not there is a group of its own.

    Examples
    --------
    >>> points = SquaredCorrelation([0, 1, 2, 3], [0, 1, 5, 6], ["a", "a", "b", "b"])
    >>> round(points.pooled(), 3), points.within()
    (0.931, 1.0)
    """

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray,
        source: np.ndarray,
        groups: Mapping[str, str] | None = None,
    ) -> None:
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        defined = np.isfinite(x) & np.isfinite(y)
        x, y = x[defined], y[defined]
        if len(x):
            x, y = x - x.mean(), y - y.mean()
        names, codes = np.unique(np.asarray(source)[defined], return_inverse=True)
        columns = [np.ones_like(x), x, y, x * x, y * y, x * y]
        self.n = len(x)
        group_of = groups or {}
        self._group, _ = pd.factorize(
            np.array([group_of.get(n, n) for n in names.tolist()], object)
        )
        self._sums = np.zeros((len(names), len(columns)))
        np.add.at(self._sums, codes, np.stack(columns, axis=1))

    def pooled(self) -> float:
        """R² over all points; NaN where either side is constant."""
        return float(self._r2(_central(self._sums.sum(axis=0))))

    def within(self) -> float:
        """R² after the mean of its source is taken from every point.

        Whether a score follows the accuracy from one sample set of a site to the next, rather than
        from site to site.
        """
        return float(self._r2(_central(self._sums).sum(axis=0)))

    def interval(self, *, seed: int = 0) -> tuple[float, float]:
        """Percentile bootstrap interval of `pooled` over groups; NaN with fewer than three.

        Parameters
        ----------
        seed : int
            Of the resampling.
        """
        if len(np.unique(self._group)) < 3:
            return np.nan, np.nan
        counts = resampled_counts(
            len(self._sums), resamples=RESAMPLES, seed=seed, blocks=self._group
        )
        return percentile_interval(self._r2(_central(counts @ self._sums)))

    def _r2(self, central: np.ndarray) -> np.ndarray:
        xx, yy, xy = np.moveaxis(central, -1, 0)
        # What is left of a constant is a rounding error of the sums.
        _, _, _, scale_x, scale_y, _ = self._sums.sum(axis=0)
        spread = (xx > 1e-12 * scale_x) & (yy > 1e-12 * scale_y)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(spread, xy**2 / (xx * yy), np.nan)


def _central(sums: np.ndarray) -> np.ndarray:
    """Turn sums (..., 6) into sums of squares about the mean (..., 3): of x, of y, and mixed."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    n = np.maximum(n, 1)
    return np.stack([xx - x * x / n, yy - y * y / n, xy - x * y / n], axis=-1)


def correlation(
    table: pd.DataFrame, features: Sequence[str] = (), *, target: str = "mAP", seed: int = 0
) -> pd.DataFrame:
    """Correlate scores, averaged over dropout repeats, with the accuracy over all sample sets.

    Source: Yang et al. 2024, section 5.4.

    Parameters
    ----------
    table : DataFrame
        A score table.
    features : sequence of str
        Columns; by default every score that a sample set of the table has, at the threshold that
        correlates best here, which flatters it.
    target : str
        Column of the accuracy.
    seed : int
        Of the bootstrap.

    Returns
    -------
    DataFrame
        One row a feature, the best first, behind them those that few sample sets have (under
        `MIN_KNOWN`): ``feature``, ``sample_sets`` (that have it), ``r2`` with ``lower`` and
        ``upper``, ``spearman``, ``r2_within`` (within sources).

    Raises
    ------
    InputError
        If a named score is constant or known nowhere, or the table has too few sample sets.
    """
    names = list(features) or feature_columns(table)
    if not features:  # a table of all methods has columns of pairs, too, which no sample set has
        samples = sample_rows(table)
        names = [name for name in names if samples[name].notna().any()] or names
    points, groups = labelled_sample_sets(table, names, target), groups_of(table)
    rows = [_correlate(points, name, target, groups, seed) for name in names]
    result = pd.DataFrame(rows)
    constant = result.loc[result["r2"].isna(), "feature"].tolist()
    if constant and (features or len(constant) == len(result)):
        raise InputError(
            f"Expected scores that differ between sample sets but {', '.join(constant[:5])} "
            "are constant or known nowhere: a constant correlates with nothing."
        )
    result = result.assign(few=result["sample_sets"] < MIN_KNOWN * len(points))
    result = result.sort_values(["few", "r2"], ascending=[True, False])
    if not features:  # of each score the threshold that correlates best
        result = result[~result["feature"].str.replace(THRESHOLD, "", regex=True).duplicated()]
    result = result.drop(columns="few")
    return result.sort_values("r2", key=pd.isna, kind="stable", ignore_index=True)


def _correlate(
    points: pd.DataFrame, feature: str, target: str, groups: Mapping[str, str], seed: int
) -> dict[str, Any]:
    """Return one row of `correlation` from one row a sample set."""
    x, y = points[feature].to_numpy(), points[target].to_numpy()
    squared = SquaredCorrelation(x, y, points["source"].to_numpy(), groups)
    lower, upper = squared.interval(seed=seed)
    defined, r2 = np.isfinite(x), squared.pooled()
    constant = math.isnan(r2)
    return {
        "feature": feature,
        "sample_sets": squared.n,
        "r2": r2,
        "lower": lower,
        "upper": upper,
        "spearman": math.nan
        if constant
        else float(stats.spearmanr(x[defined], y[defined]).statistic),
        "r2_within": squared.within(),
    }


def thresholds(
    table: pd.DataFrame, families: Sequence[str] = (), *, target: str = "mAP", seed: int = 0
) -> pd.DataFrame:
    """Correlate each thresholded score with the accuracy at each of its thresholds.

    Source: Yang et al. 2024, appendix A.4, figure 6.

    Parameters
    ----------
    table : DataFrame
        A score table.
    families : sequence of str
        Names before the ``@``, such as ``ps``; by default all.
    target : str
        Column of the accuracy.
    seed : int
        Of the bootstrap.

    Returns
    -------
    DataFrame
        Where few ``sample_sets`` have a value, R² is over those alone.

    Raises
    ------
    InputError
        If the table has no such scores.
    """
    parted = {name: parts for name in feature_columns(table) if (parts := split_threshold(name))}
    stems = list(dict.fromkeys(family for family, _ in parted.values()))
    missing = [family for family in families if family not in stems]
    if missing or not stems:
        raise InputError(
            f"Expected a score table with thresholded scores {', '.join(missing) or 'of any kind'} "
            f"but it has {', '.join(stems) or 'none'}; their columns are named like ps@0.95."
        )
    chosen = {name: at for name, at in parted.items() if at[0] in (families or stems)}
    points, groups = labelled_sample_sets(table, list(chosen), target), groups_of(table)
    rows = [
        {"score": family, "threshold": threshold} | _correlate(points, name, target, groups, seed)
        for name, (family, threshold) in chosen.items()
    ]
    return pd.DataFrame(rows)


def best_thresholds(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each score of `thresholds` the one that correlates best, and the paper's.

    A threshold at which too few sample sets have a value is out of the running, see `MIN_KNOWN`.

    Parameters
    ----------
    table : DataFrame
        What `thresholds` returned.

    Returns
    -------
    DataFrame
        One row a score: ``score``, ``best`` (its threshold), ``r2`` there with ``lower`` and
        ``upper``, ``spearman``, ``sample_sets``, ``paper`` and ``r2_paper``, which are NaN where
        the paper has none.
    """
    rows = []
    for score, curve in table.groupby("score", sort=False):
        enough = curve["sample_sets"] >= MIN_KNOWN * curve["sample_sets"].max()
        best = curve.loc[curve["r2"].where(enough, -1).fillna(-1).idxmax()]
        at_paper = curve.loc[curve["threshold"] == PAPER.get(str(score)), "r2"]
        rows.append(
            {
                "score": score,
                "best": best["threshold"],
                **{name: best[name] for name in ("r2", "lower", "upper", "spearman")},
                "sample_sets": best["sample_sets"],
                "paper": PAPER.get(str(score)),
                "r2_paper": at_paper.iloc[0] if len(at_paper) else None,
            }
        )
    return pd.DataFrame(rows).astype({"paper": float, "r2_paper": float})
