"""How wide the intervals of the default are, and the score that tells good widths."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pandas as pd

from autoeval.model import Prior

LEVEL = 0.9  # of the intervals
BY_ESTIMATE = (0, 5, 10, 20, 35, 50, 70, 100)  # points; ends of the classes that are tabulated


WIDER, SPREAD_LOG_STD = 1.3, 0.05
"""What the marginal likelihood of a panel does not say of the width at another detector: times the
spread of the panel, since sites of one data set are more alike than sites are; and how much of the
spread is learned from the labelled set, which shows how its categories vary, not how sites do.
Chosen by what coverage on detectors and groups left out asked for."""


def widened(prior: Prior) -> Prior:
    """Set the width of a prior that was fitted on the panel."""
    return replace(
        prior,
        spread=WIDER * prior.spread,
        bending=prior.bending / WIDER**2,  # the slopes of a group keep their variance
        spread_log_std=SPREAD_LOG_STD,
    )


def interval_score(estimates: pd.DataFrame) -> pd.Series:
    """Return the interval score of each estimate: its width, and a penalty for a miss.

    The score is proper: its mean is smallest for the true quantiles (Gneiting & Raftery 2007,
    equation 43), so neither wide nor narrow intervals gain by it.

    Examples
    --------
    >>> rows = pd.DataFrame({"lower": [.1, .1], "upper": [.3, .3], "true": [.2, .35]})
    >>> interval_score(rows).round(3).tolist()
    [0.2, 1.2]
    """
    below = (estimates["lower"] - estimates["true"]).clip(lower=0)
    above = (estimates["true"] - estimates["upper"]).clip(lower=0)
    return estimates["upper"] - estimates["lower"] + 2 / (1 - LEVEL) * (below + above)


def by_estimate(estimates: pd.DataFrame) -> pd.Series:
    """Name the class of each estimate, in points; see `BY_ESTIMATE`."""
    names = [f"{a} to {b}" for a, b in pairwise(BY_ESTIMATE)]
    points = (100 * estimates["estimate"]).clip(upper=BY_ESTIMATE[-1] - 1e-9)
    return pd.cut(points, BY_ESTIMATE, labels=names, right=False)
