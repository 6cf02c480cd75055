r"""What labelled sites contribute to estimates elsewhere: predicted influence, small-sample bias.

`fit_assistance` in ``fit_assistance.py`` makes a `LabelAssistance` when an estimator is fitted;
`autoeval.estimation.label_planning` predicts with it at a new site, and keeps the result in a
`LabelPlan`. Nothing here reads images: features are of boxes and scores (`Site.pool`).

**Predicted influence.** The influence of an image is the derivative of a category's average
precision with respect to the weight of the image (`influence_function`). The box model gives each
box a true-positive probability and each image a number of missed objects; with these in place of
labels the same formula gives a prediction for every image of a pool: a control variate. A
reference detector gives a second one.

**Small-sample bias.** The mAP of a few images is too high on average. Precision is interpolated
upward, and a quotient of sums over few images is biased. Both fall with the number of labelled
boxes, so the bias is modelled as

.. math:: E[\theta_S] - \theta \approx b \, \Big( \frac{1}{g + 1} - \frac{1}{G + 1} \Big)

with g labelled boxes in the sample, G in the whole pool, and one b for all sites, fitted on
labelled ones; the 1 was chosen on categories with one or two objects in a sample. The pool is
itself a sample: of a category that it holds only a few times, its average precision is too high,
too, and a sample exceeds it by less. A jackknife needs no other sites, but doubles the standard
deviation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.coco_evaluation import (
    AT_HALF,
    image_ranks,
    match_weighted,
    top_detections,
)
from autoeval.accuracy.measures import RankedDetections, influence_function
from autoeval.boxes import Boxes, over_threshold
from autoeval.detections import CONFIDENT, SCORE_THR
from autoeval.errors import InputError
from autoeval.labels.values import VariancePrior
from autoeval.runtime.files import plain
from autoeval.sites.site import OF_BOX, Site

MODEL = "model"
REFERENCE = "reference"
MOST_STANDARD = 4.0  # standard deviations, beyond which squares grow no more
MOST_FALSE_NEGATIVES = 100.0
OFFSET = 1.0  # objects, of the small-sample bias
DISAGREEING = 0.5
"""Share of the probability to be drawn that goes by disagreement with another detector; the rest is
the same for all images, so that none counts for more than twice its share of a simple random
sample."""


@dataclass(frozen=True, eq=False)
class ProbableLabels:
    """Boxes of another detector on the images of a pool, taken for labels by their probability.

    Parameters
    ----------
    boxes : Boxes
        N boxes of the other detector, on the images and in the categories of the pool.
    probabilities : ndarray of shape (N,)
        That each is an object.
    """

    boxes: Boxes
    probabilities: np.ndarray

    @classmethod
    def of_reference(cls, site: Site) -> Self | None:
        """Take the calibrated boxes of a reference detector, as evaluation takes them.

        Parameters
        ----------
        site : Site
            With the boxes of the reference. Of each image and category the 100 with the highest
            scores are taken.

        Returns
        -------
        ProbableLabels, optional
            With the true-positive probabilities at IoU .5; None for a site without a reference, or
            whose reference is not calibrated.
        """
        reference = site.reference
        probabilities = None if reference is None else site.reference_right
        if reference is None or probabilities is None:
            return None
        best = top_detections(reference.image, reference.label, reference.scores)
        return cls(reference.where(best), probabilities[best])

    def rankings(self, boxes: Boxes) -> list[RankedDetections]:
        """Rank the boxes of a detector in each category, with these as labels.

        Parameters
        ----------
        boxes : Boxes
            On the images and in the categories of these.

        Returns
        -------
        list of RankedDetections
            One for each category. A hit is the probability of the matched label, the number of
            objects of an image the sum of the probabilities there.
        """
        labels, n_images, numbers = self.boxes, len(boxes.images), np.arange(len(boxes.categories))
        order, hits = self._matched(boxes)
        image, scores = boxes.image[order], boxes.scores[order]
        # Sorted by category, so that each is a slice: a mask for each of hundreds of categories
        # would go over all boxes as often.
        sorted_labels = boxes.label[order]
        starts = np.searchsorted(sorted_labels, numbers, "left")
        ends = np.searchsorted(sorted_labels, numbers, "right")
        by_label = np.argsort(labels.label, kind="stable")
        sorted_truth = labels.label[by_label]
        label_starts = np.searchsorted(sorted_truth, numbers, "left")
        label_ends = np.searchsorted(sorted_truth, numbers, "right")
        ranked, ranks = [], image_ranks([image.image_id for image in boxes.images])
        for k in numbers:
            rows, mine = slice(starts[k], ends[k]), by_label[label_starts[k] : label_ends[k]]
            # the expected number of objects of each image: the sum of their probabilities
            n_true = np.bincount(labels.image[mine], self.probabilities[mine], minlength=n_images)
            of_category = scores[rows], image[rows], hits[:, rows], n_true
            ranked.append(RankedDetections.of(*of_category, ranks=ranks))
        return ranked

    def disagreement(
        self, boxes: Boxes, right: np.ndarray, thresholds: Sequence[int] = (AT_HALF,)
    ) -> np.ndarray:
        """Return the expected number of boxes on which the detectors disagree, (C, M).

        Of each category on each image.

        A box counts by how much its probability differs from that of the label that it takes at an
        IoU, 0 where there is none; an unmatched box of the other detector by its probability.

        Parameters
        ----------
        boxes : Boxes
            N boxes of the detector.
        right : ndarray of shape (N,)
            Probability that each is right at IoU .5.
        thresholds : sequence of int
            Places in `IOUS` of those over which the mean is taken; by default .5 alone, at which
            boxes that moved by little agree.
        """
        labels, shape = self.boxes, (len(boxes.categories), len(boxes.images))
        order, hits = self._matched(boxes)
        at = np.ravel_multi_index((boxes.label[order], boxes.image[order]), shape)
        of_labels = np.ravel_multi_index((labels.label, labels.image), shape)
        n = shape[0] * shape[1]
        expected_labels = np.bincount(of_labels, self.probabilities, minlength=n)
        disagreement = np.zeros(n)
        for matched in hits[list(thresholds)]:
            differing = np.bincount(at, np.abs(right[order] - matched), minlength=n)
            unmatched = expected_labels - np.bincount(at, matched, minlength=n)
            disagreement += differing + np.maximum(unmatched, 0)
        return (disagreement / len(thresholds)).reshape(shape)

    def draw_sizes(self, boxes: Boxes, right: np.ndarray) -> np.ndarray:
        r"""Return how often each of M images is drawn where both disagree more often, of mean 1.

        Image i is drawn with a probability in proportion to

        .. math:: 1 - s + s \, d_i / \bar d

        where d is the disagreement and s = `DISAGREEING`; each equally often if they never
        disagree.

        Parameters
        ----------
        boxes, right
            See `disagreement`.
        """
        d = self.disagreement(boxes, right).sum(axis=0)
        return 1 - DISAGREEING + DISAGREEING * d / d.mean() if d.any() else np.ones(len(d))

    def _matched(self, boxes: Boxes) -> tuple[np.ndarray, np.ndarray]:
        """Match the N boxes of a detector to these, those with the highest score first.

        Returns
        -------
        order : ndarray of shape (N,), int
            Places of the boxes, by category and score.
        hits : ndarray of shape (10, N)
            In this order, the probability of the label that each box takes at each IoU threshold; 0
            without one.
        """
        labels, n_categories = self.boxes, len(boxes.categories)
        order = np.lexsort((boxes.image, -boxes.scores, boxes.label))
        # one number for each image and category: only boxes of the same one are matched
        hits = match_weighted(
            boxes.boxes[order],
            n_categories * boxes.image[order] + boxes.label[order],
            labels.boxes,
            n_categories * labels.image + labels.label,
            self.probabilities,
        )
        return order, hits


def control_variates(
    expected: RankedDetections, second: RankedDetections | None
) -> dict[str, np.ndarray]:
    """Predict the influence of M images on the average precision of a category.

    Parameters
    ----------
    expected : RankedDetections
        The boxes with probabilities in place of labels, see `BoxModel.rankings`.
    second : RankedDetections or None
        The same boxes with those of another detector as labels, see `ProbableLabels`. This
        prediction gets the standard deviation of the first: where that detector finds little, each
        of its boxes would count for too much.

    Returns
    -------
    dict of str to ndarray of shape (10, M)
        By IoU threshold: `MODEL`, and `REFERENCE` where there is a second; 0 where no object is
        expected.
    """
    first = np.nan_to_num(influence_function(expected))
    if second is None:
        return {MODEL: first}
    of_reference = np.nan_to_num(influence_function(second))
    # the standard deviation that counts is of the mean over thresholds, the influence on mAP
    std = of_reference.mean(axis=0).std()
    return {
        MODEL: first,
        REFERENCE: of_reference * (first.mean(axis=0).std() / std if std > 0 else 0.0),
    }


@dataclass(frozen=True)
class MixingWeights:
    """How control variates are added up, and what variance their sum leaves.

    Parameters
    ----------
    slopes : dict of str to float
        Factor of each control variate: `MODEL`, and `REFERENCE`. None is negative.
    residual : VariancePrior
        Variance of the true influence less the sum, relative to that of the sum.
    correlation : float
        Mean cross-validated correlation of the sum with the true influence.
    """

    slopes: dict[str, float]
    residual: VariancePrior
    correlation: float

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `dataclasses.asdict` gave.

        Parameters
        ----------
        values : mapping of str to object
            ``slopes``, ``residual`` (with ``variance`` and ``dof``) and ``correlation``. One that
            is missing raises `KeyError`.
        """
        residual = VariancePrior(**values["residual"])
        return cls(dict(values["slopes"]), residual, values["correlation"])


NO_INFLUENCE = MixingWeights({MODEL: 0.0}, VariancePrior(0.0, 0.0), 0.0)
"""Where none is predicted."""


@dataclass(frozen=True, eq=False)
class LabelAssistance:
    """What labelled sites contribute to estimates elsewhere; see `fit_assistance`.

    Parameters
    ----------
    box_model : BoxModel
        Expects what labels would say.
    mixing : dict of str to MixingWeights
        Of an average precision: with the control variate `MODEL` alone, under that name, and with
        both under `REFERENCE`.
    small_sample_bias : float
        b of the module.
    sites : tuple of str
        Names of those that it was fitted on.
    points : dict of str to MixingWeights
        Of ``precision``, ``recall`` and ``f1``, where they could be fitted.
    """

    box_model: BoxModel
    mixing: dict[str, MixingWeights]
    small_sample_bias: float
    sites: tuple[str, ...]
    points: dict[str, MixingWeights] = field(default_factory=dict)

    def mixing_weights(self, reference_boxes: ProbableLabels | None) -> MixingWeights:
        """Return the mixing weights of an average precision for the control variates at hand.

        Parameters
        ----------
        reference_boxes : ProbableLabels, optional
            Boxes of a reference detector on the pool.

        Returns
        -------
        MixingWeights
            Those of both control variates where there are `reference_boxes` and the fit had a
            reference detector, else those of `MODEL` alone.
        """
        return self.mixing[REFERENCE if reference_boxes and REFERENCE in self.mixing else MODEL]

    def predict(
        self,
        boxes: Boxes,
        reference_boxes: ProbableLabels | None = None,
        expected: Sequence[RankedDetections] | None = None,
    ) -> Iterator[np.ndarray]:
        """Predict the influence of each of M images on each category.

        Parameters
        ----------
        boxes : Boxes
            With their features: those of `Site.pool`.
        reference_boxes : ProbableLabels, optional
            Boxes of a reference detector, for the second control variate.
        expected : sequence of RankedDetections, optional
            Those of `BoxModel.rankings`, where they are at hand.

        Yields
        ------
        ndarray of shape (10, M)
            Of one category at a time, by IoU threshold: all together are a large array.
        """
        expected = self.box_model.rankings(boxes) if expected is None else expected
        slopes = self.mixing_weights(reference_boxes).slopes
        second: Iterable[RankedDetections | None] = [None] * len(expected)
        if reference_boxes is not None and REFERENCE in slopes:
            second = reference_boxes.rankings(boxes)
        for of_category, of_reference in zip(expected, second, strict=True):
            variates = control_variates(of_category, of_reference)
            yield np.sum([slope * variates[name] for name, slope in slopes.items()], axis=0)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, fit for JSON, and the features that they are of."""
        values: dict[str, Any] = plain(asdict(self))
        values["box_model"]["names"] = list(OF_BOX)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Parameters
        ----------
        values : mapping of str to object
            Plain values, as JSON holds them.

        Raises
        ------
        InputError
            If they are something else, or the box model reads other features than `OF_BOX`.
        """
        try:
            boxes = values["box_model"]
            if tuple(boxes["names"]) != OF_BOX:
                raise ValueError("it reads other features of boxes")
            true_positive = {
                name: np.array(coefficients, np.float64)
                for name, coefficients in boxes["true_positive"].items()
            }
            false_negatives = {
                name: np.array(coefficients, np.float64)
                for name, coefficients in boxes["false_negatives"].items()
            }
            mixing = {
                name: MixingWeights.from_dict(weights) for name, weights in values["mixing"].items()
            }
            points = {
                name: MixingWeights.from_dict(weights) for name, weights in values["points"].items()
            }
            return cls(
                BoxModel(LinearPredictors(**true_positive), LinearPredictors(**false_negatives)),
                mixing,
                float(values["small_sample_bias"]),
                tuple(values["sites"]),
                points,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"The label-assistance model cannot be read ({type(error).__name__}: {error}). "
                "Fit again."
            ) from error


@dataclass(frozen=True, eq=False)
class LinearPredictors:
    r"""L predictors that are linear in F standardised features and their squares.

    .. math:: y_l(x) = c_l + \sum_f s_{lf} z_f + b_{lf} \min(|z_f|, 4)^2, \qquad
              z_f = \frac{x_f - \mu_f}{\sigma_f}

    Parameters
    ----------
    centre, scale : ndarray of shape (F,)
        Mean μ and standard deviation σ of each feature.
    slopes, bends : ndarray of shape (L, F)
        Coefficients s of the features and b of their squares (`squares`).
    intercepts : ndarray of shape (L,)
        c.

    Examples
    --------
    >>> one, two, none = np.ones(1), np.array([[2.0]]), np.zeros((1, 1))
    >>> line = LinearPredictors(np.zeros(1), one, two, none, intercepts=one)
    >>> line(np.array([[3.0], [np.nan]]))  # an unknown feature counts as the mean
    array([[7., 1.]])
    """

    centre: np.ndarray
    scale: np.ndarray
    slopes: np.ndarray
    bends: np.ndarray
    intercepts: np.ndarray

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """Return the L values of N rows.

        Parameters
        ----------
        features : ndarray of shape (N, F)
            NaN is unknown, and counts as the mean.

        Returns
        -------
        ndarray of shape (L, N)
            Values of the predictors.
        """
        standard = np.nan_to_num((features - self.centre) / self.scale)  # unknown: as the mean
        straight = self.slopes @ standard.T + self.intercepts[:, None]
        return straight + self.bends @ squares(standard).T


@dataclass(frozen=True, eq=False)
class BoxModel:
    """Estimates from features what labels would say of boxes and images.

    Parameters
    ----------
    true_positive : LinearPredictors
        Log-odds of a box being a true positive at each of ten IoU thresholds; see `probability`.
    false_negatives : LinearPredictors
        Logarithm of the number of objects of a category that are missed in an image at IoU .5, of
        `image_features`; see `fit_false_negatives`.
    """

    true_positive: LinearPredictors
    false_negatives: LinearPredictors

    def n_missed(self, boxes: Boxes, probabilities: np.ndarray) -> np.ndarray:
        """Return the expected false negatives of each category and image.

        Parameters
        ----------
        boxes : Boxes
            N boxes in K categories on M images.
        probabilities : ndarray of shape (10, N)
            Of being a true positive at each IoU threshold.

        Returns
        -------
        ndarray of shape (K, M)
            At most `MOST_FALSE_NEGATIVES`.
        """
        missed = []
        for k in range(len(boxes.categories)):
            mine = boxes.label == k
            columns = probabilities[AT_HALF, mine], boxes.scores[mine], boxes.image[mine]
            features = image_features(*columns, len(boxes.images))
            logs = self.false_negatives(features)[0]
            missed.append(np.exp(np.minimum(logs, np.log(MOST_FALSE_NEGATIVES))))
        return np.array(missed)

    def rankings(
        self, boxes: Boxes, probabilities: np.ndarray | None = None
    ) -> list[RankedDetections]:
        """Rank the boxes of each category, with probabilities in place of labels.

        Parameters
        ----------
        boxes : Boxes
            With their features: those of `Site.pool`.
        probabilities : ndarray of shape (10, N), optional
            Of being a true positive at each IoU threshold, where they are at hand.
        """
        if probabilities is None:
            probabilities = probability(self.true_positive, boxes.features)
        return expected_rankings(boxes, probabilities, self.n_missed(boxes, probabilities))


def expected_rankings(
    boxes: Boxes, probabilities: np.ndarray, n_missed: np.ndarray
) -> list[RankedDetections]:
    """Rank the boxes of each category, with probabilities in place of labels.

    Parameters
    ----------
    boxes : Boxes
        N boxes in K categories on M images.
    probabilities : ndarray of shape (10, N)
        Of being a true positive at each IoU threshold.
    n_missed : ndarray of shape (K, M)
        Expected false negatives.

    Returns
    -------
    list of RankedDetections
        One for each category. The number of objects of an image is the sum of its probabilities at
        IoU .5 and of the false negatives, a float.
    """
    rankings, ranks = [], image_ranks([image.image_id for image in boxes.images])
    for k, missed in enumerate(n_missed):
        mine = boxes.label == k
        image, right = boxes.image[mine], probabilities[:, mine]
        n_true = np.bincount(image, right[AT_HALF], minlength=len(missed)) + missed
        of_category = boxes.scores[mine], image, right, n_true
        rankings.append(RankedDetections.of(*of_category, ranks=ranks))
    return rankings


def probability(model: LinearPredictors, features: np.ndarray) -> np.ndarray:
    """Return the true-positive probability of each box at each IoU threshold.

    It falls with the threshold: at each it is at most that at the one before.

    Parameters
    ----------
    model : LinearPredictors
        Log-odds at L rising thresholds.
    features : ndarray of shape (N, F)
        Of the boxes.

    Returns
    -------
    ndarray of shape (L, N)
        In (0, 1).
    """
    odds = np.clip(model(features), -30, 30)
    return np.minimum.accumulate(1 / (1 + np.exp(-odds)), axis=0)


def image_features(
    probabilities: np.ndarray, scores: np.ndarray, image: np.ndarray, n_images: int
) -> np.ndarray:
    """Describe M images by their N boxes of one category, for the number of false negatives.

    Parameters
    ----------
    probabilities : ndarray of shape (N,)
        Of being a true positive at the lowest IoU threshold.
    scores : ndarray of shape (N,)
        Scores in [0, 1].
    image : ndarray of shape (N,), int
        Image of each box, from 0.
    n_images : int
        M.

    Returns
    -------
    ndarray of shape (M, 6)
        The logarithms of one plus: the expected true positives, the boxes over .3, over .05 and
        all, the variance of the number of true positives; and the best score, 0 without a box.

    Examples
    --------
    >>> image_features(np.array([0.5]), np.array([0.4]), np.array([0]), 2).round(2)
    array([[0.41, 0.69, 0.69, 0.69, 0.22, 0.4 ],
           [0.  , 0.  , 0.  , 0.  , 0.  , 0.  ]])
    """
    best = np.zeros(n_images)
    np.maximum.at(best, image, scores)
    variance = probabilities * (1 - probabilities)
    confident, shown = over_threshold(scores, CONFIDENT), over_threshold(scores, SCORE_THR)
    sums = [probabilities, confident, shown, np.ones(len(scores)), variance]
    counts = [np.log1p(np.bincount(image, part, minlength=n_images)) for part in sums]
    return np.stack([*counts, best], axis=1)


def squares(standard: np.ndarray) -> np.ndarray:
    """Return the squares of standardised features, cut at `MOST_STANDARD` from the mean.

    Parameters
    ----------
    standard : ndarray of shape (N, F)
        Features with mean 0 and standard deviation 1.

    Returns
    -------
    ndarray of shape (N, F)
        In [0, 16]: without the cut a single unusual feature would decide on a prediction.
    """
    return np.clip(standard, -MOST_STANDARD, MOST_STANDARD) ** 2


def bias_scale(n_true: np.ndarray | float, n_in_pool: np.ndarray | float) -> np.ndarray:
    r"""Return by what the small-sample bias falls with the number of labelled boxes.

    .. math:: \max\Big( \frac{1}{g + 1} - \frac{1}{G + 1},\; 0 \Big)

    Parameters
    ----------
    n_true : array_like
        Labelled boxes g of the sample.
    n_in_pool : array_like
        Those of the whole pool, G; where all are labelled the result is 0.

    Examples
    --------
    >>> float(bias_scale(1, 3)), float(bias_scale(3, 3))
    (0.25, 0.0)
    """
    few, all_of_them = np.asarray(n_true, float), np.asarray(n_in_pool, float)
    return np.maximum(1 / (few + OFFSET) - 1 / (all_of_them + OFFSET), 0.0)
