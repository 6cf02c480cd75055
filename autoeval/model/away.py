r"""The accuracy of a detector away from the site that it was trained on.

The confidences that a detector was calibrated with at home are too high elsewhere, the more so the
better it is at home. With m the mean of what the regression predicts, h the accuracy at home:

.. math:: m' = m \exp(-k h), \qquad \mathrm{sd}' = \max(s_0 + s_1 m', \mathrm{sd} \exp(-k h))

k, the fall, and the standard deviation are fitted on detectors that were each trained on one site
(`benchmarks/fine_tuned_prior.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.model.prediction_interval import Mixture


@dataclass(frozen=True)
class Away:
    """The numbers of the model of this module.

    fall: k. least_std, std_share: s0 and s1.
    """

    fall: float
    least_std: float
    std_share: float

    def predict(self, predicted: Mixture, home: float | np.ndarray, share: float = 1.0) -> Mixture:
        """Correct a predictive distribution of N accuracies.

        home: accuracy at the site of training, in [0, 1]; one, or of each quantity.
        share: of the labelled pairs behind the prediction that are of such a site. Of the
            correction and the change of width that share is made.

        >>> one = Mixture(np.ones(1), np.array([[0.4]]), np.array([[0.1]]))
        >>> away = Away(2.0, 0.02, 0.5).predict(one, home=0.5)
        >>> away.mean.round(4), away.std.round(4)
        (array([0.1472]), array([0.0936]))
        """
        factor = np.exp(-self.fall * home * share)
        mean = factor * predicted.mean
        # The errors of detectors away from home are fitted; where those that the model expects at
        # home, scaled as its mean is, are larger, these count.
        fitted = self.least_std + self.std_share * np.maximum(mean, 0)
        std_of_model = predicted.std
        std = share * np.maximum(fitted, factor * std_of_model) + (1 - share) * std_of_model
        return Mixture(np.ones(1), mean[None], std[None])

    def draws(self, draws: np.ndarray, home: float, share: float = 1.0) -> np.ndarray:
        """Correct joint draws, (D, N), whose dependence stays."""
        # Moved and scaled column by column: the correlations of sites stay, and with them what is
        # known of their order.
        mean, std = draws.mean(axis=0), np.maximum(draws.std(axis=0), 1e-9)
        away = self.predict(Mixture(np.ones(1), mean[None], std[None]), home, share)
        return np.asarray(away.mean + (draws - mean) / std * away.std)
