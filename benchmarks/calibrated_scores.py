"""Scores of confidences, and the same scores of calibrated probabilities, on the same boxes.

    python -m benchmarks.calibrated_scores DATA NAME=PREDICTIONS ...

Each detector is calibrated on the `val` images of ``all/coco_mini``; DATA and PREDICTIONS are those
of `benchmarks/panel.py`. mAP is regressed on each score alone over the sites of a category, and the
sites of one group are left out in turn.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

from autoeval.detections import SCORE_THR, Detections, Evidence
from autoeval.estimation.calibrating import fit_calibration
from autoeval.estimation.category_scores import labelled_rows
from autoeval.model.calibration import LIKELY
from autoeval.report.tables import format_cells, to_markdown
from autoeval.sites.labelled_set import LabelledSet
from autoeval.sites.site_boxes import SiteBoxes
from autoeval.stability.scores.base import RatioScore
from autoeval.stability.scores.registry import score_of
from benchmarks.panel import LABELLED, TASKS, WIDE, add_detectors, read_sets

SCORES = ("ac", "best_box", "contrastive_confidence")
AT_THIRTY = ("atc", "box_share", "confident_images", "ps", "es_mean")
COLUMNS = (*SCORES, *(f"{name}@0.30" for name in AT_THIRTY))
SCALES = ("confidence", "calibrated")
FEWEST_BOXES = 8  # labelled at a site


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_detectors(parser)
    args = parser.parse_args()
    parts = []
    for name, folder in args.detectors:
        sets = list(read_sets(args.data, folder))
        rows = pd.concat(scored(sets))
        parts += [
            {"detector": name, "category": category, **errors(own)}
            for category, own in rows.groupby("category")
        ]
    of_all = pd.DataFrame(parts).set_index(["detector", "category"])
    table = pd.DataFrame(
        {
            scale: of_all[[f"{name}/{scale}" for name in COLUMNS]].mean().to_numpy()
            for scale in SCALES
        },
        index=pd.Index(COLUMNS, name="score"),
    )
    better = [
        int((of_all[f"{name}/calibrated"] < of_all[f"{name}/confidence"]).sum()) for name in COLUMNS
    ]
    table = table.assign(better=[f"{n} of {len(of_all)}" for n in better]).reset_index()
    print(to_markdown(format_cells(table, dict.fromkeys(SCALES, "{:.1f}"))))


def scored(sets: list[LabelledSet]) -> Iterator[pd.DataFrame]:
    """Yield the scores of each site by both scales, and its mAP, one row a category."""
    own = [of for of in sets if of.name == LABELLED]
    calibration = fit_calibration(own, [np.ones(len(of.boxes), bool) for of in own], WIDE)
    least = float(calibration.at_half(np.array([SCORE_THR]))[0])  # the same boxes count
    for of in sets:
        if of.name == LABELLED or not of.everywhere:
            continue
        rows = labelled_rows(of, calibration)
        rows = rows[rows["category"].isin(TASKS) & (rows["n_boxes"] >= FEWEST_BOXES)]
        if not len(rows):
            continue
        raw = replace(of.boxes, calibration=calibration)
        mapped = replace(raw.clean, scores=calibration.at_half(raw.clean.scores).astype(np.float32))
        both = (raw, SCORE_THR), (replace(raw, clean=mapped), least)
        columns = [
            {
                f"{name}/{scale}": value
                for scale, (boxes, score_thr) in zip(SCALES, both, strict=True)
                for name, value in _scores(boxes, category, raw, score_thr).items()
            }
            for category in rows["category"]
        ]
        yield rows[["source", "group", "category", "mAP"]].join(
            pd.DataFrame(columns, index=rows.index)
        )


def _scores(boxes: SiteBoxes, category: str, raw: SiteBoxes, score_thr: float) -> dict[str, float]:
    """Return the scores of a category on the images where it is likely."""
    k = boxes.clean.categories.index(category)
    rows = raw.clean.rows_of(k)
    images = np.unique(raw.clean.image[rows[raw.right_at_half[rows] > LIKELY]])
    place = np.full(len(boxes), -1)
    place[images] = np.arange(len(images))
    own = boxes.clean.rows_of(k)
    own = own[boxes.clean.scores[own] > np.float32(score_thr)]
    confidences, at = boxes.clean.scores[own], place[boxes.clean.image[own]]
    of_images = [_evidence(confidences[at == image]) for image in range(len(images))]
    columns: dict[str, float] = {}
    for kind in {score_of(name) for name in COLUMNS}:
        assert kind is not None and issubclass(kind, RatioScore)
        score = kind(score_thr=score_thr)
        for evidence in of_images:
            score.update(evidence)
        columns |= score.compute()
    return {name: columns[name] for name in COLUMNS}


def _evidence(confidences: np.ndarray) -> Evidence:
    """Make evidence of an image of which only the confidences of its boxes are read."""
    n = len(confidences)
    return Evidence("", (1, 1), Detections(np.zeros((n, 4)), confidences, np.zeros(n, np.int64)))


def errors(rows: pd.DataFrame) -> dict[str, float]:
    """Return the MAE, in points, of a line through each score, groups left out."""
    true, found = rows["mAP"].to_numpy(), {}
    for column in (f"{name}/{scale}" for name in COLUMNS for scale in SCALES):
        x = rows[[column]].fillna(rows[column].min())
        predicted = cross_val_predict(
            LinearRegression(), x, true, groups=rows["group"], cv=LeaveOneGroupOut()
        )
        found[column] = 100 * float(np.abs(np.clip(predicted, 0, 1) - true).mean())
    return found


if __name__ == "__main__":
    main()
