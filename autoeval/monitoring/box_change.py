r"""The change of a site's accuracy from that of its boxes, by slopes fitted on known changes.

.. math:: \Delta = \ell\, x^T b, \qquad x_j = t_j \tanh(d_j / t_j)

with :math:`\ell` the average precision before, d the difference of what boxes look like in two
windows, and t the largest difference that counts; of the logarithms of amounts
:math:`x_j = \min(e^{d_j} - 1, t_j)`, the share by which they changed. Slopes are of true-positive
probabilities, not of confidences, so that those of one detector serve others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtri
from typing_extensions import Self

from autoeval.io.config_file import shipped_config
from autoeval.io.json_file import read_json
from autoeval.monitoring.box_numbers import AT
from autoeval.monitoring.two_samples import Difference

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


@dataclass(frozen=True, eq=False)
class ChangeModel:
    """Slopes of the change of average precision, relative to the level before.

    bounds (P,): the t above, of each of `CONDITION`.
    mean (P,), covariance (P, P): of the slopes of a new site under a new kind of change.
    noise: standard deviation of what slopes do not explain, relative to the level.
    widening: factor of standard deviations that gives intervals their nominal coverage where sites
        and kinds of change are left out.
    """

    bounds: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    noise: float
    widening: float = 1.0

    def predict(self, before: np.ndarray, after: np.ndarray, level: float) -> tuple[float, float]:
        """Return the change and its standard deviation, from the means of numbers in two windows.

        before, after (len(NUMBERS),)
        level: average precision before, in [0, 1].
        """
        x = moves(before, after, self.bounds, level)
        # Bayesian linear regression (Rasmussen & Williams 2006, equation 2.9): uncertain slopes
        # count the more, the further a quantity moved; the noise counts always.
        variance = x @ self.covariance @ x + self.noise**2
        return float(x @ self.mean), float(self.widening * np.sqrt(variance))

    def gradient(self, before: np.ndarray, after: np.ndarray, level: float) -> np.ndarray:
        """Return how the predicted change moves with the means of the later window."""
        steps = STEP * np.eye(len(after))
        up, down = (
            np.array([self.predict(before, after + sign * step, level)[0] for step in steps])
            for sign in (1, -1)
        )
        return (up - down) / (2 * STEP)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "bounds": dict(zip(CONDITION, self.bounds.tolist(), strict=True)),
            "slopes": {
                "mean": self.mean.tolist(),
                "covariance": self.covariance.tolist(),
                "noise": self.noise,
                "widening": self.widening,
            },
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        slopes = values["slopes"]
        return cls(
            np.array([values["bounds"][name] for name in CONDITION]),
            np.array(slopes["mean"]),
            np.array(slopes["covariance"]),
            slopes["noise"],
            slopes["widening"],
        )


@cache
def shipped_model() -> ChangeModel:
    """Read the slopes that come with the package."""
    return ChangeModel.from_dict(read_json(shipped_config(SHIPPED), "slopes of change"))


def condition(means: np.ndarray) -> np.ndarray:
    """Turn the means of `NUMBERS` (..., len(NUMBERS)) into what changes, (..., P).

    >>> means = np.zeros(len(AT))
    >>> means[AT["certain"]] = 0.9
    >>> float(condition(means)[3])
    0.0
    """
    squares, best, size, sure, certain = (
        means[..., AT[name]] for name in ("squares", "best", "size", "sure", "certain")
    )
    return np.stack(
        [
            np.log(np.maximum(squares, 0) + FEW),
            best,
            size / (sure + FEW),
            np.log(np.maximum(certain, 0) + FEW),
        ],
        axis=-1,
    )


def moves(
    before: np.ndarray, after: np.ndarray, bounds: np.ndarray, level: np.ndarray | float
) -> np.ndarray:
    """Return the regressors of the slopes, (..., P)."""
    difference = condition(after) - condition(before)
    bounded = bounds * np.tanh(difference / bounds)
    # Bounded before expm1, which would overflow, and after, as the share exceeds its logarithm.
    share = np.minimum(np.expm1(np.minimum(difference, bounds)), bounds)
    relative = np.maximum(np.asarray(level), LEAST_LEVEL)[..., None]
    return relative * np.where(np.isin(list(CONDITION), AMOUNTS), share, bounded)


@dataclass(frozen=True)
class Change:
    """The estimated change of a site's accuracy, in [-1, 1], with its interval."""

    value: float
    lower: float
    upper: float


def change_with_interval(
    predicted: tuple[float, float], sampling: Difference, before: float, level: float
) -> Change:
    """Add the sampling error of both windows to that of the slopes, which is independent of it.

    predicted: of `ChangeModel.predict`; `before` is the accuracy before.
    """
    raw, std = predicted
    half = float(np.hypot(ndtri((1 + level) / 2) * std, sampling.half_width(level)))
    value = min(max(raw, -before), 1 - before)
    lower, upper = np.clip([raw - half, raw + half], -1, 1).tolist()
    return Change(float(value), lower, upper)
