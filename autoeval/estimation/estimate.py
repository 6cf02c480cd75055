"""The estimate of a site, from top to bottom: pairs, targets, intervals, notices, result.

`estimate_site`, which `AccuracyEstimator.predict_site` calls, scores the categories of a calibrated
`Site` (`autoeval.estimation.category_scores`), predicts each and their mean by the regressions of a
fit (`estimate_rows`), adds the sampling error of the images (`sampling_std`) and the checks
(`autoeval.estimation.checks`). `Estimate` is the result, of which `autoeval.report` makes text,
pages and JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from autoeval.accuracy.measures import bootstrap_std, find_target, resampled_counts
from autoeval.errors import InputError
from autoeval.estimation import checks
from autoeval.estimation.category_scores import CategoryScores, site_scores
from autoeval.model.mixed_model import PredictionInterval
from autoeval.model.pair_table import (
    COUNTED,
    EXPECTED_OBJECTS,
    GROUP,
    HIGHEST,
    LIKELY_BOXES,
    N_FOUND,
    PRECISION,
    SEED,
    SITE,
    WORD,
    Table,
    category_weights,
    nothing_over,
    rows_where,
    table_of,
    values_of,
    without_boxes,
)
from autoeval.model.regression import DEFAULT_METHOD, Regression
from autoeval.result_base import ENDS, Result
from autoeval.sites.file_looks import unseen_warning
from autoeval.sites.site import Site
from autoeval.words import Notice, counted, listed, ordered_warnings

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SMALL = 14
LARGE = 70
PREDICTIVE = "predictive"  # how an interval is formed where there is nothing to be said of it
STAR: dict[str, Any] = {"marker": "*", "ls": "", "color": "red", "ms": 16, "mec": "black"}
RESAMPLES = 200  # draws of the images, for the sampling error
STEP = 1e-3  # of a score, for the slope of the estimate in it
AT_ONCE = 20_000_000  # counts that are held in memory
FEWEST_OF_RANGE = 20
"""Pairs whose range says something: a new one like n others is outside theirs, by chance alone, in
2 of n + 1 cases."""
Bounds = dict[str, float]
OtherRegressions = Mapping[str, Regression | None]
"""Regressions of other targets; None for precision at a threshold that no box of the labelled
images is over."""


class Trained(Protocol):
    """What a plot of the training takes of an estimator."""

    @property
    def table_(self) -> pd.DataFrame:
        """The score table that it was fitted on."""

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of it without its site."""


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """Estimated accuracy of a detector on images without labels.

    `AccuracyEstimator.predict` and `autoeval.estimate` return one; with a site it goes on to
    `AccuracyEstimator.plan_labels` and `AccuracyEstimator.estimate_with_labels`.

    Parameters
    ----------
    value : float
        In the range of the target, such as [0, 1] for mAP, rather than points of 100; NaN where
        nothing was found, and where the interval would be too wide to be given.
    lower, upper : float
        Prediction interval, NaN where none can be formed.
    level : float
        Nominal coverage of the interval.
    interval_method : str
        How the interval was formed, or why there is none.
    target : str
        What is estimated; a name in `autoeval.accuracy.measures.TARGETS`, or a measure at a score
        threshold, such as ``recall@0.3``.
    n_images : int
        Images that were read.
    features : dict of str to float
        Mean of each feature over the categories that count; see docs/reference/scores.md.
    warnings : tuple of Notice
        Why the value may be wrong, each a `autoeval.words.Notice`.
    sampling_std : float
        Standard deviation over draws of the images with replacement; NaN where it is not known.
    per_category : dict of str to dict
        ``value``, ``lower`` and ``upper`` of each category that counts; of average precision the
        value of all is their mean. The ends are NaN where the interval is too wide to be given;
        the value too where it is not defined at a threshold.
    left_out : dict of str to dict
        Categories that were found and do not count: ``value``, ``lower``, ``upper``,
        ``likely_boxes``, ``share_of_objects`` (of the expected objects of all categories, in
        [0, 1]), ``mean_with_it``; see `autoeval.sites.site`.
    raw : float
        The value before it was brought into the range of the target; NaN where it is not known.
    other_targets : dict of str to dict
        ``value``, ``lower`` and ``upper`` of other targets, from the same boxes.
    width_warning : Notice
        That the interval is too wide to act on, or that nothing was found, and what helps.
    category_effects : dict of str to float
        What the prior adds for categories that it knows, in [-1, 1].
    undefined : tuple of str
        Targets that have no value here: precision where no box is over the threshold.
    site : Site, optional
        The boxes that it was made from.

    Attributes
    ----------
    method, std, source_lower, source_upper, is_mean
        Constants here: fields of the estimates of published methods.

    Examples
    --------
    >>> car = {"value": 0.31, "lower": 0.25, "upper": 0.37}
    >>> estimate = Estimate(
    ...     **car, level=0.9, interval_method=PREDICTIVE, target="mAP", n_images=200,
    ...     per_category={"car": car},
    ... )
    >>> print(estimate)
    estimated mAP: 31.0 (90% interval 25.0 to 37.0), from 200 images
      car: 31.0 (25.0 to 37.0)
    >>> estimate.to_dict()["estimate/mAP/car"]
    0.31
    """

    value: float
    lower: float
    upper: float
    level: float
    interval_method: str
    target: str
    n_images: int
    features: dict[str, float] = field(default_factory=dict)
    warnings: tuple[Notice, ...] = ()
    sampling_std: float = math.nan
    per_category: dict[str, dict[str, float]] = field(default_factory=dict)
    left_out: dict[str, dict[str, float]] = field(default_factory=dict)
    raw: float = math.nan
    other_targets: dict[str, dict[str, float]] = field(default_factory=dict)
    width_warning: Notice | Literal[""] = ""
    category_effects: dict[str, float] = field(default_factory=dict)
    undefined: tuple[str, ...] = ()
    site: Site | None = field(default=None, compare=False)
    method = DEFAULT_METHOD
    kind = "estimate"
    # of published methods, see `autoeval.stability.methods.source_regression.PublishedEstimate`:
    std = math.nan  # of the value over dropout repeats
    source_lower, source_upper = math.nan, math.nan  # the interval without the sampling error
    is_mean = True  # whether the value is the mean of the categories

    @property
    def basis(self) -> str:
        """What the value rests on, in words: how many images, and why there is no interval."""
        reason = f"; {self.interval_method}" if math.isnan(self.lower) else ""
        return f"from {counted(self.n_images, 'image')}{reason}"

    def all_warnings(self) -> list[Notice]:
        """Return all warnings, that of the width among them, the most severe first."""
        of_width = (self.width_warning,) if self.width_warning else ()
        return ordered_warnings((*of_width, *self.warnings))

    def figures(self) -> dict[str, float]:
        """Return the value and its ends by the name of the target: ``mAP``, ``mAP_lower`` ..."""
        ends = {f"{self.target}_{end}": getattr(self, end) for end in ("lower", "upper")}
        return {self.target: self.value, **ends}

    def plot(self, ax: Axes | None = None, *, training: Trained | None = None) -> Axes:
        """Draw the value and its interval, in the target's unit.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        training : Trained, optional
            The estimator: the value then stands among the sample sets that it was fitted on, each
            at what was estimated of it without its site, and at its true value.

        Returns
        -------
        Axes

        Raises
        ------
        InputError
            If nothing was estimated of the training sites, as with too few groups.
        """
        from matplotlib.figure import Figure

        if ax is None:
            size = (7, 2) if training is None else (7, 6)
            ax = Figure(figsize=size, layout="constrained").subplots()
        if training is None:
            self._draw_bar(ax)
        else:
            self._draw_among(ax, training)
        warnings = f", warnings: {len(self.warnings)}" if self.warnings else ""
        ax.set_title(f"{counted(self.n_images, 'image')} (method: {self.method}){warnings}")
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return ax

    def _draw_bar(self, ax: Axes) -> None:
        """Draw the value as a star on a bar from the lower to the upper end."""
        target = find_target(self.target)
        value, *ends = self._scaled()
        ax.plot(ends, [0, 0], color="0.8", lw=14, solid_capstyle="butt", label=self._band)
        label, error = self.number_text(self.value), None
        if not math.isnan(self.std):
            label += f" ± {target.text(self.std)} (repeats)"
            error = target.scale * self.std
        ax.errorbar(value, 0, xerr=error, label=label, capsize=4, ecolor="black", **STAR)
        ax.set(xlabel=f"estimated {target.name} ({target.unit})", yticks=[])
        if target.upper < math.inf:
            ax.set_xlim(0, target.scale * target.upper)

    def _draw_among(self, ax: Axes, training: Trained) -> None:
        """Draw the true value of each sample set over its estimate, the own images large."""
        target, estimates = find_target(self.target), training.predict_left_out()
        if not np.isfinite(estimates).any():
            raise InputError(
                "Nothing was estimated of the training sites: leaving one out takes three. Call "
                "`plot` without `training`."
            )
        keys, scale = ["source", "sample_set", "kind"], target.scale
        table = training.table_
        drawn = table.assign(estimate=scale * estimates, true=scale * table[self.target])
        means = drawn.groupby(keys, sort=False)[["estimate", "true"]].mean().dropna().reset_index()
        for name in dict.fromkeys(means["source"]):
            rows = means[means["source"] == name]
            sizes = np.where(rows["kind"] == SEED, LARGE, SMALL)
            ax.scatter(rows["estimate"], rows["true"], s=sizes, alpha=0.7, linewidths=0, label=name)
        ends = [means[["estimate", "true"]].min().min(), means[["estimate", "true"]].max().max()]
        ax.plot(ends, ends, color="0.5", lw=1, zorder=0)
        value, lower, upper = self._scaled()
        ax.plot([value, value], [lower, upper], color="0.8", lw=6, zorder=0, label=self._band)
        ax.plot(value, value, label=target.text(self.value), **STAR)
        ax.set(
            xlabel=f"estimated {target.name} ({target.unit}), without its source",
            ylabel=f"true {target.name}",
        )

    @property
    def _band(self) -> str:
        """Label of the interval in a plot."""
        return f"{self.level:.0%} interval"

    def _scaled(self) -> tuple[float, float, float]:
        """Return the value and the ends of the interval in the target's unit."""
        scale = find_target(self.target).scale
        return scale * self.value, scale * self.lower, scale * self.upper


def estimate_site(
    site: Site,
    regression: Regression,
    other_regressions: OtherRegressions,
    *,
    brief: bool = False,
) -> Estimate:
    """Estimate the accuracy at a site, with other targets from the same boxes.

    Parameters
    ----------
    site : Site
        Calibrated, without labels.
    regression : Regression
        Of the target, at the floor of the site.
    other_regressions : mapping of str to Regression or None
        Of other targets, at the same floor; see `OtherRegressions`.
    brief : bool
        Leave out the sampling error, `Estimate.sampling_std`, and the expected counts at every
        threshold, which plans for other targets and curves of thresholds read.

    Returns
    -------
    Estimate
        With the site, whose ``row["rows"]`` are the scores, one row a category; without a value
        where nothing was found.
    """
    regressions = (regression, *filter(None, other_regressions.values()))
    features = dict.fromkeys(name for fitted in regressions for name in fitted.features_)
    scores, rows = site_scores(site, list(features), counts=not brief)
    if not any(category.found for category in scores):
        return _nothing_found(site, regression, other_regressions)
    for column, name in ((SITE, site.known), (GROUP, site.group)):
        if name:
            rows[column] = np.full(len(scores), name, object)
    n_images, blocks = len(site), site.blocks
    estimate = estimate_rows(
        regression,
        rows,
        other_regressions,
        backbone=site.backbone,
    )
    few_blocks: tuple[Notice, ...] = ()
    counted_rows = rows_where(rows, rows[COUNTED])
    if not nothing_over(counted_rows, regression.target).all():  # else known by definition
        if not brief:
            units = blocks
            if units is None:  # each image is drawn alone, in which order a file lists them or not
                names = [image.file_name for image in site.boxes.images]
                by_name = sorted(range(n_images), key=names.__getitem__)
                units = np.argsort(by_name)  # the rank of the name of each image
            std = sampling_std(regression, scores, rows, units)
            estimate = replace(estimate, sampling_std=std)
        if blocks is not None:
            few_blocks = checks.few_blocks(n_images, int(blocks.max()) + 1)
    of_site = [*site.warnings, *site.left_out]
    if regression.reference_weight_:
        of_site += checks.reference_at_site(counted_rows, regression.features_)
    of_site += unseen_warning(site.unseen)
    return replace(
        estimate,
        n_images=n_images,
        warnings=tuple(dict.fromkeys((*of_site, *estimate.warnings, *few_blocks))),
        site=replace(site, row={**site.row, "rows": rows}),
    )


def estimate_rows(
    regression: Regression,
    rows: Table,
    other_regressions: OtherRegressions | None = None,
    *,
    backbone: str = "ResNet",
) -> Estimate:
    """Estimate from the scores of one set of images: a category, or all that count together.

    Parameters
    ----------
    regression : Regression
        Of the target.
    rows : Table
        One row a category. With columns of `autoeval.sites.site` those that do not count are
        left out of the mean.
    other_regressions : mapping of str to Regression or None, optional
        Of other targets to estimate from the same rows; see `OtherRegressions`.
    backbone : str
        Class of the detector's backbone.

    Returns
    -------
    Estimate
        Without a site and `sampling_std`.
    """
    target, rows = regression.target, regression.site_rows(rows)
    n_images = int(rows["n_images"].max())
    counted_rows = rows_where(rows, rows[COUNTED]) if COUNTED in rows else rows
    n_found = int(counted_rows.get(N_FOUND, counted_rows["n_images"]).max(initial=0))
    none_over = bool(nothing_over(counted_rows, target).all())
    interval = regression.predict_mean(rows)
    features = {}
    for name in regression.features_:
        scores = counted_rows[name]
        scores = scores[np.isfinite(scores)]
        features[name] = float(scores.mean()) if len(scores) else math.nan
    of_value: tuple[Notice, ...] = (checks.nothing_over_text(target),) if none_over else ()
    if not none_over:
        enough = len(regression.pairs_["category"]) >= FEWEST_OF_RANGE
        training_range = regression.training_range_ if enough else {}
        of_value = checks.of_scores(
            interval.value,
            features,
            training_range,
            n_images=n_found,
            backbone=backbone,
            target=target,
        )
    category_intervals: dict[str, PredictionInterval] = {}
    if COUNTED in rows or len(rows["category"]) > 1:
        intervals = regression.predict(rows)
        category_intervals = dict(zip(rows["category"], intervals, strict=True))
    # a category has a value also where its interval is too wide to be given
    of_category = {
        name: {**bounds(interval), "value": float(np.clip(interval.raw, 0, 1))}
        for name, interval in category_intervals.items()
    }
    known_as = zip(
        counted_rows["category"], counted_rows.get(WORD, counted_rows["category"]), strict=True
    )
    known_effects = {name: regression.prior_.of_category(word) for name, word in known_as}
    effects = {name: effect for name, effect in known_effects.items() if effect}
    # the precision of a category without a box over the threshold is undefined
    weights = zip(counted_rows["category"], category_weights(counted_rows, target), strict=True)
    of_precision = target.startswith(PRECISION)
    without = {name for name, weight in weights if of_precision and not weight}
    undefined = [target] if none_over and of_precision else []
    precisions = [name for name in other_regressions or () if name.startswith(PRECISION)]
    undefined += [name for name in precisions if nothing_over(counted_rows, name).all()]
    other_targets, of_others = _other_targets(
        counted_rows, regression, interval.value, other_regressions or {}
    )
    return Estimate(
        value=interval.value,
        lower=interval.lower,
        upper=interval.upper,
        level=regression.level,
        interval_method=_basis(regression, counted_rows, interval, none_over=none_over),
        target=target,
        n_images=n_images,
        features=features,
        warnings=tuple(
            dict.fromkeys(
                (*checks.outside_range(category_intervals or {"": interval}), *of_value, *of_others)
            )
        ),
        per_category={
            name: bounds(None) if name in without else of_category[name]
            for name in counted_rows["category"]
            if name in category_intervals
        },
        left_out=_left_out(rows, category_intervals, of_category, target),
        raw=interval.raw,
        width_warning=checks.width(interval, target),
        category_effects=effects,
        other_targets=other_targets,
        undefined=tuple(undefined),
    )


def _other_targets(
    rows: Table,
    regression: Regression,
    value: float,
    other_regressions: OtherRegressions,
) -> tuple[dict[str, Bounds], list[Notice]]:
    """Estimate other targets than that of a value, and check them for loosely drawn labels.

    Parameters
    ----------
    rows : Table
        One row a category that counts, as of `Regression.site_rows`.
    regression : Regression
        Of the target of the value.
    value : float
        The estimate.
    other_regressions : mapping of str to Regression or None
        See `OtherRegressions`.

    Returns
    -------
    tuple of dict and list of Notice
        ``value``, ``lower`` and ``upper`` of each other target, NaN where there is none; notices.
    """
    if not other_regressions:
        return {}, []
    none_over = [name for name in other_regressions if nothing_over(rows, name).all()]
    estimates = {
        name: bounds(
            without_boxes(name)
            if name in none_over
            else fitted.predict_mean(rows)
            if fitted
            else None
        )
        for name, fitted in other_regressions.items()
    }
    values = {regression.target: value}
    values |= {
        name: math.nan if name in none_over else ends["value"] for name, ends in estimates.items()
    }
    notices = list(checks.tightness(regression.pairs_, values))
    if none_over:
        notices.append(checks.nothing_over_text(none_over[0]))
    elif any(name.startswith(PRECISION) for name in values):
        every: OtherRegressions = {regression.target: regression, **other_regressions}
        precise = [
            fitted for name, fitted in every.items() if name.startswith(PRECISION) and fitted
        ]
        if not all(fitted.reads_reference(rows).all() for fitted in precise):
            notices.append(checks.PRECISION_HARDLY_KNOWN)
        notices += [
            checks.no_box_in_fit(name)
            for name, fitted in other_regressions.items()
            if fitted is None
        ]
    return estimates, notices


def _nothing_found(
    site: Site, regression: Regression, other_regressions: OtherRegressions
) -> Estimate:
    """Return an estimate without a value, for a site where no image shows a category.

    No interval stands in for it: every score is of boxes, so none says whether there are objects
    that the detector missed. With objects the accuracy is near 0, and without it is not defined; an
    interval from 0 to somewhere would claim the first.
    """
    n_images, target = len(site), regression.target
    rows = table_of([{"n_images": n_images, HIGHEST: float(site.boxes.scores.max(initial=0.0))}])
    every = (target, *other_regressions)
    none_over = [name for name in every if nothing_over(rows, name).all()]
    estimates = {name: bounds(without_boxes(name) if name in none_over else None) for name in every}
    interval = estimates.pop(target)
    return Estimate(
        value=interval["value"],
        lower=interval["lower"],
        upper=interval["upper"],
        level=regression.level,
        interval_method="none, nothing was found",
        target=target,
        n_images=n_images,
        warnings=tuple(dict.fromkeys((*site.warnings, *site.left_out))),
        other_targets=estimates,
        width_warning=checks.nothing_found_text(n_images, target),
        undefined=tuple(name for name in none_over if name.startswith(PRECISION)),
        site=replace(site, nothing_found=True, row={**site.row, "rows": {}}),
    )


def sampling_std(
    regression: Regression,
    scores: Sequence[CategoryScores],
    rows: Table,
    units: np.ndarray,
) -> float:
    """Return the standard deviation of the estimate over draws of its images; see `bootstrap_std`.

    The estimate is taken as linear in the scores: a prediction for each of the draws would take as
    many times as long, and over so small changes of scores the regression is nearly a line. The
    images are drawn all the same, where a formula of first order needs no draws: it does not see
    that a category on few images is missing from many draws, and gives too small an error where
    there are many such categories. The interval of the estimate does not use it: it has a sampling
    variance of its own.

    Parameters
    ----------
    regression : Regression
        Of the target.
    scores : sequence of CategoryScores
        Of each category of the site.
    rows : Table
        The same as one row a category; see `site_scores`.
    units : ndarray of shape (M,), int64
        Number of what each image of the site is drawn with: of its block of time, or its own.

    Returns
    -------
    float
        In the unit of the target; NaN with a single image or block.
    """
    counts = resampled_counts(len(units), resamples=RESAMPLES, seed=0, blocks=units, dtype=np.uint8)
    # how the estimate of each row changes with each of its scores, one score at a time: the
    # regression compares all rows that it is given with each other; one that is not known stays so
    features = regression.features_
    changed = ({**rows, name: rows[name] + STEP} for name in features)
    means = np.array([regression.distribution(r).mean for r in changed])
    slopes = (means - regression.distribution(rows).mean).T / STEP
    moved = np.zeros(RESAMPLES)
    # a category that is 0 by definition does not move
    weights = category_weights(rows, regression.target) * ~nothing_over(rows, regression.target)
    for category, of_category, weight in zip(scores, slopes, weights, strict=True):
        at_once = max(AT_ONCE // max(len(category.images), 1), 1)
        for start in range(0, RESAMPLES, at_once):
            part = slice(start, start + at_once)
            of_images = counts[part][:, category.images]
            drawn = dict.fromkeys(features, np.full(len(of_images), np.nan))
            for scored in category.parts:
                drawn |= scored.resample(of_images)
            moved[part] += weight * (values_of(drawn, features) @ of_category)
    return bootstrap_std(moved, int(units.max()) + 1)


def _left_out(
    rows: Table,
    intervals: Mapping[str, PredictionInterval],
    of_category: Mapping[str, Bounds],
    target: str,
) -> dict[str, Bounds]:
    """Return the estimate of each category that was found and does not count.

    Parameters
    ----------
    rows : Table
        One row a category; without the column `COUNTED` all count.
    intervals : mapping of str to PredictionInterval
        Of each category.
    of_category : mapping of str to dict
        Their values and ends.
    target : str
        By which categories are weighted in the mean.

    Returns
    -------
    dict of str to dict
        See `Estimate.left_out`. ``mean_with_it`` is the value if this category counted, too.
    """
    if COUNTED not in rows:
        return {}
    counts, left_out = rows[COUNTED], dict[str, Bounds]()
    categories = rows["category"]
    for k in np.flatnonzero(~counts).tolist():
        with_it = counts.copy()
        with_it[k] = True
        weights = category_weights({**rows, COUNTED: with_it}, target)
        values = np.nan_to_num([intervals[name].raw for name in categories])
        objects = rows[EXPECTED_OBJECTS]
        left_out[categories[k]] = {
            **of_category[categories[k]],
            "likely_boxes": int(rows[LIKELY_BOXES][k]),
            "share_of_objects": float(objects[k] / objects.sum()),
            "mean_with_it": float(weights @ np.clip(values, 0, 1)),
        }
    return left_out


def _basis(
    regression: Regression, rows: Table, interval: PredictionInterval, *, none_over: bool
) -> str:
    """Return the text of `Estimate.interval_method`: what an interval rests on, if not on boxes."""
    if none_over:
        return "by definition, no box is over the threshold"
    if math.isnan(interval.value):
        return f"none: it would reach {100 * interval.reach:.0f} points to each side"
    parts = []
    if GROUP in rows:
        group = str(rows[GROUP][0])
        of_group = regression.pairs_["group"] == group
        sites = sorted({*regression.pairs_["source"][of_group]})
        parts.append(f"group {group}, in the fit {listed(sites)}")
    elif SITE in rows:
        site = str(rows[SITE][0])
        accuracies = regression.accuracies_at(site)
        labelled = [f"{name} {100 * value:.1f}" for name, value in accuracies.items()]
        parts.append(f"{regression.target} on the labelled images of {site}: {listed(labelled)}")
    elif regression.domain_shift_:
        home = 100 * regression.home_
        parts.append(f"trained at the labelled site, {regression.target} {home:.1f}")
    if regression.reference_weight_ and regression.reads_reference(rows).any():
        parts.append(f"reference detector with a weight of {regression.reference_weight_:.2f}")
    return "; ".join(parts) or PREDICTIVE


def bounds(interval: PredictionInterval | None) -> Bounds:
    """Return the value and the ends of an interval by name.

    Parameters
    ----------
    interval : PredictionInterval or None

    Returns
    -------
    dict of str to float
        ``value``, ``lower`` and ``upper``; NaN where there is none.

    Examples
    --------
    >>> bounds(PredictionInterval(raw=-0.1, value=0.0, lower=0.0, upper=0.2, reach=0.25))
    {'value': 0.0, 'lower': 0.0, 'upper': 0.2}
    """
    if interval is None:
        return dict.fromkeys(ENDS, math.nan)
    return {"value": interval.value, "lower": interval.lower, "upper": interval.upper}
