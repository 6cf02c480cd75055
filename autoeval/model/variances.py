"""The prior of the regression, the variances that it averages over, and their covariance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from autoeval.model.pairs import Pairs, same

Shares = tuple[float, float, float, float]
SPREADS = tuple(float(s) for s in np.geomspace(0.04, 0.25, 7))


@dataclass(frozen=True)
class Prior:
    """The numbers behind `MixedModel`, fitted on a panel of detectors.

    See docs/explanation/calibration.md.

    intercept, intercept_std: accuracy of a pair whose scores are in their middle.
    slopes: mean slope of each score, in units of its scale.
    calibration_std: of the intercept where the calibration rests on one pair; with n pairs it is
        divided by the root of n.
    categories: what is known of categories by name, in lower case: the mean of their effect.
    spread, spread_log_std: standard deviation of pairs around the line, all effects together:
        median and standard deviation of the logarithm of a log-normal distribution.
    shares (tuple of (group, place, category, pair)): how the square of that spread divides.
    alike: share of the last that places of one group have in common for a category.
    bending: variance of each slope from group to group, as a share of that square.
    of_one_image: standard deviation of average precision because it is measured on one image.
    guess: number of pairs that the first guess of the spread of accuracies counts as.
    """

    slopes: tuple[float, ...]
    intercept: float = 0.3
    intercept_std: float = 0.03
    calibration_std: float = 0.2
    slope_std: float = 0.015
    categories: Mapping[str, float] = field(default_factory=dict)
    spread: float = 0.1
    spread_log_std: float = 0.3
    shares: Shares = (0.4, 0.1, 0.1, 0.4)
    alike: float = 0.0
    bending: float = 0.03
    of_one_image: float = 0.3
    guess: float = 10.0

    def of_category(self, name: object) -> float:
        """Return the mean effect of a category, however its name is capitalised.

        >>> Prior((), categories={"person": -.1}).of_category(" Person"), Prior(()).of_category("x")
        (-0.1, 0.0)
        """
        return self.categories.get(str(name).strip().lower(), 0.0)


@dataclass(frozen=True)
class Variances:
    """Variances of what makes the accuracy of a pair differ from the line.

    group, place, category: of effects that all pairs of a group, of a place, of a category share.
    group_category: of what the pairs of one category in a group share.
    pair: of each pair on its own, beyond its sampling error.
    slope, bending: of the prior of each slope, and of how it differs from group to group.
    log_prior: logarithm of the prior weight, up to a constant.
    """

    group: float
    place: float
    category: float
    pair: float
    slope: float
    bending: float = 0.0
    group_category: float = 0.0
    log_prior: float = 0.0


def possible_variances(prior: Prior, spreads: Sequence[float] = SPREADS) -> tuple[Variances, ...]:
    """List the possibilities that the regression averages over; see `Prior`."""
    logs = -0.5 * (np.log(np.array(spreads) / prior.spread) / prior.spread_log_std) ** 2
    group, place, category, pair = prior.shares
    return tuple(
        Variances(
            group=spread**2 * group,
            place=spread**2 * place,
            category=spread**2 * category,
            pair=(1 - prior.alike) * spread**2 * pair,
            slope=prior.slope_std**2,
            bending=prior.bending * spread**2,
            group_category=prior.alike * spread**2 * pair,
            log_prior=float(log),
        )
        for spread, log in zip(spreads, logs, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Shared:
    """What N pairs have in common with M others: everything but the variances.

    line (N, M): products of scores, in units of their scale.
    group, place, category, pair, group_category (N, M): bool, whether they share one. A pair is
        shared by other images of a place and category.
    """

    line: np.ndarray
    group: np.ndarray
    place: np.ndarray
    category: np.ndarray
    pair: np.ndarray
    group_category: np.ndarray

    @classmethod
    def of(cls, a: Pairs, b: Pairs, x: tuple[np.ndarray, np.ndarray]) -> Shared:
        """Compare pairs, given scaled scores `x` (N, P) and (M, P)."""
        group = same(a.group, b.group)
        place = group & same(a.place, b.place)
        category = same(a.category, b.category)
        x_a, x_b = x
        return cls(
            x_a @ x_b.T,
            group=group,
            place=place,
            category=category,
            pair=place & category,
            group_category=group & category,
        )

    def covariance(self, variances: Variances, intercept: float) -> np.ndarray:
        """Return the covariance (N, M), without what each pair has on its own."""
        return (
            intercept
            + variances.slope * self.line
            + (variances.group + variances.bending * self.line) * self.group
            + variances.place * self.place
            + variances.category * self.category
            + variances.group_category * self.group_category
        )
