"""The score table: one row for each sample set and dropout repeat.

Columns: ``source`` (seed set), ``sample_set`` (recipe id), ``kind`` (``"seed"`` for a source's own
images, ``"sample"`` for a transformed subset), ``repeat``, ``n_images``, one column a feature, and
``mAP``, ``mAP50``, ``mAP75`` in [0, 1].
"""

from __future__ import annotations

import pandas as pd

from autoeval.errors import InputError

SEED, SAMPLE = "seed", "sample"
REQUIRED = ("source", "sample_set", "kind", "repeat", "n_images")


def check_score_table(table: pd.DataFrame, columns: tuple[str, ...]) -> None:
    """Make sure that a table can be fitted on.

    Raises
    ------
    InputError
        If it is empty or lacks columns.
    """
    missing = [c for c in (*REQUIRED, *columns) if c not in table]
    if missing:
        raise InputError(
            f"Expected a score table with columns {', '.join((*REQUIRED, *columns))} "
            f"but {', '.join(missing)} are missing."
        )
    if table.empty:
        raise InputError("Expected a score table with rows but it is empty: did every job fail?")


def sources(table: pd.DataFrame) -> list[str]:
    """Return the names of the sources, in order of appearance."""
    return list(dict.fromkeys(table["source"]))


def seed_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the sources' own images."""
    return table[table["kind"] == SEED]


def sample_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the transformed sample sets."""
    return table[table["kind"] == SAMPLE]
