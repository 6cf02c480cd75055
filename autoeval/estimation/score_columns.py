"""What the columns of a score table are to a study."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow

from autoeval.errors import InputError
from autoeval.estimation.score_table import (
    REQUIRED,
    check_features,
    check_score_table,
    sample_rows,
)
from autoeval.targets import TARGETS

_THRESHOLDED = re.compile(r"(?P<family>.+)@(?P<threshold>\d\.\d\d)")
_COUNTS = ("n_boxes", "n_unreadable")


def read_scores(path: Path) -> pd.DataFrame:
    """Read a score table.

    Parameters
    ----------
    path : Path
        Parquet file, or a work dir of ``estimate-map``, which holds ``scores.parquet``.

    Raises
    ------
    InputError
        If there is none, or it is no score table.
    """
    file = path / "scores.parquet" if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"No score table {file}: expected scores.parquet or a work dir that holds it, as "
            "written by estimate-map."
        )
    try:
        table = pd.read_parquet(file)
    except pyarrow.ArrowException as error:
        raise InputError(f"{file} is no Parquet file: {error}") from error
    check_score_table(table, ())
    return table


def feature_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns that hold scores, not names, counts, seconds or accuracies."""
    known = {*REQUIRED, *_COUNTS}
    return [
        name
        for name in table.select_dtypes("number")
        if name not in known and not name.endswith("_s") and name.split("/")[0] not in TARGETS
    ]


def split_threshold(feature: str) -> tuple[str, float] | None:
    """Part the name of a thresholded score; None for any other.

    Examples
    --------
    >>> split_threshold("ps@0.95"), split_threshold("bos")
    (('ps', 0.95), None)
    """
    found = _THRESHOLDED.fullmatch(feature)
    return (found["family"], float(found["threshold"])) if found else None


def mean_over_repeats(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Average columns over the dropout repeats: one row a sample set, in order of appearance.

    Raises
    ------
    InputError
        If a column is missing.
    """
    check_features(table, columns)
    keys = ["source", "sample_set", "kind"]
    return table.groupby(keys, sort=False)[list(dict.fromkeys(columns))].mean().reset_index()


def labelled_sample_sets(table: pd.DataFrame, features: Sequence[str], target: str) -> pd.DataFrame:
    """Return one row for each sample set with a known accuracy, averaged over repeats.

    Raises
    ------
    InputError
        If a column is missing, fewer than three sample sets are left, or all are
        equally accurate.
    """
    means = sample_rows(mean_over_repeats(table, [*features, target]))
    labelled = means[np.isfinite(means[target])].reset_index(drop=True)
    if len(labelled) < 3 or labelled[target].nunique() < 2:
        raise InputError(
            f"Expected at least three sample sets of different {target} but got {len(labelled)} "
            f"with {labelled[target].nunique()} different values: score more sample sets."
        )
    return labelled
