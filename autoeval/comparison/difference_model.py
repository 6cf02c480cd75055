r"""How the difference of two detectors at a site is predicted from what is seen of it.

For each of two kinds of detectors, those that are trained alike and those that are not:

.. math:: AP_A - AP_B = b_0 d_0 + b_1 d_1 + b_2 d_2 + e, \qquad
          \mathrm{sd}(e) = \sqrt{\tau^2\, m (1 - m)\, u^\gamma\, (1 + c / n) + \kappa^2 s^2 + f^2}

The terms are those of `autoeval.comparison.pair_model`. Whether two detectors are trained alike is
seen by their disagreement u, given the level m: two detectors that both reach an average precision
of .3 find mostly the same objects if they were trained on the same images, and other ones if one of
them was trained on one site. The probability of the second kind is

.. math:: g = \sigma(a + b\, (\mathrm{logit}\, u + c\, \mathrm{logit}\, m))

and the prediction has the mean and the variance of the mixture of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logit

LEAST, MOST = 0.01, 0.99  # disagreement whose log-odds are taken


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
