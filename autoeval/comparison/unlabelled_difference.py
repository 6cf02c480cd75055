r"""The label-free difference of two detectors' average precisions at a site.

It is predicted from three differences and what else is seen of two detectors A and B, a site and a
category:

- :math:`d_0` is the difference on the labelled set, scaled to the level m of the site: detectors
  whose log-odds of average precision differ by g there are taken to differ by g around m here.
- :math:`d_1` is the difference of the two label-free estimates, and m their mean.
- :math:`d_2` is the difference of the expected average precisions held to the same objects. That
  of a detector alone rests on a guess of how many objects it has missed, and a second detector on
  the same images finds some of them: both are held to one object for each box, where two boxes
  with an IoU of .5 or more, each the other's likeliest, are one; or to the mean of what either
  expects by itself, if that is more.
- u is the disagreement of the two detectors at the site (`disagreement`). What labellers left out
  and how loosely they drew lowers both equally, so detectors that find the same boxes differ
  little: checkpoints of one training run are not a case of their own.
- n is the number of objects that both are expected to have at the site: differences on few objects
  vary more. Frames of one block of time show the same ones, and count as one image with their mean
  number of objects.
- s is the standard deviation of the differences that are known: where they contradict each other,
  none is to be trusted.
- The errors are others for persons and vehicles than for other categories, of which the panel has
  fewer sites and labelled boxes.

Without a common labelled set :math:`d_0` is not known, and coefficients of their own hold.

Of a detector that was trained at the labelled site the difference there says nothing, and its
estimates elsewhere are usually too high. Where one of the two is known to be such a detector,
:math:`d_0` is left out and its estimate multiplied by :math:`\exp(-k z h)`, with h its accuracy at
home: k is a random effect of the detector, z one of the site, and some sites are like home
(`autoeval.model.DomainShift`). The prediction has mean and variance of the mixture over these;
coefficients and errors are again others. Two detectors that were both trained there are
compared as any two: their difference there is one of detectors at home.

Coefficients and errors are fitted on a panel of detectors by `train_differences.py` and shipped.

For each of two kinds of pairs, detectors of the same training and of other training:

.. math:: AP_A - AP_B = b_0 d_0 + b_1 d_1 + b_2 d_2 + e, \qquad
          \mathrm{sd}(e) = \sqrt{\tau^2\, m (1 - m)\, u^\gamma\, (1 + c / n) + \kappa^2 s^2 + f^2}

with n of at least 1, and τ multiplied by one more number in categories that are not `USUAL`.
Whether two detectors have the same training is seen by their disagreement u, given the level m: two
detectors that both reach an average precision of .3 find mostly the same objects if they were
trained on the same images, and other ones if one of them was trained on one site. The probability
of the second kind is

.. math:: g = \sigma(a + b\, (\mathrm{logit}\, u + c\, \mathrm{logit}\, m))

and the prediction has the mean and the variance of the mixture of both.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from autoeval.accuracy.coco_evaluation import AT_HALF, rank_categories
from autoeval.accuracy.measures import OperatingPoint, RankedDetections, influence_function
from autoeval.boxes import overlapping_pairs
from autoeval.errors import InputError
from autoeval.estimation.category_scores import site_scores
from autoeval.estimation.checks import nothing_over_text
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.io.predictions.category_words import known_spellings
from autoeval.labels.joint import Outlook
from autoeval.labels.values import ValueWithError, VariancePrior, quantile
from autoeval.model import DomainShift
from autoeval.model.calibration import FOUND, LIKELY
from autoeval.model.pair_table import PRECISION, Table, nothing_over
from autoeval.model.priors import SYNONYMS, domain_shift_prior
from autoeval.model.regression import Regression
from autoeval.runtime.files import shipped_config
from autoeval.sites.site import Site

LOWEST_ODDS = 0.01  # disagreement under which log-odds are taken of this
HIGHEST_ODDS = 0.99  # and over which of this
FILE = "compare_prior.json"
LOWEST = 0.02  # level of accuracy
HIGHEST = 0.95  # level of accuracy
FEWEST_OBJECTS = 0.05  # expected in an image
FEWEST_LABELLED = 20  # boxes of a category, for its own difference on the labelled set to count
USUAL = frozenset(("person", *SYNONYMS["person"], "vehicle", "car", "bus", "truck"))
"""Words, in small letters, of the categories that the panel knows from many sites."""
OTHER_LABELS = 0.1  # share of its boxes by which two sets of one name differ that are not one set
OF_CATEGORY = 0.5  # weight of that difference; the rest has the mean over all categories
FEWEST_LIKELY = 3  # boxes that stand for labels
LEAST = 0.02  # true-positive probability at IoU .5 of a box that counts
ERROR_FACTOR = 1.15
"""Factor of the standard error from labels in intervals, by coverage on the panel
(docs/results/compare.md): influences on a difference are skewed, and a few images seldom hold those
that count most. What labels weigh against the label-free difference does not depend on it."""


@dataclass(frozen=True, eq=False)
class PairFeatures:
    """What is seen of the differences of N pairs of detectors, each at a site and category.

    Parameters
    ----------
    terms : ndarray of shape (3, N)
        d0 (NaN where not known), d1 and d2, in [-1, 1].
    level : ndarray of shape (N,)
        m, from `LOWEST` to `HIGHEST`.
    disagreement : ndarray of shape (N,)
        u, in [0, 1].
    objects : ndarray of shape (N,)
        n, expected objects at the site.
    usual : ndarray of shape (N,), bool
        Whether the panel knows the category from many sites (`USUAL`).
    one_at_home : ndarray of shape (N,), bool
        Whether one of both was trained at the labelled site.
    """

    terms: np.ndarray
    level: np.ndarray
    disagreement: np.ndarray
    objects: np.ndarray
    usual: np.ndarray
    one_at_home: np.ndarray


@dataclass(frozen=True)
class LinearDifference:
    """Linear model of the difference of detectors of one kind of training; see the module.

    Parameters
    ----------
    slopes : sequence of 3 floats
        b, of d0, d1 and d2.
    std : float
        τ.
    exponent : float
        γ.
    rare : float
        Factor of τ in categories that are not usual.
    contradiction : float
        κ.
    """

    slopes: Sequence[float]
    std: float
    exponent: float
    rare: float
    contradiction: float

    def predict(
        self, seen: PairFeatures, few: float, floor: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predict differences; one of d0 that is not known counts as 0.

        Parameters
        ----------
        seen : PairFeatures
            Of N pairs.
        few : float
            c.
        floor : float
            f.

        Returns
        -------
        value : ndarray of shape (N,)
            Expected differences.
        variance : ndarray of shape (N,)
            Variances of their errors.
        """
        value = np.asarray(self.slopes) @ np.nan_to_num(seen.terms)
        std = self.std * np.where(seen.usual, 1.0, self.rare)
        of_site = seen.level * (1 - seen.level) * (1 + few / np.maximum(seen.objects, 1))
        variance = std**2 * of_site * seen.disagreement**self.exponent
        contradiction = np.nanstd(seen.terms, axis=0)  # s
        return value, variance + (self.contradiction * contradiction) ** 2 + floor**2


@dataclass(frozen=True)
class DifferenceMixture:
    """Mixture of the models of same and of other training; see the module.

    Parameters
    ----------
    same_training, other_training : LinearDifference
        Of detectors with the same training, and of others.
    gate : sequence of 3 floats
        a, b and c of the probability of the second kind.
    few : float
        c of the error: with so many objects the variance is twice that of very many.
    floor : float
        f, of detectors that agree entirely.
    """

    same_training: LinearDifference
    other_training: LinearDifference
    gate: Sequence[float]
    few: float
    floor: float

    def predict(self, seen: PairFeatures) -> tuple[np.ndarray, np.ndarray]:
        """Predict the differences of N pairs.

        Parameters
        ----------
        seen : PairFeatures
            Of the pairs; a d0 that is not known counts as 0.

        Returns
        -------
        value : ndarray of shape (N,)
            Expected differences.
        error : ndarray of shape (N,)
            Standard deviations of their errors.
        """
        same_value, same_variance = self.same_training.predict(seen, self.few, self.floor)
        other_value, other_variance = self.other_training.predict(seen, self.few, self.floor)
        # g, the probability that two detectors do not have the same training
        a, b, c = self.gate
        odds = logit(np.clip(seen.disagreement, LOWEST_ODDS, HIGHEST_ODDS))
        g = expit(a + b * (odds + c * logit(seen.level)))
        # Law of total variance: the mean of the kinds' variances, and the variance of their means.
        # Where one kind expects a difference and the other none, the second part is most of it.
        between = g * (1 - g) * (same_value - other_value) ** 2
        variance = (1 - g) * same_variance + g * other_variance + between
        return (1 - g) * same_value + g * other_value, np.sqrt(variance)


@dataclass(frozen=True)
class PairPrior:
    """Parameters of the model of this module.

    Parameters
    ----------
    common : DifferenceMixture
        Of detectors with a common labelled set.
    alone : DifferenceMixture
        Of detectors without one.
    home : LinearDifference
        Where one of the two was trained at the labelled site.
    shared : float
        Share of the error's variance that the categories of a site share.
    dof : float
        Degrees of freedom of the error, which has Student's distribution.
    influence : float
        Slope of the true influence of an image on the predicted one.
    per_image : sequence of 2 floats
        Prior of the variance of what is left of that influence, in units of u m (1 - m) / n with n
        the expected objects of an image; of `USUAL` and of other categories, whose few objects each
        count for more.
    per_image_dof : sequence of 2 floats
        Observations that these count as.
    """

    common: DifferenceMixture
    alone: DifferenceMixture
    home: LinearDifference
    shared: float = 0.5
    dof: float = 8.0
    influence: float = 0.2
    per_image: Sequence[float] = (0.4, 1.3)
    per_image_dof: Sequence[float] = (3.0, 3.0)

    def predict(
        self, pairs: pd.DataFrame, domain_shift: DomainShift | None = None
    ) -> list[ValueWithError]:
        """Predict the difference in accuracy of each of N rows.

        Parameters
        ----------
        pairs : DataFrame
            Columns are ``estimate_a``, ``estimate_b`` (label-free), ``log_odds`` (of A less that of
            B on the labelled set; NaN where it is not known), ``expected`` (d2), ``disagreement``,
            ``objects`` (n), ``usual`` (whether the category is one of `USUAL`), ``home_a`` and
            ``home_b`` (accuracy at the labelled site of a detector that was trained there, else
            NaN), ``confidence_a`` and ``confidence_b`` (x of `DomainShift`, of such a detector).
        domain_shift : DomainShift, optional
            Model of the estimates of such a detector elsewhere, by default as shipped.

        Returns
        -------
        list of N ValueWithError
            Inside what is possible: a difference is at most twice the level, nor more than twice
            what the level leaves to 1.
        """
        seen = pair_features(pairs)
        level = seen.level
        # Each model predicts all rows; of each row that of its case counts.
        by_labels = np.isfinite(seen.terms[0])
        value, errors = np.where(by_labels, self.common.predict(seen), self.alone.predict(seen))
        at_home = seen.one_at_home
        if at_home.any():
            fallen, weights = with_domain_shift(pairs, domain_shift or domain_shift_prior("mAP"))
            values, variances = self.home.predict(fallen, self.common.few, self.common.floor)
            values, variances = values.reshape(weights.shape), variances.reshape(weights.shape)
            # Law of total variance, as of `DifferenceMixture`.
            of_home = (weights * values).sum(axis=0)
            variance = (weights * (variances + (values - of_home) ** 2)).sum(axis=0)
            of_levels = (weights * fallen.level.reshape(weights.shape)).sum(axis=0)
            level = np.where(at_home, of_levels, level)
            value, errors = np.where(at_home, (of_home, np.sqrt(variance)), (value, errors))
        # Two accuracies in [0, 1] whose mean is the level differ by no more than this.
        most = 2 * np.minimum(level, 1 - level)
        return [
            ValueWithError(float(v), float(e), self.dof)
            for v, e in zip(np.clip(value, -most, most), errors, strict=True)
        ]

    def mean(self, differences: list[ValueWithError]) -> ValueWithError:
        r"""Average the differences of the K categories of a site, whose errors are correlated.

        .. math:: SE^2 = \rho\, \overline{s}^2 + (1 - \rho) \frac{1}{K^2} \sum_k s_k^2

        with the errors s of each and ρ of `shared`.

        Parameters
        ----------
        differences : list of K ValueWithError
            One or more. Their degrees of freedom are not read.

        Returns
        -------
        ValueWithError
            With the degrees of freedom of the prior.
        """
        errors = np.array([difference.error for difference in differences])
        # A share of the variance is common to all categories, so that its standard deviations add;
        # the rest is independent, so that its variances add: it alone falls with their number.
        independent = (1 - self.shared) * np.sum(errors**2) / len(differences) ** 2
        error = math.sqrt(self.shared * errors.mean() ** 2 + independent)
        return ValueWithError(
            float(np.mean([difference.value for difference in differences])), error, self.dof
        )

    def residual(self, level: float, u: float, n_true: float, *, usual: bool) -> VariancePrior:
        """Return the prior of the variance of one image's influence on a difference.

        Parameters
        ----------
        level : float
            m.
        u : float
            Disagreement of the two detectors.
        n_true : float
            Expected objects of an image, taken as `FEWEST_OBJECTS` at least.
        usual : bool
            Whether the category is one of `USUAL`.
        """
        k = 0 if usual else 1
        variance = self.per_image[k] * u * level * (1 - level) / max(n_true, FEWEST_OBJECTS)
        return VariancePrior(max(variance, self.common.floor**2), self.per_image_dof[k])


@cache
def pair_prior() -> PairPrior:
    """Read the shipped one, which `train_differences.py` wrote."""
    values = json.loads(shipped_config(FILE).read_text(encoding="utf-8"))
    for name in ("common", "alone"):
        mixture = values[name]
        for training in ("same_training", "other_training"):
            mixture[training] = LinearDifference(**mixture[training])
        values[name] = DifferenceMixture(**mixture)
    values["home"] = LinearDifference(**values["home"])
    return PairPrior(**values)


def pair_features(pairs: pd.DataFrame) -> PairFeatures:
    r"""Return what `PairPrior.predict` takes of N rows.

    .. math:: m = \frac{a + b}{2}, \qquad
              d_0 = p_+ - p_-, \quad \frac{p_+ + p_-}{2} = m, \quad
              \mathrm{logit}\, p_+ - \mathrm{logit}\, p_- = g

    with the estimates a and b and g of ``log_odds``.

    Parameters
    ----------
    pairs : DataFrame
        N rows, see `PairPrior.predict`; the two columns of confidences are not read.

    Returns
    -------
    PairFeatures
        Of the rows. A mean estimate outside [`LOWEST`, `HIGHEST`] counts as the nearer end, and d0
        is NaN where ``log_odds`` is.

    Examples
    --------
    >>> row = {"estimate_a": .5, "estimate_b": .5, "log_odds": 2 * np.log(.6 / .4), "expected": .1}
    >>> row |= {"disagreement": .5, "objects": 10, "usual": True, "home_a": .3, "home_b": None}
    >>> rows = pd.DataFrame([row])
    >>> pair_features(rows).terms[:, 0].round(6)  # .6 and .4 differ by these log-odds around .5
    array([0.2, 0. , 0.1])
    """
    a, b = pairs["estimate_a"].to_numpy(float), pairs["estimate_b"].to_numpy(float)
    level = np.clip((a + b) / 2, LOWEST, HIGHEST)
    # d0: two shares with the mean m whose log-odds differ by g. With the odds x of their middle
    # they have the odds x exp(g / 2) and x exp(-g / 2), and with c = cosh(g / 2) these solve
    # (1 - m) x^2 + (1 - 2 m) c x - m = 0.
    half = pairs["log_odds"].to_numpy(float) / 2
    c = np.cosh(half)
    linear = (1 - 2 * level) * c
    x = (np.sqrt(linear**2 + 4 * level * (1 - level)) - linear) / (2 * (1 - level))
    carried = 2 * x * np.sinh(half) / (1 + 2 * c * x + x**2)
    u, n = pairs["disagreement"].to_numpy(float), pairs["objects"].to_numpy(float)
    terms = np.stack([carried, a - b, pairs["expected"].to_numpy(float)])
    at_home = pairs[["home_a", "home_b"]].notna().sum(axis=1).to_numpy()
    return PairFeatures(terms, level, u, n, pairs["usual"].to_numpy(bool), at_home == 1)


def with_domain_shift(
    pairs: pd.DataFrame, domain_shift: DomainShift
) -> tuple[PairFeatures, np.ndarray]:
    """Lower the estimates of a detector that was trained at home, and leave out d0 there.

    Parameters
    ----------
    pairs : DataFrame
        N rows, see `PairPrior.predict`.
    domain_shift : DomainShift
        By how much such estimates fall elsewhere.

    Returns
    -------
    seen : PairFeatures
        Of N pairs with each of G factors, G N in all, pairs after pairs.
    weights : ndarray of shape (G, N)
        Probabilities of the factors.
    """
    home_a, home_b = pairs["home_a"].to_numpy(float), pairs["home_b"].to_numpy(float)
    confidence_a = pairs["confidence_a"].to_numpy(float)
    confidence_b = pairs["confidence_b"].to_numpy(float)
    of_a = np.isfinite(home_a)
    home = np.where(of_a, home_a, home_b)
    confidence = np.where(of_a, confidence_a, confidence_b)
    factors, weights = domain_shift.factors(np.nan_to_num(home), confidence)
    lowered_a, lowered_b = np.where(of_a, factors, 1.0), np.where(of_a, 1.0, factors)
    copies = pd.concat([pairs] * len(factors), ignore_index=True)
    seen = pair_features(
        copies.assign(
            estimate_a=copies["estimate_a"] * lowered_a.ravel(),
            estimate_b=copies["estimate_b"] * lowered_b.ravel(),
            log_odds=math.nan,
        )
    )
    return seen, weights


def known_on_labels(
    a: Table, b: Table, target: str, words: Sequence[Sequence[str]]
) -> tuple[float, list[float]]:
    """Return how two detectors differ on the labelled sets that both were fitted on.

    Sets of one name whose numbers of labelled boxes differ are others: there are many ``val.json``.
    A few images may lack predictions of one detector, and words may be spelt otherwise.

    Parameters
    ----------
    a, b : Table
        The pairs of site and category that each was fitted on, with ``n_boxes``, or ``n_images``
        where boxes were not counted.
    target : str
        Column of the accuracy.
    words : sequence of sequence of str
        What each category of the site is called on the labelled sets.

    Returns
    -------
    carried : float
        Mean of A's accuracy less B's; NaN without a common pair.
    log_odds : list of float
        By how much the log-odds of A's exceed B's, for each category of the site: mean over all
        categories, weighted by the root of the number of boxes, and, with the same weight, of the
        category itself where it has labels enough; NaN without a common pair.
    """
    size = "n_boxes" if "n_boxes" in a and "n_boxes" in b else "n_images"
    spelt = known_spellings([*b["category"]], [*a["category"]])
    of_b = zip(b["source"], (spelt.get(word, word) for word in b["category"]), strict=True)
    row_of_b = {pair: k for k, pair in enumerate(of_b)}
    of_a = list(zip(a["source"], a["category"], strict=True))
    rows_a = [k for k, pair in enumerate(of_a) if pair in row_of_b]
    rows_b = [row_of_b[of_a[k]] for k in rows_a]
    source, category = (np.asarray(a[name], object)[rows_a] for name in ("source", "category"))
    ap_a, n_a = (np.asarray(a[name], float)[rows_a] for name in (target, size))
    ap_b, n_b = (np.asarray(b[name], float)[rows_b] for name in (target, size))
    n, kept = (n_a + n_b) / 2, np.isfinite(ap_a + ap_b + n_a + n_b)
    for name in dict.fromkeys(source.tolist()):
        of_set = kept & (source == name)
        if np.abs(n_a - n_b)[of_set].sum() > OTHER_LABELS * n[of_set].sum():
            kept &= ~of_set
    if not kept.any():
        return math.nan, [math.nan] * len(words)
    ap_a, ap_b, n, category = ap_a[kept], ap_b[kept], n[kept], category[kept]
    # log-odds with .02 added to either side, so that 0 and 1 have some
    excess = np.log((ap_a + 0.02) / (1.02 - ap_a)) - np.log((ap_b + 0.02) / (1.02 - ap_b))
    overall = float(np.average(excess, weights=np.sqrt(n)))
    log_odds = []
    for called in words:
        same = np.array([word in called for word in category])
        log_odds.append(overall)
        if n[same].sum() >= FEWEST_LABELLED:
            of_category = float(np.average(excess[same], weights=n[same]))
            log_odds[-1] = OF_CATEGORY * of_category + (1 - OF_CATEGORY) * overall
    return float((ap_a - ap_b).mean()), log_odds


@dataclass(frozen=True, eq=False)
class CategoryBoxes:
    """The n boxes of one category that one detector has found on N images.

    Parameters
    ----------
    image : ndarray of shape (n,), int
        Image of each box.
    boxes : ndarray of shape (n, 4), float64
        xyxy, pixels.
    scores : ndarray of shape (n,)
        Scores.
    p : ndarray of shape (10, n)
        True-positive probabilities at each IoU threshold.
    n_true : ndarray of shape (N,)
        Expected objects of each image, by this detector alone.
    """

    image: np.ndarray
    boxes: np.ndarray
    scores: np.ndarray
    p: np.ndarray
    n_true: np.ndarray

    @classmethod
    def of(cls, site: Site, category: int) -> CategoryBoxes:
        """Take the boxes of one category of a calibrated site.

        Those with a true-positive probability of `LEAST` or less at IoU .5 are left out.

        Parameters
        ----------
        site : Site
            With a calibration.
        category : int
            Number of the category among those of the site's boxes.
        """
        boxes = site.boxes
        rows = boxes.rows_of[category]
        p = site.calibration.probabilities(boxes.scores[rows], boxes.boxes[rows])
        kept = p[AT_HALF] > LEAST
        rows, p = rows[kept], p[:, kept]
        image, at_half = boxes.image[rows], p[AT_HALF]
        expected = np.bincount(image, at_half, minlength=len(site))
        n_true = expected + site.calibration.n_missed(at_half, image, len(site))
        return cls(image, boxes.boxes[rows].astype(np.float64), boxes.scores[rows], p, n_true)


@dataclass(frozen=True, eq=False)
class ExpectedDifference:
    """Expected average precision of the first of two detectors less that of the second.

    Parameters
    ----------
    value : float
        Mean over ten IoU thresholds, on the images where one of both finds the category; 0 without
        any.
    n_true : float
        Expected objects of an image, the mean over all images; 0 where neither finds the category.
    rankings : tuple of two RankedDetections
        Boxes of either detector on all N images.
    """

    value: float
    n_true: float
    rankings: tuple[RankedDetections, RankedDetections]

    @cached_property
    def influence(self) -> np.ndarray:
        """Predicted influence of each image on the difference, (N,); labels alone need it."""
        of_a, of_b = self.rankings
        if not self.n_true:
            return np.zeros(len(of_a.n_true))
        return np.asarray((influence_function(of_a) - influence_function(of_b)).mean(axis=0))


def common_objects(a: CategoryBoxes, b: CategoryBoxes) -> np.ndarray:
    """Return the expected objects of each image by the boxes of two detectors.

    One for each box, where two boxes with an IoU of .5 or more, each the other's likeliest, are
    one; at least the mean of what either expects by itself. See d2 of the module.

    Parameters
    ----------
    a, b : CategoryBoxes
        Boxes of one category on the same N images. The result is the same in either order, but for
        equal probabilities.

    Returns
    -------
    ndarray of shape (N,)
        Expected numbers, 0 or more.

    Examples
    --------
    >>> image, corners, p = np.array([0]), np.array([[0.0, 0, 10, 10]]), np.full((10, 1), 0.5)
    >>> a = CategoryBoxes(image, corners, np.array([0.9]), p, np.array([0.5]))
    >>> b = CategoryBoxes(image, corners + 50, np.array([0.9]), p, np.array([0.5]))
    >>> common_objects(a, a), common_objects(a, b)
    (array([0.5]), array([1.]))
    """
    rows, columns, _ = overlapping_pairs(a.boxes, a.image, b.boxes, b.image, least=0.5)
    p_a, p_b = a.p[AT_HALF], b.p[AT_HALF]
    joint = p_a[rows] * p_b[columns]
    # One object where each box is the other's best: of three boxes on one object one would
    # otherwise be counted in two pairs.
    rising = np.argsort(joint, kind="stable")
    best_a, best_b = np.full(len(a.image), -1), np.full(len(b.image), -1)
    best_a[rows[rising]] = best_b[columns[rising]] = rising  # the last is the most probable
    pairs = np.arange(len(rows))
    one = (best_a[rows] == pairs) & (best_b[columns] == pairs)
    # An object that both find has the higher of both probabilities: their errors are correlated, so
    # that those of independent detectors would be too high.
    exists, alone = p_a.copy(), np.ones(len(b.image), bool)
    exists[rows[one]] = np.maximum(exists[rows[one]], p_b[columns[one]])
    alone[columns[one]] = False
    n = len(a.n_true)
    union = np.bincount(a.image, exists, minlength=n).astype(np.float64)  # int without a box
    union += np.bincount(b.image[alone], p_b[alone], minlength=n)
    return np.maximum(union, (a.n_true + b.n_true) / 2)


def expected_difference(a: CategoryBoxes, b: CategoryBoxes) -> ExpectedDifference:
    """Compare the expected average precisions of two detectors, held to the same objects.

    Parameters
    ----------
    a, b : CategoryBoxes
        Boxes of one category on the same images; `b` is subtracted.

    Returns
    -------
    ExpectedDifference
        By `common_objects`. A detector finds the category on an image where one of its boxes has a
        true-positive probability over `FOUND` at IoU .5.
    """
    n_true = common_objects(a, b)
    ranked_a = RankedDetections.of(a.scores, a.image, a.p, n_true)
    ranked_b = RankedDetections.of(b.scores, b.image, b.p, n_true)
    images = np.unique(
        np.concatenate([detector.image[detector.p[AT_HALF] > FOUND] for detector in (a, b)])
    )
    if not len(images):
        return ExpectedDifference(0.0, 0.0, (ranked_a, ranked_b))
    value_a = ranked_a.take(images).average_precision().mean()
    value_b = ranked_b.take(images).average_precision().mean()
    value, mean_true = float(value_a - value_b), float(n_true.mean())
    return ExpectedDifference(value, mean_true, (ranked_a, ranked_b))


def disagreement(a: Site, b: Site) -> np.ndarray:
    """Measure the disagreement of two detectors in each category.

    1 less the mean of two average precisions: of A's boxes, with B's likely boxes (true-positive
    probability over .3) as labels, and of B's with A's; where one of both is not defined, 1 less
    the other.

    Parameters
    ----------
    a, b : Site
        Of the same images and categories, calibrated.

    Returns
    -------
    ndarray of shape (K,)
        In [0, 1]; 1 where neither finds three likely boxes.
    """
    agreements = np.array([agreement(a, b), agreement(b, a)])
    defined = np.isfinite(agreements)
    mean = np.where(defined, agreements, 0).sum(axis=0) / np.maximum(defined.sum(axis=0), 1)
    return np.clip(1 - mean, 0, 1)


def agreement(a: Site, b: Site) -> np.ndarray:
    """Return the average precision of A's boxes with B's likely boxes as labels.

    Parameters
    ----------
    a, b : Site
        Of the same images and K categories; B is calibrated. Its boxes are likely with a
        true-positive probability over `LIKELY` at IoU .5.

    Returns
    -------
    ndarray of shape (K,)
        Mean over ten IoU thresholds, in [0, 1]; NaN for fewer than `FEWEST_LIKELY` likely boxes.
    """
    likely = b.boxes.where(b.right_at_half > LIKELY)
    agreed = np.full(len(a.boxes.categories), math.nan)
    for k, ranking in enumerate(rank_categories(a.boxes, likely)):
        if ranking.n_true.sum() >= FEWEST_LIKELY:
            agreed[k] = ranking.average_precision().mean()
    return agreed


@dataclass(frozen=True, eq=False)
class ComparedDetector:
    """One detector at a site: what a difference takes of it.

    Parameters
    ----------
    name : str
        Its name.
    site : Site
        With named categories, K of them, and calibrated boxes.
    regression : Regression
        Of its fit.
    scores : Table
        What that reads at the site, one row a category.
    values : ndarray of shape (K,)
        Label-free average precision in each category, in [0, 1]. It and the parameters that follow
        are empty or NaN at a threshold.
    home : float
        Accuracy at the labelled site if it was trained there, else NaN.
    confidence : ndarray of shape (K,)
        Of its boxes, less that at home; NaN where there is no home.
    uncorrected : ndarray of shape (K,)
        `values` as if it were not known that it was trained there.
    """

    name: str
    site: Site
    regression: Regression
    scores: Table
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    home: float = math.nan
    confidence: np.ndarray = field(default_factory=lambda: np.zeros(0))
    uncorrected: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, name: str, fitted: AccuracyEstimator, site: Site) -> ComparedDetector:
        """Estimate the accuracy at a site by an estimator of the default method.

        Parameters
        ----------
        name : str
            Of the detector.
        fitted : AccuracyEstimator
            Its fit.
        site : Site
            On common ground.

        Raises
        ------
        InputError
            If precision is not defined, since no box is over the threshold.
        """
        regression, target = fitted.regression_, fitted.target
        _, rows = site_scores(site, regression.features_, counts=False)
        none = nothing_over(rows, target)  # 0 by definition
        if OperatingPoint.of(target) is not None:
            if target.startswith(PRECISION) and none.all():
                raise InputError(
                    f"{target} of {name} is not defined, so there is no difference: "
                    f"{nothing_over_text(target)}. Choose a lower threshold, or compare recall."
                )
            return cls(name, site, regression, rows)
        values = np.where(none, 0.0, np.clip(regression.distribution(rows).mean, 0, 1))
        uncorrected = values
        home, confidence = math.nan, np.full(len(values), math.nan)
        if regression.domain_shift_ is not None:
            home, confidence = regression.home_, regression.confidence_above_home(rows)
            # The prior of pairs was fitted on estimates that are not corrected.
            uncorrected = np.clip(regression.uncorrected(rows).mean, 0, 1)
            uncorrected = np.where(none, 0.0, uncorrected)
        return cls(name, site, regression, rows, values, home, confidence, uncorrected)

    @cached_property
    def estimates(self) -> list[ValueWithError]:
        """Label-free accuracy in each category, and last that in all together."""
        fitted, unit = self.regression, quantile(self.regression.level, np.inf)
        intervals = [*fitted.predict(self.scores), fitted.predict_mean(self.scores)]
        # Errors of differences are standard deviations of normal distributions.
        return [ValueWithError(interval.raw, interval.reach / unit) for interval in intervals]


@dataclass(frozen=True, eq=False)
class LabelFree:
    """The difference of two detectors without labels.

    Parameters
    ----------
    differences : list of ValueWithError
        In each of K categories.
    whole : ValueWithError
        In all together.
    carried : float
        Mean difference on the labelled sets of both fits; NaN without any.
    expected : sequence of ExpectedDifference
        In each category; empty at a threshold, as are the `residuals`.
    residuals : sequence of VariancePrior
        Of the variance of one image that `influences` leave.
    outlook : Outlook, optional
        Of the precision that labels give; None where it is not predicted.
    """

    differences: list[ValueWithError]
    whole: ValueWithError
    carried: float
    expected: Sequence[ExpectedDifference] = ()
    residuals: Sequence[VariancePrior] = ()
    outlook: Outlook | None = None

    @cached_property
    def influences(self) -> np.ndarray:
        """Predicted influence of each image on the difference in each category, (K, N)."""
        return pair_prior().influence * np.stack([of_one.influence for of_one in self.expected])

    def residual(self, categories: Sequence[int]) -> VariancePrior:
        r"""Return the prior of the variance that `influences` leave; labels need it.

        .. math:: v = \max\Big( \frac{1}{C^2} \sum_c v_c, \; \overline{e^2} \Big)

        The variances :math:`v_c` of `residuals` were fitted on detectors of which each finds
        objects that the other does not. Where one of both finds more on a few images, and nothing
        less, these add up there: the variance is not less than the mean square of the influence
        that is expected of an image and not predicted, e.

        Parameters
        ----------
        categories : sequence of C int
            Numbers of one or more categories.

        Returns
        -------
        VariancePrior
            Of one image, of the mean of the differences in these categories.
        """
        of_mean = VariancePrior.of_mean([self.residuals[k] for k in categories])
        left = (
            1 / pair_prior().influence - 1
        )  # of the expected influence, in units of the predicted
        squares = np.square(left * self.influences[list(categories)].mean(axis=0))
        return VariancePrior(max(of_mean.variance, float(squares.mean())), of_mean.dof)


def compare_label_free(
    a: ComparedDetector, b: ComparedDetector, target: str, level: float, n_blocks: np.ndarray
) -> LabelFree:
    """Compare two detectors on the same images and categories.

    At a threshold the difference is that of the two estimates, whose errors are taken to be
    independent: they are not, so the interval is wide. No variance of an image is predicted.

    Parameters
    ----------
    a, b : ComparedDetector
        The difference is of the first less the second.
    target : str
        What is compared.
    level : float
        Nominal coverage of the intervals that are forecast.
    n_blocks : ndarray of shape (N + 1,), int
        See `autoeval.labels.joint.WidthForecast`.
    """
    names = a.site.boxes.categories
    category_of = [*a.site.detector_words.items(), *b.site.detector_words.items()]
    # what each is called on the labelled sets: its own name, or the words that it was given
    words = [(name, *(word for word, of in category_of if of == name)) for name in names]
    carried, log_odds = known_on_labels(a.regression.pairs_, b.regression.pairs_, target, words)
    if OperatingPoint.of(target):
        *differences, whole = map(_independent, a.estimates, b.estimates)
        return LabelFree(differences, whole, carried)
    u = disagreement(a.site, b.site)
    expected = [
        expected_difference(CategoryBoxes.of(a.site, k), CategoryBoxes.of(b.site, k))
        for k in range(len(names))
    ]
    n_independent = len(a.site) if a.site.blocks is None else len(np.unique(a.site.blocks))
    table = pd.DataFrame(
        {
            "estimate_a": a.uncorrected,
            "estimate_b": b.uncorrected,
            "log_odds": log_odds,
            "expected": [difference.value for difference in expected],
            "disagreement": u,
            "objects": [difference.n_true * n_independent for difference in expected],
            "usual": [any(word.strip().lower() in USUAL for word in called) for called in words],
            "home_a": a.home,
            "home_b": b.home,
            "confidence_a": a.confidence,
            "confidence_b": b.confidence,
        }
    )
    domain_shifts = [side.regression.domain_shift_ for side in (a, b)]
    known = [domain_shift for domain_shift in domain_shifts if domain_shift is not None]
    prior, domain_shift = pair_prior(), known[0] if len(known) == 1 else None
    differences = prior.predict(table, domain_shift)
    # The average precision of a detector without a box is known: the error is that of the other.
    without_box = nothing_over(a.scores, target) | nothing_over(b.scores, target)
    for k in np.flatnonzero(without_box).tolist():
        differences[k] = _independent(a.estimates[k], b.estimates[k])
    whole = prior.mean(differences)
    residuals = [
        prior.residual(float(m), float(disagreed), difference.n_true, usual=usual)
        for m, disagreed, difference, usual in zip(
            pair_features(table).level, u, expected, table["usual"], strict=True
        )
    ]
    of_mean = VariancePrior.of_mean(residuals).scaled(ERROR_FACTOR**2)
    outlook = Outlook(of_mean, len(a.site), whole, level, n_blocks)
    return LabelFree(differences, whole, carried, expected, residuals, outlook)


def _independent(a: ValueWithError, b: ValueWithError) -> ValueWithError:
    return ValueWithError(a.value - b.value, float(np.hypot(a.error, b.error)))
