"""How wide the intervals of the default are: what is chosen, and the score that it is chosen by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise, product

import pandas as pd

from autoeval.model import Prior

LEVEL = 0.9  # of the intervals
NODES = (
    9  # of the rule that averages over the spread; with 41 widths differ by less than .001 points
)
BY_ESTIMATE = (0, 5, 10, 20, 35, 50, 70, 100)  # points; ends of the classes that are tabulated


@dataclass(frozen=True)
class Widths:
    """What the marginal likelihood of a panel does not say of the width at another detector.

    level_power: of `autoeval.model.variances.level_scale`.
    wider: times the spread of the panel, since sites of one data set are more alike than sites are.
    spread_log_std: how much of the spread is learned from the labelled set, which shows how its
        categories vary, not how sites do.
    nodes: of `autoeval.model.Prior`.
    """

    level_power: float
    wider: float
    spread_log_std: float
    nodes: int = NODES

    def apply(self, prior: Prior) -> Prior:
        """Set the width of a prior that was fitted with this `level_power`."""
        return replace(
            prior,
            spread=self.wider * prior.spread,
            bending=prior.bending / self.wider**2,  # the slopes of a group keep their variance
            spread_log_std=self.spread_log_std,
            nodes=self.nodes,
        )


DEFAULT = Widths(level_power=0.0, wider=1.3, spread_log_std=0.05, nodes=0)
"""Of the shipped priors, by what coverage on detectors and groups left out asked for."""
CHOICES = tuple(Widths(*of) for of in product((0.0, 0.25, 0.5), (1.0, 1.15, 1.3), (0.05, 0.2)))


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


def choose_widths(estimate: Callable[[Widths], pd.DataFrame]) -> Widths:
    """Return the choice with the lowest mean score, each group of a detector counting alike.

    estimate: returns estimates of detectors and groups that its fits have not seen.
    """

    def loss(widths: Widths) -> float:
        estimates = estimate(widths)
        cells = [estimates["category_group"], estimates["detector"]]
        return float(interval_score(estimates).groupby(cells).mean().mean())

    return min(CHOICES, key=loss)


def by_estimate(estimates: pd.DataFrame) -> pd.Series:
    """Name the class of each estimate, in points; see `BY_ESTIMATE`."""
    names = [f"{a} to {b}" for a, b in pairwise(BY_ESTIMATE)]
    points = (100 * estimates["estimate"]).clip(upper=BY_ESTIMATE[-1] - 1e-9)
    return pd.cut(points, BY_ESTIMATE, labels=names, right=False)
