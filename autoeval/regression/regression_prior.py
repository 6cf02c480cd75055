"""What the regression believes before it has seen a pair."""

from __future__ import annotations

from dataclasses import dataclass

Shares = tuple[float, float, float, float]


@dataclass(frozen=True)
class Prior:
    """The numbers behind `MixedModel`; chosen by ``autoeval study choose``.

    What was chosen and what it is worth: docs/results/transfer.md.

    Parameters
    ----------
    intercept, intercept_std : float
        Accuracy of a pair whose scores are in their middle.
    rise : float
        Mean of the sum of all slopes, for scores in units of their scale, of which each score has
        its part: scores that say the same do not say more because they are many.
    slopes : tuple of float
        Standard deviations of slopes, equally likely.
    spread, spread_log_std : float
        How far pairs stray from the line, all effects together: median and standard deviation of
        the logarithm of a log-normal distribution.
    shares : tuple of (family, place, category, pair)
        How the square of that spread divides; equally likely.
    bending : float
        Variance of each slope from family to family, as a share of that square.
    least : float
        How far pairs at 0 and 1 stray, relative to those in the middle; 1 where the level tells
        nothing of it.
    of_one_image : float
        Standard deviation of average precision because it is measured on one image.
    guess : float
        Number of pairs that the first guess of units counts as.
    """

    intercept: float = 0.35
    intercept_std: float = 0.07
    rise: float = 0.24
    slopes: tuple[float, ...] = (0.01, 0.02)
    spread: float = 0.1
    spread_log_std: float = 0.2
    shares: tuple[Shares, ...] = (
        (0.3, 0.2, 0.1, 0.4),
        (0.2, 0.1, 0.1, 0.6),
        (0.2, 0.1, 0.3, 0.4),
    )
    bending: float = 0.1
    least: float = 0.8
    of_one_image: float = 0.3
    guess: float = 10.0
