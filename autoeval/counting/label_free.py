"""Counting error of a detector's boxes, as a measure of the pass over sample sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from autoeval.accuracy.coco_evaluation import match_detections
from autoeval.counting.binning import CountBins, released_bins
from autoeval.counting.measures.count_errors import absolute_error, bin_table, pooled
from autoeval.detections import Detections

EDGES = released_bins(0, 1000).edges


@dataclass(frozen=True)
class CountingErrorSettings:
    """How the error of a detector as a counter is measured.

    Parameters
    ----------
    score_thr : float
        Boxes with a higher score count.
    edges : tuple of float
        Of the bins that errors are pooled over; by default those of the published algorithm for
        counts from 0 to 1000.
    """

    revision: ClassVar[int] = 2
    score_thr: float = 0.3
    edges: tuple[float, ...] = EDGES

    def make(self) -> CountingError:
        """Make a measure that has seen nothing."""
        return CountingError(self)


class CountingError:
    """Error of a detector as a counter over a set of images, all categories of the task together.

    Boxes that mark a crowd, or an area to ignore, stand for an unknown number of objects and do not
    count, nor do detections that COCO's evaluation ignores since half of them lies there.

    Parameters
    ----------
    settings : CountingErrorSettings, optional
    """

    def __init__(self, settings: CountingErrorSettings | None = None) -> None:
        self.settings = settings or CountingErrorSettings()
        self._true: list[int] = []
        self._counted: list[int] = []

    def update(
        self, detections: Detections, boxes: np.ndarray, labels: np.ndarray, iscrowd: np.ndarray
    ) -> None:
        """Take in one image.

        Parameters
        ----------
        detections : Detections
            What was detected on it.
        boxes, labels : ndarray of shape (M, 4) and (M,)
            True boxes, and their categories.
        iscrowd : ndarray of shape (M,), bool
            Which of them mark crowds.
        """
        counted, crowd = detections.above(self.settings.score_thr), np.asarray(iscrowd, bool)
        ignored = np.zeros(0, bool)
        if crowd.any():
            counted = counted[np.lexsort((-counted.scores, counted.labels))]
            _, ignored = match_detections(
                counted.boxes, counted.labels, boxes, np.asarray(labels), crowd=crowd
            )
            ignored = ignored[0]  # at an IoU of .5
        self._counted.append(len(counted) - int(ignored.sum()))
        self._true.append(int(np.sum(~crowd)))

    def compute(self) -> dict[str, float]:
        r"""Return the error over all images seen; NaN where there are none.

        ``count_mae``, ``count_rmse``
            Mean of \|n - y\|, root of the mean of (n - y)², in objects an image.
        ``count_relative_mae``
            ``count_mae`` divided by the mean true count; NaN where no image has an object.
        ``count_pooled_mae``, ``count_pooled_std``
            Mean and standard deviation of \|n - y\| within each bin of the true count, pooled over
            bins (Shivapuja et al. 2021, equations 8 and 9), images outside the edges dropped as in
            the authors' code. Where none is dropped, the pooled mean is ``count_mae`` itself.
        """
        names = [f"count_{n}" for n in ("mae", "rmse", "relative_mae", "pooled_mae", "pooled_std")]
        if not self._true:
            return dict.fromkeys(names, math.nan)
        error = absolute_error(self._true, self._counted)
        mean_count = float(np.mean(self._true))
        relative = error["MAE"] / mean_count if mean_count else math.nan
        bins = CountBins(self.settings.edges)
        table = bin_table(self._true, self._counted, bins, mode="released")
        figures = (error["MAE"], error["RMSE"], relative, *pooled(table))
        return dict(zip(names, figures, strict=True))
