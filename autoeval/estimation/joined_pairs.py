"""Pairs of place and category out of several tables."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.estimation.pair_table import pair_rows

PAIR = ["source", "category"]


def joined_rows(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Join the pairs of score tables; see `autoeval.estimation.pair_table`.

    Raises
    ------
    InputError
        If a pair is in two tables, be it by other names.
    """
    parts = {name: pair_rows(table) for name, table in tables.items()}
    rows = pd.concat(parts.values(), ignore_index=True)
    twice = rows[rows.duplicated(PAIR)]
    if len(twice):
        names = [f"{category} of {source}" for source, category in twice[PAIR].to_numpy()]
        raise InputError(
            f"{listed(names, most=10)}: in more than one of {listed(list(tables))}. Each labelled "
            "place counts once: leave one of them out."
        )
    _refuse_same_scores(rows)
    return rows


def _refuse_same_scores(rows: pd.DataFrame) -> None:
    """Refuse pairs whose accuracies and scores are all equal: one set by two names."""
    measured = rows.select_dtypes("number").drop(columns="repeat", errors="ignore")
    measured = measured.dropna(axis=1, how="all").assign(category=rows["category"])
    same = measured.duplicated(keep=False) & (rows["mAP"] > 0)
    if not same.any():
        return
    first, *_ = (part for _, part in rows[same].groupby([*measured], dropna=False))
    names = [f"{category} of {source}" for source, category in first[PAIR].to_numpy()]
    raise InputError(
        f"{int(same.sum())} pairs have equal scores and accuracies, such as {listed(names)}: one "
        "labelled set by several names? Each counts once: leave one of them out."
    )
