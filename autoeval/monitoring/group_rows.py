"""The scored rows of all places and periods; what has not changed is not scored again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.monitoring.group_scores import digest_of
from autoeval.monitoring.periods import FOLDER, WHOLE, in_time, periods
from autoeval.monitoring.record import CameraImage
from autoeval.monitoring.record_store import RecordStore
from autoeval.runtime.writers import write_table

SCORED = "scores.parquet"
KEY = ["group", "period", "digest"]
Score = Callable[[Sequence[CameraImage]], dict[str, Any]]


def group_rows(store: RecordStore, score: Score, *, by: str) -> pd.DataFrame:
    """Score every place, and every period of it; one place's records are in memory at a time.

    Parameters
    ----------
    store : RecordStore
    score : callable
        From at least one record to a row; see `autoeval.monitoring.group_scores.score_group`.
    by : str
        See `autoeval.monitoring.periods.periods`.

    Returns
    -------
    DataFrame
        ``group``, ``period`` (empty for the whole place), ``digest``, ``first``, ``last``,
        ``n_unreadable``, and what `score` says; ``n_images`` is 0 where no image could be read.
    """
    path = store.folder / SCORED
    known = _known(path)
    index = store.index()
    rows: list[dict[str, Any]] = []
    for group, images in index.groupby("group"):
        rows += _of_place(str(group), in_time(images), store, score, by, known)
    table = pd.DataFrame(rows)
    if len(table):
        write_table(path, table)
    return table


def _of_place(
    group: str,
    index: pd.DataFrame,
    store: RecordStore,
    score: Score,
    by: str,
    known: dict[tuple[str, ...], dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    records: dict[str, CameraImage] | None = None
    for period, images in _parts(index, by):
        row = known.get((group, period, digest_of(images)))
        if row is None:
            if records is None:
                records = {record.file_name: record for record in store.read(index)}
            present = [records[name] for name in images["file_name"] if name in records]
            row = _row(group, period, images, score(present) if present else {"n_images": 0})
        yield row


def _parts(index: pd.DataFrame, by: str) -> Iterator[tuple[str, pd.DataFrame]]:
    yield WHOLE, index
    if by != FOLDER:
        for period, images in index.groupby(periods(index, by), sort=False):
            if period != WHOLE:
                yield str(period), images


def _row(group: str, period: str, index: pd.DataFrame, scored: dict[str, Any]) -> dict[str, Any]:
    return {
        "group": group,
        "period": period,
        "digest": digest_of(index),
        "first": _time(index["taken"].min()),
        "last": _time(index["taken"].max()),
        "n_unreadable": int((index["unreadable"] != "").sum()),
        **scored,
    }


def _time(value: Any) -> np.datetime64:
    return np.datetime64("NaT", "us") if pd.isna(value) else np.datetime64(value, "us")


def _known(path: Path) -> dict[tuple[str, ...], dict[str, Any]]:
    if not path.exists():
        return {}
    rows = pd.read_parquet(path)
    return {tuple(row[name] for name in KEY): row for row in rows.to_dict("records")}
