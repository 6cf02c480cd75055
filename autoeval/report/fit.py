"""A fit as text, page and JSON: the accuracy on labelled images, and the error on what it left out.

Pages of estimates show the same of an estimator that was fitted in the same process.
"""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from autoeval.accuracy.measures import Target, find_target
from autoeval.estimation.calibrating import CALIBRATED, UNCALIBRATED, calibration_error
from autoeval.estimation.protocol import FitResult, HeldOutErrors
from autoeval.model.pair_table import CATEGORY, category_weights
from autoeval.model.regression import DEFAULT_METHOD
from autoeval.report.page import (
    NOTHING,
    Block,
    Chart,
    Facts,
    Format,
    Heading,
    Headline,
    Page,
    Table,
    Text,
    Warnings,
    explained,
    figures_text,
    notice_values,
    result_text,
)
from autoeval.sites.site import FEWEST_BOXES, FEWEST_IMAGES
from autoeval.version import __version__
from autoeval.words import Notice, counted

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.report.scatter import Fitted

SAME = 0.0005  # of accuracies that are printed as one number, or nearly
PAIR = ("category", "source")
COUNTS = ("n_images", "n_boxes")
LIBRARIES = ("torch", "mmdet", "mmengine", "mmcv", "numpy", "albumentations")
STAGES = {
    "read_s": "waiting for images (decoding, transforms)",
    "network_s": "network",
    "scores_s": "matching and scores",
    "map_s": "mAP",
}
OF_FIT = "Of the fit, and images that were not read"
ONE_SET = (
    "One labelled set shows how much categories vary, not how much sites do: the intervals take "
    "that from what was measured on a panel of detectors and sites (docs/results/generality.md). "
    "The set should hold no image that the detector was trained on: its accuracy there is too high."
)
BY_CATEGORY = Notice(
    "errors-by-category",
    "What this cross-validation leaves out are categories of the same sites: errors at other sites "
    "are larger (docs/results/predictions.md).",
)
ABOUT_R2 = (
    "R² in this table is 1 - (mean squared error of the held-out estimates) / (variance of the "
    "true values), on the sources' own images; it is negative where their mean has less error. "
    "‘score R²’ and the R² in the plot are squared correlations over the sample sets: they measure "
    "how linear the relation is, not the error of the estimates."
)
RELIABILITY = (
    "Share of boxes that are true positives at IoU .5, by the probability that was predicted of "
    "them, with 90 % intervals; on the dashed line both are equal. ‘calibrated’: by calibrations "
    "that have not seen the labels of these images. ‘confidence itself’: if confidences were taken "
    "for probabilities."
)
LESS = "to act on less, label twenty images there: `autoeval label plan`"
NOT_EVALUATED: Mapping[str, Any] = MappingProxyType({"held_out": [], "per_source": {}})
METHOD_FORMATS = {
    **dict.fromkeys(("± repeats", "R²", "ρ", "score R²", "score ρ"), "{:.2f}"),
    **dict.fromkeys(("coverage %", "no estimate"), "{:.0f}"),
}


def fit_text(estimator: AccuracyEstimator, *, verbose: bool = True) -> str:
    """Return what the terminal shows of a fit.

    Parameters
    ----------
    estimator : AccuracyEstimator
        Fitted in this process, or loaded.
    verbose : bool
        All warnings, and the error on each site that was left out.
    """
    fit, held_out = estimator.fit_result_, estimator.held_out_
    errors = figures_text(error_figures(held_out)) if held_out else known_error(estimator)
    heads = [figures_text(fit_figures(estimator)), errors]
    warnings = [*(fit.warnings if fit else ())]
    warnings += [BY_CATEGORY] if held_out and held_out.by_category else []
    details = [*evaluation_details(estimator), pairs_text(estimator)] if verbose else []
    return result_text(heads, warnings, details, verbose=verbose)


def fit_values(
    estimator: AccuracyEstimator, *, detector: str = "", about: Mapping[str, str] = NOTHING
) -> dict[str, Any]:
    """Return the content of ``result.json``.

    Parameters
    ----------
    estimator : AccuracyEstimator
        Fitted in this process, or loaded.
    detector : str
        Its name, among the ``facts``.
    about : mapping of str to str
        What it is about; see `autoeval.report.page.about`.
    """
    fit = estimator.fit_result_
    sets = None if fit is None else fit.labelled_sets
    held_out, warnings = estimator.held_out_, [*(fit.warnings if fit else ())]
    warnings += [BY_CATEGORY] if held_out and held_out.by_category else []
    return {
        "estimate": None,
        "labelled_sets": [] if sets is None else sets.to_dict("records"),
        "unreadable": "",
        **notice_values(warnings),
        **(evaluation_values(fit) if fit else NOT_EVALUATED),
        "facts": run_facts(estimator, DEFAULT_METHOD, detector),
        "about": dict(about),
    }


def fit_page(
    title: str,
    estimator: AccuracyEstimator,
    *,
    detector: str = "",
    about: Mapping[str, str] = NOTHING,
) -> Page:
    """Make the page of a fit.

    Parameters
    ----------
    title : str
    estimator : AccuracyEstimator
        Fitted. Where it was fitted in this process, its evaluation is shown.
    detector : str
        Its name, shown among what was run.
    about : mapping of str to str, optional
        What the page is about; see `autoeval.report.page.about`.
    """
    import pandas as pd

    from autoeval.report.scatter import chart_of_panel

    fit, regression = estimator.fit_result_, estimator.regression_
    target = find_target(estimator.target)
    names = (*PAIR, target.name, *COUNTS, *regression.features_)
    columns = {name: regression.pairs_[name] for name in names if name in regression.pairs_}
    pairs = pd.DataFrame(columns).sort_values(target.name, ascending=False, ignore_index=True)
    formats: dict[str, Format] = dict.fromkeys(regression.features_, "{:.3f}")
    formats |= {target.name: target.text, **dict.fromkeys(COUNTS, "{:.0f}")}
    caption = (
        f"Every category counts as a site; {target.name} in {target.unit}. {explained(columns)}"
    )
    return Page(
        title,
        [
            *fit_figures(estimator),
            *(error_figures(estimator.held_out_) if estimator.held_out_ else ()),
            Warnings(fit.warnings if fit else ()),
            Heading(f"{target.name} against the scores"),
            chart_of_panel(estimator).block(),
            *evaluation_blocks(estimator),
            Heading("What it was fitted on"),
            Table("pairs", pairs, None, formats, caption),
            Heading("What was run"),
            Facts(run_facts(estimator, DEFAULT_METHOD, detector)),
            *(time_table(fit, None) if fit and fit.seed_sets else ()),  # detectors of a task ran
            Facts(about, "What this page is about"),
        ],
    )


def fit_figures(estimator: AccuracyEstimator) -> list[Headline]:
    """Return the accuracy on labelled images, and the half-width of intervals at sites like them.

    The accuracy as pycocotools prints it, the mean over the labelled sets, where it is known; that
    which was fitted where it is another. For the half-width each labelled set is predicted as if it
    were a new site; the median counts.

    Parameters
    ----------
    estimator : AccuracyEstimator
        Fitted in this process, or loaded.

    Returns
    -------
    list of Headline
        Two or three, in the unit of the target.
    """
    import pandas as pd

    fit, regression = estimator.fit_result_, estimator.regression_
    rows, target = pd.DataFrame(regression.pairs_), find_target(estimator.target)
    accuracies, halves = [], []
    for _, site in rows.groupby("source" if "source" in rows else "group", sort=False):
        values = site[target.name].to_numpy(np.float64)
        accuracies.append(category_weights(site, target.name) @ values)
        interval = regression.predict_mean(site)
        halves.append((interval.upper - interval.lower) / 2)
    fitted, n_sets = float(np.mean(accuracies)), counted(len(accuracies), "labelled set")
    n_fitted = counted(len(regression.categories_), "category", "categories")
    figures, printed = [], math.nan
    sets = None if fit is None else fit.labelled_sets
    if sets is not None and target.name in sets:
        printed = sets[target.name].mean()
        n = counted(int(sets["n_categories"].sum()), "category", "categories")
        scope = f"mean of {n} with a label" if len(sets) == 1 else f"mean of {n_sets}"
        note = f"as pycocotools prints it: all images, {scope}"
        figures.append(
            Headline(f"{target.name} on the labelled images", target.text(printed), note)
        )
    if not abs(printed - fitted) < SAME:
        note = f"{n_fitted} with {FEWEST_BOXES} labelled boxes in {FEWEST_IMAGES} images or more"
        if "kind" in rows and (rows["kind"] == CATEGORY).any():
            note += ", each on the images that hold it"
        note += f"; mean of {n_sets}" if len(accuracies) > 1 else ""
        figures.append(Headline(f"{target.name} that is fitted", target.text(fitted), note))
    half, note = "none", "it would be too wide where boxes score as on the labelled images"
    if finite_halves := [half for half in halves if not math.isnan(half)]:
        half = f"±{target.text(float(np.median(finite_halves)))}"
        note = (
            f"{regression.level:.0%} interval where boxes score as on the labelled images; {LESS}"
        )
    return [*figures, Headline("Interval at a new site", half, note)]


def error_figures(errors: HeldOutErrors) -> list[Headline]:
    """Return the error on what was left out of the fit, and the coverage of intervals.

    Parameters
    ----------
    errors : HeldOutErrors
        Baseline and coverage may be NaN, and are then left out.
    """
    target = find_target(errors.target)
    units = "categories of the same images" if errors.by_category else "sites"
    held_out = f"{errors.n} held-out {units}"
    error = target.text(errors.mean_absolute_error)
    figures = [Headline(f"MAE on {held_out}", error, f"{target.name}, in {target.unit}")]
    if not math.isnan(errors.baseline):
        note = "the mean of the others as the estimate of each"
        figures.append(Headline("MAE of the baseline", target.text(errors.baseline), note))
    if not math.isnan(errors.coverage):
        note = f"of {held_out}; mean width {target.text(errors.width)}"
        figures.append(Headline("True value in the interval", f"{errors.coverage:.0%}", note))
    return figures


def known_error(estimator: Fitted) -> str:
    """State what an estimator that was not evaluated knows of its error on a new site.

    Parameters
    ----------
    estimator : Fitted
        Loaded, or fitted without an evaluation.
    """
    regression = estimator.regression_
    n_sites = len(regression.sites_)
    known = np.isfinite(regression.residuals_)
    if not known.any():
        return (
            f"{counted(n_sites, 'site')}: too few to leave one out, so the error on a new "
            "site is not known."
        )
    target = find_target(estimator.target)
    error = target.text(float(regression.residuals_[known].mean()))
    without = int((~known).sum())
    return (
        f"Mean absolute error on the {n_sites - without} sites when each was left out: {error} "
        f"({target.unit}); the report of the fit compares it with other methods."
    )


def evaluation_values(fit: FitResult) -> dict[str, Any]:
    """Return the evaluation of a fit as JSON has it.

    Parameters
    ----------
    fit : FitResult
        With or without a cross-validation.

    Returns
    -------
    dict
        The keys of `NOT_EVALUATED`, ``held_out`` (a summary for each method) and ``per_source``
        (rows by method), and ``calibration_error`` by scale where boxes were calibrated.
    """
    values: dict[str, Any] = {
        "held_out": [result.summary() for result in fit.cross_validation],
        "per_source": {r.method: r.per_source.to_dict("records") for r in fit.cross_validation},
    }
    if fit.reliability is not None:
        scales = fit.reliability.groupby("scale")
        values["calibration_error"] = {scale: calibration_error(rows) for scale, rows in scales}
    return values


def evaluation_details(estimator: Fitted) -> list[str]:
    """Return the error on each site that was left out, and the calibration error, as text.

    Parameters
    ----------
    estimator : Fitted
        Fitted or loaded.
    """
    fit, errors = estimator.fit_result_, estimator.held_out_
    if fit is None or not fit.cross_validation:
        details = [figures_text(error_figures(errors)) if errors else known_error(estimator)]
    else:
        target = find_target(estimator.target)
        methods, held_out = held_out_tables(fit)
        head = f"Cross-validation, one group of sites held out ({target.name}, in {target.unit}):"
        details = [head, held_out.text(), methods.text()]
    if fit is not None and fit.reliability is not None:
        details.append(reliability_text(fit.reliability))
    return details


def evaluation_blocks(estimator: Fitted) -> list[Block]:
    """Return the error on each site that was left out, and the reliability diagram.

    Parameters
    ----------
    estimator : Fitted
        Fitted or loaded.
    """
    fit, errors = estimator.fit_result_, estimator.held_out_
    by_category = errors is not None and errors.by_category
    left_out = "categories" if by_category else "sites"
    blocks: list[Block] = [
        Heading(f"Error on {left_out} that were left out"),
        Warnings([BY_CATEGORY] if by_category else []),
    ]
    if fit is not None and fit.cross_validation:
        methods, held_out = held_out_tables(fit)
        blocks += [methods, Text(ABOUT_R2), held_out]
    else:
        blocks += error_figures(errors) if errors else [Text(known_error(estimator))]
    if fit is None or fit.reliability is None:
        return blocks
    from matplotlib.figure import Figure

    bins = fit.reliability
    ax = Figure(figsize=(7, 4.4), layout="constrained").subplots()
    ax.plot([0, 1], [0, 1], ls="--", lw=1, color="0.5")
    for scale, rows in bins.groupby("scale", sort=False):
        (line,) = ax.plot(rows["predicted"], rows["observed"], marker="o", label=scale)
        ax.vlines(rows["predicted"], rows["lower"], rows["upper"], color=line.get_color())
    ax.set(xlabel="predicted probability", ylabel="share of true positives at IoU .5")
    ax.set(xlim=(-0.02, 1.03), ylim=(-0.02, 1.03))
    ax.legend(loc="upper left", frameon=False)
    shown = bins.drop(columns=["lower", "upper"]).rename(columns={"n": "boxes"})
    formats = dict.fromkeys(("predicted", "observed"), "{:.3f}")
    caption = "Labelled boxes by predicted probability"
    return [
        *blocks,
        Heading("Are boxes right as often as predicted?"),
        Chart(ax, RELIABILITY, name="reliability"),
        Text(reliability_text(bins)),
        Table("reliability", bins, shown, formats, caption, folded=True),
    ]


def held_out_tables(fit: FitResult) -> tuple[Table, Table]:
    """Lay out the methods that were evaluated, and each site that was left out.

    Parameters
    ----------
    fit : FitResult
        With a cross-validation.

    Returns
    -------
    methods : Table
        One row a method, that in use first.
    sites : Table
        One row a site, with the methods side by side; people see it in the unit of the target, with
        the mean errors in the last row.
    """
    import pandas as pd

    results = fit.cross_validation
    summaries = [result.summary() for result in results]
    target, first = find_target(results[0].target), results[0].per_source
    shown = method_rows(summaries, target)
    formats = {name: target.format for name in shown if name != "method"} | METHOD_FORMATS
    units = "categories" if results[0].by_category else "sites"
    caption = f"Methods over all held-out {units}, in {target.unit}"
    methods = Table("methods", pd.DataFrame(summaries), shown, formats, caption)
    shown = first[["source", "n_images"]].rename(columns={"n_images": "images"})
    shown[f"true {target.name}"] = target.scale * first["true"]
    for result in results:
        shown[result.method] = target.scale * result.per_source["estimate"]
        shown[f"error {result.method}"] = target.scale * result.per_source["error"]
    interval = [
        None if math.isnan(low) else f"{target.text(low)} to {target.text(high)}"
        for low, high in zip(first["lower"], first["upper"], strict=True)
    ]
    shown.insert(4, "interval", interval)
    errors = {name: shown[name].mean() for name in shown if name.startswith("error ")}
    shown = pd.concat([shown, pd.DataFrame([{"source": "mean", **errors}])], ignore_index=True)
    table = pd.concat([r.per_source.assign(method=r.method) for r in results])
    formats = {name: target.format for name in shown if name not in ("source", "interval")}
    formats["images"] = "{:.0f}"
    caption = f"Estimates of held-out {units}, in {target.unit}"
    return methods, Table("held_out", table, shown, formats, caption, n_footer=1)


def method_rows(summaries: Sequence[Mapping[str, Any]], target: Target) -> pd.DataFrame:
    """Lay out the summaries of methods, one row each, in the unit of the target.

    Parameters
    ----------
    summaries : sequence of mapping
        See `LeaveOneSourceOut.summary`.
    target : Target
        What is estimated.

    Returns
    -------
    DataFrame
        Where a method has no estimate of some site, and the constant's stands there, the last
        column counts those.
    """
    import pandas as pd

    scale = target.scale
    table = pd.DataFrame(
        {
            "method": [s["method"] for s in summaries],
            "mean abs. error": [scale * s["mean_absolute_error"] for s in summaries],
            "± repeats": [scale * s["std"] for s in summaries],
            "pooled RMSE": [scale * s["pooled_rmse"] for s in summaries],
            "R²": [s["r2"] for s in summaries],
            "ρ": [s["spearman"] for s in summaries],
            "score R²": [s.get("score_r2") for s in summaries],
            "score ρ": [s.get("score_spearman") for s in summaries],
            "coverage %": [100 * s["coverage"] for s in summaries],
            "interval width": [scale * s["width"] for s in summaries],
        }
    ).astype({"score R²": float, "score ρ": float})
    missing = [s.get("missing", 0) for s in summaries]
    return table.assign(**{"no estimate": missing}) if any(missing) else table


def reliability_text(bins: pd.DataFrame) -> str:
    """State the expected calibration errors, of calibrated boxes and of confidences themselves.

    Parameters
    ----------
    bins : DataFrame
        See `autoeval.estimation.calibrating.reliability`.
    """
    errors = {scale: calibration_error(rows) for scale, rows in bins.groupby("scale")}
    n = int(bins.loc[bins["scale"] == CALIBRATED, "n"].sum())
    return (
        f"Expected calibration error on {n} boxes: {errors[CALIBRATED]:.3f} calibrated, "
        f"{errors[UNCALIBRATED]:.3f} if confidences were taken for probabilities."
    )


def pairs_text(estimator: AccuracyEstimator) -> str:
    """Return how many labelled pairs there are, and what those of one set cannot show.

    Parameters
    ----------
    estimator : AccuracyEstimator
        Fitted or loaded.
    """
    names = estimator.regression_.pairs_["group"]
    pairs, groups = counted(len(names), "pair"), len({*names})
    words = f"{pairs} of site and category, of {counted(groups, 'group')}."
    return f"{words} {ONE_SET}" if groups == 1 else words


def run_facts(
    estimator: Fitted, method: str, detector: str, more: Mapping[str, str] = NOTHING
) -> dict[str, str]:
    """Return in words what an estimator was made with, as far as it remembers.

    Parameters
    ----------
    estimator : Fitted
        Fitted or loaded.
    method : str
        By which it estimates.
    detector : str
        Name of the detector; may be empty.
    more : mapping of str to str
        Facts of the method.
    """
    from autoeval.detectors.settings import fingerprint

    versions = {"autoeval": __version__, "python": platform.python_version()}
    versions |= {
        name: getattr(sys.modules[name], "__version__", "")
        for name in LIBRARIES
        if name in sys.modules
    }
    made_with = estimator.context_
    of_detector, looks = made_with.get("detector"), estimator.looks_
    rows = {
        "detector": detector or ("" if of_detector else "its predictions"),
        "detector fingerprint": fingerprint(of_detector) if of_detector else "",
        "task": made_with.get("task", {}).get("name", ""),
        "method": f"{method}, estimating {estimator.target}",
        "scores": ", ".join(estimator.regression_.training_range_),
        "sources": ", ".join(map(str, estimator.regression_.sites_)),
        "lowest score in the fit": f"{looks.floor:.3g}" if looks else "",
        "seed": str(made_with["pass"]["seed"]) if "pass" in made_with else "",
        **more,
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items() if version),
    }
    return {name: value for name, value in rows.items() if value}


def time_table(fit: FitResult | None, unlabelled: Mapping[str, Any] | None) -> list[Table]:
    """Add up the seconds of each stage of the pass; no table where they are not known.

    Parameters
    ----------
    fit : FitResult, optional
        Its table has the seconds of the labelled images.
    unlabelled : mapping, optional
        Seconds and images of the pass over the unlabelled images.
    """
    import pandas as pd

    passes: dict[str, Mapping[str, Any]] = {}
    if fit is not None and set(STAGES) <= set(fit.table):
        passes["sample sets"] = fit.table.drop_duplicates(["source", "sample_set"])[
            [*STAGES, "n_images"]
        ].sum()
    if unlabelled is not None and set(STAGES) <= set(unlabelled):
        passes["unlabelled images"] = unlabelled
    if not passes:
        return []
    table = pd.DataFrame({"stage": [*STAGES.values(), "all"]})
    for name, spent in passes.items():
        seconds = [float(spent[stage]) for stage in STAGES]
        seconds.append(sum(seconds))
        table[f"{name}, s"] = seconds
        table[f"{name}, ms an image"] = [1000 * s / spent["n_images"] for s in seconds]
    formats = {name: "{:.1f}" for name in table.columns[1:]}
    caption = "Where the time went"
    return [Table("times", table, None, formats, caption, sortable=False, n_footer=1)]
