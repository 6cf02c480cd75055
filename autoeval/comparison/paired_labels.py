"""Differences from the same labelled images, and the accuracy of each detector by them.

`pair_labels` measures every detector on the labelled images of a site; `PairedLabels.difference`
estimates the difference of two of them, `estimate_by_labels` the accuracy of one
(`autoeval.comparison.compare_sites` calls both). `plan_difference` draws the images to label.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from autoeval.accuracy.coco_evaluation import rank_categories
from autoeval.accuracy.measures import (
    IOUS,
    MEASURES,
    OperatingPoint,
    RankedDetections,
    denominators,
    image_counts,
)
from autoeval.boxes import LabelledImage, differing_images, same_boxes
from autoeval.comparison.common_ground import (
    check_fits,
    on_categories,
    on_common_ground,
)
from autoeval.comparison.unlabelled_difference import (
    ERROR_FACTOR,
    ComparedDetector,
    LabelFree,
    compare_label_free,
    pair_prior,
)
from autoeval.errors import InputError
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.label_planning import (
    PlanRequest,
    plan_estimated,
    plan_in_folder,
    priors_of_targets,
)
from autoeval.io.image_identity import match_images
from autoeval.io.labels.content import LabelSet
from autoeval.labels.assistance import NO_INFLUENCE, ProbableLabels
from autoeval.labels.category_estimates import (
    InformativeImages,
    LabelEstimates,
    LabelledSample,
    SampleAccuracy,
    difference_estimate,
    measure_counts,
    measure_sample,
)
from autoeval.labels.joint import Outlook, expected_holding
from autoeval.labels.labelled_estimate import estimate_rankings
from autoeval.labels.matching import LabelledSubset, as_random_draw, drawn_by_plan, match_labels
from autoeval.labels.plan import (
    BY_INFLUENCE,
    ByImage,
    LabelPlan,
    blocks_of,
    inclusion_probabilities,
    inverse_probabilities,
    unequal_order,
)
from autoeval.labels.values import LEVELS, NOTHING, ValueWithError, VariancePrior, combine
from autoeval.sites.label_warnings import check_labels, contradicted_by_boxes, odd_labels
from autoeval.sites.site import Site
from autoeval.words import Notice, prefixed

BY_DIFFERENCE = (
    "predicted influence on the difference of two detectors, images on which they disagree more "
    "often"
)


def difference_of(a: SampleAccuracy, b: SampleAccuracy) -> SampleAccuracy:
    """Subtract the accuracies of two detectors on the same labelled images.

    What labellers left out and how loosely they drew lowers both, and an image that is hard for one
    is mostly hard for the other: the influences cancel in part, and the standard error with them.

    Parameters
    ----------
    a, b : SampleAccuracy
        Of one measure and category, on the same k images in the same order; `b` is subtracted.

    Returns
    -------
    SampleAccuracy
        The value in [-1, 1]. For precision and F1 each has images of its own that measure it, and
        the difference those of the one with fewer.
    """
    return replace(
        a,
        value=a.value - b.value,
        influence=a.influence - b.influence,
        n_holding=min(a.n_holding, b.n_holding),
        n_showing=None,
        independent=min(a.independent, b.independent, key=lambda behind: behind[1]),
    )


@dataclass(frozen=True)
class LabelDifference:
    """The difference of two detectors by labels, label-free, and by both.

    Parameters
    ----------
    labels : ValueWithError
        By labels, its error multiplied by `ERROR_FACTOR`; not known where fewer than
        `FEWEST_HOLDING` labelled images hold an object.
    prior : ValueWithError
        Label-free.
    combined : ValueWithError
        By both. Weights are by the error without `ERROR_FACTOR`, the interval is by that with it.
    informative : InformativeImages, optional
        The labelled images that show a difference, see `difference_with_labels`.
    """

    labels: ValueWithError
    prior: ValueWithError
    combined: ValueWithError
    informative: InformativeImages | None = None


def one_found_by_either(
    of_a: np.ndarray, of_b: np.ndarray, shares: Sequence[float]
) -> list[VariancePrior | None]:
    """Return priors of the variance of K differences of counts: one image more than was labelled.

    There one of the detectors, each with probability 1/2, finds an object that the other has
    missed. Labelled images in which both find the same objects show no variance, and what others
    hold would be ruled out: two discordant pairs of half an observation each are added, as to the
    table of paired proportions (Agresti & Min 2005, Statistics in Medicine 24, section 3.2).

    Parameters
    ----------
    of_a, of_b : ndarray of shape (K,)
        Influence of one more true positive on the measure of each.
    shares : sequence of K floats
        Share of the images on which the boxes of both differ: on no other has one an object more.

    Returns
    -------
    list of VariancePrior
        None where a measure is not defined.

    Examples
    --------
    >>> one_found_by_either(np.array([0.4]), np.array([0.2]), [0.5])  # (.16 + .04) / 2 on each half
    [VariancePrior(variance=0.05, dof=1.0)]
    """
    variances = (np.square(of_a) + np.square(of_b)) / 2
    return [
        VariancePrior(round(share * variance, 12), 1.0) if math.isfinite(variance) else None
        for share, variance in zip(shares, variances.tolist(), strict=True)
    ]


def difference_with_labels(
    accuracy: SampleAccuracy,
    sample: LabelledSample,
    free: ValueWithError,
    influence: np.ndarray,
    residual: VariancePrior | None,
    informative: InformativeImages | None = None,
) -> LabelDifference:
    """Estimate one difference from the paired influence on labelled images.

    Where all images are labelled nothing is left to estimate: a difference that they do not measure
    is not defined, and the label-free one is none of it.

    Parameters
    ----------
    accuracy : SampleAccuracy
        Of the difference, see `difference_of`.
    sample : LabelledSample
        The labelled images.
    free : ValueWithError
        Label-free difference.
    influence : ndarray of shape (N,)
        Predicted influence of all images on the difference.
    residual : VariancePrior, optional
        Prior of the variance that it leaves, of one image.
    informative : InformativeImages, optional
        How much of this variance the labelled images show; by default all are alike. Where boxes
        are equal both have about the same influence: a new version of a detector that loses the
        objects of one image in twenty is equal to the old one on most labelled images, and these
        show nothing of how much it loses on others.
    """
    labels = NOTHING
    if residual is not None:  # frames of one block count once
        residual = residual.scaled(len(sample.images) / sample.n_clusters)
    if accuracy.measured:
        labels = difference_estimate(
            accuracy.value,
            accuracy.influence,
            influence[sample.images],
            sample=sample,
            variance_prior=residual,
            informative=informative,
        )
    if accuracy.complete:
        return LabelDifference(labels, free, labels)
    wider = replace(labels, error=ERROR_FACTOR * labels.error)
    combined = combine(labels, heavy_tailed(free, labels), conflict=math.inf).estimate
    interval = combine(wider, heavy_tailed(free, wider), conflict=math.inf).estimate
    return LabelDifference(wider, free, replace(interval, value=combined.value), informative)


def heavy_tailed(free: ValueWithError, labels: ValueWithError) -> ValueWithError:
    r"""Widen a label-free difference by how much labels contradict it.

    .. math:: \tau'^2 = \tau^2\, \frac{\nu + z^2}{\nu + 1}, \qquad
              z^2 = \frac{(\theta - g)^2}{\tau^2 + SE^2}

    the expected variance of a Student's distribution as a scale mixture of normal ones, given one
    value (Lange et al. 1989, section 2): a prior that the labels contradict counts for less, none
    is dropped.

    Parameters
    ----------
    free : ValueWithError
        Label-free difference g, with error τ and ν degrees of freedom; returned as it is where
        these are infinite.
    labels : ValueWithError
        Difference θ by labels, with standard error SE.

    Examples
    --------
    >>> free = ValueWithError(0.0, 0.03, 8)
    >>> heavy_tailed(free, ValueWithError(0.05, 0.04)).error  # one standard deviation apart
    0.03
    >>> round(heavy_tailed(free, ValueWithError(0.2, 0.04)).error, 3)  # four
    0.049
    """
    if not labels.known or not free.known:
        return free
    if not math.isfinite(free.dof):
        return free
    squares = (labels.value - free.value) ** 2 / (free.error**2 + labels.error**2)
    return replace(free, error=free.error * math.sqrt((free.dof + squares) / (free.dof + 1)))


@dataclass(frozen=True, eq=False)
class PairedLabels:
    """What labelled images say of each of several detectors, by name.

    Parameters
    ----------
    sites : mapping of str to Site
        On the K categories that are compared.
    sample : LabelledSample
        The labelled images.
    blocks : ndarray of shape (N,), int
        Block of time of each image of the site.
    rankings : mapping of str to sequence of RankedDetections
        Of each category, on the labelled images.
    accuracies : mapping of str to sequence of SampleAccuracy
        Of each category.
    warnings : tuple of Notice
        What is odd about the labels.
    pooled : mapping of str to SampleAccuracy
        By the counts of all categories, at a threshold; empty for an average precision.
    sizes : ndarray of shape (N,), optional
        How often each image was drawn, see `LabelPlan`.
    of_one : mapping of str to ndarray of shape (K + 1,)
        At a threshold, influence of one more true positive on each category and on all.
    """

    sites: Mapping[str, Site]
    sample: LabelledSample
    blocks: np.ndarray
    rankings: Mapping[str, Sequence[RankedDetections]]
    accuracies: Mapping[str, Sequence[SampleAccuracy]]
    warnings: tuple[Notice, ...]
    pooled: Mapping[str, SampleAccuracy] = field(default_factory=dict)
    sizes: np.ndarray | None = None
    of_one: Mapping[str, np.ndarray] = field(default_factory=dict)

    def difference(
        self, a: str, b: str, free: LabelFree
    ) -> tuple[list[LabelDifference], LabelDifference]:
        """Estimate the difference of two detectors in each category, and of the mean over them.

        Categories that too few labelled images hold enter the mean with their label-free
        difference; errors of the two parts are added, as if their correlation was 1. At a threshold
        the whole is by the counts of all categories.

        Parameters
        ----------
        a, b : str
            Names of the detectors; the difference is of the first less the second.
        free : LabelFree
            The same without labels.

        Returns
        -------
        differences : list of LabelDifference
            Of each category.
        whole : LabelDifference
            Of all.
        """
        accuracies = list(map(difference_of, self.accuracies[a], self.accuracies[b]))
        if self.pooled:
            differ = differing_images(self.sites[a].boxes, self.sites[b].boxes)
            in_any = np.asarray(differ.any(axis=0))
            shares = [*differ.mean(axis=1), in_any.mean()]
            *priors, of_all = one_found_by_either(self.of_one[a], self.of_one[b], shares)
            influences = np.zeros((len(accuracies), len(self.blocks)))  # none is predicted
            sizes = differ.astype(float)
        else:
            priors = [free.residual([k]) for k in range(len(accuracies))]
            influences, sizes = free.influences, relative_disagreement(self.sites[a], self.sites[b])
        informative = map(self._informative, sizes)
        parts = zip(accuracies, free.differences, influences, priors, informative, strict=True)
        differences = [
            difference_with_labels(accuracy, self.sample, without_labels, influence, prior, shown)
            for accuracy, without_labels, influence, prior, shown in parts
        ]
        if self.pooled:
            together = difference_of(self.pooled[a], self.pooled[b])
            of_any = self._informative(in_any.astype(float))
            return differences, difference_with_labels(
                together, self.sample, free.whole, influences[0], of_all, of_any
            )
        labelled = [k for k, accuracy in enumerate(accuracies) if accuracy.measured]
        mean = free.whole
        if not labelled:
            return differences, LabelDifference(NOTHING, mean, mean)
        measured = [accuracies[k] for k in labelled]
        variances = [free.residuals[k].variance for k in labelled]
        whole = difference_with_labels(
            replace(
                measured[0],
                value=float(np.mean([accuracy.value for accuracy in measured])),
                influence=np.mean([accuracy.influence for accuracy in measured], axis=0),
            ),
            self.sample,
            pair_prior().mean([free.differences[k] for k in labelled]),
            influences[labelled].mean(axis=0),
            free.residual(labelled),
            self._informative(variances @ sizes[labelled]),
        )
        if len(labelled) == len(differences):
            return differences, whole
        unlabelled_mean = pair_prior().mean(
            [prediction for k, prediction in enumerate(free.differences) if k not in labelled]
        )
        combined = whole.combined.mixed(len(labelled) / len(differences), unlabelled_mean)
        combined = replace(combined, dof=min(combined.dof, unlabelled_mean.dof))
        return differences, replace(whole, prior=mean, combined=combined)

    def _informative(self, sizes: np.ndarray) -> InformativeImages | None:
        """Return how much labels show of variances in proportion to `sizes`, (N,)."""
        if self.sample.complete:
            return None
        drawn_as = np.ones(len(sizes)) if self.sizes is None else self.sizes
        drawn = inclusion_probabilities(drawn_as, len(self.sample.images))
        return InformativeImages.of(sizes, self.sample, drawn)


def relative_disagreement(a: Site, b: Site) -> np.ndarray:
    """Return how much two detectors disagree on each image, over the mean of all images.

    Parameters
    ----------
    a, b : Site
        Of the same N images and K categories, calibrated.

    Returns
    -------
    ndarray of shape (K, N)
        The mean of both directions of `ProbableLabels.disagreement`, and over the IoU thresholds of
        average precision, which boxes that moved change, too; of mean 1 in each category; 1 on all
        images where they agree on all.
    """
    of_a, of_b = (ProbableLabels(site.boxes, site.right_at_half) for site in (a, b))
    thresholds = range(len(IOUS))
    from_b = of_a.disagreement(b.boxes, b.right_at_half, thresholds)
    sizes = of_b.disagreement(a.boxes, a.right_at_half, thresholds) + from_b
    means = sizes.mean(axis=1, keepdims=True)
    return np.divide(sizes, means, out=np.ones(sizes.shape), where=means > 0)


def pair_labels(
    sites: Mapping[str, Site],
    labels: LabelSet,
    *,
    target: str,
    words: Mapping[str, str] | None = None,
    plan: LabelPlan | None,
) -> PairedLabels:
    """Measure detectors on labelled images of a site.

    Where every image is labelled, a category without an object has no average precision and is left
    out; at a threshold its boxes are false positives.

    Parameters
    ----------
    sites : mapping of str to Site
        Of the same images and categories, by name of the detector.
    labels : LabelSet
        With the names of these images, see `labels_on`.
    target : str
        What is measured.
    words : mapping of str to str, optional
        Category for each word of the labels; by default equal words.
    plan : LabelPlan or None
        It drew the labelled images, others are left out; without one all that are labelled are
        taken as a simple random sample.

    Raises
    ------
    InputError
        As `match_labels`, `drawn_by_plan` and `check_labels`, or if the plan is for other images.
    """
    first, *others = sites.values()
    images = first.boxes.images
    subset = match_labels(labels, first.boxes, words, [site.boxes for site in others])
    if plan is not None:
        # Labels of other images lie on few that the plan drew, and these may not show it alone.
        check_labels(subset.truth, [s.boxes.on_images(subset.images) for s in sites.values()])
        subset, blocks, sizes = _by_plan(subset, plan, images)
    else:
        sizes, blocks = None, blocks_of(images, files=first.images, known=first.blocks)
        subset = as_random_draw(subset, first.boxes)
    weights = inverse_probabilities(sizes, subset.images)
    sample = LabelledSample(subset.images, len(images), weights, blocks[subset.images])
    truth = subset.truth
    if sample.complete and OperatingPoint.of(target) is None:
        n_true = np.bincount(truth.label[~truth.crowd], minlength=len(truth.categories))
        kept = [name for name, n in zip(truth.categories, n_true, strict=True) if n]
        truth = truth.as_categories(kept, {name: name for name in kept})
        sites = {name: on_categories(site, truth.categories) for name, site in sites.items()}
    boxes_by_name = {name: site.boxes.on_images(subset.images) for name, site in sites.items()}
    warnings = [*subset.all_warnings, *check_labels(truth, list(boxes_by_name.values()))]
    rankings, accuracies, pooled, of_one = {}, {}, {}, {}
    for name, boxes in boxes_by_name.items():
        rankings[name] = ranked = rank_categories(boxes, truth)
        warnings += prefixed(name, contradicted_by_boxes(boxes, truth, ranked))
        accuracies[name] = [measure_sample(ranking, sample, target) for ranking in ranked]
        point = OperatingPoint.of(target)
        if point is not None:
            counts = [image_counts(ranking, point.score_thr, point.level) for ranking in ranked]
            counts.append(np.sum(counts, axis=0))
            pooled[name] = measure_counts(point.measure, counts[-1], sample)
            sums = [denominators(point.measure, count) for count in counts]
            with np.errstate(divide="ignore"):  # a measure that is not defined
                of_one[name] = 1 / np.average(sums, axis=1, weights=weights)
    warnings += odd_labels(truth)
    return PairedLabels(
        sites, sample, blocks, rankings, accuracies, tuple(warnings), pooled, sizes, of_one
    )


def _by_plan(
    subset: LabelledSubset, plan: LabelPlan, images: Sequence[LabelledImage]
) -> tuple[LabelledSubset, np.ndarray, np.ndarray | None]:
    """Keep the labelled images that the plan drew.

    subset: labelled images of a site
    plan: whose pool has all images of the site, in any order
    images: N, of the site, which the plan may name otherwise
    subset: those that were drawn
    blocks (N,): block of time of each image of the site
    sizes (N,): how often each was drawn; None where all were equally likely
    Raises InputError if the plan lacks an image of the site, also where its own were left out as
    they have no box over its threshold, or drew none of the labelled ones.
    """
    if plan.cut:
        raise InputError(
            f"The labels lie in the folder of a plan for {plan.target}, which has only the images "
            f"on which its detector has a box over {plan.score_thr:g}: there another detector has "
            "another accuracy than on all. Plan for both: `autoeval label plan --compare`."
        )
    matches = match_images(images, plan.found.images)
    places = matches.index
    if (places < 0).any() or len(np.unique(places)) < len(places):
        raise InputError("The labels lie in the folder of a plan for other images than these.")
    subset = drawn_by_plan(subset, plan, places)
    subset = replace(subset, warnings=(*subset.warnings, *matches.by_rules("the plan")))
    sizes = None if plan.sizes is None else plan.sizes[places]
    return subset, plan.blocks[places], sizes


def estimate_by_labels(
    name: str, fitted: AccuracyEstimator, labelled: PairedLabels
) -> tuple[LabelEstimates, dict[str, LabelEstimates]]:
    """Estimate the accuracy of one detector, as `autoeval estimate --labels` does.

    Where too few boxes were labelled in the fit for its label-assistance model, no influence is
    predicted, and the labels count by themselves.

    Parameters
    ----------
    name : str
        Of the detector, in `labelled`.
    fitted : AccuracyEstimator
        Its fit, which states the target and the level of the intervals.
    labelled : PairedLabels
        Its boxes on the site, matched with labels.

    Returns
    -------
    whole : LabelEstimates
        Of all categories together, in [0, 1].
    by_category : dict of str to LabelEstimates
        Of each category.
    """
    estimate = fitted.predict_site(labelled.sites[name], brief=True)
    try:
        plan = plan_estimated(fitted, estimate, PlanRequest(1, everywhere=True))
    except InputError:  # too few labelled boxes in the fit
        plan = _plan_without_assistance(fitted, estimate)
    plan = replace(plan, blocks=labelled.blocks, sizes=labelled.sizes)
    images, rankings = labelled.sample.images, labelled.rankings[name]
    by_labels = estimate_rankings(plan, images, rankings, [fitted.target])[fitted.target]
    return by_labels.whole, by_labels.by_category


def _plan_without_assistance(fitted: AccuracyEstimator, estimate: Estimate) -> LabelPlan:
    """Make a plan that predicts no influence: labels then count by themselves."""
    assert estimate.site is not None
    boxes, point = estimate.site.boxes, OperatingPoint.of(fitted.target)
    n, n_categories = len(boxes.images), len(boxes.categories)
    return LabelPlan(
        boxes,
        influence=ByImage.unknown(n_categories, len(LEVELS), n),
        holding=expected_holding(boxes, boxes.scores),
        sequence=np.arange(n),
        n=1,
        seed=0,
        order=BY_INFLUENCE,
        blocks=np.arange(n),
        mixing=NO_INFLUENCE,
        small_sample_bias=0.0,
        priors=priors_of_targets(estimate, {fitted.target: fitted.regression_}),
        target=fitted.target,
        level=fitted.level,
        detector="",
        iou=point.iou if point else IOUS[0],
        probabilities=np.zeros(len(boxes)),
        objects=ByImage.unknown(n_categories, 1, n),
        points=dict.fromkeys(MEASURES, NO_INFLUENCE),
    )


def plan_difference(
    fits: Mapping[str, AccuracyEstimator],
    sites: Mapping[str, Site],
    folder: Path | None,
    request: PlanRequest,
    *,
    prelabel: bool,
) -> LabelPlan:
    """Draw images spread over their predicted influence on the difference of two detectors.

    Those on which both disagree are drawn more often, as others hardly move the difference. The
    plan is that of the first, with the forecast of the precision that labels give of the
    difference.

    Parameters
    ----------
    fits : mapping of str to AccuracyEstimator
        Of two detectors, by name.
    sites : mapping of str to Site
        What each found on the pool.
    folder : Path, optional
        Where the plan is written; see `plan_in_folder`.
    request : PlanRequest
        How many images, and how they are drawn.
    prelabel : bool
        Whether boxes of the first detector are offered to those who label.

    Raises
    ------
    InputError
        As `check_fits`, `on_common_ground` and `plan_in_folder`, and where both found the same
        boxes.
    """
    check_fits(fits)
    fits, common, warnings = on_common_ground(fits, sites)
    (first_name, first_fit), (second_name, second_fit) = fits.items()
    if same_boxes(common[first_name].boxes, common[second_name].boxes):
        raise InputError(
            f"{first_name} and {second_name} found exactly the same boxes: no label tells them "
            "apart. Is one detector given twice?"
        )
    a = ComparedDetector.of(first_name, first_fit, common[first_name])
    b = ComparedDetector.of(second_name, second_fit, common[second_name])
    estimates = {name: fits[name].predict_site(site) for name, site in common.items()}
    against = plan_estimated(second_fit, estimates[second_name], request)
    warnings += prefixed(second_name, against.warnings)
    of_second = ProbableLabels(b.site.boxes, b.site.right_at_half)
    sizes = of_second.draw_sizes(a.site.boxes, a.site.right_at_half)

    def redrawn(plan: LabelPlan) -> LabelPlan:
        return _by_difference(replace(plan, warnings=(*plan.warnings, *warnings)), against, sizes)

    plan = plan_in_folder(
        first_fit, estimates[first_name], folder, request, prelabel=prelabel, change=redrawn
    )
    return replace(plan, difference=outlook_of(a, b, plan))


def outlook_of(a: ComparedDetector, b: ComparedDetector, plan: LabelPlan) -> Outlook:
    """Forecast the precision that labels give of the difference of two detectors.

    Parameters
    ----------
    a, b : ComparedDetector
        On common ground.
    plan : LabelPlan
        Of the first detector: at a threshold the variance of a labelled image is twice its own, as
        of two detectors that are independent.
    """
    free = compare_label_free(a, b, plan.target, plan.level, plan.n_blocks)
    if free.outlook is not None:
        return free.outlook
    # at a threshold, of two detectors that are taken to be independent
    of_one = plan.outlook
    assert isinstance(of_one, Outlook)
    per_image = of_one.per_image.scaled(2.0 * ERROR_FACTOR**2)
    return Outlook(per_image, len(a.site), free.whole, plan.level, plan.n_blocks)


def _by_difference(plan: LabelPlan, other_plan: LabelPlan, sizes: np.ndarray) -> LabelPlan:
    """Return a plan drawn evenly over the difference of the influences that two plans predict.

    Images that move both detectors equally are in the middle of that order, images that decide
    which is better at its ends; every beginning of the sequence holds some of both. Each is drawn
    as often as its size (M,) says. A draw over time stays as it is.
    """
    if plan.order != BY_INFLUENCE:
        return plan
    difference = plan.predicted(plan.target)[-1] - other_plan.predicted(other_plan.target)[-1]
    sequence = unequal_order(np.argsort(difference, kind="stable"), sizes, seed=plan.seed)
    return replace(plan, sequence=sequence, sizes=sizes, order=BY_DIFFERENCE)
