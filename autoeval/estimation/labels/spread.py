"""What other places tell about a variance, so that a handful of labels need not tell it alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import polygamma

FEWEST_DOF, MOST_DOF = 0.5, 60.0


@dataclass(frozen=True)
class Spread:
    """A prior of a variance: scaled inverse chi-squared.

    Parameters
    ----------
    variance : float
    dof : float
        Observations that it is worth.
    """

    variance: float
    dof: float

    def of_mean(self, k: int) -> Spread:
        """Return that of the variance of a mean over k."""
        return Spread(self.variance / k, self.dof)

    def scaled(self, factor: float) -> Spread:
        """Return that of the variance of values times the root of `factor`."""
        return Spread(self.variance * factor, self.dof)


def moderated(variance: float, dof: float, prior: Spread) -> tuple[float, float]:
    r"""Shrink a variance towards a prior.

    .. math:: \tilde s^2 = \frac{d_0 s_0^2 + d s^2}{d_0 + d}

    with :math:`d_0 + d` degrees of freedom, the posterior of a normal sample's variance. Source:
    Smyth 2004, section 3.

    Parameters
    ----------
    variance, dof : float
        Observed; without degrees of freedom the prior stands alone.
    prior : Spread

    Examples
    --------
    >>> moderated(4.0, 9, Spread(1.0, 3))
    (3.25, 12)
    """
    if not dof > 0:
        return prior.variance, prior.dof
    total = prior.dof + dof
    return (prior.dof * prior.variance + dof * variance) / total, total


def fit_spread(ratios: Sequence[float], noise: float) -> Spread:
    r"""Fit the prior of a variance to its values at several places.

    The logarithm of a scaled inverse chi-squared variable with d degrees of freedom has the
    variance :math:`\psi'(d / 2)`; d is such that this is what the places show, less the noise of
    each place's own variance. Source: Smyth 2004, section 6.2.

    Parameters
    ----------
    ratios : sequence of float
        Variance at each place relative to what was expected there, positive.
    noise : float
        Variance of the logarithm of a place's ratio, from its number of images being finite.

    Returns
    -------
    Spread
        Relative, to be scaled by what is expected at a new place.
    """
    logs = np.log(ratios)
    between = float(logs.var(ddof=1)) - noise if len(logs) > 1 else math.inf
    if between <= polygamma(1, MOST_DOF / 2):
        dof = MOST_DOF
    elif between >= polygamma(1, FEWEST_DOF / 2):
        dof = FEWEST_DOF
    else:
        dof = 2 * brentq(lambda half: polygamma(1, half) - between, FEWEST_DOF / 2, MOST_DOF / 2)
    return Spread(float(np.exp(logs.mean())), float(dof))
