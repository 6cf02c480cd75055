"""A ranking of detectors from their pairwise differences: the probability of being best."""

from __future__ import annotations

import numpy as np

DRAWS = 40_000


def consistent_values(differences: np.ndarray) -> np.ndarray:
    """Return values whose differences are nearest to given ones by least squares.

    Parameters
    ----------
    differences : ndarray of shape (D, D)
        Of row less column, antisymmetric.

    Returns
    -------
    ndarray of shape (D,)
        With mean 0.

    Examples
    --------
    >>> consistent_values(np.array([[0, .2], [-.2, 0]]))
    array([ 0.1, -0.1])
    """
    return np.asarray(differences.mean(axis=1))


def joint_covariance(variances: np.ndarray) -> np.ndarray:
    r"""Return a covariance of values whose differences have given variances.

    .. math:: C = -\tfrac12 J V J, \qquad J = I - 1/D

    the double centring of classical scaling (Torgerson 1952), without the negative eigenvalues
    that variances have which no joint distribution has.

    Parameters
    ----------
    variances : ndarray of shape (D, D)
        Of the differences of two values; symmetric with a zero diagonal.
    """
    centre = np.eye(len(variances)) - 1 / len(variances)
    values, vectors = np.linalg.eigh(-0.5 * centre @ variances @ centre)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)


def probability_of_best(
    values: np.ndarray, covariance: np.ndarray, dof: float, *, seed: int = 0
) -> np.ndarray:
    """Return the probability of each of D values to be the highest, (D,).

    Parameters
    ----------
    values : ndarray of shape (D,)
    covariance : ndarray of shape (D, D)
    dof : float
        Degrees of freedom of a multivariate Student's distribution; infinite for a normal one.
    seed : int
        Of `DRAWS` draws.
    """
    rng = np.random.default_rng(seed)
    roots, vectors = np.linalg.eigh(covariance)
    draws = rng.standard_normal((DRAWS, len(values))) @ (vectors * np.sqrt(np.maximum(roots, 0))).T
    if np.isfinite(dof):
        draws /= np.sqrt(rng.chisquare(dof, (DRAWS, 1)) / dof)
    best = np.argmax(values + draws, axis=1)
    return np.bincount(best, minlength=len(values)) / DRAWS
