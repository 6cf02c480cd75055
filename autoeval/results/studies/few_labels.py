"""How exact a few labels are: the report of the backtest on labelled places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from autoeval.errors import InputError
from autoeval.estimation.labels.label_free_prior import error_elsewhere, told
from autoeval.estimation.labels.places import LabelledPlace
from autoeval.estimation.labels.pseudo_labels import with_pseudo_labels
from autoeval.estimation.labels.recording import read_places
from autoeval.estimation.labels.value_with_error import ValueWithError
from autoeval.estimation.pairs.pair_estimator import PairEstimator
from autoeval.estimation.pairs.pair_table import pair_rows
from autoeval.report.curves import figure_of, integer_steps, plot_curves
from autoeval.report.parts import Part
from autoeval.report.study_report import StudyReport
from autoeval.studies.label_backtest import (
    FEWEST_IMAGES,
    backtest,
    correlations,
    held_out_places,
    labels_worth,
    stopping,
)
from autoeval.studies.score_columns import read_scores

ABOUT = (
    "Of each place that has at least {fewest} images, k are drawn and taken as labelled, {draws} "
    "times; all else that is used (model of boxes, slopes, spreads, label-free estimate) is fitted "
    "without its family. Error: mean absolute difference to the mAP of all its images, in points "
    "of 100, mean over places; coverage and half-width of nominal 90 % intervals; worth: how many "
    "simply drawn labels alone would have the same squared error, median over places. *labels*: "
    "simple random draws and nothing else; the others are drawn by plan."
)


def labels_report(
    work_dir: Path,
    *,
    also: Sequence[Path] = (),
    pseudo_labels: str | Path | None = None,
    pseudo_words: Mapping[str, str] | None = None,
    fewest: int = FEWEST_IMAGES,
    draws: int = 200,
    seed: int = 0,
) -> StudyReport:
    """Take a few labels at places where all are known.

    Parameters
    ----------
    work_dir : path
        Of a run of ``estimate-map``, which keeps scores and boxes of the sources' own images.
    also : sequence of path
        More of them, of the same detector in other tasks. Sources of equal ``family`` are left out
        together.
    pseudo_labels : path, optional
        Folder with a second detector's boxes on the sources, as a second prediction of influence;
        see `with_pseudo_labels`.
    pseudo_words : mapping of str to str, optional
        Category for each of its words that counts; by default equal words.
    fewest : int
        Images that a place needs to be judged; with fewer it still teaches.
    draws, seed : int
        Draws of each size at each place, and the seed of the first.

    Raises
    ------
    InputError
        If there are no boxes, fewer than three families, or no place has images enough.
    """
    folders = [work_dir, *also]
    every = [read_places(folder) for folder in folders]
    pairs = [_pairs(read_scores(f), of) for f, of in zip(folders, every, strict=True)]
    places, rows = [p for of in every for p in of], pd.concat(pairs, ignore_index=True)
    if pseudo_labels is not None:
        places = [with_pseudo_labels(place, Path(pseudo_labels), pseudo_words) for place in places]
    held = list(held_out_places(places, _priors(rows), fewest=fewest))
    if not held:
        raise InputError(f"None of {len(places)} places has {fewest} images: lower --fewest.")
    judged = labels_worth(backtest(held, draws=draws, seed=seed))
    summary = _summary(judged)
    stops, known = stopping(held, draws=max(draws // 4, 1), seed=seed), correlations(held)
    return StudyReport(
        "labels",
        "Few labels: error, coverage and width",
        ABOUT.format(fewest=fewest, draws=draws),
        _figure(summary),
        [
            Part("labels", summary, _shown(summary), _FORMATS),
            Part("labels_correlation", known, _points(known, "mAP", "label_free"), _FORMATS),
            Part("labels_stopping", _stops(stops), _points(_stops(stops), "wanted"), _FORMATS),
            Part("labels_by_place", judged, _of_twenty(judged), _FORMATS),
        ],
    )


_FORMATS = {
    **dict.fromkeys(("error", "bias", "half-width", "label-free", "mAP", "wanted"), "{:.1f}"),
    **dict.fromkeys(("labels", "labels, corrected", "worth"), "{:.0f}"),
    **dict.fromkeys(("coverage", "corrected", "dropped"), "{:.1%}"),
    "correlation": "{:.2f}",
}
_NAMES = {
    "half_width": "half-width",
    "label_free": "label-free",
    "labels_corrected": "labels, corrected",
}


def _pairs(table: pd.DataFrame, places: Sequence[LabelledPlace]) -> pd.DataFrame:
    """Take the pairs of a table; the only category of a table is told by its boxes."""
    rows = pair_rows(table)
    names = {p.name: p.truth.categories for p in places}
    only = [names[s][0] if len(names.get(s, ())) == 1 else None for s in rows["source"]]
    return rows.assign(category=pd.Series(only, rows.index).fillna(rows["category"]))


def _priors(rows: pd.DataFrame) -> dict[tuple[str, str], ValueWithError]:
    """Estimate every pair by a regression on the other families."""
    priors = {}
    for family in rows["family"].unique():
        own = rows["family"] == family
        if own.all():
            raise InputError("Expected sources of at least three families but got one.")
        asked, estimator = rows[own], PairEstimator().fit(rows[~own])
        error = error_elsewhere(estimator.held_out(), estimator.level)
        keys = zip(asked["source"], asked["category"], strict=True)
        for key, of in zip(keys, estimator.predict(asked), strict=True):
            priors[key] = told(vars(of), estimator.level, error)
    return priors


def _summary(judged: pd.DataFrame) -> pd.DataFrame:
    groups = judged.groupby(["category", "k", "estimator"], sort=False)
    means = groups[["error", "bias", "coverage", "half_width", "dropped"]].mean()
    return means.assign(worth=groups["worth"].median(), places=groups.size()).reset_index()


def _shown(summary: pd.DataFrame) -> pd.DataFrame:
    return _points(summary, "error", "bias", "half_width")


def _points(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    scaled = {name: 100 * table[name] for name in columns}
    return table.assign(**scaled).rename(columns=_NAMES)


def _stops(stops: pd.DataFrame) -> pd.DataFrame:
    columns = ["labels", "coverage", "labels_corrected", "corrected"]
    return stops.groupby(["category", "wanted"])[columns].mean().reset_index()


def _of_twenty(judged: pd.DataFrame) -> pd.DataFrame:
    """Show one row a place: the combined estimate with twenty labels."""
    chosen = judged[(judged["k"] == 20) & (judged["estimator"] == "combined")]
    columns = ["place", "category", "n_images", "error", "bias", "coverage", "half_width", "worth"]
    return _points(chosen[columns], "error", "bias", "half_width")


def _figure(summary: pd.DataFrame) -> Figure:
    drawn = summary.assign(line=summary["category"] + ": " + summary["estimator"])
    ax = plot_curves(drawn, x="k", y="error", group="line", scale=100.0)
    integer_steps(ax, drawn["k"])
    ax.set(xlabel="labelled images", ylabel="mean absolute error (points of 100)")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize=8, ncols=2)
    return figure_of(ax)
