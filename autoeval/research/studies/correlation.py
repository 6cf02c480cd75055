"""R² and ρ of every score with the accuracy, and of thresholded scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from autoeval.errors import InputError
from autoeval.estimation.score_table import feature_columns, labelled_sample_sets, split_threshold
from autoeval.research.studies.source_resampling import SquaredCorrelation

MIN_KNOWN = 0.9
"""A threshold at which fewer sample sets have a value is not taken for the best of its score."""
PAPER = {"ps": 0.95, "es": 0.30, "atc": 0.40}
"""Thresholds of Yang et al. 2024, appendix A.4."""


def correlation(
    table: pd.DataFrame,
    features: Sequence[str] = (),
    *,
    target: str = "mAP",
    level: float = 0.9,
    seed: int = 0,
) -> pd.DataFrame:
    """Correlate scores with the accuracy over all sample sets.

    Scores are averaged over dropout repeats. `features` are columns; by default every score of the
    table, at the threshold that correlates best here, which flatters it. There is one row a
    feature, the best first: ``feature``, ``sample_sets`` (with a value), ``r2``, ``lower``,
    ``upper``, ``spearman``, ``r2_within`` (see `SquaredCorrelation.within`); intervals of coverage
    `level` resample sources. Source: Yang et al. 2024, section 5.4, figures 2, 7, 9 and 10. Raises
    `InputError` if a column is missing, a feature that was requested is constant, or all are.
    """
    names = list(features) or feature_columns(table)
    points = labelled_sample_sets(table, names, target)
    rows = [correlate(points, name, target, level=level, seed=seed) for name in names]
    result = pd.DataFrame(rows)
    constant = result.loc[result["r2"].isna(), "feature"].tolist()
    if constant and (features or len(constant) == len(result)):
        raise InputError(
            f"Expected scores that differ between sample sets but {', '.join(constant[:5])} "
            "are constant or known nowhere: a constant correlates with nothing."
        )
    result = result if features else _best_thresholds(result, len(points))
    return result.sort_values("r2", ascending=False, ignore_index=True)


def correlate(
    points: pd.DataFrame, feature: str, target: str, *, level: float, seed: int
) -> dict[str, Any]:
    """Return one row of `correlation` from one row a sample set."""
    x, y = points[feature].to_numpy(), points[target].to_numpy()
    squared = SquaredCorrelation(x, y, points["source"].to_numpy())
    lower, upper = squared.interval(level=level, seed=seed)
    known, r2 = np.isfinite(x), squared.pooled()
    constant = math.isnan(r2)
    return {
        "feature": feature,
        "sample_sets": squared.n,
        "r2": r2,
        "lower": lower,
        "upper": upper,
        "spearman": math.nan if constant else float(stats.spearmanr(x[known], y[known]).statistic),
        "r2_within": squared.within(),
    }


def _best_thresholds(result: pd.DataFrame, n_sample_sets: int) -> pd.DataFrame:
    """Keep the feature of each score that correlates best."""
    family = [(split_threshold(name) or (name,))[0] for name in result["feature"]]
    enough = result["sample_sets"] >= MIN_KNOWN * n_sample_sets
    ranked = result.assign(family=family, enough=enough).sort_values(
        ["enough", "r2"], ascending=False, kind="stable"
    )
    return ranked.drop_duplicates("family").drop(columns=["family", "enough"])


def thresholds(
    table: pd.DataFrame,
    families: Sequence[str] = (),
    *,
    target: str = "mAP",
    level: float = 0.9,
    seed: int = 0,
) -> pd.DataFrame:
    """Correlate each thresholded score with the accuracy at each of its thresholds.

    `families` are names before the ``@``, such as ``ps``; all there are by default. There is one
    row a feature: ``score``, ``threshold``, and the columns of `correlation`. Where few
    ``sample_sets`` have a value, R² is over those alone. Source: Yang et al. 2024, appendix A.4,
    figure 6. Raises `InputError` if the table has no thresholded score, or not one that was
    requested.
    """
    parted = {name: found for name in feature_columns(table) if (found := split_threshold(name))}
    known = list(dict.fromkeys(family for family, _ in parted.values()))
    missing = [family for family in families if family not in known]
    if missing or not known:
        raise InputError(
            f"Expected a score table with thresholded scores {', '.join(missing)} but it has "
            f"{', '.join(known) or 'none'}; their columns are named like ps@0.95."
        )
    chosen = {name: at for name, at in parted.items() if at[0] in (families or known)}
    points = labelled_sample_sets(table, list(chosen), target)
    rows = [
        {"score": family, "threshold": threshold}
        | correlate(points, name, target, level=level, seed=seed)
        for name, (family, threshold) in chosen.items()
    ]
    return pd.DataFrame(rows)


def best_thresholds(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each score of `thresholds` the one that correlates best, and the paper's.

    A threshold over which some sample sets have no box is out of the running, see `MIN_KNOWN`.
    ``paper`` and ``r2_paper`` are NaN where the paper has none.
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
