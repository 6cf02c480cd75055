"""An estimate as text, page and JSON, and as files that other tools read."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from autoeval.boxes import Boxes
from autoeval.detections import CONFIDENT, SCORE_THR
from autoeval.estimation.estimate import PREDICTIVE, Estimate
from autoeval.estimation.protocol import FitResult, worse_than_constant
from autoeval.estimation.threshold_choice import expected_curve
from autoeval.model.prediction_interval import WIDEST
from autoeval.model.regression import DEFAULT_METHOD
from autoeval.report.fit import (
    add_default_run,
    add_evaluation,
    add_glance,
    add_warnings_of_fit,
    evaluation_details,
    evaluation_head,
    evaluation_values,
    pairs_text,
    run_facts,
)
from autoeval.report.page import IntervalRow, Page
from autoeval.report.text import Table, explained, notice_values, result_text, warning_texts
from autoeval.report.threshold import add_curve, curve_text
from autoeval.result_base import ENDS
from autoeval.runtime.files import write_json, write_table
from autoeval.targets import OperatingPoint, find_target
from autoeval.words import counted, ordered_warnings

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.sites.site import Site

NOTHING: Mapping[str, str] = MappingProxyType({})
NOT_DEFINED = "not defined, no box is over the threshold"
WIDEST_TEXT = f"±{100 * WIDEST:.0f} points"
TOO_WIDE = f"no estimate, its interval would be wider than {WIDEST_TEXT}"
MOST_CATEGORIES, LOWEST = 8, 3  # on the terminal: of more, so many of the lowest
MANY = 12  # categories from which on their table is folded: a plot shows them
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
    curve: pd.DataFrame | None = None,
    verbose: bool = True,
    of_fit: Collection[str] = (),
) -> str:
    """Return what the terminal shows: the estimate, its categories, its warnings.

    curve: see `site_curve`, by which it is made where it is not given.
    verbose: all warnings, and what the estimate rests on.
    of_fit: warnings that the fit has printed: without `verbose` they are counted alone.
    """
    fit = estimator.fit_result_
    return result_text(
        [estimate_head(estimate), evaluation_head(fit)],
        estimate_warnings(estimate, fit),
        estimate_details(estimate, estimator, curve) if verbose else (),
        verbose=verbose,
        of_fit=of_fit,
    )


def estimate_values(
    estimate: Estimate,
    estimator: AccuracyEstimator,
    *,
    curve: pd.DataFrame | None = None,
    detector: str = "",
    about: Mapping[str, str] = NOTHING,
) -> dict[str, Any]:
    """Return the content of ``result.json``; the parameters are those of `estimate_page`."""
    fit, curve = estimator.fit_result_, site_curve(estimate, estimator, curve)
    return {
        "estimate": estimate_fields(estimate),
        "unreadable": unreadable(estimate),
        **warning_texts(_of_fit_alone(estimate, fit)),
        **({"curve": curve.to_dict("records")} if curve is not None and len(curve) else {}),
        **evaluation_values(fit),
        "facts": run_facts(_at_site(estimator, estimate), DEFAULT_METHOD, detector),
        "about": dict(about),
    }


def estimate_page(
    title: str,
    estimator: AccuracyEstimator,
    estimate: Estimate,
    *,
    curve: pd.DataFrame | None = None,
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
    curve : DataFrame, optional
        See `site_curve`, by which it is made where it is not given.
    detector : str
        Its name, shown among what was run.
    about : mapping of str to str, optional
        What the page is about; see `autoeval.report.text.about`.
    """
    page = Page(title)
    add_estimate(page, estimator, estimate, curve=curve, detector=detector)
    page.add_about(about)
    return page


def add_estimate(
    page: Page,
    estimator: AccuracyEstimator,
    estimate: Estimate,
    *,
    curve: pd.DataFrame | None = None,
    detector: str = "",
) -> None:
    """Add an estimate to a page, from top to bottom; see `estimate_page`."""
    from autoeval.report.scatter import add_scatter, chart_of_panel

    estimator, curve = _at_site(estimator, estimate), site_curve(estimate, estimator, curve)
    fit = estimator.fit_result_
    add_answer(page, estimate)
    add_warnings(page, estimate, fit)
    add_glance(page, fit)
    chart = chart_of_panel(estimator, estimate)
    add_scatter(page, chart)
    add_categories(page, estimate)
    if curve is not None and len(curve):
        point, at = _points_of(estimate)
        add_curve(page, curve, point.score_thr if point else np.nan, at)
    if estimate.site:
        add_least_certain(page, estimate.site)
    add_evaluation(page, estimator)
    add_default_run(page, estimator, chart, detector, estimate.site.row if estimate.site else None)


def _at_site(estimator: AccuracyEstimator, estimate: Estimate) -> AccuracyEstimator:
    """Return the estimator as it read the site: at the score floor of its boxes."""
    return estimator if estimate.site is None else estimator.at_floor(estimate.site.floor)


def site_curve(
    estimate: Estimate, estimator: AccuracyEstimator, curve: pd.DataFrame | None = None
) -> pd.DataFrame | None:
    """Return precision, recall and F1 at all thresholds where one is estimated, else None.

    curve: returned as it is where it was made before.
    """
    point, _ = _points_of(estimate)
    if curve is not None or point is None or estimate.site is None:
        return curve
    return expected_curve(_at_site(estimator, estimate), estimate, point.iou)


def _points_of(estimate: Estimate) -> tuple[OperatingPoint | None, dict[str, float]]:
    """Return the threshold of the targets, if they have one, and the value of each measure."""
    values = {estimate.target: estimate.value}
    values |= {name: ends["value"] for name, ends in estimate.beside.items()}
    point = next(filter(None, map(OperatingPoint.of, values)), None)
    return point, {name.partition("@")[0]: value for name, value in values.items()}


def estimate_head(estimate: Estimate) -> str:
    """Return the value, its interval, the other targets, the categories, and those left out.

    Of more than `MOST_CATEGORIES` categories the `LOWEST` lowest; see `estimate_details`.
    """
    target = find_target(estimate.target)
    value = target.text(estimate.value)
    if estimate.std == estimate.std:
        value += f" ± {target.text(estimate.std)} (repeats)"
    head = f"estimated {target.title}: {value}"
    if estimate.target in estimate.undefined:
        head = f"{target.title}: {NOT_DEFINED}"
    elif estimate.value != estimate.value:
        head = f"no estimate of {target.title}"
    method = "" if estimate.method == DEFAULT_METHOD else f" (method: {estimate.method})"
    images = counted(estimate.n_images, "image")
    interval = estimate.interval_method
    if estimate.lower == estimate.lower:
        how = "" if interval == PREDICTIVE else f" ({interval})"
        interval = f"{target.text(estimate.lower)} to {target.text(estimate.upper)}{how}"
    lines = [
        f"{head}{_of_categories(estimate)}, from {images}{method}",
        f"{estimate.level:.0%} interval: {interval}",
        *other_target_lines(estimate),
    ]
    if len(estimate.per_category) > MOST_CATEGORIES:
        each = {n: ends["value"] for n, ends in estimate.per_category.items()}
        known = [name for name, value in each.items() if value == value]
        low = [f"{n} {target.text(each[n])}" for n in sorted(known, key=each.__getitem__)[:LOWEST]]
        lines.append(f"  the lowest of {len(each)} categories: {', '.join(low)}")
    elif len(estimate.per_category) > 1 or estimate.value != estimate.value:
        lines += [f"  {line}" for line in category_lines(estimate)]
    return "\n".join([*lines, *filter(None, [left_out_text(estimate)])])


def _of_categories(estimate: Estimate) -> str:
    """Say which categories the value is the mean of."""
    n, n_all = len(estimate.per_category), len(estimate.per_category) + len(estimate.left_out)
    if not n or not estimate.is_mean:
        return ""
    first = next(iter(estimate.per_category))
    if n_all == 1:
        return f" of {first}"
    what = "all boxes of" if OperatingPoint.of(estimate.target) else "mean of"
    of_all = f"{n} of {n_all}" if estimate.left_out else str(n)
    return f", {what} {of_all} categories{f': {first}' if n == 1 else ''}"


def other_target_lines(estimate: Estimate) -> Iterator[str]:
    """Yield a line for each other target from the same pass."""
    for name, ends in estimate.beside.items():
        if name in estimate.undefined:
            yield f"{name}: {NOT_DEFINED}"
        elif ends["value"] == ends["value"]:
            value, lower, upper = (find_target(name).text(ends[end]) for end in ENDS)
            yield f"{name}: {value} ({lower} to {upper})"
        elif estimate.value == estimate.value:
            yield f"{name}: {TOO_WIDE}"


def category_lines(estimate: Estimate) -> Iterator[str]:
    """Yield a line for each category that counts."""
    text = find_target(estimate.target).text
    none = f"no interval: it would be wider than {WIDEST_TEXT}"
    if not estimate.is_mean:
        none = "no interval: fewer than three sources hold the category"
    for category, ends in estimate.per_category.items():
        if ends["value"] != ends["value"]:
            yield f"{category}: {NOT_DEFINED if OperatingPoint.of(estimate.target) else TOO_WIDE}"
            continue
        around = f"{text(ends['lower'])} to {text(ends['upper'])}"
        around = around if ends["lower"] == ends["lower"] else none
        yield f"{category}: {text(ends['value'])} ({around})"


def left_out_text(estimate: Estimate) -> str:
    """Name the categories that were found and do not count, and how they would."""
    left_out = estimate.left_out
    if not left_out:
        return ""
    order = sorted(left_out, key=lambda name: -left_out[name]["share_of_objects"])
    shown = [f"{name} ({why_left_out(estimate, name)})" for name in order[:LOWEST]]
    more = f" and {len(order) - LOWEST} more" if len(order) > LOWEST else ""
    text = f"left out: {', '.join(shown)}{more}. To count it: --present {shlex.quote(order[0])}"
    if len(estimate.per_category) > LOWEST:
        return text
    chosen = " ".join(f"--category {shlex.quote(name)}" for name in estimate.per_category)
    return f"{text}; only some categories: {chosen}"


def why_left_out(estimate: Estimate, category: str) -> str:
    """State why a category that was found does not count, and the value with it."""
    facts = estimate.left_out[category]
    boxes = counted(int(facts["likely_boxes"]), "likely box", "likely boxes")
    with_it = find_target(estimate.target).text(facts["mean_with_it"])
    return (
        f"{boxes}, {100 * facts['share_of_objects']:.1f} % of expected objects; with it {with_it}"
    )


def estimate_warnings(estimate: Estimate, fit: FitResult | None) -> list[str]:
    """Return the warnings of an estimate and of its fit, the most severe first."""
    return ordered_warnings([*_own_warnings(estimate, fit), *_of_fit_alone(estimate, fit)])


def _own_warnings(estimate: Estimate, fit: FitResult | None) -> list[str]:
    """Return the warnings of an estimate, and that of its evaluation."""
    results, by_category = (fit.cross_validation, fit.by_category) if fit else ((), False)
    evaluated = worse_than_constant(results, by_category=by_category)
    return ordered_warnings([*estimate.all_warnings(), *evaluated])


def _of_fit_alone(estimate: Estimate, fit: FitResult | None) -> list[str]:
    """Return the warnings of the fit that the estimate does not repeat."""
    shown = {str(warning) for warning in _own_warnings(estimate, fit)}
    return [warning for warning in (fit.warnings if fit else ()) if str(warning) not in shown]


def estimate_details(
    estimate: Estimate, estimator: AccuracyEstimator, curve: pd.DataFrame | None = None
) -> list[str]:
    """Return what the terminal shows below warnings: what the estimate rests on."""
    curve = site_curve(estimate, estimator, curve)
    return [
        *own_details(estimate),
        curve_text(curve) if curve is not None and len(curve) else "",
        *evaluation_details(estimator),
        pairs_text(estimator.regression_.rows_),
    ]


def own_details(estimate: Estimate) -> list[str]:
    """Return the parts of the interval, of many categories each, and images that were not read."""
    lines = [sampling_text(estimate)]
    if len(estimate.per_category) > MOST_CATEGORIES:
        lines += category_lines(estimate)
    lost = unreadable(estimate)
    return ["\n".join(filter(None, lines)), f"not read: {lost}" if lost else ""]


def sampling_text(estimate: Estimate) -> str:
    """State what the number of images adds to the interval, where that is known."""
    if estimate.sampling_std != estimate.sampling_std:
        return ""
    text = find_target(estimate.target).text
    images = counted(estimate.n_images, "image")
    sampling = f"sampling error of {images}: ± {text(estimate.sampling_std)}"
    if estimate.source_lower != estimate.source_lower:
        return sampling
    alone = f"{text(estimate.source_lower)} to {text(estimate.source_upper)}"
    return f"without the sampling error: {alone}; {sampling}"


def unreadable(estimate: Estimate) -> str:
    """Return names and reasons of images of the site that could not be read."""
    return str(estimate.site.row.get("unreadable", "")) if estimate.site else ""


def estimate_fields(estimate: Estimate) -> dict[str, Any]:
    """Return all of an estimate but its site, as JSON has it."""
    names = [field.name for field in fields(estimate) if field.name != "site"]
    own = {name: getattr(estimate, name) for name in names} | {"method": estimate.method}
    return own | notice_values(estimate.warnings)


def add_answer(page: Page, estimate: Estimate) -> None:
    """Add what was estimated, large, with its interval, and the other targets."""
    target = find_target(estimate.target)
    value, low, high = estimate.value, estimate.lower, estimate.upper
    interval = f"No interval ({estimate.interval_method})"
    if low == low:
        interval = f"{estimate.level:.0%} interval: {target.text(low)} to {target.text(high)}"
    varies = f"; ± {target.text(estimate.std)} over the dropout repeats"
    varies = varies if estimate.std == estimate.std else ""
    if estimate.sampling_std == estimate.sampling_std:
        varies += f", ± {target.text(estimate.sampling_std)} over the choice of images"
        if estimate.source_lower == estimate.source_lower:
            alone = f"{target.text(estimate.source_lower)} to {target.text(estimate.source_upper)}"
            varies += f"; without the sampling error {alone}"
    page.add_interval(
        f"Estimated {target.name}",
        target.text(value) if value == value else "–",
        interval,
        f"In {target.unit}, from {counted(estimate.n_images, 'unlabelled image')}, by the method "
        f"‘{estimate.method}’{varies}.",
        on_scale=(100 * value, 100 * low, 100 * high) if target.upper == 1 else None,
    )
    page.add_warnings(filter(None, [estimate.width_warning]), "Before you act on it")
    others = [line for line in other_target_lines(estimate) if NOT_DEFINED not in line]
    if others:
        page.add_text(f"From the same pass, {'; '.join(others)}. {TIGHTNESS}")


def add_warnings(page: Page, estimate: Estimate, fit: FitResult | None) -> None:
    """Add the warnings of an estimate, then those of the fit alone."""
    above = estimate.width_warning  # on top of the page
    warnings = [warning for warning in _own_warnings(estimate, fit) if warning != above]
    page.add_warnings(warnings)
    if not warnings:
        page.add_text("None of the checks of this estimate gives a warning.")
    add_warnings_of_fit(page, _of_fit_alone(estimate, fit), unreadable(estimate))


def add_categories(page: Page, estimate: Estimate) -> None:
    """Add each category, in a plot and in a table; nothing where there is none."""
    if not estimate.per_category:
        return
    target = find_target(estimate.target)
    page.add_heading("Category by category")
    if target.upper == 1:
        rows = [
            IntervalRow(str(name), ends["value"], ends["lower"], ends["upper"])
            for name, ends in estimate.per_category.items()
        ]
        whole = IntervalRow("", estimate.value, estimate.lower, estimate.upper)
        page.add_categories(whole, rows, target, estimate.level)
    table = category_table(estimate)
    caption = f"Estimated {target.name} with its interval, in {target.unit}"
    page.add_table(table, caption, folded=len(table.table) > MANY)


def category_table(estimate: Estimate) -> Table:
    """Lay out the categories, those that do not count last, with the reason."""
    import pandas as pd

    target = find_target(estimate.target)
    all_of_them = {**estimate.per_category, **estimate.left_out}
    table = pd.DataFrame(
        [
            {"category": str(name), "estimate": ends["value"]}
            | {end: ends[end] for end in ENDS[1:]}
            for name, ends in all_of_them.items()
        ]
    )
    undefined = "no box is over the threshold"
    why = [
        "" if ends["value"] == ends["value"] else undefined
        for ends in estimate.per_category.values()
    ]
    why += [why_left_out(estimate, name) for name in estimate.left_out]
    if any(why):
        table[WHY] = why
    numbers = ("estimate", *ENDS[1:])
    shown = table.assign(**{name: target.scale * table[name] for name in numbers})
    return Table("categories", table, shown, dict.fromkeys(numbers, target.format))


def add_least_certain(page: Page, site: Site) -> None:
    """Add the images with the lowest mean score, with their boxes where they are at hand."""
    table = image_table(site.boxes)
    table = table[table["boxes"] > 0].head(4 * SHOWN)
    if table.empty:
        return
    page.add_heading("Where the detector is least certain")
    if site.images:
        from autoeval.report.pictures import pictures_of

        names = table["image_id"].head(SHOWN)
        if pictures := pictures_of(site.boxes, site.images, names):
            about = "Images with the lowest mean score of their boxes (faint: score under .3)."
            page.add_thumbnails(pictures, about)
    formats = {"mean_score": "{:.2f}", "share": "{:.2f}"}
    about = f"Images by the mean score of their boxes, lowest first. {explained(table)}"
    page.add_table(Table("least_certain", table, formats=formats), about)


def image_table(clean: Boxes) -> pd.DataFrame:
    """Lay out the images, one row each, those that the detector is least sure of first.

    ``boxes`` and their ``mean_score`` are over .05, ``confident`` those of them over .3.
    """
    import pandas as pd

    n_images = len(clean.images)
    over = clean.scores > SCORE_THR
    boxes = np.bincount(clean.image[over], minlength=n_images)
    sums = np.bincount(clean.image[over], clean.scores[over], minlength=n_images)
    sure = np.bincount(clean.image[clean.scores > CONFIDENT], minlength=n_images)
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
    """Write ``estimate.csv``, ``images.csv``, ``predictions.json`` of an estimate with its site."""
    assert estimate.site is not None
    boxes = estimate.site.boxes
    return [
        write_table(folder / "estimate.csv", estimate_row(estimate)),
        write_table(folder / "images.csv", image_table(boxes)),
        write_json(folder / "predictions.json", coco_results(boxes, estimate), indent=None),
    ]


def estimate_row(estimate: Estimate) -> pd.DataFrame:
    """Return one row: all numbers, features as columns, texts joined by ``"; "``."""
    import pandas as pd

    row = estimate_fields(estimate)
    for name in ("left_out", "category_effects", "notes", "warning_codes"):
        del row[name]
    features, categories, others = (row.pop(n) for n in ("features", "per_category", "beside"))
    row |= {name: "; ".join(row[name]) for name in ("warnings", "undefined")}
    for name, ends in {**categories, **others}.items():
        row |= {f"{end}/{name}": value for end, value in ends.items()}
    return pd.DataFrame([row | features])


def coco_results(clean: Boxes, estimate: Estimate) -> list[dict[str, Any]]:
    """Return the boxes as COCO results, with what is estimated of their category.

    ``bbox`` is left, top, width, height; the estimate is None where the category was not estimated
    by itself.
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
    """Return the number of each category: that of the file, and free ones for those without."""
    ids = {word: _number(number) for number, word in reversed(clean.numbers.items())}
    first = 1 + max((n for n in ids.values() if isinstance(n, int)), default=0)
    new = [word for word in clean.categories if word not in ids]
    ids |= {word: first + k for k, word in enumerate(new)}
    return [ids[word] for word in clean.categories]


def _number(name: str) -> int | str:
    """Return an id as the number that it was, where it was one."""
    return int(name) if name.isdecimal() and str(int(name)) == name else name
