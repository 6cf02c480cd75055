"""Every site and period with its estimate, interval and rank."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fit_state import CALIBRATIONS
from autoeval.estimation.new_sites import NewSites
from autoeval.estimation.nothing_found import HIGHEST, nothing_found_text, nothing_over_text
from autoeval.estimation.reference_warnings import reference_at_site
from autoeval.estimation.regression_estimate import outside_range
from autoeval.estimation.warnings import estimate_warnings
from autoeval.features.calibrated_features import REVISION, WEIGHT
from autoeval.monitoring.order.group_rows import Score, group_rows, score_group
from autoeval.monitoring.periods import WHOLE
from autoeval.monitoring.site_categories import SiteCategories
from autoeval.monitoring.site_records import CameraImage, RecordStore
from autoeval.monitoring.watch_plan import WatchPlan
from autoeval.sites.score_range import unseen_warning
from autoeval.targets import OperatingPoint, find_target, points_at

ESTIMATED = ["estimate", "lower", "upper", "raw", "warnings"]
NOTICES = "notices"  # the warnings of a row, each by itself; not a column of `SiteTable`
DRAWS = 4000
FOUND_ON = "n_images/"
ENDS = {"": "value", "_lower": "lower", "_upper": "upper"}
FALSE_ALARMS = "false_alarms@"


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
        that a site is. InputError if the fit has no such source, or is joined of several.
    """
    known, k, unseen = plan.known, plan.k, unseen or {}
    _check_known(estimator, known)
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
        return SiteTable(rows, drawn, (), k, level_of, categories)
    rows = rows.assign(nothing_found=rows["nothing_found"].eq(True))
    seen = rows[(rows["n_images"] > 0) & ~rows["nothing_found"]]
    estimates = _estimated(regression, seen, backbone, unseen, known)
    whole = seen[seen["period"] == WHOLE]
    drawn = np.zeros((DRAWS, 0))
    if len(whole):
        drawn = _sites(regression, whole, unseen, known).draw(draws=DRAWS, seed=plan.seed)
        defined = np.isfinite(drawn[0])
        whole, drawn = whole[defined], drawn[:, defined]
    order = {"rank": ranks(drawn.mean(axis=0)), "p_worst": among_worst(drawn, k)}
    each: pd.Series = estimates.pop(NOTICES)
    rows = rows.join(estimates).join(pd.DataFrame(order, index=whole.index))
    if points:
        beside = _at_threshold(regressions, seen, points, unseen)
        beside = beside.reindex(rows.index)
        beside[rows["n_boxes"] == 0] = 0.0  # by definition, and no box is a false alarm
        rows = rows.join(beside if estimator.target != points[1] else beside.iloc[:, -1])
    empty = rows["nothing_found"]
    of_empty = {
        k: (nothing_found_text(int(n), estimator.target),)
        for k, n in rows.loc[empty, "n_images"].items()
    }
    rows.loc[empty, "warnings"] = [str(text) for (text,) in of_empty.values()]
    said = {**each, **of_empty}
    of_sites = rows.loc[rows["period"] == WHOLE, "group"]
    notices = {str(name): said.get(k, ()) for k, name in of_sites.items()}
    rows = rows.assign(warnings=rows["warnings"].fillna(""))
    rows = _of_one_category(rows)
    return SiteTable(rows, drawn, tuple(whole["group"]), k, level_of, categories, notices)


def _check_known(estimator: AccuracyEstimator, known: Mapping[str, str]) -> None:
    if known and OperatingPoint.of(estimator.target):
        raise InputError(
            f"At a known site mAP, mAP50 and mAP75 are estimated, not {estimator.target}: leave "
            "out either --site or --target."
        )
    if known and CALIBRATIONS in estimator.context_:
        raise InputError(
            "A joined fit calibrates each of its sites by itself, which a monitor does not: leave "
            "--site out, or name it to `autoeval estimate`."
        )
    for source in known.values():
        estimator.check_known(source)


def _estimated(
    regression: BayesianRegression,
    rows: pd.DataFrame,
    backbone: str,
    unseen: Mapping[str, float],
    known: Mapping[str, str],
) -> pd.DataFrame:
    """Estimate each row, as `estimate_site_rows` would on its own."""
    if rows.empty:
        return pd.DataFrame(columns=[*ESTIMATED, NOTICES])
    sites, values = _sites(regression, rows, unseen, known), []
    intervals, none_over = sites.predict(), sites.none_over
    for interval, none, row in zip(intervals, none_over, rows.to_dict("records"), strict=True):
        of_scores = estimate_warnings(
            interval.value,
            _only_scores(row, regression.features_),
            regression.training_range_,
            n_images=int(row["n_images"]),
            skipped_share=0.0,
            backbone=backbone,
            doubtful=find_target(regression.target).doubtful,
        )
        missing = unseen_warning(unseen.get(str(row["group"]), 0.0))
        of_scores = (nothing_over_text(regression.target),) if none else of_scores
        lacking = reference_at_site(_with_names(row, regression.features_), regression.features_)
        warnings = (*outside_range(interval), *lacking, *missing, *of_scores)
        numbers = (interval.value, interval.lower, interval.upper, interval.raw)
        values.append((*numbers, "; ".join(warnings), warnings))
    table = pd.DataFrame(values, index=rows.index, columns=[*ESTIMATED, NOTICES])
    return table.join(_by_category(sites, rows)) if len(categories_in(rows)) > 1 else table


def categories_in(rows: Iterable[Any]) -> list[str]:
    """Return the categories that are estimated at any site, by the columns of scores."""
    return [
        str(column).removeprefix(FOUND_ON) for column in rows if str(column).startswith(FOUND_ON)
    ]


def _only_scores(row: Mapping[Any, Any], features: Sequence[str]) -> dict[str, float]:
    """Return the scores of a site with one category, whose range in the fit is known."""
    categories = _found_at(row)
    if len(categories) != 1:
        return {}
    return {name: row[f"{name}/{categories[0]}"] for name in features}


def _with_names(row: Mapping[Any, Any], features: Sequence[str]) -> pd.DataFrame:
    """Return the scores of a site, a row for each of its categories."""
    each = [
        {"category": category, **{name: row[f"{name}/{category}"] for name in features}}
        for category in _found_at(row)
    ]
    return pd.DataFrame(each)


def _found_at(row: Mapping[Any, Any]) -> list[str]:
    """Return the categories of a site: those whose number of images is not NaN in its row."""
    counts = {category: row[FOUND_ON + category] for category in categories_in(row)}
    return [category for category, n in counts.items() if n == n]


def _by_category(sites: NewSites, rows: pd.DataFrame) -> pd.DataFrame:
    """Estimate each category of each row: columns such as ``estimate/car`` and ``lower/car``."""
    estimates = sites.predict_categories().rename(columns={"value": "estimate"})
    wide = estimates.pivot(index="site", columns="category")[["estimate", "lower", "upper"]]
    wide = wide.reindex(sites.names)
    wide.columns = [f"{name}/{category}" for name, category in wide.columns]
    return wide.set_index(rows.index)


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


def _at_threshold(
    regressions: Sequence[BayesianRegression | None],
    rows: pd.DataFrame,
    points: Sequence[str],
    unseen: Mapping[str, float],
) -> pd.DataFrame:
    """Estimate recall with its interval, and false alarms an image: boxes less true positives."""
    of_precision, of_recall = regressions
    assert of_recall is not None
    of_alarms = f"{FALSE_ALARMS}{points[1].partition('@')[2]}"
    if rows.empty:
        names = [f"{points[1]}{end}" for end in ENDS]
        return pd.DataFrame(columns=[*names, of_alarms], dtype=np.float64)
    sites = _sites(of_recall, rows, unseen)
    recall, precision = sites.predict(), np.full(len(rows), np.nan)
    if of_precision is not None:
        precision = np.array(
            [interval.value for interval in _sites(of_precision, rows, unseen).predict()]
        )
    boxes = rows[[name for name in rows if str(name).startswith(f"{WEIGHT}{points[0]}")]]
    an_image = boxes.fillna(0).sum(axis=1) / rows["n_images"]
    false = (an_image * (1 - precision)).where(~sites.none_over, 0.0)
    recalls = {
        f"{points[1]}{end}": [getattr(interval, name) for interval in recall]
        for end, name in ENDS.items()
    }
    return pd.DataFrame({**recalls, of_alarms: false}, index=rows.index)


def _level(regression: BayesianRegression, score: Score, records: Sequence[CameraImage]) -> float:
    row = {"group": "", "period": WHOLE, **score(records)}
    if row["nothing_found"]:
        return math.nan
    (interval,) = _sites(regression, pd.DataFrame([row]), {}).predict()
    return interval.value


def _sites(
    regression: BayesianRegression,
    rows: pd.DataFrame,
    unseen: Mapping[str, float],
    known: Mapping[str, str] = MappingProxyType({}),
) -> NewSites:
    """Set rows side by side, by their scores alone."""
    read = ("n_images", HIGHEST, f"{WEIGHT}{regression.target}", *regression.features_)
    scores = [name for name in rows if str(name).partition("/")[0] in read and name != "n_images"]
    names = rows["group"] + "\0" + rows["period"]
    stacked = regression.site_rows(rows[scores].assign(site=names))
    stacked = stacked[stacked["n_images"].notna()]  # of the categories that a site has
    places = {name: k for k, name in enumerate(names)}
    stacked = stacked.sort_values("site", key=lambda sites: sites.map(places), kind="stable")
    stacked = stacked.reset_index(drop=True)
    shares = {
        name: unseen.get(str(group), 0.0) for name, group in zip(names, rows["group"], strict=True)
    }
    sources = {n: known[g] for n, g in zip(names, rows["group"], strict=True) if g in known}
    return NewSites(
        regression, stacked, level=regression.level, unseen=shares, fitted_sites=sources
    )


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
