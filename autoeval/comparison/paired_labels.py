"""Differences from the same labelled images: the paired influence of several detectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autoeval.comparison.pair_model import PairPrior
from autoeval.data.labels.content import LabelSet
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.label_assistance import pool_of_boxes
from autoeval.estimation.label_planning import with_sizes
from autoeval.estimation.site import Site
from autoeval.labels.estimators import (
    LEVELS,
    LabelEstimates,
    LabelledSample,
    SampleAccuracy,
    estimate_category,
    estimate_mean,
    measure_sample,
)
from autoeval.labels.label_sampling import blocks_of
from autoeval.labels.labelled_subset import LabelledSubset, match_labels
from autoeval.labels.plan import LabelPlan
from autoeval.labels.value_with_error import ValueWithError
from autoeval.metrics.by_category import rank_categories


def difference_of(a: SampleAccuracy, b: SampleAccuracy) -> SampleAccuracy:
    """Subtract the accuracies of two detectors on the same labelled images.

    What labellers left out and how loosely they drew lowers both, and an image that is hard for one
    is mostly hard for the other: the influences cancel in part, and the standard error with them.
    """
    return SampleAccuracy(a.value - b.value, a.influence - b.influence, a.n_true, a.n_holding)


@dataclass(frozen=True, eq=False)
class PairedLabels:
    """What labelled images say of each of several detectors.

    Parameters
    ----------
    sample : LabelledSample
    accuracies : mapping of str to list of SampleAccuracy
        By detector, of each category.
    influences : mapping of str to ndarray of shape (K, M)
        Predicted influence of all images of the site on each category, by detector.
    warnings : tuple of str
    """

    sample: LabelledSample
    accuracies: Mapping[str, Sequence[SampleAccuracy]]
    influences: Mapping[str, np.ndarray]
    warnings: tuple[str, ...]

    def difference(
        self,
        a: str,
        b: str,
        prior: PairPrior,
        free: Sequence[ValueWithError],
        whole: ValueWithError,
    ) -> tuple[LabelEstimates, list[LabelEstimates]]:
        """Estimate the difference of two detectors: the mean over categories, and each of them.

        Parameters
        ----------
        a, b : str
        prior : PairPrior
        free : sequence of ValueWithError
            Label-free, of each category.
        whole : ValueWithError
            Of their mean.
        """
        accuracies = list(map(difference_of, self.accuracies[a], self.accuracies[b]))
        predicted = prior.influence * (self.influences[a] - self.influences[b])
        each = [
            estimate_category(
                accuracy, self.sample, own, prior.mixing, small_sample_bias=0.0, prior=of
            )
            for accuracy, own, of in zip(accuracies, predicted, free, strict=True)
        ]
        parts = list(zip(accuracies, predicted, free, strict=True))
        measured = [part for part in parts if part[0].measured]
        if len(each) == 1 or not measured:
            return each[0], each
        others = [of for accuracy, _, of in parts if not accuracy.measured]
        mean = estimate_mean(
            measured, self.sample, prior.mixing, small_sample_bias=0.0, others=others, prior=whole
        )
        return mean, each


def pair_labels(
    fits: Mapping[str, AccuracyEstimator],
    sites: Mapping[str, Site],
    labels: LabelSet,
    *,
    target: str,
    words: Mapping[str, str] | None = None,
    plan: LabelPlan | None = None,
) -> PairedLabels:
    """Measure detectors on labelled images of a site.

    Parameters
    ----------
    fits, sites : mapping of str to AccuracyEstimator and to Site
        By detector; sites of the same images and categories.
    labels : LabelSet
    target : {"mAP", "mAP50", "mAP75"}
    words : mapping of str to str, optional
        Category for each word of the labels; by default equal words.
    plan : LabelPlan, optional
        Which drew the labelled images; others are left out. Without one, all that are labelled are
        taken as a simple random sample.

    Raises
    ------
    InputError
        See `match_labels`; if an estimator has no label assistance, or no image of the plan is
        labelled.
    """
    for name, fitted in fits.items():
        if fitted.label_assistance_ is None:
            raise InputError(
                f"{name} has no label assistance: too few labelled boxes were fitted on. Fit on "
                "20 labelled images with 10 boxes of a category, or more."
            )
    first = next(iter(sites.values()))
    found = first.boxes.clean
    subset = match_labels(labels, found, words)
    warnings = list(subset.warnings)
    if plan is not None:
        subset, blocks, left = _by_plan(subset, plan, [image.image_id for image in found.images])
        warnings += left
    else:
        files: dict[str, Any] = {image.image_id: image for image in first.images}
        blocks = blocks_of([files.get(image.image_id, image) for image in found.images])
        warnings.append(
            "no plan drew the labelled images: they are taken as a simple random draw, which "
            "images chosen for what they show are not"
        )
    sample = LabelledSample(subset.images, len(found.images), clusters=blocks[subset.images])
    accuracies, influences = {}, {}
    for name, site in sites.items():
        ranked = rank_categories(site.boxes.clean.on_images(subset.images), subset.truth)
        accuracies[name] = [measure_sample(ranking, target) for ranking in ranked]
        assistance, pool = fits[name].label_assistance_, pool_of_boxes(with_sizes(site))
        assert assistance is not None
        predicted = assistance.for_features(pool.names).predict(pool)
        influences[name] = np.stack([of[LEVELS[target]].mean(axis=0) for of in predicted])
    return PairedLabels(sample, accuracies, influences, tuple(warnings))


def _by_plan(
    subset: LabelledSubset, plan: LabelPlan, names: Sequence[str]
) -> tuple[LabelledSubset, np.ndarray, list[str]]:
    """Keep the labelled images that the plan drew; return the block of each image, too."""
    at = {image.image_id: k for k, image in enumerate(plan.found.images)}
    if not {*names} <= {*at}:
        raise InputError("The labels lie in the folder of a plan for other images than these.")
    place = np.array([at[name] for name in names])
    inside = np.isin(place[subset.images], plan.drawn)
    if not inside.any():
        raise InputError("None of the labelled images was drawn by the plan in their folder.")
    left = []
    if not inside.all():
        left.append(f"labelled images that the plan did not draw, left out: {(~inside).sum()}")
    kept = np.flatnonzero(inside)
    truth = subset.truth.on_images(kept)
    return LabelledSubset(subset.images[kept], truth, ()), plan.blocks[place], left
