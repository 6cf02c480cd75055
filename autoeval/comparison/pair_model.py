r"""The label-free difference of two detectors' average precisions at a site.

It is predicted from three differences and what else is seen of two detectors A and B, a site and a
category:

- :math:`d_0` is the difference on the labelled set, scaled to the level m of the site: detectors
  whose log-odds of average precision differ by g there are taken to differ by g around m here.
- :math:`d_1` is the difference of the two label-free estimates, and m their mean.
- :math:`d_2` is the difference of the expected average precisions held to the same
  objects; see `autoeval.comparison.unlabelled_difference`.
- u is the disagreement of the two detectors at the site (`disagreement`). What labellers left out
  and how loosely they drew hits both alike, so detectors that find the same boxes differ little:
  checkpoints of one training run are not a case of their own.
- n is the number of objects that both are expected to have at the site: differences on few objects
  vary more.
- s is the standard deviation of the differences that are known: where they contradict each other,
  none is to be trusted.
- The errors are others for persons and vehicles than for other categories, of which the panel has
  fewer sites and labelled boxes.

Without a common labelled set :math:`d_0` is not known, and coefficients of their own hold.

Of a detector that was trained at the labelled site the difference there says nothing, and its
estimates elsewhere are usually too high. Where one of the two is known to be such a detector,
:math:`d_0` is left out and its estimate multiplied by :math:`\exp(-k z h)`, with h its accuracy at
home: k is a random effect of the detector, z one of the site, and some sites are like home
(`autoeval.model.Away`). The prediction has the mean and the variance of the mixture over these;
coefficients and errors are again others. Two detectors that were both trained there are
compared as any two: their difference there is one of detectors at home.

Coefficients and errors are fitted on a panel of detectors by `train_differences.py` and shipped.

For each of two kinds of detectors, those that are trained alike and those that are not:

.. math:: AP_A - AP_B = b_0 d_0 + b_1 d_1 + b_2 d_2 + e, \qquad
          \mathrm{sd}(e) = \sqrt{\tau^2\, m (1 - m)\, u^\gamma\, (1 + c / n) + \kappa^2 s^2 + f^2}

Whether two detectors are trained alike is
seen by their disagreement u, given the level m: two detectors that both reach an average precision
of .3 find mostly the same objects if they were trained on the same images, and other ones if one of
them was trained on one site. The probability of the second kind is

.. math:: g = \sigma(a + b\, (\mathrm{logit}\, u + c\, \mathrm{logit}\, m))

and the prediction has the mean and the variance of the mixture of both.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from autoeval.io.documents import shipped_config
from autoeval.labels.values import ValueWithError, VariancePrior
from autoeval.model import Away
from autoeval.model.priors import away_prior

LEAST, MOST = 0.01, 0.99  # disagreement whose log-odds are taken
FILE = "compare_prior.json"
LOWEST, HIGHEST = 0.02, 0.95  # levels
FEWEST_OBJECTS = 0.05  # expected in an image
FEWEST_LABELLED = 20  # boxes of a category, for its own difference on the labelled set to count
USUAL = frozenset(("person", "vehicle", "car", "bus", "truck"))
"""Words of the categories that the panel knows from many sites."""
OF_CATEGORY = 0.5  # weight of that difference; the rest has the mean over all categories


@dataclass(frozen=True, eq=False)
class Seen:
    """What is seen of the differences of N pairs of detectors, each at a site and category."""

    terms: np.ndarray  # d0 (NaN where not known), d1 and d2, (3, N)
    level: np.ndarray  # m, (N,)
    disagreement: np.ndarray  # u, (N,)
    objects: np.ndarray  # n, (N,)
    usual: np.ndarray  # whether the panel knows the category from many sites, (N,), bool

    @cached_property
    def contradiction(self) -> np.ndarray:
        """s, the standard deviation of the differences that are known, (N,)."""
        return np.asarray(np.nanstd(self.terms, axis=0))

    @cached_property
    def log_odds(self) -> tuple[np.ndarray, np.ndarray]:
        """Log-odds of the disagreement, inside `LEAST` and `MOST`, and of the level, (N,) each."""
        return logit(np.clip(self.disagreement, LEAST, MOST)), logit(self.level)


@dataclass(frozen=True)
class OneKind:
    """Slopes and errors of one kind of detectors; see the module."""

    slopes: tuple[float, float, float]  # of d0, d1 and d2
    std: float  # τ
    exponent: float  # γ
    rare: float  # τ of categories that are not usual, as a multiple
    contradiction: float  # κ

    def predict(self, seen: Seen, few: float, floor: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected differences and the variances of their errors, (N,) each."""
        value = np.asarray(self.slopes) @ np.nan_to_num(seen.terms)
        std = self.std * np.where(seen.usual, 1.0, self.rare)
        of_site = seen.level * (1 - seen.level) * (1 + few / np.maximum(seen.objects, 1))
        variance = std**2 * of_site * seen.disagreement**self.exponent
        return value, variance + (self.contradiction * seen.contradiction) ** 2 + floor**2


@dataclass(frozen=True)
class TwoKinds:
    """A mixture of both kinds; see the module."""

    alike: OneKind
    unlike: OneKind
    gate: tuple[float, float, float]  # a, b and c
    few: float  # c: with so many objects the variance is twice that of very many
    floor: float  # f, of detectors that agree entirely

    def probability(self, seen: Seen) -> np.ndarray:
        """Return the probability that two detectors are not trained alike, (N,)."""
        a, b, c = self.gate
        u, m = seen.log_odds
        return np.asarray(expit(a + b * (u + c * m)))

    def predict(self, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected differences and the standard deviations of their errors."""
        (alike, variance_alike), (unlike, variance_unlike) = (
            kind.predict(seen, self.few, self.floor) for kind in (self.alike, self.unlike)
        )
        g = self.probability(seen)
        # Law of total variance: the mean of the kinds' variances, and the variance of their means.
        # Where one kind expects a difference and the other none, the second part is most of it.
        variance = (
            (1 - g) * variance_alike + g * variance_unlike + g * (1 - g) * (alike - unlike) ** 2
        )
        return (1 - g) * alike + g * unlike, np.sqrt(variance)


@dataclass(frozen=True)
class PairPrior:
    """The numbers of the model of this module."""

    common: TwoKinds  # of detectors with a common labelled set
    alone: TwoKinds  # without one
    home: OneKind  # one of the two was trained at the labelled site
    away: Away  # how far its estimates fall
    shared: float = 0.5  # share of the error's variance that the categories of a site share
    dof: float = 8.0  # of the error, as Student's distribution
    influence: float = 0.2  # slope of the true influence of an image on the predicted one
    # Prior of the variance of what is left of that influence, in units of u m (1 - m) / n with n
    # the expected objects of an image; of `USUAL` and of other categories, whose few objects each
    # count for more.
    per_image: tuple[float, float] = (0.4, 1.3)
    per_image_dof: tuple[float, float] = (3.0, 3.0)

    def predict(self, pairs: pd.DataFrame) -> list[ValueWithError]:
        """Predict the difference of each row.

        Columns are ``estimate_a``, ``estimate_b`` (label-free), ``log_odds`` (of A less that of B
        on the labelled set; NaN where it is not known), ``expected`` (d2), ``disagreement``,
        ``objects`` (n), ``usual`` (whether the category is one of `USUAL`), ``home_a`` and
        ``home_b`` (accuracy at the labelled site of a detector that was trained there, else NaN),
        ``confidence_a`` and ``confidence_b`` (x of `Away`, of such a detector).
        The result is inside what is possible: a difference is at most twice the level, nor twice
        what the level leaves to 1.
        """
        seen = seen_of(pairs)
        on_common_labels = np.isfinite(seen.terms[0])
        at_home = one_at_home(pairs)
        fallen, weights = away_from_home(pairs, self.away)
        values, variances = (
            moment.reshape(weights.shape)
            for moment in self.home.predict(fallen, self.common.few, self.common.floor)
        )
        # Law of total variance, as of `TwoKinds`.
        of_home = (weights * values).sum(axis=0)
        variance = (weights * (variances + (values - of_home) ** 2)).sum(axis=0)
        of_levels = (weights * fallen.level.reshape(weights.shape)).sum(axis=0)
        level = np.where(at_home, of_levels, seen.level)
        # Each of the three models predicts all rows; of each row that of its case counts.
        by_labels = np.where(on_common_labels, self.common.predict(seen), self.alone.predict(seen))
        value, errors = np.where(at_home, (of_home, np.sqrt(variance)), by_labels)
        # Two accuracies in [0, 1] whose mean is the level differ by no more than this.
        most = 2 * np.minimum(level, 1 - level)
        return [
            ValueWithError(float(v), float(e), self.dof)
            for v, e in zip(np.clip(value, -most, most), errors, strict=True)
        ]

    def mean(self, each: list[ValueWithError]) -> ValueWithError:
        """Average the differences of the categories of a site, whose errors are correlated."""
        errors = np.array([difference.error for difference in each])
        # A share of the variance is common to all categories, so that its standard deviations add;
        # the rest is independent, so that its variances add: it alone falls with their number.
        independent = (1 - self.shared) * np.sum(errors**2) / len(each) ** 2
        error = math.sqrt(self.shared * errors.mean() ** 2 + independent)
        return ValueWithError(
            float(np.mean([difference.value for difference in each])), error, self.dof
        )

    def residual(self, level: float, u: float, n_true: float, *, usual: bool) -> VariancePrior:
        """Return the prior of the variance of one image's influence on a difference."""
        k = 0 if usual else 1
        variance = self.per_image[k] * u * level * (1 - level) / max(n_true, FEWEST_OBJECTS)
        return VariancePrior(max(variance, self.common.floor**2), self.per_image_dof[k])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with four digits after the point."""
        values = asdict(self)
        del values["away"]  # in a file of its own
        return rounded(values)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PairPrior:
        """Read what `to_dict` wrote."""
        fields: dict[str, Any] = dict(values)
        for name in ("common", "alone"):
            both = fields[name]
            kinds = {kind: one_kind(both[kind]) for kind in ("alike", "unlike")}
            fields[name] = TwoKinds(**{**both, **kinds, "gate": tuple(both["gate"])})
        for name in ("per_image", "per_image_dof"):
            fields[name] = tuple(fields[name])
        return cls(**fields | {"home": one_kind(fields["home"]), "away": away_prior("mAP")})


def rounded(values: Any) -> Any:
    """Round all numbers inside to four digits after the point."""
    if isinstance(values, Mapping):
        return {name: rounded(value) for name, value in values.items()}
    return np.round(values, 4).tolist()


def one_kind(values: Mapping[str, Any]) -> OneKind:
    """Read the numbers of one kind of detectors."""
    return OneKind(**{**values, "slopes": tuple(values["slopes"])})


@cache
def pair_prior() -> PairPrior:
    """Return the shipped one."""
    return PairPrior.from_dict(json.loads(shipped_config(FILE).read_text(encoding="utf-8")))


def seen_of(pairs: pd.DataFrame) -> Seen:
    """Return what `PairPrior.predict` takes of N rows."""
    a, b = (pairs[f"estimate_{detector}"].to_numpy(float) for detector in "ab")
    level = np.clip((a + b) / 2, LOWEST, HIGHEST)
    carried = scaled_difference(level, pairs["log_odds"].to_numpy(float))
    u, n = (pairs[name].to_numpy(float) for name in ("disagreement", "objects"))
    terms = np.stack([carried, a - b, pairs["expected"].to_numpy(float)])
    return Seen(terms, level, u, n, pairs["usual"].to_numpy(bool))


def one_at_home(pairs: pd.DataFrame) -> np.ndarray:
    """Return of which rows exactly one detector was trained at the labelled site, (N,)."""
    at_home = pairs[["home_a", "home_b"]].notna().to_numpy()
    return np.asarray(at_home[:, 0] != at_home[:, 1])


def away_from_home(pairs: pd.DataFrame, away: Away) -> tuple[Seen, np.ndarray]:
    """Lower the estimates of a detector that was trained at home, and leave out d0 there.

    Returned: what is seen of N pairs with each of G factors, G N in all, pairs after pairs; and the
    probabilities of the factors, (G, N).
    """
    homes, confidences = (
        pairs[[f"{name}_a", f"{name}_b"]].to_numpy(float) for name in ("home", "confidence")
    )
    of_a = np.isfinite(homes[:, 0])
    home, confidence = (np.where(of_a, *of.T) for of in (homes, confidences))
    factors, weights = away.factors(np.nan_to_num(home), confidence)
    lowered = [np.where(of_a == first, factors, 1.0).ravel() for first in (True, False)]
    copies = pd.concat([pairs] * len(factors), ignore_index=True)
    seen = seen_of(
        copies.assign(
            estimate_a=copies["estimate_a"] * lowered[0],
            estimate_b=copies["estimate_b"] * lowered[1],
            log_odds=math.nan,
        )
    )
    return seen, weights


def scaled_difference(level: np.ndarray, log_odds: np.ndarray) -> np.ndarray:
    """Return the difference of two shares whose mean and whose difference of log-odds are given.

    The means, in (0, 1), and the differences are (N,).

    Examples
    --------
    >>> half = np.log(.6 / .4)
    >>> scaled_difference(np.array([.5, .5]), np.array([2 * half, 0])).round(6)
    array([0.2, 0. ])
    """
    # With the odds x of the middle, in log-odds, the two shares have the odds x exp(half) and
    # x exp(-half).
    half = log_odds / 2
    c = np.cosh(half)
    # The odds x of the middle solve (1 - m) x^2 + (1 - 2 m) c x - m = 0.
    b = (1 - 2 * level) * c
    x = (np.sqrt(b**2 + 4 * level * (1 - level)) - b) / (2 * (1 - level))
    return np.asarray(2 * x * np.sinh(half) / (1 + 2 * c * x + x**2))


def log_odds_on_labels(
    a: pd.DataFrame, b: pd.DataFrame, target: str, words: tuple[str, ...]
) -> float:
    """Return by how much the log-odds of A's average precision exceed B's on the labelled sets.

    `a` and `b` are the pairs of source and category that each was fitted on, with ``n_boxes``;
    `words` is what the category of the site is called there. Mean over all categories, weighted by
    the root of the number of boxes, and, with the same weight, of the category itself where it has
    labels enough; NaN without a common pair.
    """
    both = on_labels(a, b, target)
    if both.empty:
        return math.nan
    of_a, of_b = both["a"].to_numpy(float), both["b"].to_numpy(float)
    # log-odds with .02 added to either side, so that 0 and 1 have some
    excess = np.log((of_a + 0.02) / (1.02 - of_a)) - np.log((of_b + 0.02) / (1.02 - of_b))
    weights = np.sqrt(both["n"].to_numpy(float))
    overall = float(np.average(excess, weights=weights))
    same_category = both["category"].isin(words).to_numpy()
    if both.loc[same_category, "n"].sum() < FEWEST_LABELLED:
        return overall
    of_category = float(np.average(excess[same_category], weights=weights[same_category] ** 2))
    return OF_CATEGORY * of_category + (1 - OF_CATEGORY) * overall


def on_labels(a: pd.DataFrame, b: pd.DataFrame, target: str) -> pd.DataFrame:
    """Return what two detectors reach on the labelled sets that both were fitted on.

    One row a source and category: ``category``, ``a``, ``b`` and ``n`` (boxes, or images where
    boxes were not counted).
    """
    key = ["source", "category"]
    n = a["n_boxes"] if "n_boxes" in a else a["n_images"]
    first = a[key].assign(a=a[target], n=n)
    return first.merge(b[key].assign(b=b[target]), on=key).dropna()
