"""Bayesian linear regression of accuracy on scores, with random effects.

Pair i, in group f, site j and category c, with scores x_i in units of their scale:

.. math:: y_i = a + x_i^T b + u_f + x_i^T b_f + v_j + w_c + g_{fc} + e_i + s_i

with a and slopes b normal as a `Prior` has them, the effects of a group (u and the slopes b_f), a
site (v), a category (w, whose mean is known for some), a category in a group (g) and the pair (e)
normal with the variances of a `Variances`, and s the sampling error of few images.

Given the variances everything is jointly normal, and so are the accuracies of new pairs (Rasmussen
& Williams 2006, equations 2.25 and 2.26, with this covariance). The variances are not known: the
predictions of all possibilities are mixed, each weighted by its prior and its marginal likelihood
(ibid., equation 2.30). With few sites this is what makes intervals wide, as in Student's
distribution; where scores leave the range of the sites, the uncertainty of the slopes does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtr
from typing_extensions import Self

from autoeval.errors import InputError

Shares = tuple[float, float, float, float]
SPREADS = tuple(float(s) for s in np.geomspace(0.04, 0.25, 7))
NEGLIGIBLE = 1e-4  # share of the greatest weight
HALVINGS = 50  # of the range of a quantile, which shrinks by a factor of 1e15
WIDEST = 0.42  # half-width, 42 points: nearly all of [0, 1]


@dataclass(frozen=True, eq=False)
class Pairs:
    """N pairs of a site and a category, with P scores each.

    Parameters
    ----------
    x : ndarray of shape (N, P), float64
        Scores, finite.
    sampling : ndarray of shape (N,)
        Variance of the accuracy because images are few, in squared units of accuracy.
    group, site, category : ndarray of shape (N,), int64 or str
        Names; equal ones share an effect. Groups hold sites.
    """

    x: np.ndarray
    sampling: np.ndarray
    group: np.ndarray
    site: np.ndarray
    category: np.ndarray

    def __getitem__(self, index: np.ndarray | slice) -> Pairs:
        """Take the pairs that a mask or an index selects."""
        return Pairs(*(getattr(self, field.name)[index] for field in fields(self)))


@dataclass(frozen=True)
class Prior:
    """Prior distribution of `MixedModel`, fitted on a panel of detectors.

    See docs/explanation/calibration.md. Accuracies are in [0, 1].

    Parameters
    ----------
    slopes : tuple of float
        Mean slope of each of P scores, in units of its scale.
    location, scale : tuple of float
        Middle and unit of each score, P or one for all; units over 0.
    intercept, intercept_std : float
        Accuracy of a pair whose scores are in their middle: mean and standard deviation.
    calibration_std : float
        Of the intercept where the calibration rests on one pair; with n pairs it is divided by the
        root of n.
    slope_std : float
        Of each slope, around its mean.
    categories : mapping of str to float
        Mean effect of a category, by its name in lower case; 0 of others.
    spread, spread_log_std : float
        Standard deviation of pairs around the linear model, all effects together: median and
        standard deviation of the logarithm of a log-normal distribution.
    shares : tuple of 4 floats
        Shares of group, site, category and pair in that variance; sum 1.
    group_category_share : float
        Share of the variance of a pair that sites of one group have in common for a category.
    group_slope_share : float
        Variance of each slope from group to group, relative to the variance around the linear
        model.
    of_one_image : float
        Sampling error (standard deviation) of an average precision measured on one image.
    guess : float
        Number of pairs that the first guess of the variance of accuracies counts as.
    spreads : tuple of float
        Possible values of the standard deviation, over which predictions are averaged.
    features : tuple of str
        Names of the P scores. The prior of a measure at any threshold names its score without the
        threshold: ``expected_recall``.
    """

    slopes: tuple[float, ...]
    location: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1.0,)
    intercept: float = 0.3
    intercept_std: float = 0.03
    calibration_std: float = 0.2
    slope_std: float = 0.015
    categories: Mapping[str, float] = field(default_factory=dict)
    spread: float = 0.1
    spread_log_std: float = 0.3
    shares: Shares = (0.4, 0.1, 0.1, 0.4)
    group_category_share: float = 0.0
    group_slope_share: float = 0.03
    of_one_image: float = 0.3
    guess: float = 10.0
    spreads: tuple[float, ...] = SPREADS
    features: tuple[str, ...] = ()

    def scaled(self, x: np.ndarray) -> np.ndarray:
        """Express scores in their units, from their middle.

        Parameters
        ----------
        x : ndarray of shape (N, P)
            The P scores of N pairs.

        Returns
        -------
        ndarray of shape (N, P)
            Without a unit; NaN stays NaN.
        """
        return (x - np.array(self.location)) / np.array(self.scale)

    def mean(self, x: np.ndarray, categories: np.ndarray) -> np.ndarray:
        """Return the accuracies that are expected of scores and categories.

        Parameters
        ----------
        x : ndarray of shape (N, P)
            Scores, in their own units.
        categories : ndarray of shape (N,)
            Names.

        Returns
        -------
        ndarray of shape (N,)
        """
        effects = np.array([self.of_category(name) for name in categories])
        return np.asarray(self.intercept + self.scaled(x) @ np.array(self.slopes) + effects)

    def of_category(self, name: object) -> float:
        """Return the mean effect of a category, however it is capitalised; 0 of one not known.

        Parameters
        ----------
        name : object
            Of the category, read as text.

        Examples
        --------
        >>> Prior((), categories={"person": -.1}).of_category(" Person"), Prior(()).of_category("x")
        (-0.1, 0.0)
        """
        return self.categories.get(str(name).strip().lower(), 0.0)


@dataclass(frozen=True)
class Variances:
    """Variances of the effects that move the accuracy of a pair off the linear model.

    In squared units of accuracy, which is in [0, 1].

    Parameters
    ----------
    group, site, category : float
        Of effects that all pairs of a group, of a site, of a category share.
    pair : float
        Of each pair on its own, beyond its sampling error.
    slope, group_slope : float
        Of the prior of each slope, and of how it differs from group to group.
    group_category : float
        Of what the pairs of one category in a group share.
    log_prior : float
        Logarithm of the prior weight, up to a constant.
    """

    group: float
    site: float
    category: float
    pair: float
    slope: float
    group_slope: float = 0.0
    group_category: float = 0.0
    log_prior: float = 0.0


def possible_variances(prior: Prior) -> tuple[Variances, ...]:
    """List the possibilities that the regression averages over.

    Parameters
    ----------
    prior : Prior

    Returns
    -------
    tuple of Variances
        One for each of `Prior.spreads`.
    """
    logs = -0.5 * (np.log(np.array(prior.spreads) / prior.spread) / prior.spread_log_std) ** 2
    group, site, category, pair = prior.shares
    return tuple(
        Variances(
            group=spread**2 * group,
            site=spread**2 * site,
            category=spread**2 * category,
            pair=(1 - prior.group_category_share) * spread**2 * pair,
            slope=prior.slope_std**2,
            group_slope=prior.group_slope_share * spread**2,
            group_category=prior.group_category_share * spread**2 * pair,
            log_prior=float(log),
        )
        for spread, log in zip(prior.spreads, logs, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Shared:
    """What N pairs have in common with M others: the covariance but for the variances.

    Parameters
    ----------
    line : ndarray of shape (N, M)
        Scalar products of scores, in units of their scale.
    group, site, category, pair, group_category : ndarray of shape (N, M), bool
        Whether both are of the same one. Other images of a site and category are the same pair.
    """

    line: np.ndarray
    group: np.ndarray
    site: np.ndarray
    category: np.ndarray
    pair: np.ndarray
    group_category: np.ndarray

    @classmethod
    def of(cls, a: Pairs, b: Pairs, x: tuple[np.ndarray, np.ndarray]) -> Shared:
        """Compare two sets of pairs.

        Parameters
        ----------
        a, b : Pairs
            N and M pairs.
        x : tuple of ndarray of shape (N, P) and (M, P)
            Their scores, scaled.
        """
        group = np.asarray(a.group, object)[:, None] == np.asarray(b.group, object)
        site = np.asarray(a.site, object)[:, None] == np.asarray(b.site, object)
        category = np.asarray(a.category, object)[:, None] == np.asarray(b.category, object)
        site &= group
        x_a, x_b = x
        return cls(
            x_a @ x_b.T,
            group=group,
            site=site,
            category=category,
            pair=site & category,
            group_category=group & category,
        )

    def covariance(self, variances: Variances, intercept: float) -> np.ndarray:
        """Return the covariance of accuracies, without the effect e of pairs and sampling errors.

        Parameters
        ----------
        variances : Variances
            One possibility.
        intercept : float
            Variance of the intercept.

        Returns
        -------
        ndarray of shape (N, M)
        """
        return (
            intercept
            + variances.slope * self.line
            + (variances.group + variances.group_slope * self.line) * self.group
            + variances.site * self.site
            + variances.category * self.category
            + variances.group_category * self.group_category
        )


class Solution(NamedTuple):
    """The normal equations of N pairs, solved with one possibility of the variances.

    Parameters
    ----------
    variances : Variances
        The possibility.
    factor : tuple of ndarray of shape (N, N) and bool
        Cholesky factor of the covariance of accuracies, as `scipy.linalg.cho_factor` returns it.
    coefficients : ndarray of shape (N,)
        Inverse covariance times what the prior mean leaves of the accuracies.
    """

    variances: Variances
    factor: tuple[np.ndarray, bool]  # Cholesky factor of the covariance of accuracies, (N, N)
    coefficients: np.ndarray  # inverse covariance times what the prior mean leaves, (N,)


@dataclass(eq=False)
class MixedModel:
    """The regression of this module.

    Parameters
    ----------
    prior : Prior
        Prior of intercept, slopes and variances.
    variances : sequence of Variances, optional
        Possible variances to average over; by default those of the prior.

    Attributes
    ----------
    pairs_ : Pairs
        The N pairs of the fit.
    intercept_std_ : float
        Prior standard deviation of the intercept, that of a calibration on N pairs included.
    weights_ : ndarray of shape (G,)
        Posterior weights of the possible variances that are not negligible; sum 1.

    Examples
    --------
    The prediction lies between the line through two labelled sites, .4, and the prior, .5:

    >>> none = np.zeros(2)
    >>> seen = Pairs(np.array([[0.4], [0.6]]), none, np.array(["a", "b"]), np.array([1, 2]), none)
    >>> prior = Prior((1.0,), intercept=0.0, slope_std=0.1)
    >>> model = MixedModel(prior).fit(seen, np.array([0.3, 0.5]))
    >>> new = Pairs(np.array([[0.5]]), np.zeros(1), np.array(["c"]), np.array([3]), np.zeros(1))
    >>> 0.4 < float(model.predict(new).mean[0]) < 0.5
    True
    """

    prior: Prior
    variances: Sequence[Variances] | None = None

    def fit(self, pairs: Pairs, y: np.ndarray) -> Self:
        """Fit on pairs whose accuracies are known.

        Parameters
        ----------
        pairs : Pairs
            N of them.
        y : ndarray of shape (N,)
            Accuracies, in [0, 1].

        Returns
        -------
        MixedModel
            Itself.

        Raises
        ------
        ValueError
            If there is no pair, or something of one is not finite.
        """
        columns = np.column_stack([pairs.x, pairs.sampling, y])
        if not len(columns) or not np.isfinite(columns).all():
            raise ValueError(
                f"Expected at least one pair, all with finite scores, sampling variances and "
                f"accuracies, but got {columns.tolist()[:3]}."
            )
        self.pairs_ = pairs
        of_pairs = self.prior.calibration_std / np.sqrt(len(columns))
        self.intercept_std_ = float(np.hypot(self.prior.intercept_std, of_pairs))
        x = self.prior.scaled(pairs.x)
        shared = Shared.of(pairs, pairs, (x, x))
        residual = y - self.prior.mean(pairs.x, pairs.category)
        every = self.variances or possible_variances(self.prior)
        solutions: list[Solution] = []
        logs = []
        for variances in every:
            noise = np.diag(variances.pair + pairs.sampling)
            covariance = shared.covariance(variances, self.intercept_std_**2)
            factor = cho_factor(covariance + noise, lower=True)
            coefficients = cho_solve(factor, residual)
            solutions.append(Solution(variances, factor, coefficients))
            # log marginal likelihood: half the log determinant is the sum of the factor's logs
            # (Rasmussen & Williams 2006, equation 2.30)
            volume = np.log(np.diag(factor[0])).sum()
            logs.append(variances.log_prior - 0.5 * residual @ coefficients - volume)
        weights = np.exp(np.array(logs) - max(logs))
        kept = np.flatnonzero(weights > NEGLIGIBLE).tolist()
        self.weights_ = weights[kept] / weights[kept].sum()
        self._likely = [solutions[k] for k in kept]
        return self

    def predict(self, pairs: Pairs, *, average: np.ndarray | None = None) -> Mixture:
        """Predict the accuracies of M pairs, or of averages over them, with their sampling error.

        Parameters
        ----------
        pairs : Pairs
            A group, site, category or pair that was seen in `fit` shares its effect.
        average : ndarray of shape (K, M), optional
            Weights of pairs in each of K averages; by default each pair on its own.
            What the pairs share does not average out.

        Returns
        -------
        Mixture
            Of M, or K, quantities.
        """
        x, x_seen = self.prior.scaled(pairs.x), self.prior.scaled(self.pairs_.x)
        cross = Shared.of(self.pairs_, pairs, (x_seen, x))
        among_new = Shared.of(pairs, pairs, (x, x))
        prior, intercept = self.prior.mean(pairs.x, pairs.category), self.intercept_std_**2
        means, stds = [], []
        for variances, factor, coefficients in self._likely:
            # a pair that was seen, on other images: its effect is shared, its sampling error is not
            reach = cross.covariance(variances, intercept) + variances.pair * cross.pair
            # conditional mean and covariance (Rasmussen & Williams 2006, equations 2.25 and 2.26)
            covariance = among_new.covariance(variances, intercept)
            covariance -= reach.T @ cho_solve(factor, reach)
            covariance += np.diag(variances.pair + pairs.sampling)
            of_pairs = prior + reach.T @ coefficients
            if average is None:
                means.append(of_pairs)
                squares = np.diag(covariance)
            else:
                means.append(average @ of_pairs)
                squares = ((average @ covariance) * average).sum(axis=1)
            stds.append(np.sqrt(np.maximum(squares, 1e-12)))
        return Mixture(self.weights_[:, None], np.array(means), np.array(stds))

    def draw(self, pairs: Pairs, *, draws: int, seed: int = 0) -> np.ndarray:
        """Draw the accuracies of M pairs, none of a group of the fit, together.

        Each column has the distribution of `predict`; the errors of intercept and slopes are
        shared.

        Parameters
        ----------
        pairs : Pairs
            M of them.
        draws : int
            How many.
        seed : int
            Of the draws.

        Returns
        -------
        ndarray of shape (draws, M)
            Not cut at 0 and 1.
        """
        # Through coefficients and effects, not by the covariance of all M pairs: thousands of
        # cameras would need an (M, M) matrix and its root for each possibility of the variances.
        rng, seen_pairs = np.random.default_rng(seed), self.pairs_
        x_seen, x = self.prior.scaled(seen_pairs.x), self.prior.scaled(pairs.x)
        names = np.array(sorted({*map(str, seen_pairs.category), *map(str, pairs.category)}))
        category_seen = seen_pairs.category.astype(str)[:, None] == names
        category = pairs.category.astype(str)[:, None] == names
        # what each pair has of the line, the scores and the categories
        terms_seen = np.hstack([np.ones((len(x_seen), 1)), x_seen, category_seen])
        terms = np.hstack([np.ones((len(x), 1)), x, category])
        sizes = [1, x.shape[1], len(names)]
        group = np.unique(pairs.group.astype(str), return_inverse=True)[1]
        sites = [f"{f}\0{s}" for f, s in zip(pairs.group, pairs.site, strict=True)]
        site = np.unique(sites, return_inverse=True)[1]
        in_groups = [f"{f}\0{c}" for f, c in zip(pairs.group, pairs.category, strict=True)]
        category_in_group = np.unique(in_groups, return_inverse=True)[1]

        def standard_effects(owner: np.ndarray, n: int) -> np.ndarray:
            """Draw n standard normal effects of each owner, and return those of its pairs, (n, M).

            owner (M,): number, from 0 on, of the group, site or the like that each pair is of.
            """
            return rng.standard_normal((n, int(owner.max()) + 1))[:, owner]

        parts = []
        # Each possibility of the variances gets as many draws as a mixture with these weights.
        for n, (variances, factor, coefficients) in zip(
            rng.multinomial(draws, self.weights_), self._likely, strict=True
        ):
            slope_std, category_std = np.sqrt([variances.slope, variances.category])
            stds = np.repeat([self.intercept_std_, slope_std, category_std], sizes)
            seen, new = terms_seen * stds, terms * stds  # in prior standard deviations
            # Posterior covariance of standard normal coefficients z, given the accuracies seen
            # (Rasmussen & Williams 2006, section 2.1). Rounding may leave it slightly indefinite:
            # its root is by eigenvalues, not by Cholesky.
            values, vectors = np.linalg.eigh(
                np.eye(seen.shape[1]) - seen.T @ cho_solve(factor, seen)
            )
            root = vectors * np.sqrt(np.maximum(values, 0))
            z = seen.T @ coefficients + rng.standard_normal((n, len(values))) @ root.T
            # The effects of groups and sites are new, since none of them is of the fit: they have
            # their prior distribution. Each slope differs from group to group on its own.
            effects = standard_effects(group, n) * np.sqrt(variances.group)
            for column in x.T:
                effects += np.sqrt(variances.group_slope) * standard_effects(group, n) * column
            effects += standard_effects(site, n) * np.sqrt(variances.site)
            effects += standard_effects(category_in_group, n) * np.sqrt(variances.group_category)
            single = rng.standard_normal((n, len(pairs.x)))
            effects = effects + single * np.sqrt(variances.pair + pairs.sampling)
            parts.append(z @ new.T + effects)
        # Mixed, so that a part of the draws is one of the whole distribution.
        mean = self.prior.mean(pairs.x, pairs.category)
        return mean + rng.permutation(np.concatenate(parts))


@dataclass(frozen=True, eq=False)
class Mixture:
    """G normal distributions of each of N quantities.

    Parameters
    ----------
    weights : ndarray of shape (G, 1) or (G, N)
        Of the distributions, for all quantities or for each; the sum over G is 1.
    means, stds : ndarray of shape (G, N)
        Of each distribution.

    Examples
    --------
    >>> two = Mixture(np.full((2, 1), .5), np.array([[-1.], [1.]]), np.ones((2, 1)))
    >>> float(two.mean[0]), round(float(two.std[0]), 4), abs(round(float(two.quantile(.5)[0]), 6))
    (0.0, 1.4142, 0.0)
    """

    weights: np.ndarray
    means: np.ndarray
    stds: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Mean of each quantity, (N,)."""
        return np.asarray((self.weights * self.means).sum(axis=0))

    @property
    def std(self) -> np.ndarray:
        """Standard deviation of each quantity, (N,)."""
        squares = self.stds**2 + (self.means - self.mean) ** 2
        return np.asarray(np.sqrt((self.weights * squares).sum(axis=0)))

    def quantile(self, probability: float) -> np.ndarray:
        """Value that each quantity is below with a probability, by bisection.

        Parameters
        ----------
        probability : float
            Over 0 and under 1.

        Returns
        -------
        ndarray of shape (N,)
        """
        # A mixture of normal distributions has no quantile in closed form. It lies within nine
        # standard deviations of a mean, and each bisection halves what is left.
        low, high = (self.means - 9 * self.stds).min(0), (self.means + 9 * self.stds).max(0)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            cdf = ndtr((middle - self.means) / self.stds)
            below = (self.weights * cdf).sum(axis=0) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2


@dataclass(frozen=True)
class PredictionInterval:
    """The prediction interval of one accuracy; NaN where it would be too wide.

    Parameters
    ----------
    raw : float
        Mean of the distribution, which may lie outside [0, 1].
    value : float
        `raw` cut to [0, 1]; for a mean over categories the mean of their cut values.
    lower, upper : float
        Interval in [0, 1]; ``lower < upper`` unless the value is known by definition.
    reach : float
        Half the width of the interval before it is cut at 0 and 1, plus the distance from `raw` to
        `value`; also known where the interval is too wide to be given.
    """

    raw: float
    value: float
    lower: float
    upper: float
    reach: float


def predict_intervals(
    predicted: Mixture, level: float = 0.9, values: np.ndarray | None = None
) -> list[PredictionInterval]:
    """Turn each quantity of a predictive distribution into a value and an interval.

    The interval reaches from the value as far as the quantiles are from the mean, and is cut at 0
    and 1; of a skewed distribution it holds the value even where the mean lies beyond a quantile. A
    mean outside shows that the linear model has an error of at least its distance to the
    edge, so the interval from the edge inwards is longer by that distance; no interval has width 0.
    Where its half-width would exceed `WIDEST`, nearly all of [0, 1], no value is given.

    Parameters
    ----------
    predicted : Mixture
        Of N accuracies.
    level : float
        Nominal coverage.
    values : ndarray of shape (N,), optional
        Possible accuracies that the intervals are moved to, such as the mean of possible
        accuracies for a mean over categories; by default the nearest to the mean of each.

    Returns
    -------
    list of PredictionInterval

    Examples
    --------
    >>> at = Mixture(np.ones((1, 1)), np.array([[.5, -.1, .5]]), np.array([[.1, .05, .4]]))
    >>> inside, below, wide = predict_intervals(at)
    >>> [(round(t.lower, 3), round(t.upper, 3), round(t.raw, 3)) for t in (inside, below)]
    [(0.336, 0.664, 0.5), (0.0, 0.182, -0.1)]
    >>> wide.value
    nan
    """
    lows, highs = predicted.quantile((1 - level) / 2), predicted.quantile((1 + level) / 2)
    means = predicted.mean
    values = np.clip(means, 0, 1) if values is None else values
    intervals = []
    for raw, low, high, value in zip(
        means.tolist(), lows.tolist(), highs.tolist(), values.tolist(), strict=True
    ):
        off = abs(value - raw)
        reach = (high - low) / 2 + off
        if reach <= WIDEST:
            lower = max(value - max(raw - low, 0.0) - off, 0.0)
            upper = min(value + max(high - raw, 0.0) + off, 1.0)
            intervals.append(PredictionInterval(raw, value, lower, upper, reach))
        else:
            intervals.append(PredictionInterval(raw, np.nan, np.nan, np.nan, reach))
    return intervals


def check_level(level: float) -> None:
    """Refuse a nominal coverage that is no number over 0 and under 1.

    Parameters
    ----------
    level : float
        Nominal coverage of intervals.

    Raises
    ------
    InputError
        If it is another number, or none.
    """
    if not isinstance(level, int | float) or isinstance(level, bool) or not 0 < level < 1:
        raise InputError(
            f"Expected the `level` of intervals as a number over 0 and under 1, such as 0.9, but "
            f"got {level!r}."
        )
