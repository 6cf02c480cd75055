r"""The change of a site's accuracy from that of its boxes, by slopes fitted on known changes.

`box_numbers` describes the boxes of each image. Windows are compared by functions of the means of
these numbers alone (`condition`), so that the sampling error of a comparison follows from how the
numbers vary between images. The change of average precision is

.. math:: \Delta = \ell\, x^T b, \qquad x_j = t_j \tanh(d_j / t_j)

with :math:`\ell` the average precision before, at least .05, d the difference of what boxes look
like in two windows, and t the largest difference that counts; of the logarithms of amounts
:math:`x_j = \min(e^{d_j} - 1, t_j)`, the share by which they changed. Slopes are of true-positive
probabilities, not of confidences, so that those of one detector serve others.

`autoeval.monitoring.looks` compares windows with them; `train_changes` made the shipped slopes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri
from typing_extensions import Self

from autoeval.boxes import Boxes
from autoeval.model.calibration import ScoreCalibration
from autoeval.runtime.files import read_json, shipped_config

# True-positive probabilities.
LOW = 0.05
SURE = 0.3  # of a likely box
CERTAIN = 0.7
UNKNOWN_SIZE = (480, 640)
SMALLEST = 1e-6  # area of a box, relative to its image
NUMBERS = (
    *("boxes", "score", "best", "empty", "sure", "size", "squares", "certain"),
    *("faint", "strength", "low", "sides"),
)
"""The square root of the number of likely boxes, those with a true-positive probability over
`SURE`; the mean probability of boxes over `LOW`, 0 without any; the best one; whether no box is
likely. How many are likely, and the sum of the logarithms of their sides relative to the image; the
sum of squared probabilities over `LOW`; how many are over `CERTAIN`. The square roots of the number
of boxes over `LOW` and of the sum of their squared probabilities; how many are over `LOW`, and the
sum of the logarithms of their sides."""
AT = {name: k for k, name in enumerate(NUMBERS)}
LEAST_LEVEL = 0.05  # a site estimated at nothing may still have something to lose
FEW = 0.1  # boxes an image, added where a logarithm or a ratio of numbers of boxes is taken
STEP = 1e-4  # of numeric derivatives
CONDITION = {
    "found": "log sum of squared true-positive probabilities",
    "best": "best true-positive probability of an image",
    "size": "log size of likely boxes, relative to the image",
    "certain": "log number of boxes with a true-positive probability over .7",
}
AMOUNTS = ("found", "certain")  # what counts is by which share these change
SHIPPED = "changes.json"


def box_numbers(
    boxes: Boxes, calibration: ScoreCalibration, category: int | None = None
) -> np.ndarray:
    """Return the numbers of each of M images, see `NUMBERS`.

    Parameters
    ----------
    boxes : Boxes
        Detected boxes, xyxy in pixels, on M images. Where the size of one image is not known, all
        count as 640 x 480 pixels.
    calibration : ScoreCalibration
        Gives true-positive probabilities at IoU .5.
    category : int, optional
        Number of the category whose boxes count; by default those of all categories, as one.

    Returns
    -------
    ndarray of shape (M, len(NUMBERS)), float64
        Columns are found by `AT`.
    """
    rows = np.arange(len(boxes)) if category is None else boxes.rows_of[category]
    image, n_images = boxes.image[rows], len(boxes.images)
    p = np.asarray(calibration.at_half(boxes.scores[rows], boxes.boxes[rows]), np.float64)
    sizes = np.array([image.size or UNKNOWN_SIZE for image in boxes.images], np.float64)
    if any(image.size is None or min(image.size) <= 0 for image in boxes.images):
        sizes[:] = UNKNOWN_SIZE
    corners = np.asarray(boxes.boxes[rows], np.float64)
    area = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    share = area / sizes.reshape(-1, 2).prod(axis=1)[image]
    side = 0.5 * np.log(np.maximum(share, SMALLEST))

    of_boxes = {  # what is summed over the boxes of each image
        "sure": p > SURE,
        "size": side * (p > SURE),
        "squares": p**2 * (p > LOW),
        "certain": p > CERTAIN,
        "low": p > LOW,
        "sides": side * (p > LOW),
        "scores": p * (p > LOW),
    }
    columns: dict[str, np.ndarray] = {
        name: np.bincount(image, weights, minlength=n_images) for name, weights in of_boxes.items()
    }
    best = np.zeros(n_images)
    np.maximum.at(best, image, p)
    columns |= {
        "boxes": np.sqrt(columns["sure"]),  # counts vary as their mean, their roots by about 1/2
        "score": columns["scores"] / np.maximum(columns["low"], 1),
        "best": best,
        "empty": (columns["sure"] == 0).astype(np.float64),
        "faint": np.sqrt(columns["low"]),
        "strength": np.sqrt(columns["squares"]),
    }
    return np.stack([columns[name] for name in NUMBERS], axis=1)


@dataclass(frozen=True)
class Change:
    """The estimated change of a site's average precision.

    Parameters
    ----------
    value, lower, upper : float
        Change with its interval, in [-1, 1].
    """

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class ChangeModel:
    """Slopes of the change of average precision, relative to the level before.

    Parameters
    ----------
    bounds : ndarray of shape (P,)
        The t of the module, of each of `CONDITION`.
    mean : ndarray of shape (P,)
        Of the slopes b of a new site under a new kind of change.
    covariance : ndarray of shape (P, P)
        Of the same.
    noise : float
        Standard deviation of what slopes do not explain, of the change itself.
    widening : (float, float)
        Factors of standard deviations that give the lower and the upper end of intervals their
        nominal coverage where groups of sites, or kinds of change, are left out.
    """

    bounds: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    noise: float
    widening: tuple[float, float] = (1.0, 1.0)

    def gradients(
        self, before: np.ndarray, after: np.ndarray, level: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of the regressors by the means of each window.

        Parameters
        ----------
        before, after : ndarray of shape (len(NUMBERS),)
            Means of the numbers.
        level : float
            Average precision before.

        Returns
        -------
        by_before, by_after : ndarray of shape (len(NUMBERS), P)
            Central differences with a step of `STEP`.
        """
        steps = STEP * np.eye(len(after))
        none, bounds = 0 * steps, self.bounds
        more_before = moves(before + steps, after + none, bounds, level)
        less_before = moves(before - steps, after + none, bounds, level)
        more_after = moves(before + none, after + steps, bounds, level)
        less_after = moves(before + none, after - steps, bounds, level)
        return (more_before - less_before) / (2 * STEP), (more_after - less_after) / (2 * STEP)

    @cached_property
    def root(self) -> np.ndarray:
        """A root R (P, P) of the covariance, R R^T."""
        variances, vectors = np.linalg.eigh(self.covariance)
        return vectors * np.sqrt(np.maximum(variances, 0))

    def change(
        self,
        x: np.ndarray,
        level: float,
        sampling: tuple[float, np.ndarray],
        quantile: float,
        nominal: float,
    ) -> Change:
        """Predict a change from the regressors, with its interval.

        Parameters
        ----------
        x : ndarray of shape (P,)
            Regressors, see `moves`.
        level : float
            Average precision before, in [0, 1].
        sampling : (float, ndarray of shape (P,))
            Standard errors, by the sampling of images, of the predicted change, and of each column
            of R^T x with R the `root`.
        quantile : float
            Of the first of these, at the nominal coverage of the interval, in standard errors.
        nominal : float
            This coverage.

        Returns
        -------
        Change
            The value is such that the average precision, of at least `LEAST_LEVEL` before, stays
            in [0, 1]; the interval holds it.
        """
        # Bayesian linear regression (Rasmussen & Williams 2006, equation 2.9): uncertain slopes
        # count the more, the further a quantity moved; the noise counts always. x holds its
        # sampling error e, and the expectation of e^T C e is in the error of the change already.
        error, of_root = sampling
        moved = max(float(x @ self.covariance @ x) - float((of_root**2).sum()), 0.0)
        std, raw = np.sqrt(moved + self.noise**2), float(x @ self.mean)
        normal = float(ndtri((1 + nominal) / 2))
        below = float(np.hypot(normal * self.widening[0] * std, quantile * error))
        above = float(np.hypot(normal * self.widening[1] * std, quantile * error))
        value = min(max(raw, -max(level, LEAST_LEVEL)), 1 - level)
        # Not cut as the value is: the level itself is an estimate, and more may have been lost.
        return Change(value, max(min(raw - below, value), -1.0), min(max(raw + above, value), 1.0))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "bounds": dict(zip(CONDITION, self.bounds.tolist(), strict=True)),
            "slopes": {
                "mean": self.mean.tolist(),
                "covariance": self.covariance.tolist(),
                "noise": self.noise,
                "widening": list(self.widening),
            },
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Parameters
        ----------
        values : mapping
            ``bounds``, by the names in `CONDITION`, and ``slopes``: ``mean``, ``covariance``,
            ``noise`` and ``widening``. Other keys are not read.

        Raises
        ------
        KeyError
            If one of these is missing.
        """
        slopes = values["slopes"]
        return cls(
            np.array([values["bounds"][name] for name in CONDITION]),
            np.array(slopes["mean"]),
            np.array(slopes["covariance"]),
            slopes["noise"],
            tuple(slopes["widening"]),
        )


@cache
def shipped_model() -> ChangeModel:
    """Read the slopes that come with the package."""
    return ChangeModel.from_dict(read_json(shipped_config(SHIPPED), "slopes of change"))


def condition(means: np.ndarray) -> np.ndarray:
    """Turn means of `NUMBERS` into what changes, see `CONDITION`.

    Parameters
    ----------
    means : ndarray of shape (..., len(NUMBERS))
        Over the images of a window.

    Returns
    -------
    ndarray of shape (..., P)
        Logarithms are of the mean plus `FEW`.

    Examples
    --------
    >>> means = np.zeros(len(AT))
    >>> means[AT["certain"]] = 0.9
    >>> float(condition(means)[3])
    0.0
    """
    return np.stack(
        [
            np.log(np.maximum(means[..., AT["squares"]], 0) + FEW),
            means[..., AT["best"]],
            means[..., AT["size"]] / (means[..., AT["sure"]] + FEW),
            np.log(np.maximum(means[..., AT["certain"]], 0) + FEW),
        ],
        axis=-1,
    )


def moves(
    before: np.ndarray, after: np.ndarray, bounds: np.ndarray, level: np.ndarray | float
) -> np.ndarray:
    """Return the regressors of the slopes, (..., P): the level times x of the module.

    Parameters
    ----------
    before, after : ndarray of shape (..., len(NUMBERS))
        Means of the numbers of two windows.
    bounds : ndarray of shape (P,)
        t.
    level : float or ndarray of shape (...)
        Average precision before, in [0, 1]; `LEAST_LEVEL` at least.
    """
    difference = condition(after) - condition(before)
    bounded = bounds * np.tanh(difference / bounds)
    # Bounded before expm1, which would overflow, and after, as the share exceeds its logarithm.
    share = np.minimum(np.expm1(np.minimum(difference, bounds)), bounds)
    relative = np.maximum(np.asarray(level), LEAST_LEVEL)[..., None]
    return relative * np.where(np.isin(list(CONDITION), AMOUNTS), share, bounded)
