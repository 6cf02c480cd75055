"""A fit at several score floors: what it is where only boxes over a score are in the files.

Programs leave out boxes under a score of their own (`yolo predict`: .25). Boxes are matched from
the most confident one on, so the true-positive probability of a confidence is the same at every
floor. What changes is how many objects are missed, every score, the accuracy of the boxes that are
left, and what is believed of all three before a box is labelled. A fit on files from a low score on
therefore holds itself at the floors of `FLOORS` above, made by cutting its labelled boxes; a site
takes the one of its file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autoeval.estimation.calibrating import CalibratedSets, fit_missed_objects
from autoeval.estimation.category_scores import labelled_rows
from autoeval.model.calibration import CalibrationPrior, ScoreCalibration
from autoeval.model.priors import calibration_prior
from autoeval.sites.reference_statistics import SAME_FLOOR
from autoeval.sites.site import Site

FLOORS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
FLOOR = "floor"  # column of the saved rows


@dataclass(frozen=True, eq=False)
class FloorFit:
    """A fit at one floor: its pairs and its calibration."""

    rows: pd.DataFrame
    calibration: ScoreCalibration

    def to_dict(self) -> dict[str, Any]:
        """Return plain values of all but the rows."""
        return {"calibration": self.calibration.to_dict()}


def fits_above(sets: Sequence[Site], calibrated: CalibratedSets) -> dict[float, FloorFit]:
    """Fit labelled sets at every floor above those of their files.

    calibrated: what was fitted on all their boxes. A floor over which no box is left is left out.
    """
    fit_floor = max(labelled_set.looks.floor for labelled_set in sets)
    fits = {}
    for floor in FLOORS:
        some = all((labelled_set.boxes.scores >= floor).any() for labelled_set in sets)
        if floor > fit_floor + SAME_FLOOR and some:
            prior = calibration_prior(floor)
            boxes = calibrated.calibration.boxes
            fits[floor] = FloorFit(*rows_above(sets, floor, boxes, calibrated.probabilities, prior))
    return fits


def share_above(sets: Sequence[Site], floor: float) -> float:
    """Return the share of the boxes of all sets that score higher."""
    scores = np.concatenate([labelled_set.boxes.scores for labelled_set in sets])
    return float(np.mean(scores >= floor))


def rows_above(
    sets: Sequence[Site],
    floor: float,
    boxes: np.ndarray,
    probabilities: Sequence[np.ndarray],
    prior: CalibrationPrior,
) -> tuple[pd.DataFrame, ScoreCalibration]:
    """Calibrate and score labelled sets by their boxes over a score.

    boxes (10, 3): of the `ScoreCalibration` of all boxes.
    probabilities (10, N): of all boxes of each set, by calibrations that have not seen its labels.
    prior: of calibrations at this floor.
    Returned: as `autoeval.estimation.calibrating.calibrated_rows`.
    """
    above = [labelled_set.above(floor) for labelled_set in sets]
    everywhere = [np.ones(len(labelled_set), bool) for labelled_set in above]
    missed = fit_missed_objects(above, everywhere, boxes, prior)
    calibration = ScoreCalibration(boxes, missed)
    rows = []
    for full, cut, p in zip(sets, above, probabilities, strict=True):
        kept = full.boxes.scores >= floor
        rows.append(labelled_rows(cut, calibration, probabilities=p[:, kept]))
    return pd.concat(rows, ignore_index=True), calibration


def with_floors(table: pd.DataFrame, floors: Mapping[float, FloorFit]) -> pd.DataFrame:
    """Append the rows at each floor to those of a fit, in a column ``floor``; NaN for its own."""
    if not floors:
        return table
    parts = [table.assign(**{FLOOR: np.nan})]
    parts += [floor_fit.rows.assign(**{FLOOR: floor}) for floor, floor_fit in floors.items()]
    return pd.concat(parts, ignore_index=True)


def split_floors(
    table: pd.DataFrame, saved: Mapping[str, Mapping[str, Any]]
) -> tuple[pd.DataFrame, dict[float, FloorFit]]:
    """Undo `with_floors`; `saved` has `FloorFit.to_dict` by floor."""
    if not saved:
        return table, {}

    def of_floor(chosen: pd.Series) -> pd.DataFrame:
        rows = table[chosen].drop(columns=FLOOR)
        return rows.dropna(axis=1, how="all").reset_index(drop=True)

    fits = {}
    for name, values in saved.items():
        calibration = ScoreCalibration.from_dict(values["calibration"])
        rows = of_floor(table[FLOOR] == float(name))
        fits[float(name)] = FloorFit(rows, calibration)
    return of_floor(table[FLOOR].isna()), fits
