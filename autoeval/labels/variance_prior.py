"""A prior of a variance from other sites, so that a few labels need not estimate it alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import polygamma

FEWEST_DOF, MOST_DOF = 0.5, 60.0
USUAL_DOF = 4.0  # where one site alone was measured; 4 to 5 over the categories of a labelled set


@dataclass(frozen=True)
class VariancePrior:
    """Scaled inverse chi-squared prior of a variance, which counts as `dof` observations."""

    variance: float
    dof: float

    def of_mean(self, k: int) -> VariancePrior:
        """Return the prior of the variance of a mean over k."""
        return VariancePrior(self.variance / k, self.dof)

    def scaled(self, factor: float) -> VariancePrior:
        """Return the prior of `factor` times the variance."""
        return VariancePrior(self.variance * factor, self.dof)


def moderated(variance: float, dof: float, prior: VariancePrior) -> tuple[float, float]:
    r"""Shrink a variance towards a prior; without degrees of freedom it is the prior.

    .. math:: \tilde s^2 = \frac{d_0 s_0^2 + d s^2}{d_0 + d}

    with :math:`d_0 + d` degrees of freedom, the posterior of a normal sample's variance. Source:
    Smyth 2004, section 3.

    Examples
    --------
    >>> moderated(4.0, 9, VariancePrior(1.0, 3))
    (3.25, 12)
    """
    if not dof > 0:
        return prior.variance, prior.dof
    total = prior.dof + dof
    return (prior.dof * prior.variance + dof * variance) / total, total


def fit_variance_prior(ratios: Sequence[float], noise: float) -> VariancePrior:
    r"""Fit the prior of a variance to its values at several sites, relative to the expected ones.

    The logarithm of a scaled inverse chi-squared variable with d degrees of freedom has the
    variance :math:`\psi'(d / 2)`; d is chosen so that this is the variance over sites, less
    `noise`, the variance of the logarithm of a site's ratio from its number of images being finite.
    The prior is to be scaled by the variance that is expected at a new site. A single one has
    `USUAL_DOF`. Source: Smyth 2004, section 6.2.
    """
    logs = np.log(ratios)
    if len(logs) == 1:
        return VariancePrior(float(ratios[0]), USUAL_DOF)
    between = float(logs.var(ddof=1)) - noise
    if between <= polygamma(1, MOST_DOF / 2):
        dof = MOST_DOF
    elif between >= polygamma(1, FEWEST_DOF / 2):
        dof = FEWEST_DOF
    else:
        dof = 2 * brentq(lambda half: polygamma(1, half) - between, FEWEST_DOF / 2, MOST_DOF / 2)
    return VariancePrior(float(np.exp(logs.mean())), float(dof))
