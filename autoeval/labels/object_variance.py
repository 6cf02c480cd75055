r"""Variance of an average precision by the labelled objects behind it.

.. math:: Var = \varphi\, \frac{a (1 - a)}{n}\, \frac{h + 5}{h + 6}, \qquad
          n = \frac{G}{1 + r (G / h - 1)}, \qquad
          a = \frac{h\, \theta_S + 5 g}{h + 5}

of G labelled objects in h images, with intra-image correlation r (Kish 1965, section 5.4), an
average precision between that of the sample and the label-free one g (in the manner of Agresti &
Coull 1998: with that of the sample alone, values that happen to be low would have small variances,
and weigh too much), and a factor by target. A proportion of n objects has
:math:`\varphi = 1`; the mean over ten IoU thresholds varies less than one of them.

The last factor is the expectation over what a itself is not known by: with the label-free value as
five images, θ has a beta distribution of mean a and h + 5 observations, of which
:math:`E[\theta (1 - \theta)] = a (1 - a) (h + 5) / (h + 6)`. Without it a law that is right for
few images is too small for many.

Few objects cannot show their own variance: those of three images may be equal, and those of images
without a true positive all are 0. The law is the prior of the sample variance, and knows how many
objects could have been true positives.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

PER_OBJECT: Mapping[str, float] = MappingProxyType({"mAP": 0.6, "mAP50": 1.0, "mAP75": 1.0})
WITHIN_IMAGE = 0.2
DOF = 6.0
"""Observations that the law counts as. How these were chosen: docs/results/many_categories.md."""
IMAGES_OF_PRIOR = 5.0
INSIDE = 0.02  # an average precision of 0 or 1 has a variance, too
UNKNOWN_VALUE = 0.5  # without a label-free estimate


def effective_objects(
    n_true: np.ndarray | float, n_holding: np.ndarray | float
) -> np.ndarray | float:
    """Return the number of independent objects that `n_true` in `n_holding` images stand for.

    Examples
    --------
    >>> float(effective_objects(12, 12)), float(effective_objects(12, 4))
    (12.0, 8.571428571428571)
    """
    held = np.maximum(n_holding, 1)
    each = np.maximum(n_true / held, 1)
    return np.asarray(held * each / (1 + WITHIN_IMAGE * (each - 1)))


def object_variance(
    per_object: float,
    value: np.ndarray | float,
    expected: np.ndarray | float,
    n_true: np.ndarray | float,
    n_holding: np.ndarray | float,
) -> np.ndarray:
    """Return the variance of the average precision of a sample; see the module.

    `value` is that of the sample, `expected` the label-free one.

    Examples
    --------
    >>> round(float(object_variance(1.0, 0.5, 0.5, 1, 1)), 3)  # 1/4 of 6/7
    0.214
    """
    both = np.asarray(n_holding * np.asarray(value) + IMAGES_OF_PRIOR * np.asarray(expected))
    counts = np.asarray(n_holding + IMAGES_OF_PRIOR)
    mixed = np.clip(both / counts, INSIDE, 1 - INSIDE)
    of_one = mixed * (1 - mixed) * counts / (counts + 1)
    return np.asarray(per_object * of_one / effective_objects(n_true, n_holding))
