"""Error, coverage and half-width with a few labels: the report of the backtest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from autoeval.errors import InputError
from autoeval.estimation.calibrating import calibrated_rows
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.labelling import error_elsewhere, with_error
from autoeval.estimation.score_table import pair_rows
from autoeval.estimation.site_estimate import bounds
from autoeval.labels.fit_assistance import MOST_IMAGES, fit_assistance
from autoeval.labels.prior import OF_ONE_SET
from autoeval.labels.value_with_error import ValueWithError
from autoeval.model.regression import Regression
from autoeval.report.plots import figure_of, integer_steps, plot_curves
from autoeval.report.sections import Part
from autoeval.sites.labelled_set import LabelledSet
from autoeval.stability.fitting.meta_set import read_stored_sets
from autoeval.stability.methods.score_rows import read_scores
from autoeval.stability.reports.study_report import StudyReport
from autoeval.stability.studies.label_backtest import (
    FEWEST_IMAGES,
    EvaluatedPair,
    backtest,
    correlations,
    effective_labels,
    evaluated_pairs,
    leave_groups_out,
    stopping,
)

ABOUT = (
    "Of each site that has at least {fewest} images, k are drawn and taken as labelled, {draws} "
    "times; {fitted}. Error: mean absolute difference to the mAP of all its images, in points of "
    "100, mean over sites; coverage and half-width of nominal 90 % intervals; effective: simply "
    "drawn labels whose sample estimate has the same squared error, median over sites. *sample*: "
    "simple random draws and no assistance; the others are drawn by plan."
)
LEFT_OUT = (
    "all else that is used (box model, mixing weights, variances, label-free estimate) is fitted "
    "without its group"
)
ONE_SET = (
    "all else that is used (box model, mixing weights, variances, label-free estimate) is fitted "
    "on one labelled set alone, {names}, from the files of the boxes"
)
_FORMATS = {
    **dict.fromkeys(
        ("error", "bias", "half-width", "label-free", "prior error", "wanted"), "{:.1f}"
    ),
    **dict.fromkeys(("labels", "labels, corrected", "effective"), "{:.0f}"),
    **dict.fromkeys(("coverage", "corrected", "dropped"), "{:.1%}"),
    "correlation": "{:.2f}",
}
_NAMES = {
    "half_width": "half-width",
    "label_free": "label-free",
    "prior_error": "prior error",
    "labels_corrected": "labels, corrected",
}


def labels_report(
    work_dir: Path,
    *,
    also: Sequence[Path] = (),
    fewest: int = FEWEST_IMAGES,
    draws: int = 200,
    seed: int = 0,
) -> StudyReport:
    """Evaluate estimates with a few labels at sites where all are known, groups left out."""
    folders = [work_dir, *also]
    sets_by_folder = [read_stored_sets(folder) for folder in folders]
    pairs = [
        _pairs(read_scores(folder), sets)
        for folder, sets in zip(folders, sets_by_folder, strict=True)
    ]
    sites = [site for sets in sets_by_folder for site in sets]
    rows = pd.concat(pairs, ignore_index=True)
    evaluated = list(leave_groups_out(sites, _priors(rows), fewest=fewest))
    if not evaluated:
        raise InputError(f"None of {len(sites)} sites has {fewest} images: lower fewest=.")
    about = ABOUT.format(fewest=fewest, draws=draws, fitted=LEFT_OUT)
    stops = stopping(evaluated, draws=max(draws // 4, 1), seed=seed)
    columns = ["labels", "coverage", "labels_corrected", "corrected"]
    stops = stops.groupby(["category", "wanted"])[columns].mean().reset_index()
    table = backtest(evaluated, draws=draws, seed=seed)
    stopped = Part("labels_stopping", stops, _points(stops, "wanted"), _FORMATS)
    return _report("labels", about, evaluated, table, [stopped])


def labels_from_files_report(
    labelled: Sequence[LabelledSet],
    sites: Sequence[LabelledSet],
    *,
    name: str = "labels_from_files",
    target: str = "mAP",
    fewest: int = FEWEST_IMAGES,
    sizes: Sequence[int] = (10, 20, 50),
    draws: int = 60,
    seed: int = 0,
) -> StudyReport:
    """Evaluate estimates with a few labels where one labelled set is all that was fitted on.

    Each labelled set is fitted on alone, in turn, and evaluates the sites of other groups; a set of
    one category only that category. `target` is ``mAP`` or such as ``recall@0.3``.
    """
    evaluated_sites = {
        site.name: site.at_most(MOST_IMAGES) for site in sites if len(site) >= fewest
    }
    evaluated: list[EvaluatedPair] = []
    for fitted_set in labelled:
        other_sites = [
            site
            for site in sites
            if site.group != fitted_set.group and site.name in evaluated_sites
        ]
        evaluated += evaluated_pairs(
            fit_assistance([fitted_set]),
            [evaluated_sites[site.name] for site in other_sites],
            priors_from(fitted_set, other_sites, target),
            fewest=fewest,
            target=target,
        )
    if not evaluated:
        raise InputError(f"None of {len(sites)} sites has {fewest} images: take fewer.")
    names = ", ".join(fitted_set.name for fitted_set in labelled)
    about = ABOUT.format(fewest=fewest, draws=draws, fitted=ONE_SET.format(names=names))
    about = about.replace("the mAP of", f"the {target} of")
    return _report(name, about, evaluated, backtest(evaluated, sizes=sizes, draws=draws, seed=seed))


def _report(
    name: str,
    about: str,
    pairs: Sequence[EvaluatedPair],
    table: pd.DataFrame,
    further: Sequence[Part] = (),
) -> StudyReport:
    evaluated, correlated = effective_labels(table), correlations(pairs)
    groups = evaluated.groupby(["category", "k", "estimator"], sort=False)
    means = groups[["error", "bias", "coverage", "half_width", "dropped"]].mean()
    means = means.assign(effective=groups["effective"].median(), pairs=groups.size())
    summary = means.reset_index()
    twenty_labels = evaluated[(evaluated["k"] == 20) & (evaluated["estimator"] == "combined")]
    columns = ["site", "category", "n_images", "error", "bias", "coverage", "half_width"]
    by_site = _points(twenty_labels[[*columns, "effective"]], "error", "bias", "half_width")
    return StudyReport(
        name,
        "Few labels: error, coverage and half-width",
        about,
        _figure(summary),
        [
            Part(name, summary, _points(summary, "error", "bias", "half_width"), _FORMATS),
            Part(
                f"{name}_correlation",
                correlated,
                _points(correlated, pairs[0].target, "label_free", "prior_error"),
                {**_FORMATS, pairs[0].target: "{:.1f}"},
            ),
            *further,
            Part(f"{name}_by_site", evaluated, by_site, _FORMATS),
        ],
    )


def _pairs(table: pd.DataFrame, sites: Sequence[LabelledSet]) -> pd.DataFrame:
    """Take the pairs of a table; the only category of a table is that of its boxes."""
    rows = pair_rows(table)
    names = {site.name: site.truth.categories for site in sites}
    only = [names[s][0] if len(names.get(s, ())) == 1 else None for s in rows["source"]]
    return rows.assign(category=pd.Series(only, rows.index).fillna(rows["category"]))


def _priors(rows: pd.DataFrame) -> dict[tuple[str, str], ValueWithError]:
    """Estimate every pair by a regression on the other groups."""
    priors = {}
    for group in rows["group"].unique():
        left_out = rows["group"] == group
        if left_out.all():
            raise InputError("Expected sources of at least three groups but got one.")
        new, estimator = rows[left_out], Regression().fit(rows[~left_out])
        error = error_elsewhere(estimator.cross_validated_, estimator.level)
        keys = zip(new["source"], new["category"], strict=True)
        for key, estimate in zip(keys, estimator.predict(new), strict=True):
            priors[key] = with_error(bounds(estimate), estimator.level, error)
    return priors


def priors_from(
    labelled: LabelledSet, sites: Sequence[LabelledSet], target: str = "mAP"
) -> dict[tuple[str, str], ValueWithError]:
    """Estimate every pair, each as of a new site, by a regression on one labelled set."""
    fitted_rows, calibration = calibrated_rows([labelled])
    estimator = Regression(target=target).fit(fitted_rows)
    error = error_elsewhere(estimator.cross_validated_, estimator.level) or OF_ONE_SET
    single = labelled.truth.categories if len(labelled.truth.categories) == 1 else None
    priors = {}
    for site in sites:
        rows = labelled_rows(site, calibration)
        for k, category in enumerate(rows["category"]):
            if single is None or category in single:
                (interval,) = estimator.predict(rows.iloc[[k]])
                prior = with_error(bounds(interval), estimator.level, error)
                priors[site.name, category] = prior
    return priors


def _points(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    scaled = {name: 100 * table[name] for name in columns}
    return table.assign(**scaled).rename(columns=_NAMES)


def _figure(summary: pd.DataFrame) -> Figure:
    drawn = summary.assign(line=summary["category"] + ": " + summary["estimator"])
    ax = plot_curves(drawn, x="k", y="error", group="line", scale=100.0)
    integer_steps(ax, drawn["k"])
    ax.set(xlabel="labelled images", ylabel="mean absolute error (points of 100)")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize=8, ncols=2)
    return figure_of(ax)
