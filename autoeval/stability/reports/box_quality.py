"""Whether a box that stays put is a good box, and the images whose boxes do so least and most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats
from sklearn.metrics import roc_auc_score

from autoeval.accuracy.coco_evaluation import MeanAP
from autoeval.boxes import box_area, box_iou, match_boxes
from autoeval.detections import SCORE_THR, Detections, Evidence
from autoeval.errors import InputError
from autoeval.io.images import read_image
from autoeval.io.tasks.task import Task
from autoeval.model.pair_table import SEED
from autoeval.report.charts import picture_rows, source_legend, source_styles
from autoeval.report.page import Table
from autoeval.report.pictures import draw_boxes
from autoeval.stability.methods.score_rows import groups_of
from autoeval.stability.reports.method_page import LEGEND
from autoeval.stability.reports.score_correlation import R2
from autoeval.stability.reports.study_report import StudyReport, interval_cells
from autoeval.stability.scores.box_stability import box_stability
from autoeval.stability.studies.correlation import SquaredCorrelation
from autoeval.stability.studies.kept_boxes import Observations, ObservedImage

BINS = np.linspace(0, 1, 11)
MOST_DRAWN = 3000
MEASURES = ("confidence", "stability")
FLOOR = 0.5
HIT = 0.5


def box_level_report(observations: Observations, *, seed: int = 0) -> StudyReport:
    """Compare the stability of single boxes with their confidence (Yang et al. 2024, figure 8).

    Parameters
    ----------
    observations : Observations
        Of the sources' own images; sample sets among them are passed over.
    seed : int
        Of the intervals.

    Raises
    ------
    InputError
        If no image has a box.
    """
    boxes = box_table(observations.of_kind(SEED))
    result = box_level_correlation(boxes, seed=seed)
    shown = result.assign(**{R2: interval_cells(result, "r2")})
    shown = shown[
        ["source", "measure", "boxes", R2, "spearman", "auroc", "boxes_over_half", "r2_over_half"]
    ]
    names = {"spearman": "ρ", "auroc": "AUROC"}
    names |= {"boxes_over_half": "boxes over .5", "r2_over_half": "R² over .5"}
    pooled = result[result["source"] == "all"].set_index("measure")
    titles = {
        measure: f"R² {pooled.loc[measure, 'r2']:.2f}, ρ {pooled.loc[measure, 'spearman']:.2f}, "
        f"R² over .5: {pooled.loc[measure, 'r2_over_half']:.2f}"
        for measure in MEASURES
    }
    formats = dict.fromkeys(("ρ", "AUROC", "R² over .5"), "{:.2f}")
    return StudyReport(
        "box_level",
        "Single boxes: overlap with the truth against confidence and stability",
        "Every box of the sources' own images with a score over "
        f"{observations.stability.score_thr}. *Stability* is the mean IoU with its partner under "
        "dropout, 0 for a lost box. R² and ρ with the IoU of the true box; AUROC of boxes of IoU "
        "over .5 against others; *over .5*: boxes whose measure is.",
        plot_boxes(boxes, titles),
        [Table("box_level", result, shown.rename(columns=names), formats)],
        observations.warnings,
    )


def plot_boxes(boxes: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Draw the IoU of boxes with the truth against measures in [0, 1], side by side.

    The line is the mean IoU of the boxes in each tenth of the measure.

    Parameters
    ----------
    boxes : DataFrame
        What `box_table` returned; of more than `MOST_DRAWN` boxes a random share is drawn as dots.
    titles : mapping of str to str
        Title of the panel of each column.
    """
    figure = Figure(figsize=(4.6 * len(titles), 4.6), layout="constrained")
    axes = figure.subplots(1, len(titles), squeeze=False, sharey=True)[0]
    styles = source_styles(boxes["source"])
    drawn = boxes.sample(min(MOST_DRAWN, len(boxes)), random_state=0)
    centres = (BINS[:-1] + BINS[1:]) / 2
    for ax, (measure, title) in zip(axes, titles.items(), strict=True):
        for source, rows in drawn.groupby("source", sort=False):
            ax.scatter(rows[measure], rows["iou"], s=7, alpha=0.35, lw=0, **styles[source])
        tenth = np.clip(np.digitize(boxes[measure], BINS) - 1, 0, len(BINS) - 2)
        means = boxes["iou"].groupby(tenth).mean()
        ax.plot(centres[means.index], means, color="black", lw=2, marker="o", ms=4)
        ax.set_title(title, fontsize=9)
        ax.set(xlabel=measure, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("IoU with the true box")
    source_legend(figure, boxes["source"])
    return figure


def box_table(observations: Observations) -> pd.DataFrame:
    """Measure every clean box above the score threshold: its stability and its IoU with the truth.

    Boxes of which more than half lies in a crowd of their category are left out, as their truth is
    not known.

    Parameters
    ----------
    observations : Observations
        Of labelled images.

    Returns
    -------
    DataFrame
        ``source``, ``group``, ``image_id``, ``confidence``, ``stability`` (see
        `stability_of_boxes`), and ``iou`` with the true box of its category that it overlaps most,
        or 0.

    Raises
    ------
    InputError
        If no image has such a box.
    """
    parts, score_thr = [], observations.stability.score_thr
    for observed in observations.sets:
        for image in observed.images:
            outside = _outside_crowds(image, score_thr)
            clean, real = image.evidence.clean, ~image.iscrowd
            same = clean.labels[:, None] == image.labels[real]
            overlaps = box_iou(clean.boxes.astype(np.float64), image.boxes[real]) * same
            parts.append(
                pd.DataFrame(
                    {
                        "source": observed.source,
                        "group": observed.group or observed.source,
                        "image_id": image.evidence.image_id,
                        "confidence": clean.scores[outside].astype(np.float64),
                        "stability": stability_of_boxes(image.evidence, score_thr)[outside],
                        "iou": overlaps.max(axis=1, initial=0.0)[outside],
                    }
                )
            )
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    if table.empty:
        raise InputError(
            f"Expected images with boxes of a score above {score_thr:g} but the detector found "
            "none: is it one for this task?"
        )
    return table


def stability_of_boxes(evidence: Evidence, score_thr: float = SCORE_THR) -> np.ndarray:
    """Mean over repeats of the IoU of each clean box with its partner, 0 for a lost box; (N,).

    Partners are those of box stability with IoU: the matching whose sum of overlaps is the largest.

    Parameters
    ----------
    evidence : Evidence
        Of one image, with perturbed passes.
    score_thr : float
        Boxes with a score up to this count as lost, clean or perturbed.
    """
    passes: tuple[Detections, ...] = evidence.require("perturbed")
    clean = evidence.clean
    kept = np.flatnonzero(clean.scores > score_thr)
    total = np.zeros(len(clean))
    for perturbed in passes:
        perturbed_boxes = perturbed.above(score_thr).boxes
        rows, _, overlaps = match_boxes(clean.boxes[kept], perturbed_boxes, cost="iou")
        total[kept[rows]] += overlaps
    return total / len(passes)


def box_level_correlation(boxes: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """Correlate confidence and stability of boxes with their overlap with the truth.

    Source: Yang et al. 2024, appendix B, figure 8.

    Parameters
    ----------
    boxes : DataFrame
        See `box_table`.
    seed : int
        Of the bootstrap.

    Returns
    -------
    DataFrame
        One row a source, and one for ``all``, for each measure: ``auroc`` is of separating boxes
        with IoU over .5 from others, ``r2_over_half`` over boxes whose measure is above .5.
    """
    groups = [("all", boxes), *boxes.groupby("source", sort=False)]
    return pd.DataFrame(
        [
            {"source": source, "measure": measure} | _correlate(rows, measure, seed)
            for source, rows in groups
            for measure in MEASURES
        ]
    )


def _correlate(rows: pd.DataFrame, measure: str, seed: int) -> dict[str, float]:
    x, iou = rows[measure].to_numpy(), rows["iou"].to_numpy()
    source = rows["source"].to_numpy()
    squared, over = SquaredCorrelation(x, iou, source, groups_of(rows)), x > FLOOR
    lower, upper = squared.interval(seed=seed)
    constant, hits = np.isnan(squared.pooled()), iou > HIT
    return {
        "boxes": len(rows),
        "r2": squared.pooled(),
        "lower": lower,
        "upper": upper,
        "spearman": np.nan if constant else float(stats.spearmanr(x, iou).statistic),
        "auroc": float(roc_auc_score(hits, x)) if 0 < hits.sum() < len(hits) else np.nan,
        "boxes_over_half": int(over.sum()),
        "r2_over_half": SquaredCorrelation(x[over], iou[over], source[over]).pooled(),
    }


def _outside_crowds(image: ObservedImage, score_thr: float) -> np.ndarray:
    """Say which clean boxes (N,) count: above the threshold and not over half in a crowd."""
    boxes, crowds = image.evidence.clean.boxes.astype(np.float64), image.boxes[image.iscrowd]
    low = np.maximum(boxes[:, None, :2], crowds[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], crowds[None, :, 2:])
    inside = np.prod(np.maximum(high - low, 0), axis=2) / np.maximum(box_area(boxes), 1e-9)[:, None]
    same = image.evidence.clean.labels[:, None] == image.labels[image.iscrowd]
    in_crowd = (inside * same > 0.5).any(axis=1)
    return ~in_crowd & (image.evidence.clean.scores > score_thr)


def examples_report(
    observations: Observations,
    task: Task,
    *,
    most: int = 4,
    per_source: int = 1,
    min_boxes: int = 2,
) -> StudyReport:
    """Draw the least and the most stable images (Yang et al. 2024, figures 1 and 5).

    Parameters
    ----------
    observations : Observations
        Boxes of each image.
    task : Task
        Where the images are found.
    most : int
        Images of either kind.
    per_source, min_boxes
        See `examples`.
    """
    unstable, stable = examples(
        observations, n_images=most, per_source=per_source, min_boxes=min_boxes
    )
    paths = {
        (seed_set.name, record.image_id): record.path
        for seed_set in task.load_seed_sets()
        for record in seed_set.images
    }
    rows, pictures, score_thr = [], [], observations.stability.score_thr
    for kind, chosen in (("least stable", unstable), ("most stable", stable)):
        for one in chosen:
            evidence = one.image.evidence
            clean = evidence.clean.above(score_thr)  # stability compares no others
            perturbed = [boxes.above(score_thr) for boxes in evidence.perturbed]
            rows.append(
                {
                    "kind": kind,
                    "source": one.source,
                    "image": evidence.image_id,
                    "stability": one.stability,
                    "mAP": one.mean_ap,
                    "boxes": len(clean),
                    "true boxes": len(one.image.boxes),
                }
            )
            picture = read_image(paths[one.source, evidence.image_id])
            drawn = draw_boxes(picture, clean, perturbed)
            label = f"{one.source}\nstability {one.stability:.2f}, mAP {one.mean_ap:.2f}"
            pictures.append((drawn, label))
    formats = {"stability": "{:.2f}", "mAP": "{:.2f}"}
    return StudyReport(
        "examples",
        "Images whose boxes stay put least and most",
        f"At most {per_source} of a source, own images with at least {min_boxes} boxes of a score "
        f"over {score_thr:g}, which are compared and drawn. {LEGEND}.",
        picture_rows(pictures, f"least stable first, then most stable; {LEGEND}"),
        [Table("examples", pd.DataFrame(rows), formats=formats)],
        observations.warnings,
    )


@dataclass(frozen=True, eq=False)
class Example:
    """One image with its stability.

    Parameters
    ----------
    source : str
        Of the image.
    image : ObservedImage
        Its boxes.
    stability : float
        Mean over repeats.
    mean_ap : float
        The mAP of the detector on this image alone, in [0, 1].
    """

    source: str
    image: ObservedImage
    stability: float
    mean_ap: float


def examples(
    observations: Observations,
    *,
    n_images: int = 4,
    per_source: int = 1,
    min_boxes: int = 2,
) -> tuple[list[Example], list[Example]]:
    """Choose the least and the most stable images, extreme ones first.

    Source: Yang et al. 2024, figures 1 and 5.

    Parameters
    ----------
    observations : Observations
        Boxes of each image.
    n_images : int
        Images of either kind.
    per_source : int
        Of either kind from one source, at most.
    min_boxes : int
        Clean boxes of an image, at least.

    Returns
    -------
    least, most : list of Example
        The least and the most stable ones.

    Raises
    ------
    InputError
        If no image has so many boxes.
    """
    ordered, stability = [], replace(observations.stability, empty="skip")
    for observed in observations.sets:
        for image in observed.images:
            clean, passes = image.evidence.clean, image.evidence.require("perturbed")
            n_boxes = len(clean.above(stability.score_thr))
            value = math.fsum(
                box_stability(clean, one_pass, stability) for one_pass in passes
            ) / len(passes)
            if n_boxes >= min_boxes and math.isfinite(value):
                ordered.append((value, observed.source, image))
    if not ordered:
        raise InputError(
            f"Expected images on which {min_boxes} boxes or more are found, with and without "
            "dropout, but there are none."
        )
    ordered.sort(key=lambda entry: (entry[0], entry[1], entry[2].evidence.image_id))

    def first(order: Sequence[tuple]) -> list[Example]:
        chosen = _first(order, n_images, per_source)
        return [
            Example(source, image, value, _mean_ap(image, observations.categories))
            for value, source, image in chosen
        ]

    return first(ordered), first(ordered[::-1])


def _first(entries: Sequence[tuple], n_images: int, per_source: int) -> list[tuple]:
    taken: dict[str, int] = {}
    chosen: list[tuple] = []
    for entry in entries:
        if len(chosen) < n_images and taken.get(entry[1], 0) < per_source:
            taken[entry[1]] = taken.get(entry[1], 0) + 1
            chosen.append(entry)
    return chosen


def _mean_ap(image: ObservedImage, categories: Sequence[str]) -> float:
    metric = MeanAP(tuple(categories))
    metric.update(image.evidence.clean, image.boxes, image.labels, image.iscrowd)
    return metric.compute()["mAP"]
