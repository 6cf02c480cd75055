"""A comparison of detectors as text, page, JSON, and Markdown for a pull request.

Functions of a `Comparison` and, where a loss is allowed, of its `Gate`; `autoeval compare` prints
and writes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from autoeval.accuracy.coco_evaluation import AT_HALF, match_categories
from autoeval.accuracy.measures import find_target
from autoeval.comparison.comparison import Comparison, Gate
from autoeval.detections import Detections
from autoeval.io.images import UnreadableImageError
from autoeval.model.calibration import FOUND, LIKELY
from autoeval.report.page import (
    NOTHING,
    Block,
    Facts,
    Heading,
    Headline,
    IntervalRow,
    Intervals,
    Page,
    Table,
    Text,
    Thumbnails,
    Warnings,
    escaped_markdown,
    notice_values,
    result_text,
)
from autoeval.words import MOST, counted, warning_lines

if TYPE_CHECKING:
    from autoeval.sites.site import Site

SHOWN = 6  # images, each for two detectors: twelve pictures
SIDE = 480  # pixels
STEPS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5)  # between the ticks of a scale of differences
POINTS = ("difference", "lower", "upper", "label_free", "carried_over")


def comparison_text(result: Comparison, gate: Gate | None = None, *, verbose: bool = True) -> str:
    """Return what the terminal shows: the gate, the ranking, the differences to the first.

    Parameters
    ----------
    result : Comparison
        Of two detectors or more.
    gate : Gate, optional
        Whether a candidate may replace the others.
    verbose : bool
        All warnings, and all differences.
    """
    gate_text = (
        "" if gate is None else "\n".join([str(gate), *(f"  {x}" for x in loss_lines(gate))])
    )
    first = result.overall["a"] == result.detectors[0]
    ranking = [
        f"{place}. {row.detector}: {value_text(result, row)}, best with probability "
        f"{row.p_best:.0%}"
        for place, row in enumerate(result.ranking.itertuples(), 1)
    ]
    differences = [difference_text(result, row) for row in result.overall[first].to_dict("records")]
    lines = [f"{result.target} {result.basis}:", *ranking, *differences, about_values(result)]
    head = "\n".join(filter(None, lines))
    details = []
    if verbose:
        other_rows = result.overall[~first].to_dict("records")
        table = differences_table(result)
        details = ["\n".join(difference_text(result, row) for row in other_rows)]
        details.append(f"{table.caption}:\n\n{table.text()}")
    return result_text([gate_text, head], result.warnings, details, verbose=verbose)


def comparison_values(
    result: Comparison,
    gate: Gate | None = None,
    about: Mapping[str, str] = NOTHING,
    label_command: str = "",
) -> dict[str, Any]:
    """Return the content of ``result.json``.

    Parameters
    ----------
    result : Comparison
        Of two detectors or more.
    gate : Gate, optional
        Whether a candidate may replace the others.
    about : mapping of str to str
        What it is about; see `autoeval.report.page.about`.
    label_command : str
        What plans the labels that would probably decide the gate.
    """
    comparison = {
        "target": result.target,
        "value": result.value,
        "lower": result.lower,
        "upper": result.upper,
        "level": result.level,
        "n_images": result.n_images,
        "n_labelled": result.n_labelled,
        "known": result.known or None,
        "ranking": result.ranking.to_dict("records"),
        "pairs": result.pairs.to_dict("records"),
        "per_category": result.per_category,
        **notice_values(result.warnings),
    }
    of_gate = {}
    if gate is not None:
        more = {"outcome": gate.outcome, "label_command": label_command or None}
        of_gate = {"gate": asdict(gate) | more}
    return {**of_gate, "comparison": comparison, "about": dict(about)}


def comparison_page(
    result: Comparison, gate: Gate | None = None, about: Mapping[str, str] = NOTHING
) -> Page:
    """Make the page: the gate, the three best detectors, all differences, images that differ.

    Parameters
    ----------
    result : Comparison
        Of two detectors or more.
    gate : Gate, optional
        Whether a candidate may replace the others.
    about : mapping of str to str
        What it is about; see `autoeval.report.page.about`.
    """
    blocks: list[Block] = []
    if gate is not None:
        reason = str(gate).partition(": ")[2]
        blocks = [Headline("Release gate", gate.outcome, reason), *map(Text, loss_lines(gate))]
    for row in result.ranking.head(3).itertuples():
        note = f"best with probability {row.p_best:.0%}"
        if result.known:
            note = f"{value_text(result, row)}, {note}"
        blocks.append(Headline(row.detector, f"{100 * row.value:.0f}", note))
    target, ranking = find_target(result.target), result.ranking
    behind = [
        IntervalRow(row.detector, row.behind, row.lower, row.upper) for row in ranking.itertuples()
    ]
    least, most = ranking["lower"].min(), max(ranking["upper"].max(), 0.0)
    for step in STEPS:  # the shortest of which four hold all intervals
        low = math.floor(least / step) * step
        if low + 4 * step >= most:
            break
    caption = (
        f"{target.name} less that of {result.detectors[0]} in {target.unit}, with "
        f"{result.level:.0%} intervals"
    )
    blocks += [
        Text(difference_text(result, result.overall.to_dict("records")[0])),
        Text(about_values(result)),
        Intervals(behind, target, caption, low=low, high=low + 4 * step),
        Warnings(result.warnings),
        Table("ranking", ranking, on_page=False),
        Heading("Each with each"),
    ]
    if len(result.detectors) > 2:
        matrix, corner = result.matrix(), "better"
        while corner in result.detectors:  # a column of its own
            corner += " "
        percent = (100 * matrix).rename_axis(corner).reset_index()
        matrix = matrix.rename_axis(corner).reset_index()
        formats = dict.fromkeys(result.detectors, "{:.0f}")
        caption = "Probability (%) that the detector of a row is better than the other"
        blocks.append(Table("better", matrix, percent, formats, caption))
    blocks += [
        differences_table(result),
        *disagreement_blocks(result),
        Facts(about, "What this page is about"),
    ]
    return Page(f"Which is better: {', '.join(result.detectors)}", blocks)


def comparison_markdown(result: Comparison, gate: Gate | None, label_command: str) -> str:
    """Write the differences with their intervals, and the release gate, for a pull request.

    Parameters
    ----------
    result : Comparison
        Of two detectors or more.
    gate : Gate or None
        Whether a candidate may replace the others.
    label_command : str
        What plans the labels that would probably decide the gate.
    """
    names = escaped_markdown(", ".join(result.detectors))
    parts = [f"### {names}: {result.target} {result.basis}"]
    if gate is not None:
        parts.append(f"**{escaped_markdown(gate)}**")
        parts.append("\n".join(f"- {escaped_markdown(line)}" for line in loss_lines(gate)))
        parts += [f"```sh\n{label_command}\n```"] if label_command else []
    table = differences_table(result)
    parts.append(
        f"{table.caption}, with their {result.level:.0%} intervals. One that contains 0 may be "
        "noise."
    )
    parts.append(table.markdown())
    warnings = "\n".join(warning_lines(result.warnings, MOST))
    parts += [f"```text\n{warnings}\n```"] if warnings else []
    return "\n\n".join(parts) + "\n"


def loss_lines(gate: Gate) -> list[str]:
    """Return one sentence for each other detector: how much the candidate loses to it.

    Parameters
    ----------
    gate : Gate
        With these losses.
    """
    lines, in_points = [], find_target("mAP").text
    for loss in gate.losses:
        lower, upper = (in_points(end, gate.max_loss) for end in (loss.lower, loss.upper))
        line = (
            f"less than {loss.detector} by {in_points(loss.value)} ({gate.level:.0%} interval "
            f"{lower} to {upper}): {loss.outcome}"
        )
        if loss.same_boxes:
            line += "; both found exactly the same boxes"
        if loss.labels:
            line += f"; {counted(loss.labels, 'more label')} would probably decide"
        lines.append(line)
    return lines


def value_text(result: Comparison, row: Any) -> str:
    """Write the accuracy of a detector, in whole points of 100 where none is known.

    Parameters
    ----------
    result : Comparison
        Says whether the accuracy of one detector is known.
    row : named tuple
        A row of ``result.ranking``, by ``itertuples``.
    """
    if not result.known:
        return f"about {100 * row.value:.0f}"
    if row.detector == result.known:
        return f"{100 * row.value:.1f} (given)"
    bounds = f"{100 * row.value_lower:.1f} to {100 * row.value_upper:.1f}"
    return f"{100 * row.value:.1f} ({result.level:.0%} interval {bounds})"


def difference_text(result: Comparison, row: Mapping[str, Any]) -> str:
    """Write the difference of two detectors in words, in points of 100.

    Parameters
    ----------
    result : Comparison
        With the level of the intervals.
    row : mapping
        A row of ``result.pairs``.
    """
    text = (
        f"{row['a']} - {row['b']}: {100 * row['difference']:+z.1f} ({result.level:.0%} interval "
        f"{100 * row['lower']:+z.1f} to {100 * row['upper']:+z.1f}), {row['a']} better with "
        f"probability {row['p_better']:.0%}"
    )
    if row["distinguishable"]:
        return text
    text += "; not distinguishable"
    if not math.isnan(row["more_labels"]):
        text += f", about {counted(int(row['more_labels']), 'more label')} would tell"
    return text


def about_values(result: Comparison) -> str:
    """State why values differ from single estimates; empty where all images are labelled.

    Parameters
    ----------
    result : Comparison
        Of two detectors or more.
    """
    if result.known:
        return (
            f"The value of {result.known} was given. Another one is this value plus the "
            "estimated difference, whose interval it has."
        )
    if result.n_labelled == result.n_images:
        return ""
    single = "label estimate" if result.n_labelled else "estimate"
    return (
        f"These values have the mean of the detectors' own estimates (`autoeval {single}`), "
        "but differ by the estimated differences: alone each detector has another value."
    )


def differences_table(result: Comparison) -> Table:
    """Make the table of all differences, one row for every two detectors and category.

    Parameters
    ----------
    result : Comparison
        Its ``pairs`` are written as they are; people see them in points of 100.
    """
    pairs = result.pairs
    shown = pairs.assign(**{name: 100 * pairs[name] for name in POINTS})
    shown["p_better"] = 100 * pairs["p_better"]
    shown["result"] = [
        f"{row['a'] if row['lower'] > 0 else row['b']} is better"
        if row["distinguishable"]
        else "not distinguishable"
        for row in pairs.to_dict("records")
    ]
    shown = shown.drop(columns="distinguishable")
    if pairs["category"].nunique() == 1:
        shown = shown.drop(columns="category")
    if not result.n_labelled:
        shown = shown.drop(columns=["more_labels", "label_free"])
    shown = shown.rename(columns={"p_better": "a better (%)"})
    shown = shown.rename(columns=lambda name: name.replace("_", " "))
    formats = {name.replace("_", " "): "{:+z.1f}" for name in POINTS}
    formats |= {"a better (%)": "{:.0f}", "more labels": "{:.0f}"}
    caption = f"Differences of {result.target} in points of 100, a less b"
    return Table("differences", pairs, shown, formats, caption)


def disagreement_blocks(result: Comparison) -> list[Block]:
    """Return the images on which the first two detectors find most differently, side by side.

    What differs are the likely boxes that one has and the other has not; two boxes of a category
    are the same from an IoU of .5 on.

    Parameters
    ----------
    result : Comparison
        With the sites of the detectors.

    Returns
    -------
    list of Block
        Pictures of the first `SHOWN` images, where they are at hand and there is OpenCV, and a
        table of up to 4 times as many; empty where no box differs.
    """
    first, second = result.sites[result.detectors[0]], result.sites[result.detectors[1]]
    of_first = first.boxes.where(first.right_at_half > LIKELY)
    of_second = second.boxes.where(second.right_at_half > LIKELY)
    in_both = match_categories(of_first, of_second).hits[AT_HALF]
    counts = np.bincount(of_first.image, minlength=len(first))
    counts += np.bincount(of_second.image, minlength=len(first))
    counts -= 2 * np.bincount(of_first.image[in_both], minlength=len(first))
    order = [k for k in np.argsort(-counts, kind="stable") if counts[k] > 0]
    if not order:
        return []
    images = first.boxes.images
    rows = [(images[k].image_id, int(counts[k])) for k in order[: 4 * SHOWN]]
    blocks: list[Block] = [Heading("Where they disagree most")]
    pictures = _side_by_side(result, order[:SHOWN], counts) if first.images else []
    if pictures:
        about = (
            "The same image for the first two detectors, side by side, with boxes by their "
            "true-positive probability (faint: under .3)"
        )
        blocks.append(Thumbnails(pictures, about, SIDE))
    table = pd.DataFrame(rows, columns=["image", "boxes that differ"])
    caption = "Likely boxes that one has and the other has not"
    return [*blocks, Table("disagreements", table, caption=caption, folded=True)]


def _side_by_side(
    result: Comparison, order: list[int], counts: np.ndarray
) -> list[tuple[np.ndarray, str]]:
    """Draw images with the boxes of the first two detectors; those not at hand are left out."""
    from autoeval.report.pictures import draw_boxes, has_opencv

    names = result.detectors[:2]
    sites = [result.sites[name] for name in names]
    files = {image.image_id: image for site in sites for image in site.images}
    pictures = []
    for k in order if has_opencv() else ():
        image_id = sites[0].boxes.images[k].image_id
        if image_id not in files:
            continue
        try:
            pixels = files[image_id].read()
        except UnreadableImageError:
            continue
        differ = counted(int(counts[k]), "box differs", "boxes differ")
        for name, site in zip(names, sites, strict=True):
            drawn = draw_boxes(pixels, _likely(site, int(k)), (), side=SIDE)
            pictures.append((drawn, f"{name}: {image_id}, {differ}"))
    return pictures


def _likely(site: Site, image: int) -> Detections:
    """Return the boxes of an image that may be right, scored by their probability."""
    assert site.calibration is not None
    boxes = site.boxes.detections(image)
    scored = replace(boxes, scores=site.calibration.at_half(boxes.scores, boxes.boxes))
    return scored[scored.scores > FOUND]
