"""An estimate as text, page and JSON, and as files that other tools read."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from autoeval.accuracy.measures import OperatingPoint, find_target
from autoeval.boxes import Boxes, over_threshold
from autoeval.detections import CONFIDENT, SCORE_THR
from autoeval.estimation.estimate import PREDICTIVE, Estimate
from autoeval.estimation.protocol import FitResult
from autoeval.model.mixed_model import WIDEST
from autoeval.model.regression import DEFAULT_METHOD
from autoeval.report.fit import (
    NOT_EVALUATED,
    OF_FIT,
    error_figures,
    evaluation_blocks,
    evaluation_details,
    evaluation_values,
    pairs_text,
    run_facts,
    time_table,
)
from autoeval.report.page import (
    ALL,
    NOTHING,
    Block,
    Facts,
    Heading,
    IntervalHeadline,
    IntervalRow,
    Page,
    Table,
    Text,
    Thumbnails,
    Warnings,
    category_intervals,
    explained,
    figures_text,
    notice_values,
    result_text,
)
from autoeval.result_base import ENDS, JSON_NAMES
from autoeval.runtime.files import write_json, write_table
from autoeval.words import Notice, counted

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.estimation.estimator import AccuracyEstimator

NOT_IN_FIT = "no-box-over-threshold-in-fit"  # code of the warning, which names the target
NOT_DEFINED = "not defined, no box is over the threshold"
WIDEST_TEXT = f"±{100 * WIDEST:.0f} points"
TOO_WIDE = f"no estimate, its interval would be wider than {WIDEST_TEXT}"
NO_SCORE = "no estimate, a score that it reads is not defined on these images"
MOST_CATEGORIES = 8  # on the terminal
LOWEST = 3  # shown of more categories than that
MANY = 12  # categories from which on their table is folded: a plot shows them
COLUMNS = {"name": "category", "value": "estimate"}
WHY = "not in the mean"  # column: why a category is not
SHOWN = 6  # images where the detector is least certain
TIGHTNESS = (
    "How tightly labellers draw boxes at a site is seen by no score: it moves mAP75 and mAP, and "
    "mAP50 least."
)


def estimate_text(
    estimate: Estimate,
    estimator: AccuracyEstimator,
    *,
    verbose: bool = True,
    of_fit: Collection[Notice] = (),
) -> str:
    """Return what the terminal shows: the estimate, its categories, its warnings.

    Parameters
    ----------
    estimate : Estimate
        At a new site.
    estimator : AccuracyEstimator
        That it is by.
    verbose : bool
        All warnings, and what the estimate rests on.
    of_fit : collection of Notice
        Warnings that the fit has printed: without `verbose` they are counted alone.
    """
    fit = estimator.fit_result_
    errors = figures_text(error_figures(fit.held_out)) if fit and fit.held_out else ""
    heads = [estimate_head(estimate), errors]
    details = estimate_details(estimate, estimator) if verbose else []
    warnings = [*estimate.all_warnings(), *(fit.warnings if fit else ())]
    return result_text(heads, warnings, details, verbose=verbose, of_fit=of_fit)


def estimate_values(
    estimate: Estimate,
    estimator: AccuracyEstimator,
    *,
    detector: str = "",
    about: Mapping[str, str] = NOTHING,
) -> dict[str, Any]:
    """Return the content of ``result.json``.

    Parameters
    ----------
    estimate : Estimate
        At a new site.
    estimator : AccuracyEstimator
        That it is by.
    detector : str
        Its name, among the ``facts``.
    about : mapping of str to str
        What it is about; see `autoeval.report.page.about`.

    Returns
    -------
    dict
        ``estimate``, ``unreadable`` (names and reasons), ``warnings``, ``notes`` and
        ``warning_codes`` of the fit that the estimate does not repeat, ``curve`` where there is
        one, the evaluation of the fit, ``facts`` of what was run, and ``about``.
    """
    fit, curve = estimator.fit_result_, site_curve(estimate, estimator)
    site_warnings, of_fit = estimate.all_warnings(), fit.warnings if fit else ()
    not_repeated = [warning for warning in of_fit if warning not in site_warnings]
    at_site = estimator.at_floor(estimate.site.floor if estimate.site else 0.0)
    return {
        "estimate": estimate_fields(estimate),
        "unreadable": estimate.site.row.get("unreadable", "") if estimate.site else "",
        **notice_values(not_repeated),
        **({"curve": curve.to_dict("records")} if curve is not None and len(curve) else {}),
        **(evaluation_values(fit) if fit else NOT_EVALUATED),
        "facts": run_facts(at_site, DEFAULT_METHOD, detector),
        "about": dict(about),
    }


def estimate_page(
    title: str,
    estimator: AccuracyEstimator,
    estimate: Estimate,
    *,
    detector: str = "",
    about: Mapping[str, str] = NOTHING,
) -> Page:
    """Make the page of an estimate.

    Parameters
    ----------
    title : str
        Such as ``"yolox_nano on vehicle"``.
    estimator : AccuracyEstimator
        That it is by. Where it was fitted in this process, its evaluation is shown, too.
    estimate : Estimate
        At a new site.
    detector : str
        Its name, shown among what was run.
    about : mapping of str to str, optional
        What the page is about; see `autoeval.report.page.about`.
    """
    from autoeval.report.scatter import chart_of_panel

    curve, site, fit = site_curve(estimate, estimator), estimate.site, estimator.fit_result_
    at_site = estimator.at_floor(site.floor if site else 0.0)  # which was not evaluated itself
    blocks = [
        *result_blocks(estimate, fit),
        Heading(f"{find_target(estimate.target).name} against the scores"),
        chart_of_panel(at_site, estimate).block(),
        *category_blocks(estimate),
    ]
    if curve is not None and len(curve):
        from autoeval.report.threshold import curve_blocks

        values = {estimate.target: estimate.value}
        values |= {name: ends["value"] for name, ends in estimate.other_targets.items()}
        point = next(filter(None, map(OperatingPoint.of, values)), None)
        at = {name.partition("@")[0]: value for name, value in values.items()}
        blocks += curve_blocks(curve, point.score_thr if point else math.nan, at)
    blocks += [
        *least_certain_blocks(estimate),
        *evaluation_blocks(estimator),
        Heading("What was run"),
        Facts(run_facts(at_site, DEFAULT_METHOD, detector)),
    ]
    if site is not None and "network_s" in site.row:  # a detector was run
        blocks += time_table(fit, site.row)
    blocks.append(Facts(about, "What this page is about"))
    return Page(title, blocks)


def site_curve(estimate: Estimate, estimator: AccuracyEstimator) -> pd.DataFrame | None:
    """Return precision, recall and F1 at all thresholds where one is estimated, else None.

    Parameters
    ----------
    estimate : Estimate
        With its site.
    estimator : AccuracyEstimator
        That it is by. It keeps the regressions of the curve.
    """
    targets = (estimate.target, *estimate.other_targets)
    point = next(filter(None, map(OperatingPoint.of, targets)), None)
    if point is None or estimate.site is None:
        return None
    from autoeval.estimation.threshold_choice import expected_curve

    return expected_curve(estimator, estimate, point.iou)


def estimate_head(estimate: Estimate) -> str:
    """Return the value, its interval, the other targets, the categories, and those left out.

    Of more than `MOST_CATEGORIES` categories the `LOWEST` lowest; see `estimate_details`.

    Parameters
    ----------
    estimate : Estimate
        At a new site.

    Returns
    -------
    str
        Several lines, each figure in the unit of its target.
    """
    target, categories = find_target(estimate.target), list(estimate.per_category)
    value = target.text(estimate.value)
    if not math.isnan(estimate.std):
        value += f" ± {target.text(estimate.std)} (repeats)"
    head = f"estimated {target.title}: {value}"
    if estimate.target in estimate.undefined:
        head = f"{target.title}: {NOT_DEFINED}"
    elif math.isnan(estimate.value):
        head = f"no estimate of {target.title}"
    if categories and estimate.is_mean:
        n, n_all = len(categories), len(categories) + len(estimate.left_out)
        scope = "all boxes of" if OperatingPoint.of(estimate.target) else "mean of"
        of_all = f"{n} of {n_all}" if estimate.left_out else str(n)
        named = f": {categories[0]}" if n == 1 else ""
        head += f" of {categories[0]}" if n_all == 1 else f", {scope} {of_all} categories{named}"
    head += f", from {counted(estimate.n_images, 'image')}"
    if estimate.method != DEFAULT_METHOD:
        head += f" (method: {estimate.method})"
    interval = estimate.interval_method
    if not math.isnan(estimate.lower):
        method = "" if interval == PREDICTIVE else f" ({interval})"
        interval = f"{target.text(estimate.lower)} to {target.text(estimate.upper)}{method}"
    lines = [
        head,
        f"{estimate.level:.0%} interval: {interval}",
        *other_target_lines(estimate),
    ]
    if len(categories) > MOST_CATEGORIES:
        values = {name: ends["value"] for name, ends in estimate.per_category.items()}
        names = [name for name, value in values.items() if not math.isnan(value)]
        low = [
            f"{n} {target.text(values[n])}" for n in sorted(names, key=values.__getitem__)[:LOWEST]
        ]
        lines.append(f"  the lowest of {len(values)} categories: {', '.join(low)}")
    elif len(categories) > 1 or math.isnan(estimate.value):
        lines += [f"  {line}" for line in category_lines(estimate)]
    if estimate.left_out:
        shares = {name: facts["share_of_objects"] for name, facts in estimate.left_out.items()}
        order = sorted(shares, key=shares.__getitem__, reverse=True)
        named = ", ".join(f"{name} ({why_left_out(estimate, name)})" for name in order[:LOWEST])
        more = f" and {len(order) - LOWEST} more" if len(order) > LOWEST else ""
        line = f"left out: {named}{more}. To count it: --present {shlex.quote(order[0])}"
        if len(categories) <= LOWEST:
            chosen = " ".join(f"--category {shlex.quote(name)}" for name in categories)
            line += f"; only some categories: {chosen}"
        lines.append(line)
    return "\n".join(lines)


def other_target_lines(estimate: Estimate) -> Iterator[str]:
    """Yield a line for each other target that is estimated of the same images.

    Parameters
    ----------
    estimate : Estimate
        With ``other_targets``.
    """
    not_in_fit = [warning for warning in estimate.warnings if warning.code == NOT_IN_FIT]
    for name, ends in estimate.other_targets.items():
        of_fit = [warning for warning in not_in_fit if warning.startswith(f"{name}: ")]
        if name in estimate.undefined:
            yield f"{name}: {NOT_DEFINED}"
        elif of_fit:
            yield of_fit[0]
        elif not math.isnan(ends["value"]):
            text = find_target(name).text
            yield f"{name}: {text(ends['value'])} ({text(ends['lower'])} to {text(ends['upper'])})"
        elif not math.isnan(estimate.value):
            yield f"{name}: {TOO_WIDE}"


def category_lines(estimate: Estimate) -> Iterator[str]:
    """Yield a line for each category that counts.

    Parameters
    ----------
    estimate : Estimate
        With ``per_category``.
    """
    text = find_target(estimate.target).text
    none = f"no interval: it would be wider than {WIDEST_TEXT}"
    if not estimate.is_mean:
        none = "no interval: fewer than three sites hold the category"
    for category, ends in estimate.per_category.items():
        if math.isnan(ends["value"]):
            unknown = NOT_DEFINED if OperatingPoint.of(estimate.target) else TOO_WIDE
            yield f"{category}: {unknown if estimate.is_mean else NO_SCORE}"
            continue
        around = none
        if not math.isnan(ends["lower"]):
            around = f"{text(ends['lower'])} to {text(ends['upper'])}"
        yield f"{category}: {text(ends['value'])} ({around})"


def why_left_out(estimate: Estimate, category: str) -> str:
    """State why a category that was found does not count, and the value with it.

    Parameters
    ----------
    estimate : Estimate
        With ``left_out``.
    category : str
        A key of that.
    """
    facts = estimate.left_out[category]
    boxes = counted(int(facts["likely_boxes"]), "likely box", "likely boxes")
    with_it = find_target(estimate.target).text(facts["mean_with_it"])
    return (
        f"{boxes}, {100 * facts['share_of_objects']:.1f} % of expected objects; with it {with_it}"
    )


def estimate_details(estimate: Estimate, estimator: AccuracyEstimator) -> list[str]:
    """Return what the terminal shows below warnings: what the estimate and the fit rest on.

    Parameters
    ----------
    estimate : Estimate
        At a new site.
    estimator : AccuracyEstimator
        That it is by.
    """
    details, curve = [details_without_fit(estimate)], site_curve(estimate, estimator)
    if curve is not None and len(curve):
        from autoeval.report.threshold import curve_text

        details.append(curve_text(curve))
    return [*details, *evaluation_details(estimator), pairs_text(estimator)]


def details_without_fit(estimate: Estimate) -> str:
    """Return what `estimate_head` leaves out: sampling error, many categories; may be empty.

    Parameters
    ----------
    estimate : Estimate
        At a new site.
    """
    lines = [sampling_text(estimate)]
    if len(estimate.per_category) > MOST_CATEGORIES:
        lines += category_lines(estimate)
    return "\n".join(filter(None, lines))


def sampling_text(estimate: Estimate) -> str:
    """State what the number of images adds to the interval; empty where that is not known.

    Parameters
    ----------
    estimate : Estimate
        At a new site.
    """
    if math.isnan(estimate.sampling_std):
        return ""
    text = find_target(estimate.target).text
    images = counted(estimate.n_images, "image")
    sampling = f"sampling error of {images}: ± {text(estimate.sampling_std)}"
    if math.isnan(estimate.source_lower):
        return sampling
    alone = f"{text(estimate.source_lower)} to {text(estimate.source_upper)}"
    return f"without the sampling error: {alone}; {sampling}"


def estimate_fields(estimate: Estimate) -> dict[str, Any]:
    """Return the fields of an estimate but its site, and its method, by their names in JSON.

    Parameters
    ----------
    estimate : Estimate
        At a new site.

    Returns
    -------
    dict
        Accuracies are in [0, 1]; ``beside`` are the other targets, and `notice_values` says how
        warnings stand there.
    """
    names = [field.name for field in fields(estimate) if field.name != "site"]
    values = {JSON_NAMES.get(name, name): getattr(estimate, name) for name in names}
    return values | {"method": estimate.method} | notice_values(estimate.warnings)


def result_blocks(estimate: Estimate, fit: FitResult | None) -> list[Block]:
    """Return what was estimated, large, the other targets, all warnings, and the known error.

    Parameters
    ----------
    estimate : Estimate
        At a new site.
    fit : FitResult, optional
        How the estimator was evaluated, where that is known.
    """
    target = find_target(estimate.target)
    value, low, high = estimate.value, estimate.lower, estimate.upper
    interval = f"No interval ({estimate.interval_method})"
    if not math.isnan(low):
        interval = f"{estimate.level:.0%} interval: {target.text(low)} to {target.text(high)}"
    varies = ""
    if not math.isnan(estimate.std):
        varies = f"; ± {target.text(estimate.std)} over the dropout repeats"
    if sampling := sampling_text(estimate):
        varies += f"; {sampling}"
    note = (
        f"In {target.unit}, from {counted(estimate.n_images, 'unlabelled image')}, by the method "
        f"‘{estimate.method}’{varies}."
    )
    ends = (100 * value, 100 * low, 100 * high) if target.upper == 1 else (math.nan,) * 3
    above, site_warnings = estimate.width_warning, estimate.all_warnings()
    of_fit = [warning for warning in (fit.warnings if fit else ()) if warning not in site_warnings]
    other_values = "; ".join(x for x in other_target_lines(estimate) if NOT_DEFINED not in x)
    warnings = [warning for warning in site_warnings if warning != above]
    none = "" if warnings else "None of the checks of this estimate gives a warning."
    return [
        IntervalHeadline(f"Estimated {target.name}", target.text(value), interval, note, ends),
        Warnings([above] if above else [], "Before you act on it"),
        Text(f"From the same pass, {other_values}. {TIGHTNESS}" if other_values else ""),
        Warnings(warnings),
        Text(none),
        Warnings(of_fit, OF_FIT),
        *(error_figures(fit.held_out) if fit and fit.held_out else ()),
    ]


def category_blocks(estimate: Estimate) -> list[Block]:
    """Return each category, in a plot and in a table.

    The table has those that do not count last, with the reason.

    Parameters
    ----------
    estimate : Estimate
        With or without ``per_category``.

    Returns
    -------
    list of Block
        Empty where no category was estimated by itself; without a plot where the target has no
        highest value of 1.
    """
    import pandas as pd

    if not estimate.per_category:
        return []
    target, n = find_target(estimate.target), len(estimate.per_category)
    names = {**estimate.per_category, **estimate.left_out}
    rows = [
        IntervalRow(str(name), ends["value"], ends["lower"], ends["upper"])
        for name, ends in names.items()
    ]
    table = pd.DataFrame(rows).drop(columns="before").rename(columns=COLUMNS)
    unknown = table["estimate"][:n].isna() & estimate.is_mean  # alone it lacks a score
    reasons = ["no box is over the threshold" if none else "" for none in unknown]
    reasons += [why_left_out(estimate, name) for name in estimate.left_out]
    if any(reasons):
        table[WHY] = reasons
    formats = dict.fromkeys(("estimate", *ENDS[1:]), target.text)
    caption = f"Estimated {target.name} with its interval, in {target.unit}"
    plot = []
    if target.upper == 1:
        whole = IntervalRow(ALL, estimate.value, estimate.lower, estimate.upper)
        plot = [category_intervals(whole, rows[:n], target, estimate.level)]
    listed = Table("categories", table, None, formats, caption, folded=len(table) > MANY)
    return [Heading("Category by category"), *plot, listed]


def least_certain_blocks(estimate: Estimate) -> list[Block]:
    """Return the images with the lowest mean score, with their boxes where they are at hand.

    Parameters
    ----------
    estimate : Estimate
        With its site, or without one.

    Returns
    -------
    list of Block
        A table of up to 4 times `SHOWN` images with a box over .05, and pictures of the first
        `SHOWN`; empty where there is none.
    """
    site = estimate.site
    table = image_table(site.boxes) if site else None
    if site is None or table is None or not table["boxes"].any():
        return []
    table = table[table["boxes"] > 0].head(4 * SHOWN)
    blocks: list[Block] = [Heading("Where the detector is least certain")]
    if site.images:
        from autoeval.report.pictures import pictures_of

        about = "Images with the lowest mean score of their boxes (faint: score under .3)."
        pictures = pictures_of(site.boxes, site.images, table["image_id"].head(SHOWN))
        blocks += [Thumbnails(pictures, about)] if pictures else []
    formats = {"mean_score": "{:.2f}", "share": "{:.2f}"}
    about = f"Images by the mean score of their boxes, lowest first. {explained(table)}"
    return [*blocks, Table("least_certain", table, None, formats, about)]


def image_table(clean: Boxes) -> pd.DataFrame:
    """Make the table of images, by their mean score in ascending order, those without a box last.

    Parameters
    ----------
    clean : Boxes
        Detected boxes.

    Returns
    -------
    DataFrame
        ``image_id``, ``file_name``, ``boxes`` over .05 and their ``mean_score`` (NaN without any),
        ``confident``, those of them over .3, and ``share``, confident of all.
    """
    import pandas as pd

    n_images = len(clean.images)
    shown = over_threshold(clean.scores, SCORE_THR)
    boxes = np.bincount(clean.image[shown], minlength=n_images)
    sums = np.bincount(clean.image[shown], clean.scores[shown], minlength=n_images)
    sure = np.bincount(clean.image[over_threshold(clean.scores, CONFIDENT)], minlength=n_images)
    mean = np.divide(sums, boxes, out=np.full(n_images, np.nan), where=boxes > 0)
    table = pd.DataFrame(
        {
            "image_id": [image.image_id for image in clean.images],
            "file_name": [image.file_name for image in clean.images],
            "boxes": boxes,
            "confident": sure,
            "mean_score": mean,
            "share": sure / np.maximum(boxes, 1),
        }
    )
    return table.sort_values("mean_score", kind="stable", ignore_index=True)


def export(folder: Path, estimate: Estimate) -> list[Path]:
    """Write ``estimate.csv``, ``images.csv`` and ``predictions.json``, and return their paths.

    Parameters
    ----------
    folder : Path
        Where they are written.
    estimate : Estimate
        With its site.
    """
    assert estimate.site is not None
    boxes = estimate.site.boxes
    return [
        write_table(folder / "estimate.csv", estimate_row(estimate)),
        write_table(folder / "images.csv", image_table(boxes)),
        write_json(folder / "predictions.json", coco_results(boxes, estimate), indent=None),
    ]


def estimate_row(estimate: Estimate) -> pd.DataFrame:
    """Return an estimate as one row of a table.

    Categories that were left out, and effects of categories, are not in it.

    Parameters
    ----------
    estimate : Estimate
        At a new site.

    Returns
    -------
    DataFrame
        Features are columns, intervals ``value/NAME``, ``lower/NAME`` and ``upper/NAME`` for each
        category and other target; ``_`` is added to a category that is called as one of these
        targets. Several texts are joined by ``"; "``.
    """
    import pandas as pd

    row = estimate_fields(estimate)
    for name in ("left_out", "category_effects", "notes", "warning_codes"):
        del row[name]
    features, categories, intervals = (row.pop(x) for x in ("features", "per_category", "beside"))
    row |= {name: "; ".join(row[name]) for name in ("warnings", "undefined")}
    for name, ends in categories.items():
        while f"value/{name}" in row or name in intervals:
            name += "_"
        row |= {f"{end}/{name}": value for end, value in ends.items()}
    for name, ends in intervals.items():
        row |= {f"{end}/{name}": value for end, value in ends.items()}
    return pd.DataFrame([row | features])


def coco_results(clean: Boxes, estimate: Estimate) -> list[dict[str, Any]]:
    """Return the boxes as COCO results, with what is estimated of their category.

    Parameters
    ----------
    clean : Boxes
        Detected boxes.
    estimate : Estimate
        Of the same site.

    Returns
    -------
    list of dict
        One for each box. ``bbox`` is left, top, width, height in pixels, to three decimals,
        ``score`` to six. ``estimated_TARGET``, ``estimated_lower`` and ``estimated_upper``, in [0,
        1], are those of the category: None where it was not estimated by itself, and those of all
        together where no category was.
    """
    whole = {name: getattr(estimate, name) for name in ENDS}
    nothing = dict.fromkeys(whole)
    estimates = [
        estimate.per_category.get(name, nothing if estimate.per_category else whole)
        for name in clean.categories
    ]
    ids = category_ids(clean)
    xywh = np.concatenate([clean.boxes[:, :2], clean.boxes[:, 2:] - clean.boxes[:, :2]], axis=1)
    columns: Sequence[np.ndarray] = (
        clean.image,
        clean.label,
        xywh.astype(np.float64).round(3),
        clean.scores,
    )
    return [
        {
            "image_id": _number(clean.images[image].image_id),
            "file_name": clean.images[image].file_name,
            "category_id": ids[label],
            "category": clean.categories[label],
            "bbox": bbox,
            "score": round(score, 6),
            f"estimated_{estimate.target}": estimates[label]["value"],
            "estimated_lower": estimates[label]["lower"],
            "estimated_upper": estimates[label]["upper"],
        }
        for image, label, bbox, score in zip(*(c.tolist() for c in columns), strict=True)
    ]


def category_ids(clean: Boxes) -> list[int | str]:
    """Return the id of each category: that of its file, else the next number that is free.

    Parameters
    ----------
    clean : Boxes
        With the ids of its file, by which an id that is no number stays a text.
    """
    ids = {word: _number(number) for number, word in reversed(clean.numbers.items())}
    first = 1 + max((n for n in ids.values() if isinstance(n, int)), default=0)
    new = [word for word in clean.categories if word not in ids]
    ids |= {word: first + k for k, word in enumerate(new)}
    return [ids[word] for word in clean.categories]


def _number(name: str) -> int | str:
    """Return an id as the number that it was, where it was one."""
    return int(name) if name.isdecimal() and str(int(name)) == name else name
