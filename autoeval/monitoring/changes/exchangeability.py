r"""A test at any time of whether what comes later is like the baseline, with a false-alarm rate.

Each new value gets the share of all values so far, the baseline included, that are below it, ties
broken at random: while the values are exchangeable these shares are independent and uniform,
whatever the distribution (Vovk, Gammerman & Shafer 2005, theorem 8.2). A gambler who bets on small
shares p by :math:`\varepsilon p^{\varepsilon - 1}` multiplies a capital of 1; as each bet is fair,
the capital ever reaches :math:`1/\alpha` with probability at most :math:`\alpha` (Ville 1939; Vovk
et al. 2003, "Testing exchangeability on-line"). So nobody need fix beforehand how long to watch.
"""

from __future__ import annotations

import numpy as np

POWERS = (0.1, 0.2, 0.35, 0.55, 0.75)


def shares_below(values: np.ndarray, n_baseline: int, rng: np.random.Generator) -> np.ndarray:
    """Return the smoothed share of values up to each new one that are below it.

    Parameters
    ----------
    values : ndarray of shape (N,)
        In order of time.
    n_baseline : int
        How many of them are the baseline.
    rng : Generator
        Breaks ties.

    Returns
    -------
    ndarray of shape (N - n_baseline,)
        In (0, 1).
    """
    ties = rng.uniform(1e-12, 1, len(values) - n_baseline)
    shares = np.empty(len(ties))
    for k, tie in enumerate(ties):
        seen, own = values[: n_baseline + k + 1], values[n_baseline + k]
        shares[k] = ((seen < own).sum() + tie * (seen == own).sum()) / len(seen)
    return shares


def capital(shares: np.ndarray) -> np.ndarray:
    r"""Return the gambler's capital after each share.

    At every step k a part :math:`k^{-1/2} - (k + 1)^{-1/2}` of the first capital, which until then
    was kept, starts to bet, spread evenly over `POWERS`: whenever a change begins, little was lost
    before.

    Parameters
    ----------
    shares : ndarray of shape (N,)
        In (0, 1).

    Returns
    -------
    ndarray of shape (N,)
        Positive; a martingale that starts at 1, if the shares are independent and uniform.

    Examples
    --------
    >>> capital(np.array([.5, .5])).round(3)
    array([0.867, 0.755])
    >>> bool(capital(np.full(9, .02))[-1] > 1e4)
    True
    """
    powers, betting = np.array(POWERS), np.zeros(len(POWERS))
    path = np.empty(len(shares))
    for k, share in enumerate(shares, start=1):
        kept = (k + 1) ** -0.5
        betting = (betting + (k**-0.5 - kept) / len(powers)) * powers * share ** (powers - 1)
        path[k - 1] = kept + betting.sum()
    return path


def onset(values: np.ndarray, n_baseline: int) -> int:
    r"""Say where values fell most clearly, after the baseline.

    The position k after which the mean differs most from that before, in units of its own error:
    the largest :math:`(\bar v_{<k} - \bar v_{\ge k}) \sqrt{n_{<k} n_{\ge k} / n}`, the likelihood
    ratio of one fall of normal values (Hinkley 1970).

    Returns
    -------
    int
        From `n_baseline` to the last position.

    Examples
    --------
    >>> onset(np.array([1., 1, 1, 1, 1, 0, 0]), 3)
    5
    """
    splits = np.arange(n_baseline, len(values))
    total, before = values.sum(), np.cumsum(values)[splits - 1]
    n_before, n_after = splits, len(values) - splits
    fall = before / n_before - (total - before) / n_after
    return int(splits[np.argmax(fall * np.sqrt(n_before * n_after))])
