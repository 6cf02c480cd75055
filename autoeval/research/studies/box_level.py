"""Is a box that stays put a good box: stability and confidence against overlap with the truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.metrics import roc_auc_score

from autoeval.boxes import box_area, box_iou, match_boxes
from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError
from autoeval.research.studies.observed import Observations, ObservedImage
from autoeval.research.studies.source_resampling import SquaredCorrelation

MEASURES = ("confidence", "stability")
FLOOR, HIT = 0.5, 0.5


def box_table(observations: Observations) -> pd.DataFrame:
    """Measure every clean box.

    Returns
    -------
    DataFrame
        One row a clean box: ``source``, ``image_id``, ``confidence``, ``stability`` (see
        `stability_of_boxes`), ``iou`` (with the true box of its category that it overlaps most; 0
        where it overlaps none). Boxes of which half lies in a crowd are left out, as their truth
        is not known.

    Raises
    ------
    InputError
        If the passes have no repeats, or no image has a box.
    """
    parts, score_thr = [], observations.stability.score_thr
    for observed in observations.sets:
        for image in observed.images:
            found = _outside_crowds(image, score_thr)
            parts.append(
                pd.DataFrame(
                    {
                        "source": observed.source,
                        "image_id": image.evidence.image_id,
                        "confidence": image.evidence.clean.scores[found].astype(np.float64),
                        "stability": stability_of_boxes(image.evidence, score_thr)[found],
                        "iou": _overlap_with_truth(image)[found],
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


def stability_of_boxes(evidence: Evidence, score_thr: float = 0.05) -> np.ndarray:
    """Mean over repeats of the IoU of each clean box with its partner, 0 for a lost box.

    Partners are those of box stability with IoU: the matching whose sum of overlaps is the largest.

    Returns
    -------
    ndarray of shape (N,)
        One value a clean box, in [0, 1].

    Examples
    --------
    >>> found = Detections(np.array([[0, 0, 2, 2], [5, 5, 6, 6]]), np.array([.9, .8]), [0, 0])
    >>> evidence = Evidence("a", (9, 9), found, (found, found[:1]))
    >>> stability_of_boxes(evidence)
    array([1. , 0.5])
    """
    passes: tuple[Detections, ...] = evidence.require("perturbed")
    clean = evidence.clean
    kept = np.flatnonzero(clean.scores > score_thr)
    total = np.zeros(len(clean))
    for perturbed in passes:
        others = perturbed.above(score_thr).boxes
        rows, _, overlaps = match_boxes(clean.boxes[kept], others, cost="iou")
        total[kept[rows]] += overlaps
    return total / len(passes)


def box_level_correlation(
    boxes: pd.DataFrame, *, level: float = 0.9, seed: int = 0
) -> pd.DataFrame:
    """Correlate confidence and stability of boxes with their overlap with the truth.

    Source: Yang et al. 2024, appendix B, figure 8, which counts boxes whose confidence, or whose
    stability, is above .5.

    Returns
    -------
    DataFrame
        One row a source, and one for ``all``, for each measure: ``boxes``, ``r2``, ``lower``,
        ``upper`` (for ``all``), ``spearman``, ``auroc`` (of separating boxes with IoU over .5 from
        others), and over the boxes whose measure is above .5 ``boxes_over_half`` and
        ``r2_over_half``.
    """
    groups = [("all", boxes), *boxes.groupby("source", sort=False)]
    return pd.DataFrame(
        [
            {"source": source, "measure": measure} | _correlate(rows, measure, level, seed)
            for source, rows in groups
            for measure in MEASURES
        ]
    )


def _correlate(rows: pd.DataFrame, measure: str, level: float, seed: int) -> dict[str, float]:
    x, iou, source = (rows[name].to_numpy() for name in (measure, "iou", "source"))
    squared, over = SquaredCorrelation(x, iou, source), x > FLOOR
    lower, upper = squared.interval(level=level, seed=seed)
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


def _overlap_with_truth(image: ObservedImage) -> np.ndarray:
    clean, real = image.evidence.clean, ~image.iscrowd
    same = clean.labels[:, None] == image.labels[real]
    overlaps = box_iou(clean.boxes.astype(np.float64), image.boxes[real]) * same
    return overlaps.max(axis=1, initial=0.0)


def _outside_crowds(image: ObservedImage, score_thr: float) -> np.ndarray:
    """Say which clean boxes (N,) count: above the threshold and less than half in a crowd."""
    boxes, crowds = image.evidence.clean.boxes.astype(np.float64), image.boxes[image.iscrowd]
    low = np.maximum(boxes[:, None, :2], crowds[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], crowds[None, :, 2:])
    inside = np.prod(np.maximum(high - low, 0), axis=2) / np.maximum(box_area(boxes), 1e-9)[:, None]
    same = image.evidence.clean.labels[:, None] == image.labels[image.iscrowd]
    in_crowd = (inside * same > 0.5).any(axis=1)
    return ~in_crowd & (image.evidence.clean.scores > score_thr)
