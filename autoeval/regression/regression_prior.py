"""What the regression believes before it has seen a pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Shares = tuple[float, float, float, float]


@dataclass(frozen=True)
class Prior:
    """The numbers behind `MixedModel`, fitted on a panel of detectors.

    See docs/explanation/calibration.md.

    Parameters
    ----------
    intercept, intercept_std : float
        Accuracy of a pair whose scores are in their middle.
    slopes : tuple of float
        Mean slope of each score, in units of its scale.
    calibration_std : float
        Of the intercept where the calibration rests on one pair; with n pairs it is divided by the
        root of n.
    slope_std : float
        Standard deviation of each slope.
    categories : mapping of str to float
        What is known of categories by name: the mean of their effect.
    spread, spread_log_std : float
        Standard deviation of pairs around the line, all effects together: median and standard
        deviation of the logarithm of a log-normal distribution.
    shares : tuple of (family, place, category, pair)
        How the square of that spread divides.
    bending : float
        Variance of each slope from family to family, as a share of that square.
    of_one_image : float
        Standard deviation of average precision because it is measured on one image.
    guess : float
        Number of pairs that the first guess of the spread of accuracies counts as.
    """

    slopes: tuple[float, ...]
    intercept: float = 0.3
    intercept_std: float = 0.03
    calibration_std: float = 0.2
    slope_std: float = 0.015
    categories: Mapping[str, float] = field(default_factory=dict)
    spread: float = 0.1
    spread_log_std: float = 0.3
    shares: Shares = (0.4, 0.1, 0.1, 0.4)
    bending: float = 0.03
    of_one_image: float = 0.3
    guess: float = 10.0
