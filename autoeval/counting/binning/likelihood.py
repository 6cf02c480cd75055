"""How likely held-out counts are under bins that were fitted on other counts."""

from __future__ import annotations

import numpy as np

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.binning.smoothing import smoothed_frequencies


def histogram_log_likelihood(bins: CountBins, train: np.ndarray, held_out: np.ndarray) -> float:
    """Log likelihood of held-out counts under the histogram of the training counts.

    A count has the share of the training images in its bin (with one more image in every bin),
    spread evenly over the integers of the bin. Too few bins blur, too many overfit.

    Parameters
    ----------
    bins : CountBins
        Fitted on `train`.
    train, held_out : ndarray of shape (N,), (M,), int64
        Held-out counts outside the range of the training counts are scored as its nearest end.

    Returns
    -------
    float
    """
    integers = np.arange(train.min(), train.max() + 1)
    widths = np.bincount(bins.assign(integers), minlength=len(bins))
    images = 1 + np.bincount(bins.assign(train), minlength=len(bins))
    log_probability = np.log(images / images.sum()) - np.log(widths)
    return float(log_probability[bins.assign(_within(train, held_out))].sum())


def multinomial_log_likelihood(bins: CountBins, train: np.ndarray, held_out: np.ndarray) -> float:
    """Log likelihood of held-out counts as printed: equation 4 summed over bins (equation 5).

    The probabilities within a bin are its smoothed training frequencies. Which bin a count falls
    into is given, so that finer bins are always likelier: with this score gamma ends at the top of
    its grid.

    Parameters
    ----------
    bins : CountBins
        Fitted on `train`.
    train, held_out : ndarray of shape (N,), (M,), int64
        Held-out counts outside the range of the training counts are scored as its nearest end.

    Returns
    -------
    float
    """
    from scipy.special import gammaln, xlogy

    integers, smoothed = smoothed_frequencies(train)
    of_bin = bins.assign(integers)
    probability = smoothed / np.bincount(of_bin, smoothed, minlength=len(bins))[of_bin]
    frequencies = np.bincount(_within(train, held_out) - integers[0], minlength=len(integers))
    totals = np.bincount(of_bin, frequencies, minlength=len(bins))
    arrangements = gammaln(totals + 1).sum() - gammaln(frequencies + 1).sum()
    return float(arrangements + xlogy(frequencies, probability).sum())


def _within(train: np.ndarray, held_out: np.ndarray) -> np.ndarray:
    return held_out.clip(train.min(), train.max())
