"""How far accuracies may lie off the line: possibilities, each with its prior weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.regression.regression_prior import Prior

SPREADS = tuple(float(s) for s in np.geomspace(0.04, 0.25, 7))


@dataclass(frozen=True)
class Variances:
    """Variances of what makes the accuracy of a pair differ from the line.

    Parameters
    ----------
    family, place, category : float
        Of effects that all pairs of a family, of a place, of a category share.
    pair : float
        Of each pair on its own, beyond its sampling error.
    slope : float
        Of the prior of each slope, for scores in units of their scale.
    bending : float
        Of how much each slope differs from family to family.
    log_prior : float
        Logarithm of the prior weight, up to a constant.
    """

    family: float
    place: float
    category: float
    pair: float
    slope: float
    bending: float = 0.0
    log_prior: float = 0.0


def possible_variances(prior: Prior) -> tuple[Variances, ...]:
    """List the possibilities that the regression averages over; see `Prior`."""
    return tuple(
        Variances(
            family=spread**2 * prior.shares[0],
            place=spread**2 * prior.shares[1],
            category=spread**2 * prior.shares[2],
            pair=spread**2 * prior.shares[3],
            slope=prior.slope_std**2,
            bending=prior.bending * spread**2,
            log_prior=-0.5 * float(np.log(spread / prior.spread) / prior.spread_log_std) ** 2,
        )
        for spread in SPREADS
    )
