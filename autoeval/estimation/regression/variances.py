"""How far accuracies may lie off the line: possibilities, each with its prior weight."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

SPREAD, SPREAD_LOG_STD = 0.11, 0.35
SPREADS = tuple(float(s) for s in np.geomspace(0.04, 0.25, 7))
SHARES = ((0.7, 0.1, 0.05, 0.15), (0.5, 0.2, 0.1, 0.2), (0.3, 0.2, 0.1, 0.4))
SLOPES = (0.04, 0.08, 0.16)
BENDING = 0.05


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


def possible_variances() -> tuple[Variances, ...]:
    """List the possibilities that the regression averages over.

    The spread of all effects together has a log-normal prior around `SPREAD`; how its square
    divides into family, place, category and pair (`SHARES`) and the standard deviation of slopes
    (`SLOPES`) are equally likely. Slopes differ by family by the share `BENDING` of that square.
    """
    return tuple(
        Variances(
            family=spread**2 * shares[0],
            place=spread**2 * shares[1],
            category=spread**2 * shares[2],
            pair=spread**2 * shares[3],
            slope=slope**2,
            bending=BENDING * spread**2,
            log_prior=-0.5 * float(np.log(spread / SPREAD) / SPREAD_LOG_STD) ** 2,
        )
        for spread, shares, slope in product(SPREADS, SHARES, SLOPES)
    )
