"""Every site and period with its estimate, interval and rank."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.nothing_found import nothing_found_text
from autoeval.model.calibrated_features import REVISION
from autoeval.monitoring.order.group_rows import Score, group_rows, score_group
from autoeval.monitoring.order.row_estimates import (
    FOUND_ON,
    NOTICES,
    categories_in,
    estimate_at_threshold,
    estimate_rows,
    new_sites,
)
from autoeval.monitoring.periods import WHOLE
from autoeval.monitoring.site_categories import SiteCategories
from autoeval.monitoring.site_records import CameraImage, RecordStore
from autoeval.monitoring.watch_plan import WatchPlan
from autoeval.targets import OperatingPoint, points_at

DRAWS = 4000


@dataclass(frozen=True, eq=False)
class SiteTable:
    """What is known of sites.

    `rows` has one row for each site (``period`` empty) and each of its periods: ``group``,
    ``period``, ``first``, ``last`` (times), ``n_images``, ``n_unreadable``, the scores,
    ``signal/NAME``, ``estimate``, ``lower``, ``upper``, ``raw``, ``warnings`` (of the estimate, as
    one text; those of a whole site each by itself are in `notices`),
    where sites have several categories ``estimate/CATEGORY`` and the like (NaN at sites without),
    and of sites ``rank`` (1 is the worst) and ``p_worst`` (probability to be among the `k` worst;
    NaN where there are no more sites). Neither is known of a site without an image that can be
    read, without a box over the threshold of precision, or where nothing was found
    (``nothing_found``).
    """

    rows: pd.DataFrame
    drawn: np.ndarray  # accuracies of the K sites that have one, drawn together: (draws, K)
    names: tuple[str, ...]  # of these sites
    k: int
    level_of: Callable[[Sequence[CameraImage]], float]  # accuracy, in [0, 1], of a site's records
    categories: SiteCategories = field(default_factory=lambda: SiteCategories(()))
    notices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of each site's estimate

    @property
    def sites(self) -> pd.DataFrame:
        """Rows of whole sites, the worst first; those without an accuracy last."""
        whole = self.rows[self.rows["period"] == WHOLE]
        return whole.sort_values("rank", kind="stable", na_position="last")


def site_table(
    store: RecordStore,
    estimator: AccuracyEstimator,
    categories: SiteCategories,
    plan: WatchPlan,
    *,
    backbone: str,
    unseen: Mapping[str, float] | None = None,
) -> SiteTable:
    """Estimate the accuracy at every site of a store, and put the sites in order.

    estimator: for the target by which sites are put in order.
    categories: which are estimated at each site.
    backbone: class name of the detector's backbone, for the warnings.
    unseen: share, in [0, 1], of the range of confidence that is missing, of each site; 0 by
        default.
    plan: with a score threshold there are recall and false alarms an image, too: columns
        ``recall@0.3``, ``recall@0.3_lower``, ``recall@0.3_upper`` and ``false_alarms@0.3``; recall
        not where it is the target, as ``estimate`` is it. They do not use the source of the fit
        that a site is. InputError if the fit has no such source.
    """
    unseen = unseen or {}
    _check_fitted_sites(estimator, plan.known)
    regression = estimator.regression_
    points = () if plan.score_thr is None else points_at(plan.score_thr, plan.iou)[:2]
    regressions = list(estimator.fit_.regressions_of(points).values())
    read: list[BayesianRegression] = [
        regression,
        *(at_point for at_point in regressions if at_point is not None),
    ]
    features = tuple(dict.fromkeys(name for fitted in read for name in fitted.features_))
    score = partial(
        score_group,
        categories=categories,
        features=features,
        calibration=estimator.calibration_,
        reference_calibration=estimator.reference_calibration_,
    )
    level_of = partial(_level, regression, score)
    calibrations = [
        calibration and calibration.to_dict()
        for calibration in (estimator.calibration_, estimator.reference_calibration_)
    ]
    made_with = repr((features, calibrations, categories, REVISION))
    rows = group_rows(store, score, by=plan.by, made_with=made_with)
    if rows.empty:
        rows, drawn = rows.assign(period=[], rank=[]), np.zeros((DRAWS, 0))
        return SiteTable(rows, drawn, (), plan.k, level_of, categories)
    rows = rows.assign(nothing_found=rows["nothing_found"].eq(True))
    seen = rows[(rows["n_images"] > 0) & ~rows["nothing_found"]]
    estimates = estimate_rows(regression, seen, backbone, unseen, plan.known)
    whole = seen[seen["period"] == WHOLE]
    drawn = np.zeros((DRAWS, 0))
    if len(whole):
        sites = new_sites(regression, whole, unseen, plan.known)
        drawn = sites.draw(draws=DRAWS, seed=plan.seed)
        defined = np.isfinite(drawn[0])
        whole, drawn = whole[defined], drawn[:, defined]
    order = {"rank": ranks(drawn.mean(axis=0)), "p_worst": among_worst(drawn, plan.k)}
    notices_of_rows: dict[Any, Any] = dict(estimates.pop(NOTICES))
    rows = rows.join(estimates).join(pd.DataFrame(order, index=whole.index))
    if points:
        at_threshold = estimate_at_threshold(regressions, seen, points, unseen)
        at_threshold = at_threshold.reindex(rows.index)
        at_threshold[rows["n_boxes"] == 0] = 0.0  # by definition, and no box is a false alarm
        recall_is_target = estimator.target == points[1]
        rows = rows.join(at_threshold.iloc[:, -1] if recall_is_target else at_threshold)
    empty = rows["nothing_found"]
    empty_notices = {
        row: (nothing_found_text(int(n), estimator.target),)
        for row, n in rows.loc[empty, "n_images"].items()
    }
    rows.loc[empty, "warnings"] = [str(text) for (text,) in empty_notices.values()]
    notices_of_rows |= empty_notices
    site_names = rows.loc[rows["period"] == WHOLE, "group"]
    notices = {str(name): notices_of_rows.get(row, ()) for row, name in site_names.items()}
    rows = rows.assign(warnings=rows["warnings"].fillna(""))
    rows = _of_one_category(rows)
    return SiteTable(rows, drawn, tuple(whole["group"]), plan.k, level_of, categories, notices)


def _check_fitted_sites(estimator: AccuracyEstimator, fitted_sites: Mapping[str, str]) -> None:
    if fitted_sites and OperatingPoint.of(estimator.target):
        raise InputError(
            f"At a known site mAP, mAP50 and mAP75 are estimated, not {estimator.target}: leave "
            "out either --site or --target."
        )
    for source in fitted_sites.values():
        estimator.check_known(source)


def _of_one_category(rows: pd.DataFrame) -> pd.DataFrame:
    """Name the scores plainly where all sites have one category, which ``category`` then names."""
    estimated = categories_in(rows)
    if len(estimated) != 1:
        return rows
    scores = {
        column: str(column).removesuffix(f"/{estimated[0]}")
        for column in rows
        if column != FOUND_ON + estimated[0]
    }
    return rows.rename(columns=scores).assign(category=estimated[0])


def _level(regression: BayesianRegression, score: Score, records: Sequence[CameraImage]) -> float:
    row = {"group": "", "period": WHOLE, **score(records)}
    if row["nothing_found"]:
        return math.nan
    (interval,) = new_sites(regression, pd.DataFrame([row]), {}).predict()
    return interval.value


def among_worst(drawn: np.ndarray, k: int) -> np.ndarray:
    """Return the probability of each of K sites to be among the k >= 1 worst of (draws, K).

    They add up to k; NaN where there are no more sites than k.

    >>> among_worst(np.array([[.1, .5, .3], [.4, .2, .3]]), 1)
    array([0.5, 0.5, 0. ])
    """
    if k >= drawn.shape[1]:
        return np.full(drawn.shape[1], np.nan)
    worst = np.argpartition(drawn, k - 1, axis=1)[:, :k]
    return np.bincount(worst.ravel(), minlength=drawn.shape[1]) / len(drawn)


def ranks(values: np.ndarray) -> np.ndarray:
    """Return the site of each value in their order, the lowest first from 1; NaN come last.

    >>> ranks(np.array([.5, np.nan, .2]))
    array([2, 3, 1])
    """
    order = np.argsort(values, kind="stable")
    sites = np.empty(len(values), np.int64)
    sites[order] = np.arange(1, len(values) + 1)
    return sites
