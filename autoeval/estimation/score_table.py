"""The score table: one row for each sample set and dropout repeat.

Columns: ``source`` (seed set), ``group`` (optional: sources of one origin), ``sample_set`` (recipe
id), ``kind`` (``"seed"`` for a source's own images, ``"sample"`` for a transformed subset),
``repeat``, ``n_images``, one column a feature, and ``mAP``, ``mAP50``, ``mAP75`` in [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from autoeval.model.features import FEATURES
from autoeval.model.pair_table import COUNTS, EXPECTED_COUNTS, ONLY, SAMPLE, SEED
from autoeval.targets import AP_TARGETS, TARGETS

__all__ = ["SAMPLE", "SEED"]
REQUIRED = ("source", "sample_set", "kind", "repeat", "n_images")
_COUNTS = ("n_boxes", "n_unreadable")


def sources(table: pd.DataFrame) -> list[str]:
    """Return the names of the sources, in order of appearance."""
    return list(dict.fromkeys(table["source"]))


def feature_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns that hold scores, not names, counts, seconds or accuracies."""
    not_features = {*REQUIRED, *_COUNTS}
    return [
        name
        for name in table.select_dtypes("number")
        if name not in not_features
        and not name.endswith("_s")
        and name.split("/")[0] not in TARGETS
    ]


def pair_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Take the pairs out of a score table: all but its transformed sample sets.

    Repeats differ in scores of perturbed passes alone, so the first stands for all. A source
    without a group is its own; a table of several categories, with columns ``score/category``, is
    stacked.
    """
    rows = table[table["kind"] != SAMPLE] if "kind" in table else table
    rows = rows[rows["repeat"] == rows["repeat"].min()] if "repeat" in rows else rows
    if "category" not in rows:
        categories = dict.fromkeys(str(n).partition("/")[2] for n in rows if "/" in str(n))
        rows = stack_categories(rows, categories) if categories else rows.assign(category=ONLY)
    if "group" not in rows:
        rows = rows.assign(group=rows.get("source", ""))
    rows = rows.assign(group=rows["group"].fillna(rows.get("source", "")))
    return rows.reset_index(drop=True)


def with_pairs(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Add the scores of calibrated boxes to the own images of the sources of a score table.

    rows: a pair table of the same sources, see `pair_rows`; with several categories the columns of
        the result are named ``score/category``.
    """
    names = [*FEATURES, EXPECTED_COUNTS, COUNTS, *(f"{target}_std" for target in AP_TARGETS)]
    names = [name for name in names if name in rows]
    if rows["category"].nunique() > 1:
        each = [rows.pivot(index="source", columns="category", values=name) for name in names]
        rows = pd.concat(
            [scores.add_prefix(f"{name}/") for name, scores in zip(names, each, strict=True)],
            axis=1,
        )
    else:
        rows = rows.set_index("source")[names]
    joined = table.join(rows, on="source")
    seed_rows = joined["kind"] == SEED
    nothing = {name: None if rows[name].dtype == object else np.nan for name in rows}
    return joined.assign(
        **{name: joined[name].where(seed_rows, no) for name, no in nothing.items()}
    )


def stack_categories(rows: pd.DataFrame, categories: Iterable[str]) -> pd.DataFrame:
    """Turn the columns ``name/category`` of each category into rows, with a column ``category``."""
    of_categories = {str(n).partition("/")[0] for n in rows if "/" in str(n)}
    shared = [n for n in rows if "/" not in str(n) and n not in {"category", *of_categories}]
    parts = []
    for category in categories:
        columns = {n: n.partition("/")[0] for n in rows if str(n).partition("/")[2] == category}
        parts.append(rows[[*shared, *columns]].rename(columns=columns).assign(category=category))
    return pd.concat(parts, ignore_index=True)
