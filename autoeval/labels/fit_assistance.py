"""Label assistance fitted on labelled sites: box model, mixing weights, small-sample bias.

`fit_assistance` is called where an estimator is fitted (`autoeval.estimation.fitting`). It works on
pairs of a site and a category:

1. `fit_box_model`: a logistic regression of true positives by the features of boxes, a Poisson
   regression of missed objects by features of images;
2. `_cross_fit`: both are fitted without each fold in turn, and predict the influence of its images;
3. `_mixing_weights`: by what factor the prediction counts, and what variance it leaves;
4. `fit_small_sample_bias`: b, from draws of few images.

What the parts are is said in `autoeval.labels.assistance`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import polygamma

from autoeval.accuracy.coco_evaluation import AT_HALF, image_ranks, top_detections
from autoeval.accuracy.measures import (
    MEASURES,
    RankedDetections,
    image_counts,
    influence_function,
    influence_on,
)
from autoeval.boxes import Boxes, over_threshold
from autoeval.detections import SCORE_THR
from autoeval.errors import InputError
from autoeval.labels.assistance import (
    MODEL,
    REFERENCE,
    BoxModel,
    LabelAssistance,
    LinearPredictors,
    MixingWeights,
    ProbableLabels,
    bias_scale,
    control_variates,
    expected_rankings,
    image_features,
    probability,
    squares,
)
from autoeval.labels.values import VariancePrior
from autoeval.model.calibration import fit_regression, logistic, poisson
from autoeval.sites.site import Site

FEWEST_IMAGES = 20  # of a category at a site
FEWEST_BOXES = 10  # of a category at a site
MOST_BOXES = 10_000  # of all sites, drawn by a seed
LEAST_SHARE = 1_000  # of one site
FEWEST_DOF = 0.5
MOST_DOF = 60.0
USUAL_DOF = 4.0  # of one value alone; 4 to 5 over the categories of a labelled set
N_USUAL = 1.0
"""Further values of a variance that vary as usual: two categories whose variances happen to be
alike do not show that those of all sites are. Without it they counted as `MOST_DOF`."""
RIDGE = 0.02  # relative to the variance that control variates explain
LEAST_SLOPE = 0.05  # of the first, so that the residual variance has a unit
LEAST_PREDICTED = 1e-6  # of the true variance; less is rounding, as where each box is equally right
MOST_IMAGES = 300  # of a labelled set
FOLDS = 4
MEAN_AP = "mAP"
FEWEST_FOUND = FOLDS + 1  # images, so that some are left whichever fold is left out
THRESHOLDS = (0.2, 0.3, 0.5)  # at which the influence on precision, recall and F1 is learned
INVERSE_PENALTY = 0.03  # on slopes, for standardised features
PENALTY_OF_FALSE_NEGATIVES = 0.1  # on slopes, beside the mean loss of an image
SAMPLE_SIZES = (10, 20)
DRAWS = 40  # samples of each of these sizes
USUAL = 0.35  # b over 37 pairs of site and category, with YOLO26-nano
USUAL_WEIGHT = 0.05**2  # of `USUAL`: a site with twenty labelled boxes in a sample


@dataclass(frozen=True, eq=False)
class Pair:
    """One category of one site, with its labelled boxes on the images that are learned from.

    Parameters
    ----------
    site : Site
        With labels.
    category : int
        Number of the category at the site.
    images : ndarray of shape (N,), int
        Places of the images at the site that are learned from.
    ranking : RankedDetections
        Boxes of the category on these images, matched with labels.
    """

    site: Site
    category: int
    images: np.ndarray
    ranking: RankedDetections


class CrossFitted(NamedTuple):
    """True influence of N images, and predictions by models that have not seen their labels.

    Attributes
    ----------
    true : ndarray of shape (N,)
        Influence function by the labels.
    predicted : dict of str to ndarray of shape (N,)
        By control variate, `MODEL` and where there is a reference `REFERENCE`.
    pair : int
        Number of the pair of site and category; one has several where there are thresholds.
    """

    true: np.ndarray
    predicted: dict[str, np.ndarray]
    pair: int


def fit_assistance(sets: Sequence[Site]) -> LabelAssistance:
    """Fit the box model on labelled sets, and its use on images whose labels it has not seen.

    The second is by cross-validation in `FOLDS` folds: of groups, or, with a single group, of the
    images of each site at random. Of a set with more than `MOST_IMAGES` images as many are drawn by
    a fixed seed.

    Parameters
    ----------
    sets : sequence of Site
        With labels; with a reference, all of them, a second control variate is fitted, too.

    Raises
    ------
    InputError
        If no category has labels enough.
    """
    sites = [site.at_most(MOST_IMAGES) for site in sets]
    several = len({site.group for site in sites}) > 1
    pairs = [pair for site in sites for pair in pairs_of(site, everywhere=several)]
    sites = [site for site in sites if any(pair.site is site for pair in pairs)]
    n_found = sum(
        len(np.unique(pair.ranking.image[pair.ranking.hits[AT_HALF] > 0])) for pair in pairs
    )
    influences = _cross_fit(sites, pairs) if n_found >= FEWEST_FOUND else {}
    of_ap = influences.pop(MEAN_AP, [])
    if not of_ap:
        raise InputError(
            f"Expected labelled images from which a category can be learned: {FEWEST_IMAGES} that "
            f"hold it or show a box of it, with {FEWEST_BOXES} labelled boxes, some of them found "
            f"in {FEWEST_FOUND} images and not all, but got none. Label more images."
        )
    mixing = {MODEL: _mixing_weights(of_ap, (MODEL,))}
    if all(REFERENCE in influence.predicted for influence in of_ap):
        mixing[REFERENCE] = _mixing_weights(of_ap, (MODEL, REFERENCE))
    return LabelAssistance(
        fit_box_model(sites, pairs, [np.ones(len(site), bool) for site in sites]),
        mixing,
        fit_small_sample_bias(
            [measure_small_sample_bias(pair.ranking) for pair in pairs],
            [pair.site.group for pair in pairs],
        ),
        tuple(site.name for site in sites),
        # a measure that no image moves, such as precision where all boxes are right, shows nothing
        points={
            name: _mixing_weights(of_measure, (MODEL,)) if of_measure else mixing[MODEL]
            for name, of_measure in influences.items()
        },
    )


def image_folds(sites: Sequence[Site]) -> list[np.ndarray]:
    """Divide the images of S labelled sets into `FOLDS` folds.

    Folds are of whole groups; with a single group of the images of each set at random, drawn by
    the order of their file names, frames of one block of time together where there are `FOLDS`
    blocks or more. They do not depend on the names or on the order of the sets, which are numbered
    by their content, nor on ids or on the order in which a file lists images.

    Parameters
    ----------
    sites : sequence of S Sites
        With labels.

    Returns
    -------
    list of S ndarrays of shape (M,), int
        Fold of each image of each set, 0 to `FOLDS` - 1. With two or three groups some folds are
        empty.
    """
    first_key: dict[str, str] = {}
    for site in sites:
        first_key[site.group] = min(
            site.evaluation.content_key, first_key.get(site.group, site.evaluation.content_key)
        )
    different = sorted(first_key, key=lambda group: first_key[group])
    if len(different) > 1:
        return [np.full(len(site), different.index(site.group) % FOLDS) for site in sites]
    keys = sorted(site.evaluation.content_key for site in sites)
    folds = []
    for site in sites:
        rng = np.random.default_rng(keys.index(site.evaluation.content_key))
        drawn = image_ranks([image.file_name for image in site.boxes.images])
        if site.blocks is not None and site.blocks.max() + 1 >= FOLDS:
            # a block has the place of its first frame: its number is by the order of a file
            first = np.full(len(site), len(site))
            np.minimum.at(first, site.blocks, drawn)
            drawn = np.unique(first[site.blocks], return_inverse=True)[1]
        folds.append((rng.permutation(drawn.max() + 1) % FOLDS)[drawn])
    return folds


def pairs_of(site: Site, *, everywhere: bool) -> Iterator[Pair]:
    """Yield the categories of a site that enough images and boxes are labelled of.

    These are `FEWEST_IMAGES` images that are learned from, and `FEWEST_BOXES` labelled boxes.

    Parameters
    ----------
    site : Site
        With labels.
    everywhere : bool
        Whether all images are learned from. Otherwise those that hold the category or show a box of
        it over `SCORE_THR`: in a labelled set of many categories most images do neither, at a site
        whose accuracy is wanted most do.
    """
    boxes = site.pool
    ranks = image_ranks([image.file_name for image in boxes.images])  # the order of a file is none
    for k, ranking in enumerate(site.evaluation.rankings):
        chosen = (ranking.n_true > 0) | everywhere
        shown = (boxes.label == k) & over_threshold(boxes.scores, SCORE_THR)
        chosen[boxes.image[shown]] = True
        images = np.flatnonzero(chosen)
        images = images[np.argsort(ranks[images])]
        if len(images) >= FEWEST_IMAGES and ranking.n_true.sum() >= FEWEST_BOXES:
            yield Pair(site, k, images, ranking.take(images))


def _cross_fit(sites: Sequence[Site], pairs: Sequence[Pair]) -> dict[str, list[CrossFitted]]:
    """Predict the influence of each image by a box model that was fitted on the other folds.

    Returns
    -------
    dict of str to list of CrossFitted
        By target, of the pairs whose influence varies: ``mAP``, and ``precision``, ``recall`` and
        ``f1`` at each of `THRESHOLDS` at which they are defined.
    """
    folds = image_folds(sites)
    probabilities = [np.zeros((10, len(site.pool))) for site in sites]
    n_missed = [np.zeros((len(site.boxes.categories), len(site))) for site in sites]
    for fold in range(FOLDS):
        held_out = [fold_of_image == fold for fold_of_image in folds]
        if not any(mask.any() for mask in held_out):
            continue
        model = fit_box_model(sites, pairs, [~mask for mask in held_out])
        for site, mine, p, missed in zip(sites, held_out, probabilities, n_missed, strict=True):
            if mine.any():
                boxes = mine[site.pool.image]
                everywhere = probability(model.true_positive, site.pool.features)
                p[:, boxes] = everywhere[:, boxes]
                missed[:, mine] = model.n_missed(site.pool, everywhere)[:, mine]
    influences: dict[str, list[CrossFitted]] = {target: [] for target in (MEAN_AP, *MEASURES)}
    for site, p, missed in zip(sites, probabilities, n_missed, strict=True):
        expected = expected_rankings(site.pool, p, missed)
        reference_boxes = ProbableLabels.of_reference(site)
        second = reference_boxes.rankings(site.pool) if reference_boxes else None
        for number, pair in enumerate(pairs):
            if pair.site is not site:
                continue
            ranking = expected[pair.category].take(pair.images)
            by_others = second[pair.category].take(pair.images) if second else None
            variates = control_variates(ranking, by_others)
            predicted = {name: values.mean(axis=0) for name, values in variates.items()}
            true = influence_function(pair.ranking).mean(axis=0)
            of_pair = [(MEAN_AP, CrossFitted(true, predicted, number))]
            for threshold in THRESHOLDS:
                counts = image_counts(pair.ranking, threshold)
                expected_counts = image_counts(ranking, threshold)
                for measure in MEASURES:
                    true = influence_on(measure, counts)
                    by_model = influence_on(measure, expected_counts)
                    of_pair.append((measure, CrossFitted(true, {MODEL: by_model}, number)))
            for target, influence in of_pair:
                # false, too, where a measure is not defined and all influences are NaN
                least = LEAST_PREDICTED * influence.true.var()
                if least > 0 and influence.predicted[MODEL].var() > least:
                    influences[target].append(influence)
    return influences


def fit_box_model(
    sites: Sequence[Site],
    pairs: Sequence[Pair],
    images: Sequence[np.ndarray],
) -> BoxModel:
    """Fit the box model on some images of S sites.

    A site's boxes weigh by the inverse of the square root of their number, so that all together
    weigh as this root; a pair's images by the inverse of one plus its mean number of missed
    objects.

    Parameters
    ----------
    sites : sequence of S Sites
        With labels. Each gives at most `MOST_BOXES` / S boxes, `LEAST_SHARE` at least.
    pairs : sequence of Pair
        Their categories that are learned from, for the false negatives.
    images : sequence of S ndarrays of shape (M,), bool
        Images of each site to fit on.
    """
    most = max(MOST_BOXES // len(sites), LEAST_SHARE)
    of_boxes, of_matches = [], []
    for site, mask in zip(sites, images, strict=True):
        boxes = site.boxes  # of which the pool holds those that evaluation takes
        top = top_detections(boxes.image, boxes.label, boxes.scores)
        hits, ignored = site.evaluation.matches.of(top)
        usable = np.flatnonzero(~ignored[AT_HALF] & mask[site.pool.image])
        if len(usable) > most:
            usable = drawn_boxes(site.pool, usable, most)
        of_boxes.append(site.pool.features[usable])
        of_matches.append(hits[:, usable])
    features, matched = np.concatenate(of_boxes), np.concatenate(of_matches, axis=1)
    sizes = np.array([len(part) for part in of_boxes])
    weights = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes)
    weights /= weights.mean() if len(weights) else 1.0
    true_positive = fit_true_positive(features, matched, weights)
    rows = []
    for site, mask in zip(sites, images, strict=True):
        if not mask.any():
            continue
        p, boxes = probability(true_positive, site.pool.features), site.pool
        for pair in (pair for pair in pairs if pair.site is site):
            ranking, mine = site.evaluation.rankings[pair.category], boxes.label == pair.category
            columns = p[AT_HALF, mine], boxes.scores[mine], boxes.image[mine], len(site)
            n_hits = np.bincount(ranking.image, ranking.hits[AT_HALF], minlength=len(site))
            chosen = pair.images[mask[pair.images]]
            missed = np.maximum(ranking.n_true - n_hits, 0)[chosen]
            weights = np.full(len(chosen), 1 / (1 + missed.mean())) if len(chosen) else missed
            rows.append((image_features(*columns)[chosen], missed, weights))
    described, missed, weights = (np.concatenate(part) for part in zip(*rows, strict=True))
    fit = fit_false_negatives(described, missed, weights / weights.mean())
    return BoxModel(true_positive, fit)


def drawn_boxes(boxes: Boxes, usable: np.ndarray, most: int) -> np.ndarray:
    """Draw some of more boxes by a fixed seed.

    They are drawn by images and what boxes are, so that the order of a file changes nothing, nor do
    the words of categories, which distinguish equal boxes alone.

    Parameters
    ----------
    boxes : Boxes
        All boxes.
    usable : ndarray of shape (N,), int64
        Places of those to draw from.
    most : int
        Boxes to draw, n.

    Returns
    -------
    ndarray of shape (n,), int64
        Their places.
    """
    corners, scores = boxes.boxes[usable], boxes.scores[usable]
    images = image_ranks([image.file_name for image in boxes.images])[boxes.image[usable]]
    words = np.argsort(np.argsort(boxes.categories))[boxes.label[usable]]
    in_order = usable[np.lexsort((words, *corners.T, scores, images))]
    return in_order[np.random.default_rng(0).choice(len(usable), most, replace=False)]


def _mixing_weights(cross_fitted: Sequence[CrossFitted], names: tuple[str, ...]) -> MixingWeights:
    """Fit slopes by a non-negative ridge regression, each pair with the same weight.

    The prediction and the truth of a pair are divided by the square root of N times the sum of
    their variances. If every slope is 0 that of the first is `LEAST_SLOPE`. The thresholds of a
    pair are not independent: together they show one residual variance, their geometric mean.

    Parameters
    ----------
    cross_fitted : sequence of CrossFitted
        One for each pair, and threshold where there are several.
    names : tuple of str
        Control variates to mix.
    """
    from scipy.optimize import nnls  # a quarter of a second that most commands save

    parts = []
    for influence in cross_fitted:
        # so that neither pairs of large influence nor those of large predictions decide
        variance = influence.true.var() + influence.predicted[MODEL].var()
        unit = np.sqrt(variance * len(influence.true))
        predicted = np.stack([influence.predicted[name] for name in names], 1)
        parts.append((predicted / unit, influence.true / unit))
    x, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    # The ridge penalty is further rows whose values are 0. No slope is negative: both predict the
    # same influence, and one that counted against the other would follow noise.
    penalty = np.sqrt(RIDGE * np.mean(np.sum(x**2, axis=0))) * np.eye(len(names))
    slopes, _ = nnls(np.vstack([x, penalty]), np.append(y, np.zeros(len(names))))
    slopes[0] = max(slopes[0], LEAST_SLOPE) if not slopes.any() else slopes[0]
    correlations, noises, logs = [], [], defaultdict[int, list[float]](list)
    for influence in cross_fitted:
        sum_of = slopes @ np.stack([influence.predicted[name] for name in names])
        left = influence.true - sum_of
        if not sum_of.any():  # that of a reference alone, which finds nothing of the pair
            continue
        centred = left - left.mean()
        correlations.append(np.corrcoef(influence.true, sum_of)[0, 1])
        logs[influence.pair].append(np.log(left.var(ddof=1) / sum_of.var(ddof=1)))
        # variance of the logarithm of a sample variance, by the fourth moment (delta method)
        kurtosis = np.mean(centred**4) / np.mean(centred**2) ** 2
        noises.append(float((kurtosis - 1) / len(left)))
    return MixingWeights(
        dict(zip(names, map(float, slopes), strict=True)),
        fit_variance_prior(
            [np.exp(np.mean(of)) for of in logs.values()],
            float(np.mean(noises)),
            n_usual=N_USUAL,
        ),
        float(np.mean(correlations)),
    )


def fit_variance_prior(
    ratios: Sequence[float], noise: float, *, n_usual: float = 0.0
) -> VariancePrior:
    r"""Fit the prior of a variance to its values at several sites, relative to the expected ones.

    The logarithm of a scaled inverse chi-squared variable with d degrees of freedom has the
    variance :math:`\psi'(d / 2)`; d is chosen so that this is the variance V over n sites, less
    `noise`, together with that of `USUAL_DOF`, which counts as u = `n_usual` observations:

    .. math:: \psi'(d / 2) = \frac{(n - 1) (V - noise) + u\, \psi'(d_{usual} / 2)}{n - 1 + u}

    It is kept between `FEWEST_DOF` and `MOST_DOF`. Source: Smyth 2004, section 6.2.

    Parameters
    ----------
    ratios : sequence of float
        Variance at each site over the expected one. A single one has `USUAL_DOF`.
    noise : float
        Variance of the logarithm of a site's ratio from its number of images being finite.
    n_usual : float
        u; 0 where the values are many.

    Returns
    -------
    VariancePrior
        The geometric mean of the ratios, to be scaled by the variance that is expected at a new
        site.
    """
    from scipy.optimize import brentq  # a quarter of a second that most commands save

    logs = np.log(ratios)
    if len(logs) == 1:
        return VariancePrior(float(ratios[0]), USUAL_DOF)
    n = len(logs) - 1
    between = n * (float(logs.var(ddof=1)) - noise) + n_usual * float(polygamma(1, USUAL_DOF / 2))
    between /= n + n_usual
    if between <= polygamma(1, MOST_DOF / 2):
        dof = MOST_DOF
    elif between >= polygamma(1, FEWEST_DOF / 2):
        dof = FEWEST_DOF
    else:
        dof = 2 * brentq(lambda half: polygamma(1, half) - between, FEWEST_DOF / 2, MOST_DOF / 2)
    return VariancePrior(float(np.exp(logs.mean())), float(dof))


def fit_true_positive(
    features: np.ndarray, matched: np.ndarray, weights: np.ndarray
) -> LinearPredictors:
    """Fit a logistic regression for each of L IoU thresholds.

    Parameters
    ----------
    features : ndarray of shape (N, F)
        Of the boxes; NaN where unknown.
    matched : ndarray of shape (L, N)
        Which are true positives.
    weights : ndarray of shape (N,)
        Of the boxes.

    Returns
    -------
    LinearPredictors
        Log-odds, in features and their squares.
    """
    x, centre, scale = _standardised(features)
    terms = np.concatenate([x, squares(x)], axis=1)
    fits = [_logistic(terms, level, weights) for level in matched]
    coefficients, intercepts = (np.array(part) for part in zip(*fits, strict=True))
    slopes, bends = np.split(coefficients, 2, axis=1)
    return LinearPredictors(centre, scale, slopes, bends, intercepts)


def fit_false_negatives(
    features: np.ndarray, missed: np.ndarray, weights: np.ndarray
) -> LinearPredictors:
    """Fit a Poisson regression of the false negatives of M images at the lowest IoU threshold.

    Where nothing is missed, half an object in one image more is: the logarithm of zero would say
    never.

    Parameters
    ----------
    features : ndarray of shape (M, 6)
        Those of `image_features`.
    missed : ndarray of shape (M,)
        Objects of the category without a true positive.
    weights : ndarray of shape (M,)
        Of the images.

    Returns
    -------
    LinearPredictors
        Logarithm of the expected number, in features without their squares.
    """
    x, centre, scale = _standardised(features)
    if not missed.any():
        none = np.zeros((1, len(centre)))
        return LinearPredictors(centre, scale, none, none, np.log([0.5 / (len(missed) + 1)]))
    start = np.append(np.zeros(len(centre)), np.log(np.average(missed, weights=weights)))
    penalty = np.append(np.full(len(centre), PENALTY_OF_FALSE_NEGATIVES * weights.sum()), 0.0)
    terms = np.vstack([x.T, np.ones(len(x))])  # the last is the intercept
    fit = fit_regression(terms, missed, poisson, start, np.diag(penalty), weights=weights)
    straight = np.zeros((1, len(centre)))
    return LinearPredictors(centre, scale, fit[None, :-1], straight, fit[-1:])


def _standardised(features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features with mean 0 and standard deviation 1, and what they were before.

    NaN counts as the mean; a feature that does not vary is divided by 1.

    standard (N, F)
    centre, scale (F,)
    """
    finite = np.isfinite(features)
    n = np.maximum(finite.sum(axis=0), 1)
    centre = np.where(finite, features, 0).sum(axis=0) / n
    scale = np.sqrt(np.where(finite, (features - centre) ** 2, 0).sum(axis=0) / n)
    scale = np.where(scale > 1e-9, scale, 1.0)
    return np.where(finite, (features - centre) / scale, 0.0), centre, scale


def _logistic(x: np.ndarray, matched: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Fit one logistic regression with a ridge penalty on the slopes.

    Parameters
    ----------
    x : ndarray of shape (N, T)
        Standardised terms.
    matched : ndarray of shape (N,), bool
        Outcomes. Where all are equal, slopes are 0 and the intercept is that of half an outcome of
        each kind more.
    weights : ndarray of shape (N,)
        Of the rows.

    Returns
    -------
    slopes : ndarray of shape (T,)
    intercept : float
    """
    if matched.all() or not matched.any():
        share = (matched.sum() + 0.5) / (len(matched) + 1)
        return np.zeros(x.shape[1]), float(np.log(share / (1 - share)))
    penalty = np.append(np.full(x.shape[1], 1 / INVERSE_PENALTY), 0.0)
    terms = np.vstack([x.T, np.ones(len(x))])  # the last is the intercept
    start = np.zeros(len(terms))
    fit = fit_regression(terms, matched, logistic, start, np.diag(penalty), weights=weights)
    return fit[:-1], float(fit[-1])


def measure_small_sample_bias(ranking: RankedDetections) -> tuple[float, float]:
    """Measure by how much the mAP of a few images exceeds that of all N, on average.

    The average is over `DRAWS` simple random samples of each size in `SAMPLE_SIZES` that is less
    than N; those without an object do not count.

    Parameters
    ----------
    ranking : RankedDetections
        Boxes of one category on N labelled images.

    Returns
    -------
    excess : float
        Mean difference of average precisions, in [-1, 1].
    scale : float
        Mean of `bias_scale`. Both are 0 where no sample counts.
    """
    rng, n = np.random.default_rng(0), len(ranking.n_true)
    whole = ranking.average_precision().mean()
    measured = []
    for k in (k for k in SAMPLE_SIZES if k < n for _ in range(DRAWS)):
        few = ranking.take(rng.choice(n, k, replace=False))
        if few.n_true.any():
            excess = few.average_precision().mean() - whole
            scale_of_few = float(bias_scale(few.n_true.sum(), ranking.n_true.sum()))
            measured.append((excess, scale_of_few))
    excess, scale = np.mean(measured, axis=0) if measured else (0.0, 0.0)
    return float(excess), float(scale)


def fit_small_sample_bias(measured: Sequence[tuple[float, float]], groups: Sequence[str]) -> float:
    r"""Fit b to the excess e and scale s measured at several sites, each group with equal weight.

    .. math:: b = \sum w\, e\, s \Big/ \sum w\, s^2

    With a single group it is shrunk to `USUAL`: where images hold many objects, the excess is
    small, is mostly not in proportion to 1 / G, and a b from there is wrong elsewhere.

    Parameters
    ----------
    measured : sequence of (float, float)
        Excess and scale of each pair, see `measure_small_sample_bias`.
    groups : sequence of str
        Group of each.

    Examples
    --------
    >>> fit_small_sample_bias([(.02, .1), (.04, .2)], ["a", "b"])
    0.2
    >>> round(fit_small_sample_bias([(.02, .05)], ["a"]), 3)  # between .4 and .35
    0.375
    """
    _, at, counts = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    excess, scale = np.array(measured).T
    weights = 1 / counts[at]
    if len(counts) == 1:
        usual = np.sqrt(USUAL_WEIGHT)
        excess, scale = np.append(excess, USUAL * usual), np.append(scale, usual)
        weights = np.ones(len(scale))
    below = float(weights @ scale**2)
    return round(float(weights @ (excess * scale)) / below, 12) if below > 0 else 0.0
