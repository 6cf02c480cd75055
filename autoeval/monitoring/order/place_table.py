"""Every place with its estimate, its interval and its rank, and every period of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.guards import guards
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.pairs.new_places import NewPlaces
from autoeval.estimation.pairs.pair_regression import PairRegression, outside
from autoeval.estimation.regression import Told
from autoeval.monitoring.order.group_rows import Score, group_rows
from autoeval.monitoring.order.group_scores import score_group
from autoeval.monitoring.order.ranks import DRAWS, among_worst, ranks
from autoeval.monitoring.records.record import CameraImage
from autoeval.monitoring.records.record_store import RecordStore
from autoeval.monitoring.times.periods import WHOLE
from autoeval.scores.registry import revisions

TOLD = ["estimate", "lower", "upper", "raw"]


@dataclass(frozen=True, eq=False)
class PlaceTable:
    """What is known of places.

    Parameters
    ----------
    rows : DataFrame
        One row for each place (``period`` empty) and each of its periods: ``group``, ``period``,
        ``first``, ``last`` (times), ``n_images``, ``n_unreadable``, the scores, ``signal/NAME``,
        ``estimate``, ``lower``, ``upper``, ``raw``, ``doubts`` (reasons not to trust the estimate),
        and of places ``rank`` (1 is the worst) and ``p_worst`` (probability to be among the `k`
        worst; NaN where there are no more places).
    drawn : ndarray of shape (draws, K)
        Accuracies of the K places with images, drawn together.
    names : tuple of str
        These places, in the order of the columns of `drawn`.
    k : int
    level_of : callable
        Estimates the accuracy from records of one place, in [0, 1].
    """

    rows: pd.DataFrame
    drawn: np.ndarray
    names: tuple[str, ...]
    k: int
    level_of: Callable[[Sequence[CameraImage]], float]

    @property
    def places(self) -> pd.DataFrame:
        """Rows of whole places, the worst first; those without an image that can be read last."""
        whole = self.rows[self.rows["period"] == WHOLE]
        return whole.sort_values("rank", kind="stable", na_position="last")


def place_table(
    store: RecordStore,
    estimator: MapEstimator,
    observer: Observer,
    *,
    by: str = "folder",
    k: int = 3,
    seed: int = 0,
) -> PlaceTable:
    """Estimate the accuracy at every place of a store, and put the places in order.

    Parameters
    ----------
    store : RecordStore
    estimator : MapEstimator
        Of the method ``bayes``.
    observer : Observer
        From `autoeval.monitoring.observing.place_pass.place_observer`.
    by : str
        See `autoeval.monitoring.times.periods.periods`.
    k : int
        How many of the worst places are asked for.
    seed : int
        Of the draws behind the probabilities.
    """
    regression = estimator.regression_
    assert isinstance(regression, PairRegression)
    score = partial(
        score_group,
        categories=observer.task.categories,
        settings=observer.settings,
        features=regression.features_,
    )
    level_of = partial(_level, regression, score)
    made_with = repr((regression.features_, observer.task.categories, revisions()))
    rows = group_rows(store, score, by=by, made_with=made_with)
    if rows.empty:
        return PlaceTable(rows.assign(period=[], rank=[]), np.zeros((DRAWS, 0)), (), k, level_of)
    known = rows[rows["n_images"] > 0]
    told = _told(regression, known, observer.detector.backbone)
    whole = known[known["period"] == WHOLE]
    drawn = np.zeros((DRAWS, 0))
    if len(whole):
        drawn = _places(regression, whole).draw(draws=DRAWS, seed=seed)
    order = {"rank": ranks(drawn.mean(axis=0)), "p_worst": among_worst(drawn, k)}
    rows = rows.join(told).join(pd.DataFrame(order, index=whole.index))
    rows = rows.assign(doubts=rows["doubts"].fillna(""))
    return PlaceTable(rows, drawn, tuple(whole["group"]), k, level_of)


def with_changes(table: PlaceTable, changes: pd.DataFrame) -> PlaceTable:
    """Put the changes of places, see `place_changes`, into their rows."""
    told = changes.assign(period=WHOLE)
    rows = table.rows.merge(told, on=["group", "period"], how="left")
    rows["alarm"] = rows["alarm"].eq(True)
    for name in ("moved", "unwatched"):
        rows[name] = rows[name].fillna("")
    return replace(table, rows=rows)


def _told(regression: PairRegression, rows: pd.DataFrame, backbone: str) -> pd.DataFrame:
    """Estimate each row, as `PairRegression.predict_rows` would on its own."""
    if rows.empty:
        return pd.DataFrame(columns=[*TOLD, "doubts"])
    told = _places(regression, rows).told()
    values = [
        (t.value, t.lower, t.upper, t.raw, _doubts(regression, row, t, backbone))
        for t, row in zip(told, rows.to_dict("records"), strict=True)
    ]
    return pd.DataFrame(values, index=rows.index, columns=[*TOLD, "doubts"])


def _doubts(regression: PairRegression, row: dict, told: Told, backbone: str) -> str:
    single = [name for name in regression.features_ if name in row]
    reasons = guards(
        told.value,
        {name: row[name] for name in single},
        regression.training_range_,
        n_images=int(row["n_images"]),
        skipped_share=0.0,
        backbone=backbone,
    )
    return "; ".join((*outside(told), *reasons))


def _level(regression: PairRegression, score: Score, records: Sequence[CameraImage]) -> float:
    row = {"group": "", "period": WHOLE, **score(records)}
    (told,) = _places(regression, pd.DataFrame([row])).told()
    return told.value


def _places(regression: PairRegression, rows: pd.DataFrame) -> NewPlaces:
    """Set rows side by side, by their scores alone."""
    scores = [name for name in rows if str(name).partition("/")[0] in regression.features_]
    if not regression.pairs.single and "category" in rows:
        scores.append("category")
    names = rows["group"] + "\0" + rows["period"]
    return regression.places(rows[["n_images", *scores]].assign(place=names))
