r"""The label-free difference of two detectors' average precisions at a site.

For detectors A and B, a site and a category:

.. math:: AP_A - AP_B = b_0 d_0 + b_1 d_1 + b_2 d_2 + e, \qquad
          \mathrm{sd}(e) = w \sqrt{\tau^2\, m (1 - m)\, u^\gamma\, (1 + c / n) + \kappa^2 s^2 + f^2}

- :math:`d_0` is the difference on the labelled set, scaled to the level m of the site: detectors
  whose log-odds of average precision differ by g there are taken to differ by g around m here.
- :math:`d_1` is the difference of the two label-free estimates, and m their mean.
- :math:`d_2` is the difference of the expected average precisions held to the same
  objects; see `autoeval.comparison.common_objects`.
- u is the disagreement of the two detectors at the site (`disagreement`). What labellers left out
  and how loosely they drew hits both alike, so detectors that find the same boxes differ little:
  checkpoints of one training run are not a case of their own.
- n is the number of objects that both are expected to have at the site: differences on few objects
  vary more.
- s is the standard deviation of the three differences, or of the last two: where they contradict
  each other, as for a detector that was trained where it was labelled, none is to be trusted.
- τ and w are others for persons and vehicles than for other categories, of which the panel has
  fewer sites and labelled boxes. w is what the errors on detectors and sites left out exceed.

Coefficients and errors are fitted on a panel of detectors by `benchmarks/compare.py` and shipped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from autoeval.data.config_file import shipped_config
from autoeval.labels.value_with_error import ValueWithError
from autoeval.labels.variance_prior import VariancePrior

FILE = "compare_prior.json"
LOWEST, HIGHEST = 0.02, 0.95  # levels
FEWEST_OBJECTS = 0.05  # expected in an image
FEWEST_LABELLED = 20  # boxes of a category, for its own difference on the labelled set to count
USUAL = frozenset(("person", "vehicle", "car", "bus", "truck"))
"""Words of the categories that the panel knows from many sites."""
OF_CATEGORY = 0.5  # weight of that difference; the rest has the mean over all categories


@dataclass(frozen=True)
class PairPrior:
    """The numbers of the model of this module."""

    slopes: tuple[float, float, float] = (0.3, 0.3, 0.5)  # of d0, d1 and d2
    alone: tuple[float, float] = (0.5, 0.6)  # of d1 and d2, without a common labelled set
    std: float = 0.16  # τ, with d0
    std_alone: float = 0.18  # without
    exponent: float = 0.5  # γ, of the disagreement
    rare: float = 1.3  # τ of other categories than `USUAL`, as a multiple
    contradiction: float = 0.3  # κ
    wider: tuple[float, float] = (1.0, 1.0)  # w: of `USUAL`, of other categories
    trained: float = 1.5  # w, further, where one was trained on images like the labelled ones
    floor: float = 0.003  # f, of detectors that agree entirely
    few: float = 20.0  # c: with so many objects the variance is twice that of very many
    shared: float = 0.5  # share of the error's variance that the categories of a site share
    dof: float = 8.0  # of the error, as Student's distribution
    influence: float = 0.2  # slope of the true influence of an image on the predicted one
    # Prior of the variance of what is left of that influence, in units of u m (1 - m) / n with n
    # the expected objects of an image.
    per_image: float = 0.5
    per_image_dof: float = 3.0

    def predict(self, pairs: pd.DataFrame) -> list[ValueWithError]:
        """Predict the difference of each row.

        Columns are ``estimate_a``, ``estimate_b`` (label-free), ``log_odds`` (of A less that of B
        on the labelled set; NaN where it is not known), ``expected`` (d2), ``disagreement``,
        ``objects`` (n), ``usual`` (whether the category is one of `USUAL`) and ``trained``
        (whether one of the two was trained where it was labelled; its difference there is then
        not used). The result is inside what is possible: a difference is at most twice the
        level, nor twice what the level leaves to 1.
        """
        terms, level = differences(pairs)
        trained = pairs["trained"].to_numpy(bool)
        terms[0] = np.where(trained, np.nan, terms[0])
        known = np.isfinite(terms[0])
        value = np.where(known, self.slopes @ np.nan_to_num(terms), self.alone @ terms[1:])
        most = 2 * np.minimum(level, 1 - level)
        value = np.clip(value, -most, most)
        u, n = (pairs[name].to_numpy(float) for name in ("disagreement", "objects"))
        errors = self.errors(level, u, n, contradictions(terms), known, pairs["usual"].to_numpy())
        errors = errors * np.where(trained, self.trained, 1.0)
        return [
            ValueWithError(float(v), float(e), self.dof) for v, e in zip(value, errors, strict=True)
        ]

    def errors(
        self,
        level: np.ndarray,
        u: np.ndarray,
        n: np.ndarray,
        s: np.ndarray,
        known: np.ndarray,
        usual: np.ndarray,
    ) -> np.ndarray:
        """Return the standard deviation of the error; see the module. All are (N,)."""
        std = np.where(known, self.std, self.std_alone) * np.where(usual, 1.0, self.rare)
        of_site = 1 + self.few / np.maximum(n, 1)
        variance = std**2 * level * (1 - level) * u**self.exponent * of_site
        variance = variance + (self.contradiction * s) ** 2 + self.floor**2
        return np.asarray(np.where(usual, *self.wider) * np.sqrt(variance))

    def mean(self, each: list[ValueWithError]) -> ValueWithError:
        """Average the differences of the categories of a site, whose errors are correlated."""
        errors = np.array([of.error for of in each])
        own = (1 - self.shared) * np.sum(errors**2) / len(each) ** 2
        error = math.sqrt(self.shared * errors.mean() ** 2 + own)
        return ValueWithError(float(np.mean([of.value for of in each])), error, self.dof)

    def residual(self, level: float, u: float, n_true: float) -> VariancePrior:
        """Return the prior of the variance of one image's influence on a difference."""
        variance = self.per_image * u * level * (1 - level) / max(n_true, FEWEST_OBJECTS)
        return VariancePrior(max(variance, self.floor**2), self.per_image_dof)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with four digits after the point."""
        return {name: np.round(of, 4).tolist() for name, of in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PairPrior:
        """Read what `to_dict` wrote."""
        known: dict[str, Any] = dict(values)
        return cls(**known | {name: tuple(known[name]) for name in ("slopes", "alone", "wider")})


@cache
def pair_prior() -> PairPrior:
    """Return the shipped one."""
    return PairPrior.from_dict(json.loads(shipped_config(FILE).read_text(encoding="utf-8")))


def differences(pairs: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return d0 (NaN where not known), d1 and d2 of N rows, (3, N), and m, (N,)."""
    a, b = (pairs[f"estimate_{of}"].to_numpy(float) for of in "ab")
    level = np.clip((a + b) / 2, LOWEST, HIGHEST)
    carried = scaled_difference(level, pairs["log_odds"].to_numpy(float))
    return np.stack([carried, a - b, pairs["expected"].to_numpy(float)]), level


def contradictions(terms: np.ndarray) -> np.ndarray:
    """Return the standard deviation of the differences d0, d1 and d2, (3, N), that are known."""
    return np.asarray(np.nanstd(terms, axis=0))


def scaled_difference(level: np.ndarray, log_odds: np.ndarray) -> np.ndarray:
    """Return the difference of two shares whose mean and whose difference of log-odds are given.

    The means, in (0, 1), and the differences are (N,).

    Examples
    --------
    >>> half = np.log(.6 / .4)
    >>> scaled_difference(np.array([.5, .5]), np.array([2 * half, 0])).round(6)
    array([0.2, 0. ])
    """
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
    excess = _log_odds(both["a"]) - _log_odds(both["b"])
    weights = np.sqrt(both["n"].to_numpy(float))
    overall = float(np.average(excess, weights=weights))
    own = both["category"].isin(words).to_numpy()
    if both.loc[own, "n"].sum() < FEWEST_LABELLED:
        return overall
    of_category = float(np.average(excess[own], weights=weights[own] ** 2))
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


def _log_odds(precision: pd.Series) -> np.ndarray:
    p = precision.to_numpy(float)
    return np.asarray(np.log((p + 0.02) / (1.02 - p)))
