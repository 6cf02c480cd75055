r"""Domain shift: the accuracy of a detector at sites other than that of its training ("home").

The confidences that a detector was calibrated with at home are too high elsewhere, the more so the
better it is at home. How much differs from detector to detector and from site to site. With m and
s the mean and the standard deviation of what the regression predicts, and h the accuracy at home,
the accuracy at a site is

.. math:: N(m, (c s)^2)\ \text{where the site is like home}, \qquad
          N(m', (s_0 + s_1 m')^2)\ \text{elsewhere, with}\ m' = m \exp(-k z h)

k, the fall, is a random effect of the detector: 0 for a share of detectors, log-normal for the
others. z is a log-normal effect of the site, whose median is 1. A site is like home with the
probability :math:`\sigma(a + b x)`, where x is by how much the confidence of the boxes exceeds that
at home. The prediction for a detector that nobody has seen is the mixture over all of these: it is
skewed, and wide where the detector is good at home. Where other sites of the detector are labelled,
the posterior distribution of k given their accuracies replaces its prior (`DomainShift.given`).

The numbers are fitted by maximum likelihood on detectors that were each trained on one site
(`benchmarks/fine_tuned.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, ndtr, ndtri

from autoeval.model.mixed_model import Mixture

# Medians of equally probable parts of the standard normal distribution, which stand for the
# log-normal effects of detectors and of sites.
DETECTORS = ndtri((np.arange(8) + 0.5) / 8)
SITES = ndtri((np.arange(3) + 0.5) / 3)
NOTHING = 0.004  # of accuracies up to it the probability counts, not the density
LEAST_VARIANCE = 1e-12  # of an accuracy; less is rounding
LEAST_DENSITY = 1e-9  # so that no labelled site rules out a fall


@dataclass(frozen=True)
class DomainShift:
    """Parameters of the model of this module.

    Parameters
    ----------
    constant : float
        Share of the detectors whose accuracy does not fall.
    fall, fall_log_std : float
        Median of k of the others, and the standard deviation of its logarithm.
    site_log_std : float
        Standard deviation of the logarithm of z.
    like_home, like_home_slope : float
        a and b.
    like_home_std : float
        c.
    least_std, std_share : float
        s0 and s1.
    posterior : tuple of float, optional
        Probabilities of `falls` given labels at sites other than home; by default the prior.
    """

    constant: float
    fall: float
    fall_log_std: float
    site_log_std: float
    like_home: float
    like_home_slope: float
    like_home_std: float
    least_std: float
    std_share: float
    posterior: tuple[float, ...] | None = None

    @property
    def falls(self) -> tuple[np.ndarray, np.ndarray]:
        """Possible k of a detector, and their probabilities, (K,) each."""
        falls = self.fall * np.exp(self.fall_log_std * DETECTORS)
        n = len(DETECTORS)
        prior = np.append(self.constant, np.full(n, (1 - self.constant) / n))
        probabilities = prior if self.posterior is None else np.array(self.posterior)
        return np.append(0.0, falls), probabilities

    def factors(self, home: np.ndarray, confidence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the possible factors of N accuracies, and their probabilities.

        Parameters
        ----------
        home, confidence : ndarray of shape (N,)
            h and x.

        Returns
        -------
        factors : ndarray of shape (1 + K Z, N)
            In (0, 1]; the first is 1, of sites like home.
        probabilities : ndarray of shape (1 + K Z, N)
            Of the factors, sum 1.
        """
        falls, probabilities = self.falls
        k, z = falls[:, None, None], np.exp(self.site_log_std * SITES)[:, None]
        of_sites = self.weights(confidence)
        elsewhere = probabilities[:, None, None] * of_sites[1:]
        fallen = np.exp(-k * z * home).reshape(-1, len(home))
        return (
            np.concatenate([np.ones((1, len(home))), fallen]),
            np.concatenate([of_sites[:1], elsewhere.reshape(fallen.shape)]),
        )

    def components(
        self, mean: np.ndarray, std: np.ndarray, home: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return means and standard deviations of N accuracies, for each k and z.

        Parameters
        ----------
        mean, std : ndarray of shape (N,)
            m and s; a mean below 0 counts as 0.
        home : float or ndarray of shape (N,)
            h.

        Returns
        -------
        means, stds : ndarray of shape (K, 1 + Z, N)
            Along the second axis: a site like home, then each z.
        """
        mean = np.maximum(mean, 0)
        k, z = self.falls[0][:, None, None], np.exp(self.site_log_std * SITES)[:, None]
        fallen = mean * np.exp(-k * z * home)
        fallen_std = self.least_std + self.std_share * fallen
        shape = (len(k), 1, len(mean))
        means = np.concatenate([np.broadcast_to(mean, shape), fallen], axis=1)
        stds = np.concatenate(
            [np.broadcast_to(self.like_home_std * std, shape), fallen_std], axis=1
        )
        return means, stds

    def weights(self, confidence: np.ndarray) -> np.ndarray:
        """Return the probabilities of the `components` of a site, given k, (1 + Z, N).

        Parameters
        ----------
        confidence : ndarray of shape (N,)
            x; where it is not known, NaN, it counts as 0.
        """
        like_home = expit(self.like_home + self.like_home_slope * np.nan_to_num(confidence))
        return np.stack([like_home, *[(1 - like_home) / len(SITES)] * len(SITES)])

    def densities(
        self,
        accuracy: np.ndarray,
        mean: np.ndarray,
        std: np.ndarray,
        home: float | np.ndarray,
        sampling: np.ndarray | float = 0.0,
    ) -> np.ndarray:
        """Return the density of N accuracies for each of the `components`, (K, 1 + Z, N).

        Parameters
        ----------
        accuracy : ndarray of shape (N,)
            Measured; up to `NOTHING` the probability counts, not the density.
        mean, std, home
            See `components`.
        sampling : ndarray of shape (N,) or float
            Standard deviations of the accuracies because they are measured on few images.
        """
        means, stds = self.components(mean, std, home)
        stds = np.hypot(stds, sampling)
        errors = (np.maximum(accuracy, NOTHING) - means) / stds
        density = np.exp(-0.5 * errors**2) / stds / np.sqrt(2 * np.pi)
        # Where a detector finds nothing its accuracy is 0, whatever the normal distribution says:
        # the probability of so little, as a density over a hundredth.
        mass = ndtr(errors) / (2.5 * NOTHING)
        return np.where(accuracy <= NOTHING, mass, density)

    def given(
        self,
        accuracy: np.ndarray,
        predicted: Mixture,
        home: float,
        confidence: np.ndarray,
        *,
        sites: np.ndarray,
        groups: np.ndarray,
        sampling: np.ndarray | float = 0.0,
    ) -> DomainShift:
        """Return the model of one detector given N accuracies at labelled sites other than home.

        The likelihood of a fall is a product over groups. The sites of a group are taken to depend
        on each other: together they count once, by the mean of their log likelihoods. The
        categories of a site count once, too, by the mean of their log densities, and the site is
        like home, or has an effect z, for all of them.

        Parameters
        ----------
        accuracy : ndarray of shape (N,)
            Measured.
        predicted : Mixture
            Prediction of the regression for them.
        home : float
            h.
        confidence : ndarray of shape (N,)
            x.
        sites : ndarray of shape (N,)
            Name or number of the site of each accuracy.
        groups : ndarray of shape (N,)
            Name or number of the group of each site.
        sampling : ndarray of shape (N,) or float
            See `densities`.

        Returns
        -------
        DomainShift
            The same with a `posterior`.
        """
        density = self.densities(accuracy, predicted.mean, predicted.std, home, sampling)
        log_density = np.log(density + LEAST_DENSITY)
        log_weights = np.log(self.weights(confidence))
        _, probabilities = self.falls
        log_posterior = np.log(probabilities + 1e-300)
        for site in np.unique(sites):
            of_site = sites == site
            states = (log_weights + log_density)[..., of_site].mean(axis=-1)
            # categories of a site may be in groups of their own, where they are left out in turn
            n_sites = len(np.unique(sites[np.isin(groups, groups[of_site])]))
            log_posterior = log_posterior + np.logaddexp.reduce(states, axis=1) / n_sites
        posterior = np.exp(log_posterior - log_posterior.max())
        return replace(self, posterior=tuple((posterior / posterior.sum()).tolist()))

    def predict(
        self,
        predicted: Mixture,
        home: float | np.ndarray,
        confidence: np.ndarray,
        *,
        average: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> Mixture:
        """Correct a predictive distribution of N accuracies, or of averages over them.

        The fall and the effect of the site are the same for all accuracies of an average, so that
        they do not average out. The other errors have the correlation that those of the
        regression have on average, so that the averages are distributed as those of `draws`.

        Parameters
        ----------
        predicted : Mixture
            What the regression predicts of each accuracy.
        home : float or ndarray of shape (N,)
            Accuracy at the site of training, in [0, 1]; one, or of each quantity.
        confidence : ndarray of shape (N,)
            x; see the module.
        average : tuple of ndarray of shape (A, N) and (A,), optional
            Weights of the accuracies, all of one site, in each of A averages, and the standard
            deviations of these averages as the regression predicts them.

        Returns
        -------
        Mixture
            Of N accuracies, or of A averages.

        Examples
        --------
        >>> one = Mixture(np.ones((1, 1)), np.array([[0.4]]), np.array([[0.1]]))
        >>> domain_shift = DomainShift(0.1, 2.0, 0.5, 0.5, -2.0, 0.0, 1.0, 0.02, 0.5)
        >>> elsewhere = domain_shift.predict(one, home=0.5, confidence=np.zeros(1))
        >>> elsewhere.mean.round(3), elsewhere.quantile(0.95).round(3)
        (array([0.201]), array([0.515]))
        """
        means, stds = self.components(predicted.mean, predicted.std, home)
        weights = self.weights(confidence)
        if average is not None:
            shares, average_std = average
            # As in `draws` one uniform number decides for all accuracies of a site: the state of
            # each changes where the number passes the end of a part of [0, 1].
            ends = np.cumsum(weights, axis=0)
            cuts = np.unique(ends)
            lengths = np.diff(cuts, prepend=0.0)
            state = ((cuts - lengths / 2)[:, None, None] > ends).sum(axis=1)
            state, column = np.minimum(state, len(SITES)), np.arange(means.shape[-1])
            # One correlation of every two errors, that which makes the regression's averages vary
            # as they do.
            together, apart = (shares @ predicted.std) ** 2, shares**2 @ predicted.std**2
            correlation = (average_std**2 - apart) / np.maximum(together - apart, LEAST_VARIANCE)
            correlation = np.clip(correlation, 0, 1)
            means, stds = means[:, state, column] @ shares.T, stds[:, state, column]
            together, apart = (stds @ shares.T) ** 2, stds**2 @ shares.T**2
            stds = np.sqrt(correlation * together + (1 - correlation) * apart)
            weights = np.repeat(lengths[:, None], len(shares), axis=1)
        weights = self.falls[1][:, None, None] * weights
        n = means.shape[-1]
        return Mixture(weights.reshape(-1, n), means.reshape(-1, n), stds.reshape(-1, n))

    def draws(
        self,
        draws: np.ndarray,
        home: float,
        confidence: np.ndarray,
        *,
        sites: np.ndarray,
        seed: int,
    ) -> np.ndarray:
        """Correct joint draws; their dependence is kept.

        The fall is one of each draw, as all N accuracies are of one detector, and the effect of a
        site is one of all its categories.

        Parameters
        ----------
        draws : ndarray of shape (D, N)
            Of accuracies as the regression predicts them.
        home : float
            h.
        confidence : ndarray of shape (N,)
            x.
        sites : ndarray of shape (N,), int64
            Number of the site of each accuracy, from 0 on.
        seed : int
            Of the falls and of the effects of sites.

        Returns
        -------
        ndarray of shape (D, N)
            Not cut at 0 and 1.
        """
        rng = np.random.default_rng(seed)
        mean, std = draws.mean(axis=0), np.maximum(draws.std(axis=0), 1e-9)
        means, stds = self.components(mean, std, home)
        k = rng.choice(len(means), len(draws), p=self.falls[1])[:, None]
        uniform = rng.random((len(draws), int(sites.max()) + 1))[:, sites]
        state = (uniform[..., None] > np.cumsum(self.weights(confidence), axis=0).T).sum(axis=2)
        state = np.minimum(state, len(SITES))
        column = np.arange(draws.shape[1])
        # Moved and scaled: what draws of sites have in common stays, and with it what is known of
        # their order.
        return np.asarray(means[k, state, column] + (draws - mean) / std * stds[k, state, column])
