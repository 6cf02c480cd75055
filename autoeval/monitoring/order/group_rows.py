"""Scores of all groups (sites and periods), computed again only where images changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from autoeval.estimation.category_scores import site_rows, site_scores
from autoeval.estimation.nothing_found import HIGHEST
from autoeval.estimation.pair_table import COUNTED
from autoeval.model.calibrated_features import WEIGHT
from autoeval.model.calibration import ScoreCalibration
from autoeval.monitoring.periods import FOLDER, WHOLE, in_time, periods
from autoeval.monitoring.site_categories import SiteCategories
from autoeval.monitoring.site_records import SIGNAL, CameraImage, RecordStore
from autoeval.runtime.files import write_table
from autoeval.sites.site_boxes import SiteBoxes

SCORED = "scores.parquet"
KEY = ["group", "period", "digest"]
Score = Callable[[Sequence[CameraImage]], dict[str, Any]]


def group_rows(store: RecordStore, score: Score, *, by: str, made_with: str = "") -> pd.DataFrame:
    """Score every site, and every period of it; one site's records are in memory at a time.

    `score` makes a row of one record or more, as `score_group` does; `made_with` is what it depends
    on beside the images: with another one groups are scored again. Returns ``group``, ``period``
    (empty for the whole site), ``digest``, ``first``, ``last``, ``n_unreadable``, and the columns
    of `score`; ``n_images`` is 0 where none could be read.
    """
    path = store.folder / SCORED
    before: dict[tuple[str, ...], dict[Any, Any]] = {}
    if path.exists():
        kept = pd.read_parquet(path).to_dict("records")
        before = {tuple(row[name] for name in KEY): row for row in kept}
    rows = []
    for group, images_of_site in store.index().groupby("group"):
        index = in_time(images_of_site)
        present: list[CameraImage] = []  # lets go of the site before
        records: dict[str, CameraImage] | None = None
        for period, images in _parts(index, by):
            digest = _digest_of(images, made_with)
            row = before.get((str(group), period, digest))
            if row is None:
                if records is None:
                    records = {record.file_name: record for record in store.read(index)}
                present = [records[name] for name in images["file_name"] if name in records]
                new = score(present) if present else {"n_images": 0}
                key = {"group": str(group), "period": period, "digest": digest}
                row = {**key, **_about(images), **new}
            rows.append(row)
    table = pd.DataFrame(rows)
    if len(table):
        write_table(path, table)
    return table


def _parts(index: pd.DataFrame, by: str) -> Iterator[tuple[str, pd.DataFrame]]:
    yield WHOLE, index
    if by != FOLDER:
        for period, images in index.groupby(periods(index, by), sort=False):
            if period != WHOLE:
                yield str(period), images


def _about(index: pd.DataFrame) -> dict[str, Any]:
    return {
        "first": _time(index["taken"].min()),
        "last": _time(index["taken"].max()),
        "n_unreadable": int((index["unreadable"] != "").sum()),
    }


def _time(value: Any) -> np.datetime64:
    return np.datetime64("NaT", "us") if pd.isna(value) else np.datetime64(value, "us")


def score_group(
    records: Iterable[CameraImage],
    categories: SiteCategories,
    features: Sequence[str],
    *,
    calibration: ScoreCalibration | None,
    reference_calibration: ScoreCalibration | None = None,
) -> dict[str, Any]:
    """Compute what an estimate is made of, as a pass over the images themselves would.

    Returns ``n_images``, ``n_boxes``, ``nothing_found`` (no box that may be right),
    ``n_images/CATEGORY`` of each category that is estimated (those that it is found on), and of
    each ``score/CATEGORY``: the features, the weights of targets at a threshold, the highest
    score and whether it counts; and ``signal/NAME``, the mean of each signal.
    """
    seen = list(records)
    site = seen[0].group
    names = categories.names(site)
    evidence = [record.evidence() for record in categories.select(site, seen)]
    boxes = replace(
        SiteBoxes.of_evidence(evidence, names),
        calibration=calibration,
        reference_calibration=reference_calibration,
    )
    presence = boxes.presence(categories.present_at(site))
    scores = site_scores(boxes, features, presence)
    rows = site_rows(scores, presence).to_dict("records")
    row: dict[str, Any] = {"n_images": len(seen), "n_boxes": len(boxes.clean)}
    row["nothing_found"] = not any(category.found for category in scores)
    row |= {f"n_images/{category['category']}": category["n_images"] for category in rows}
    weights = [name for name in rows[0] if name.startswith(WEIGHT)] if rows else []
    columns = (*features, *weights, HIGHEST, COUNTED)
    row |= {
        f"{name}/{category['category']}": float(category[name])
        for category in rows
        for name in columns
    }
    signals = pd.DataFrame([dict(record.signals) for record in seen]).mean()
    return row | {f"{SIGNAL}{name}": value for name, value in signals.items()}


def _digest_of(index: pd.DataFrame, made_with: str = "") -> str:
    """Hash which images a group consists of, in which state, and how they are scored."""
    names = sorted(zip(index["file_name"], index["stamp"], index["unreadable"], strict=True))
    return hashlib.sha256(repr((made_with, names)).encode()).hexdigest()[:20]
