"""What the threshold of a score does to its correlation with the accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from autoeval.errors import InputError
from autoeval.studies.correlation import MIN_KNOWN, correlate
from autoeval.studies.score_columns import feature_columns, labelled_sample_sets, split_threshold

PAPER = {"ps": 0.95, "es": 0.30, "atc": 0.40}
"""Thresholds of Yang et al. 2024, appendix A.4."""


def thresholds(
    table: pd.DataFrame,
    families: Sequence[str] = (),
    *,
    target: str = "mAP",
    level: float = 0.9,
    seed: int = 0,
) -> pd.DataFrame:
    """Correlate each thresholded score with the accuracy at each of its thresholds.

    Source: Yang et al. 2024, appendix A.4, figure 6.

    Parameters
    ----------
    table : DataFrame
        See `autoeval.estimation.score_table`.
    families : sequence of str
        Names before the ``@``, such as ``ps``; all there are by default.
    target : str
        Column of the accuracy.
    level : float
        Nominal coverage of the intervals, which resample sources.
    seed : int
        Of the resampling.

    Returns
    -------
    DataFrame
        One row a feature: ``score``, ``threshold``, and the columns of `correlation`. Where few
        ``sample_sets`` have a value, R² is over those alone.

    Raises
    ------
    InputError
        If the table has no thresholded score, or not one that was asked for.
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
    """Say for each score which threshold correlates best, beside the paper's.

    A threshold over which some sample sets have no box is out of the running, see `MIN_KNOWN`.

    Parameters
    ----------
    table : DataFrame
        As returned by `thresholds`.

    Returns
    -------
    DataFrame
        One row a score: ``score``, ``best``, ``r2``, ``lower``, ``upper``, ``spearman``,
        ``sample_sets``, ``paper``, ``r2_paper`` (NaN where the paper has none).
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
