"""A fit as text, page and JSON: the accuracy on labelled images, and the error on what it left out.

Pages of estimates show the same of an estimator that was fitted in the same process.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from autoeval.estimation.calibrating import CALIBRATED, UNCALIBRATED, calibration_error
from autoeval.estimation.protocol import BASELINE, FitResult, worse_than_constant
from autoeval.model.pair_table import CATEGORY, category_weights
from autoeval.model.regression import DEFAULT_METHOD, Regression
from autoeval.report.page import Page
from autoeval.report.text import Table, explained, result_text, warning_texts
from autoeval.sites.site import FEWEST_BOXES, FEWEST_IMAGES
from autoeval.targets import Target, find_target
from autoeval.version import __version__
from autoeval.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.report.scatter import Fitted, ScatterChart

NOTHING: Mapping[str, str] = MappingProxyType({})
SAME = 0.0005  # of accuracies that are printed as one number, or nearly
PAIR, COUNTS = ("category", "source"), ("n_images", "n_boxes")
LIBRARIES = ("torch", "mmdet", "mmengine", "mmcv", "numpy", "albumentations")
STAGES = {
    "read_s": "waiting for images (decoding, transforms)",
    "network_s": "network",
    "scores_s": "matching and scores",
    "map_s": "mAP",
}
MISSING = {
    "agreement and box stability under dropout": "need the network",
    "energy, PCR, Fréchet distance": "need logits, suppressed boxes or features of the network",
    "view consistency": "needs passes over altered images",
}
ONE_SET = (
    "One labelled set shows how much categories vary, not how much sites do: the intervals take "
    "that from what was measured on a panel of detectors and sites (docs/results/generality.md). "
    "The set should hold no image that the detector was trained on: its accuracy there is too high."
)
BY_CATEGORY = (
    "The groups of this cross-validation are categories of one site: errors at other sites are "
    "larger (docs/results/predictions.md)."
)
ABOUT_R2 = (
    "R² in this table is 1 - (mean squared error of the held-out estimates) / (variance of the "
    "true values), on the sources' own images; it is negative where their mean has less error. "
    "‘score R²’ and the R² in the plot are squared correlations over the sample sets: they measure "
    "how linear the relation is, not the error of the estimates."
)


def fit_text(estimator: AccuracyEstimator, *, verbose: bool = True) -> str:
    """Return what the terminal shows of a fit.

    verbose: all warnings, and the error on each source that was left out.
    """
    fit = estimator.fit_result_
    summary = fit_summary(estimator.regression_, fit)
    heads = [fit_head(summary), evaluation_head(fit, known_error(estimator))]
    details = [*evaluation_details(estimator), pairs_text(estimator.regression_.rows_)]
    return result_text(heads, fit_warnings(fit), details, verbose=verbose)


def fit_values(
    estimator: AccuracyEstimator, *, detector: str = "", about: Mapping[str, str] = NOTHING
) -> dict[str, Any]:
    """Return the content of ``result.json``; the parameters are those of `fit_page`."""
    fit = estimator.fit_result_
    sets = None if fit is None else fit.labelled_sets
    return {
        "estimate": None,
        "labelled_sets": [] if sets is None else sets.to_dict("records"),
        "unreadable": "",
        **warning_texts(fit.warnings if fit else ()),
        **evaluation_values(fit),
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
        What the page is about; see `autoeval.report.text.about`.
    """
    from autoeval.report.scatter import add_scatter, chart_of_panel

    page, fit = Page(title), estimator.fit_result_
    add_summary(page, fit_summary(estimator.regression_, fit))
    add_glance(page, fit)
    add_fit_warnings(page, fit)
    chart = chart_of_panel(estimator)
    add_scatter(page, chart)
    add_evaluation(page, estimator)
    add_default_run(page, estimator, chart, detector)
    page.add_about(about)
    return page


@dataclass(frozen=True)
class FitSummary:
    """The mean accuracy on labelled images, and the half-width of intervals at new sites like them.

    Both in [0, 1]; the second is NaN where no estimate would be given.

    coco: what pycocotools prints, mean over the labelled sets; NaN where it is not known.
    n_labelled_categories: categories with a label, of all sets.
    everywhere: whether categories are evaluated on all images, not on those that hold them.
    """

    target: Target
    accuracy: float
    half_width: float
    level: float
    n_sets: int
    n_categories: int
    coco: float = float("nan")
    n_labelled_categories: int = 0
    everywhere: bool = True

    @property
    def differs(self) -> bool:
        """Whether the accuracy that is fitted is not the one that pycocotools prints."""
        return abs(self.coco - self.accuracy) >= SAME


def fit_summary(regression: Regression, fit: FitResult | None = None) -> FitSummary:
    """Predict each labelled set as if it were a new site; the median half-width counts.

    fit: where it was fitted in this process.
    """
    rows, name = regression.rows_, regression.target
    accuracies, halves = [], []
    for _, site in rows.groupby("source" if "source" in rows else "group", sort=False):
        accuracies.append(category_weights(site, name) @ site[name].to_numpy(np.float64))
        interval = regression.predict_mean(site)
        halves.append((interval.upper - interval.lower) / 2)
    bounded = [half for half in halves if half == half]
    sets = None if fit is None else fit.labelled_sets
    known = sets is not None and name in sets
    return FitSummary(
        find_target(name),
        float(np.mean(accuracies)),
        float(np.median(bounded)) if bounded else float("nan"),
        regression.level,
        len(accuracies),
        len(regression.categories_),
        float(sets[name].mean()) if sets is not None and known else float("nan"),
        0 if sets is None else int(sets["n_categories"].sum()),
        not ("kind" in rows and (rows["kind"] == CATEGORY).any()),
    )


def fit_head(summary: FitSummary) -> str:
    """Return the accuracy on the labelled images, and the interval to expect at a new site."""
    target, lines = summary.target, []
    if summary.coco == summary.coco:
        n = counted(summary.n_labelled_categories, "category", "categories")
        what = f"all images, mean of {n} with a label"
        if summary.n_sets > 1:
            what = f"all images; mean of {summary.n_sets} labelled sets"
        printed = f"{target.text(summary.coco)} (as pycocotools prints it: {what})"
        lines.append(f"{target.name} on the labelled images: {printed}")
        if summary.differs:
            lines.append(f"  fitted are {target.text(summary.accuracy)}: {_fitted_on(summary)}")
    if summary.half_width == summary.half_width:
        lines.append(
            f"interval at a new site: about ±{target.text(summary.half_width)}; to act on less, "
            "label twenty images there (`autoeval label plan`)"
        )
    return "\n".join(lines)


def _fitted_on(summary: FitSummary) -> str:
    """Say how the accuracy that is fitted differs from what pycocotools prints."""
    categories = counted(summary.n_categories, "category", "categories")
    text = f"{categories} with {FEWEST_BOXES} labelled boxes in {FEWEST_IMAGES} images or more"
    return text if summary.everywhere else f"{text}, each on the images that hold it"


def add_summary(page: Page, summary: FitSummary) -> None:
    """Add the accuracy on the labelled images, and the interval to expect at a new site, large."""
    target = summary.target
    sets = counted(summary.n_sets, "labelled set")
    categories = counted(summary.n_categories, "category", "categories")
    note = f"mean of {sets}, {categories}, in {target.unit}"
    known = summary.coco == summary.coco
    if known:
        about = "as pycocotools prints it: all images, all categories with a label"
        page.add_headline(f"{target.name} on labelled images", target.text(summary.coco), about)
        note = f"{_fitted_on(summary)}; {note}"
    if summary.differs or not known:
        page.add_headline(f"{target.name} that is fitted", target.text(summary.accuracy), note)
    if summary.half_width == summary.half_width:
        half = f"±{target.text(summary.half_width)}"
        note = f"{summary.level:.0%} interval where boxes score as on the labelled images"
    else:
        half, note = "none", "it would be too wide where boxes score as on the labelled images"
    page.add_headline("Interval at a new site", half, note)


def fit_warnings(fit: FitResult | None) -> list[str]:
    """Return the warnings of a fit, and of its evaluation."""
    if fit is None:
        return []
    evaluated = worse_than_constant(fit.cross_validation, by_category=fit.by_category)
    one_site = [BY_CATEGORY] if fit.cross_validation and fit.by_category else []
    return [*evaluated, *fit.warnings, *one_site]


def add_fit_warnings(page: Page, fit: FitResult | None) -> None:
    """Add the warnings of a fit, that of its evaluation first."""
    if fit is None:
        return
    evaluated = worse_than_constant(fit.cross_validation, by_category=fit.by_category)
    page.add_warnings(evaluated)
    add_warnings_of_fit(page, [w for w in fit.warnings if w not in evaluated])


def add_warnings_of_fit(page: Page, warnings: Iterable[str], unreadable: str = "") -> None:
    """Add warnings of the fit alone, and names and reasons of images that could not be read."""
    lines = [*warnings, *filter(None, [unreadable])]
    page.add_warnings(lines, title="Of the fit, and images that were not read")


def left_out(fit: FitResult) -> str:
    """Name what the evaluation left out of the fit in turn."""
    return "categories of the same images" if fit.by_category else "sources"


def evaluation_head(fit: FitResult | None, why_none: str = "") -> str:
    """Return the error on what was left out of the fit, and how often intervals hold.

    why_none: what is known where nothing was left out.
    """
    if fit is None or not fit.cross_validation:
        return why_none
    results = fit.cross_validation
    used, last = results[0].summary(), results[-1].summary()
    target = find_target(results[0].target)
    head = (
        f"MAE on {len(results[0].per_source)} held-out {left_out(fit)}: "
        f"{target.text(used['mean_absolute_error'])} ({target.name}, in {target.unit})"
    )
    if last["method"] == BASELINE != used["method"]:
        constant = target.text(last["mean_absolute_error"])
        head += f"; with the mean of the others as the estimate: {constant}"
    if used["coverage"] != used["coverage"]:
        return head
    width = target.text(used["width"])
    return f"{head}\nintervals: {used['coverage']:.0%} hold the true value, mean width {width}"


def add_glance(page: Page, fit: FitResult | None) -> None:
    """Add the error on what was left out of the fit, large; nothing where that is not known."""
    if fit is None or not fit.cross_validation:
        return
    results, what = fit.cross_validation, left_out(fit)
    used, last = results[0].summary(), results[-1].summary()
    target = find_target(results[0].target)
    error, baseline = (target.text(s["mean_absolute_error"]) for s in (used, last))
    page.add_headline(f"MAE on held-out {what}", error, f"{target.unit}, by ‘{used['method']}’")
    if last["method"] == BASELINE != used["method"]:
        page.add_headline("MAE of the baseline", baseline, f"the mean of the other {what}")
    if used["coverage"] == used["coverage"]:
        n, width = len(results[0].per_source), target.text(used["width"])
        note = f"of {n} held-out {what}; mean width {width}"
        page.add_headline("True value in the interval", f"{used['coverage']:.0%}", note)


def known_error(estimator: Fitted) -> str:
    """State what a saved estimator knows of its error on a new source."""
    regression = estimator.regression_
    n_sources = len(regression.sources_)
    if not len(regression.residuals_):
        return (
            f"{counted(n_sources, 'source')}: too few to leave one out, so the error on a new "
            "source is not known."
        )
    target = find_target(estimator.target)
    error = target.text(float(regression.residuals_.mean()))
    return (
        f"Mean absolute error on the {n_sources} sources when each was left out: {error} "
        f"({target.unit}); the report of the fit compares it with other methods."
    )


def evaluation_values(fit: FitResult | None) -> dict[str, Any]:
    """Return the evaluation of a fit as JSON has it."""
    results = fit.cross_validation if fit else ()
    values: dict[str, Any] = {
        "held_out": [result.summary() for result in results],
        "per_source": {r.method: r.per_source.to_dict("records") for r in results},
    }
    if fit is not None and fit.reliability is not None:
        values["calibration_error"] = calibration_errors(fit.reliability)
    return values


def evaluation_details(estimator: Fitted) -> list[str]:
    """Return the error on each source that was left out, and how well boxes are calibrated."""
    fit = estimator.fit_result_
    if fit is None or not fit.cross_validation:
        details = [known_error(estimator)]
    else:
        target = find_target(fit.cross_validation[0].target)
        details = [
            f"Cross-validation, one group of sources held out ({target.name}, in {target.unit}):",
            held_out_table(fit).text(),
            methods_table(fit).text(),
        ]
    if fit is not None and fit.reliability is not None:
        details.append(reliability_text(fit.reliability))
    return details


def add_evaluation(page: Page, estimator: Fitted) -> None:
    """Add the error on each source that was left out, and how well boxes are calibrated."""
    fit = estimator.fit_result_
    by_category = fit is not None and fit.by_category
    page.add_heading(f"Error on {'categories' if by_category else 'sources'} that were left out")
    if fit is None or not fit.cross_validation:
        page.add_text(known_error(estimator))
    else:
        if by_category:
            page.add_warnings([BY_CATEGORY])
        unit = find_target(fit.cross_validation[0].target).unit
        page.add_table(methods_table(fit), f"Methods over all held-out sources, in {unit}")
        page.add_text(ABOUT_R2)
        page.add_table(held_out_table(fit), f"Estimates of held-out sources, in {unit}", n_footer=1)
    if fit is not None and fit.reliability is not None:
        add_reliability(page, fit.reliability)


def held_out_table(fit: FitResult) -> Table:
    """Lay out each source that was left out, one row a source, methods side by side."""
    import pandas as pd

    results = fit.cross_validation
    target = find_target(results[0].target)
    table = pd.concat([r.per_source.assign(method=r.method) for r in results])
    shown = source_rows({r.method: r.per_source for r in results}, target)
    return Table("held_out", table, shown, formats_of(shown, target))


def methods_table(fit: FitResult) -> Table:
    """Lay out the methods that were evaluated, one row each, that in use first."""
    import pandas as pd

    summaries = [result.summary() for result in fit.cross_validation]
    target = find_target(fit.cross_validation[0].target)
    shown = method_rows(summaries, target)
    return Table("methods", pd.DataFrame(summaries), shown, formats_of(shown, target))


def source_rows(per_source: Mapping[str, pd.DataFrame], target: Target) -> pd.DataFrame:
    """Lay methods side by side, one row a source, in the unit of the target."""
    import pandas as pd

    first, scale = next(iter(per_source.values())), target.scale
    table = first[["source", "n_images"]].rename(columns={"n_images": "images"})
    table[f"true {target.name}"] = scale * first["true"]
    for method, results in per_source.items():
        table[method] = scale * results["estimate"]
        table[f"error {method}"] = scale * results["error"]
    interval = [
        f"{target.text(low)} to {target.text(high)}" if low == low else None
        for low, high in zip(first["lower"], first["upper"], strict=True)
    ]
    table.insert(4, "interval", interval)
    errors = {name: table[name].mean() for name in table if name.startswith("error ")}
    return pd.concat([table, pd.DataFrame([{"source": "mean", **errors}])], ignore_index=True)


def method_rows(summaries: Sequence[Mapping[str, Any]], target: Target) -> pd.DataFrame:
    """Lay out the summaries of methods, one row each, in the unit of the target.

    Where a method has no estimate of some source, and the constant's stands there, the last column
    counts those.
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


def formats_of(table: pd.DataFrame, target: Target) -> dict[str, str]:
    """Return how to print each column of `source_rows` or `method_rows`."""
    exact = {"± repeats": "{:.2f}", "R²": "{:.2f}", "ρ": "{:.2f}"}
    exact |= {"score R²": "{:.2f}", "score ρ": "{:.2f}", "coverage %": "{:.0f}", "images": "{:.0f}"}
    exact["no estimate"] = "{:.0f}"
    text = ("source", "method", "interval")
    return {name: "{}" if name in text else exact.get(name, target.format) for name in table}


def calibration_errors(bins: pd.DataFrame) -> dict[str, float]:
    """Return the expected calibration error of each scale of `reliability.reliability`."""
    return {str(scale): calibration_error(rows) for scale, rows in bins.groupby("scale")}


def reliability_text(bins: pd.DataFrame) -> str:
    """Return the expected calibration errors in a sentence."""
    errors = calibration_errors(bins)
    n = int(bins.loc[bins["scale"] == CALIBRATED, "n"].sum())
    return (
        f"Expected calibration error on {n} boxes: {errors[CALIBRATED]:.3f} calibrated, "
        f"{errors[UNCALIBRATED]:.3f} if confidences were taken for probabilities."
    )


def add_reliability(page: Page, bins: pd.DataFrame) -> None:
    """Add the reliability diagram: whether boxes are right as often as predicted."""
    from autoeval.report.plots import plot_curves

    page.add_heading("Are boxes right as often as predicted?")
    band = ("lower", "upper")
    ax = plot_curves(bins, x="predicted", y="observed", group="scale", band=band)
    ax.plot([0, 1], [0, 1], ls="--", lw=1, color="0.5", zorder=0)
    ax.set(xlabel="predicted probability", ylabel="share of true positives at IoU .5")
    ax.set(xlim=(-0.02, 1.03), ylim=(-0.02, 1.03))
    page.add_figure(
        ax,
        "Share of boxes that are true positives at IoU .5, by the probability that was "
        "predicted of them, with 90 % intervals; on the dashed line both are equal. "
        "‘calibrated’: by calibrations that have not seen the labels of these images. "
        "‘confidence itself’: if confidences were taken for probabilities.",
        name="reliability",
    )
    page.add_text(reliability_text(bins))
    shown = bins.drop(columns=["lower", "upper"]).rename(columns={"n": "boxes"})
    formats = {"predicted": "{:.3f}", "observed": "{:.3f}"}
    table = Table("reliability", bins, shown, formats)
    page.add_table(table, "Labelled boxes by predicted probability", folded=True)


def pairs_text(rows: pd.DataFrame) -> str:
    """Return how many labelled pairs there are, and what those of one set cannot show."""
    groups = rows["group"].nunique()
    words = f"{counted(len(rows), 'pair')} of site and category, of {counted(groups, 'group')}."
    return f"{words} {ONE_SET}" if groups == 1 else words


def add_default_run(
    page: Page,
    estimator: AccuracyEstimator,
    chart: ScatterChart,
    detector: str = "",
    site_row: Mapping[str, Any] | None = None,
) -> None:
    """Add the labelled pairs that the default was fitted on, and what was run.

    site_row: seconds and images of the pass over a site; see `time_table`.
    """
    import pandas as pd

    target, regression = find_target(estimator.target), estimator.regression_
    features = regression.features_
    names = [n for n in (*PAIR, target.name, *COUNTS, *features) if n in regression.rows_]
    pairs = regression.rows_[names].sort_values(target.name, ascending=False, ignore_index=True)
    shown = pairs.assign(**{target.name: target.scale * pairs[target.name]})
    formats = dict.fromkeys(features, "{:.3f}") | {target.name: target.format}
    formats |= {name: "{:.0f}" for name in COUNTS if name in pairs}
    page.add_heading("What it was fitted on")
    page.add_table(
        Table("pairs", pairs, shown, formats),
        f"Every category is a source; {target.name} in {target.unit}. {explained(names)}",
    )
    if "boxes" in estimator.context_ and "detector" not in estimator.context_:
        table = pd.DataFrame({"score": list(MISSING), "why": list(MISSING.values())})
        caption = "Scores that predictions cannot give"
        page.add_table(Table("missing_scores", table), caption, sortable=False)
    add_run(page, run_facts(estimator, DEFAULT_METHOD, detector), chart, estimator, site_row)


def run_facts(
    estimator: Fitted, method: str, detector: str, more: Mapping[str, str] = NOTHING
) -> dict[str, str]:
    """Return in words what an estimator was made with, as far as it remembers.

    The detector's name may be empty; `more` facts are of its method.
    """
    from autoeval.detectors.fingerprint import fingerprint

    versions = {"autoeval": __version__, "python": platform.python_version()}
    versions |= {
        name: getattr(sys.modules[name], "__version__", "")
        for name in LIBRARIES
        if name in sys.modules
    }
    n_sets, made_with = len({*estimator.regression_.table_["sample_set"]}), estimator.context_
    of_detector, boxes = made_with.get("detector"), made_with.get("boxes")
    rows = {
        "detector": detector or ("" if of_detector else "its predictions"),
        "detector fingerprint": fingerprint(of_detector) if of_detector else "",
        "task": made_with.get("task", {}).get("name", ""),
        "method": f"{method}, estimating {estimator.target}",
        "scores": ", ".join(estimator.regression_.training_range_),
        "sources": ", ".join(map(str, estimator.regression_.sources_)),
        "sample sets": f"{n_sets}, with their recipes' ids in the last table",
        "lowest score in the fit": f"{boxes['floor']:.3g}" if boxes else "",
        "seed": str(made_with["pass"]["seed"]) if "pass" in made_with else "",
        **more,
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items() if version),
    }
    return {name: value for name, value in rows.items() if value}


def add_run(
    page: Page,
    facts: Mapping[str, str],
    chart: ScatterChart,
    estimator: Fitted,
    site_row: Mapping[str, Any] | None = None,
) -> None:
    """Add settings, time spent, and every sample set with its recipe's id."""
    import pandas as pd

    page.add_heading("What was run")
    table = pd.DataFrame({"what": list(facts), "value": list(facts.values())})
    page.add_table(Table("what_was_run", table), sortable=False)
    fit = estimator.fit_result_
    times = time_table(fit.table if fit else None, site_row)
    if times is not None:
        formats = {name: "{:.1f}" for name in times if name != "stage"}
        spent = Table("times", times, formats=formats)
        page.add_table(spent, "Where the time went", sortable=False, n_footer=1)
    target, score, points = chart.target, chart.scores[0], chart.points
    true = f"true {target.name}"
    shown = points[["source", "sample_set", "transforms", "n_images", score]].assign(
        **{true: target.scale * points[target.name]},
        transforms=points["transforms"].replace("", "its own images"),
    )
    shown = shown.rename(columns={"sample_set": "recipe", "n_images": "images"})
    formats = {score: "{:.4g}", "images": "{:.0f}", true: target.format}
    caption = f"All {len(points)} sample sets with the ids of their recipes"
    page.add_table(Table("sample_sets", points, shown, formats), caption, folded=True)


def time_table(
    fitted: pd.DataFrame | None, unlabelled: Mapping[str, Any] | None
) -> pd.DataFrame | None:
    """Add up the seconds of each stage of the pass; None where they are not known."""
    import pandas as pd

    passes: dict[str, Mapping[str, Any]] = {}
    if fitted is not None and set(STAGES) <= set(fitted):
        passes["sample sets"] = fitted.drop_duplicates(["source", "sample_set"])[
            [*STAGES, "n_images"]
        ].sum()
    if unlabelled is not None and set(STAGES) <= set(unlabelled):
        passes["unlabelled images"] = unlabelled
    if not passes:
        return None
    table = pd.DataFrame({"stage": [*STAGES.values(), "all"]})
    for name, spent in passes.items():
        seconds = [float(spent[stage]) for stage in STAGES]
        seconds.append(sum(seconds))
        table[f"{name}, s"] = seconds
        table[f"{name}, ms an image"] = [1000 * s / spent["n_images"] for s in seconds]
    return table
