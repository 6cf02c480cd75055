"""How the error of an estimate grows with the severity of a corruption."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.score_table import SEED, sources
from autoeval.metasets.transforms import get_transform
from autoeval.studies.held_out import PLAIN, StudySettings, estimate_held_out, mean_by_source

CLEAN = "none"
_STEP = re.compile(r"(?P<name>\w+) (?P<severity>[1-5])")


def held_out_under_corruption(
    table: pd.DataFrame,
    settings: StudySettings = PLAIN,
    *,
    fitted_on: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Estimate every corrupted sample set by a regressor that never saw its source.

    Parameters
    ----------
    table : DataFrame
        Score table of a meta-set of corruptions, such as `configs/metasets/corruptions.py` makes:
        one corruption for each sample set.
    settings : StudySettings
    fitted_on : DataFrame, optional
        Score table of another meta-set of the same sources to fit on, for example the mild one; by
        default `table` itself. Scores that `table` lacks are not fitted on.

    Returns
    -------
    DataFrame
        One row a sample set, repeat and method: ``source``, ``sample_set``, ``corruption`` and
        ``severity`` (`CLEAN` and 0 for a source's own images), ``method``, ``true``, ``estimate``.

    Raises
    ------
    InputError
        If no sample set is of one corruption, a column is missing, there are fewer than three
        sources, or `fitted_on` lacks the repeats of `table`.
    """
    steps = _corruptions(table)
    table = table[steps["severity"].notna()]
    evaluated = settings.rows(table)
    if fitted_on is None:
        training = evaluated
    else:
        training = settings.rows(fitted_on[fitted_on.columns.intersection(table.columns)])
    known = steps.loc[table.index].reset_index(drop=True)
    parts = [
        known.assign(
            source=evaluated["source"],
            sample_set=evaluated["sample_set"],
            method=method,
            true=evaluated[settings.target],
            estimate=estimate_held_out(training, evaluated, method, settings.target),
        )
        for method in settings.methods
    ]
    return pd.concat(parts, ignore_index=True).astype({"severity": int})


def error_by(
    held_out: pd.DataFrame, column: str = "severity", settings: StudySettings = PLAIN
) -> pd.DataFrame:
    """Average the errors of `held_out_under_corruption`, sources weighing the same.

    Parameters
    ----------
    held_out : DataFrame
    column : {"severity", "corruption"}
        What to set apart.
    settings : StudySettings

    Returns
    -------
    DataFrame
        One row a value of `column` and method: ``sample_sets``, ``true`` and ``estimate`` (means),
        ``error`` (mean absolute error), ``lower``, ``upper``, ``bias`` (mean of estimate less
        true), ``sources`` (with an estimate), ``no_estimate`` (share of the sample sets that a
        method could not estimate for want of a box, which no mean holds).
    """
    names = sources(held_out)
    records = []
    for (value, method), rows in held_out.groupby([column, "method"], sort=False):
        missed = (rows["estimate"] - rows["true"]).to_numpy()
        means = {
            name: mean_by_source(values, rows["source"].to_numpy(), names)
            for name, values in {
                "true": rows["true"].to_numpy(),
                "estimate": rows["estimate"].to_numpy(),
                "error": np.abs(missed),
                "bias": missed,
            }.items()
        }
        lower, upper = settings.interval(means["error"])
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
    found = _STEP.fullmatch(text)
    if found is None or get_transform(found["name"]).meaning != "severity":
        return None, np.nan
    return found["name"], int(found["severity"])
