"""Variance of an average precision by its objects: by hand, and where objects are equal."""

import numpy as np
import pytest

from autoeval.accuracy.measures import RankedDetections
from autoeval.labels.category_estimates import (
    LabelledSample,
    measure_counts,
    measure_levels,
    measure_sample,
    sample_estimate,
)
from autoeval.labels.values import (
    DOF,
    PER_OBJECT,
    WITHIN_IMAGE,
    ValueWithError,
    VariancePrior,
    object_variance,
)


def test_by_hand():
    # the sample's .8 of two images and the label-free .3, which counts as five
    value = (2 * 0.8 + 5 * 0.3) / 7
    expected = 0.5 * value * (1 - value) * (7 / 8) / 2
    assert object_variance(0.5, 0.8, 0.3, 2, 2) == pytest.approx(expected)


@pytest.mark.parametrize("target", ["mAP", "mAP50"])
def test_frames_of_one_block_that_show_the_same_count_once(target):
    """With five frames of each block the error was .07, not .12, and 74 % were covered."""
    rng, n_pool = np.random.default_rng(0), 200
    n_true = np.zeros(20, int)
    n_true[::4] = 1, 2, 1, 3, 1
    image = np.concatenate([np.repeat(np.arange(20), n_true), rng.integers(0, 20, 9)])
    hits = (rng.random((10, len(image))) < 0.6) * (np.arange(len(image)) < n_true.sum())
    scores, errors = rng.random(len(image)), []
    for frames in (1, 5):
        repeated = [np.tile(x, frames) for x in (scores, frames * image, hits)]
        repeated[1] = repeated[1] + np.repeat(np.arange(frames), len(image))
        ranking = RankedDetections.of(*repeated, np.repeat(n_true, frames))
        blocks = np.repeat(np.arange(20), frames)
        sample = LabelledSample(np.arange(20 * frames), n_pool * frames, clusters=blocks)
        accuracy = measure_levels(ranking, sample)[target]
        assert accuracy.n_true == frames * n_true.sum() and accuracy.n_holding == 5 * frames
        errors.append(sample_estimate(accuracy, sample, ValueWithError(0.4, 0.1)))
    one, five = errors
    assert (five.value, five.error, five.dof) == pytest.approx((one.value, one.error, one.dof))


@pytest.mark.parametrize("hits", [[1, 0, 2, 1], [1, 1, 2, 1]])  # the last where all are found
def test_frames_of_one_block_count_once_at_a_threshold(hits):
    residual, counts = VariancePrior(0.09, 4.0), np.array([hits, [1, 1, 2, 1], [1, 1, 2, 1]])
    estimates = []
    for frames in (1, 5):
        blocks = np.repeat(np.arange(4), frames)
        sample = LabelledSample(np.arange(4 * frames), 40 * frames, clusters=blocks)
        recall = measure_counts("recall", counts[:, blocks], sample)
        given = None if recall.n_equal else residual
        estimates.append(sample_estimate(recall, sample, ValueWithError(0.7, 0.1), residual=given))
    one, five = estimates
    assert (five.value, five.error, five.dof) == pytest.approx((one.value, one.error, one.dof))


@pytest.mark.parametrize("measure", ["precision", "recall", "f1"])
def test_frames_of_a_single_block_measure_nothing_at_a_threshold(measure):
    """Their influences add up to 0, so that four frames showed a recall without an error."""
    counts = np.zeros((3, 40))
    counts[:, :4] = [1, 0, 2, 1], [1, 1, 2, 2], [1, 1, 3, 1]
    for blocks, measured in ((np.arange(40), True), (np.arange(40) // 4, False)):
        sample = LabelledSample(np.arange(40), 400, clusters=blocks)
        accuracy = measure_counts(measure, counts, sample)
        assert (accuracy.n_holding, accuracy.usable) == (4, measured)


def test_it_is_the_expectation_over_what_the_value_is_not_known_by():
    """Simulated: shares that are drawn from a beta distribution, seen in h images of one object."""
    rng, h, prior = np.random.default_rng(0), 4, 0.3
    true = rng.beta(5 * prior, 5 * (1 - prior), 400_000)
    seen = rng.binomial(h, true) / h
    for value in np.arange(h + 1) / h:
        own = true[seen == value]
        law = object_variance(1.0, value, prior, h, h)
        assert law == pytest.approx(np.mean(own * (1 - own)) / h, rel=0.03)


def test_objects_of_one_image_are_alike():
    """By hand, of value .5: six objects in two images, and a hundred in one."""
    independent = 6 / (1 + WITHIN_IMAGE * 2)
    expected = 0.25 * (7 / 8) / independent
    assert object_variance(1.0, 0.5, 0.5, 6, 2) == pytest.approx(expected)
    assert object_variance(1.0, 0.5, 0.5, 100, 1) > 0.25 * (6 / 7) * WITHIN_IMAGE


TWENTY = LabelledSample(np.arange(20), 100)


def rankings(hits, n_images=20):
    """One object in each of the first images, found there or not; the rest is empty."""
    k = len(hits)
    n_true = np.zeros(n_images)
    n_true[:k] = 1
    matched = np.tile(np.array(hits, float), (10, 1))
    return RankedDetections.of(np.linspace(0.9, 0.6, k), np.arange(k), matched, n_true)


@pytest.mark.parametrize("target", PER_OBJECT)
@pytest.mark.parametrize("hits", [[1], [1, 1, 1], [0, 0, 0], [0] * 8])
def test_equal_objects_do_not_give_a_narrow_interval(target, hits):
    """Three objects that all are found say little; nor do eight of which none is."""
    accuracy = measure_sample(rankings(hits), TWENTY, target)
    estimate = sample_estimate(accuracy, TWENTY, ValueWithError(0.4, 0.2))
    assert estimate.half_width() > 0.3 / len(
        hits
    )  # three over n, the rule for a mean over ten IoUs
    assert estimate.half_width() > 0.12


def test_the_factor_of_a_share_is_one():
    """Simulated: AP50 of independent objects found with probability .5 at precision 1."""
    rng = np.random.default_rng(0)
    drawn = [rankings(rng.random(20) < 0.5) for _ in range(2)]
    values = [measure_sample(ranking, TWENTY, "mAP50").value for ranking in drawn]
    assert np.isfinite(values).all() and PER_OBJECT["mAP50"] == PER_OBJECT["mAP75"] == 1.0


@pytest.mark.parametrize("measure", ["precision", "recall", "f1"])
@pytest.mark.parametrize("right", [1.0, 0.0])
def test_images_that_all_show_the_same_share_do_not_show_that_it_is_exact(measure, right):
    """By hand: 20 of 100 images with two boxes and two objects each, all right or all wrong."""
    two = np.full(20, 2.0)
    accuracy = measure_counts(measure, np.array([right * two, two, two]), TWENTY)
    share = (20 * right + 5 * 0.5) / 25  # without a label-free estimate
    variance = share * (1 - share) * (25 / 26) / (40 / 1.2)  # 40, correlated within an image
    flat = np.zeros(100)  # predicted influence that does not vary, and its residual variance
    varied = np.tile([-0.01, 0.01], 50)  # one that varies a little is no proof, either
    for options in (
        {},
        {"predicted": flat, "residual": VariancePrior(0.0, 4.0)},
        {"predicted": varied, "residual": VariancePrior(1e-6, 60.0)},
    ):
        estimate = sample_estimate(accuracy, TWENTY, **options)
        assert estimate.value == right and estimate.dof == DOF
        assert estimate.error == pytest.approx(np.sqrt(0.8 * variance), rel=1e-12)
    complete = sample_estimate(accuracy, LabelledSample(np.arange(20), 20))
    assert (complete.value, complete.error) == (right, 0)


def test_a_prediction_that_does_not_vary_does_not_reduce_the_variance_that_labels_show():
    counts = np.array([[2.0, 1, 2, 2], [2, 2, 2, 2], [2, 2, 2, 2]])
    sample = LabelledSample(np.arange(4), 100)
    accuracy = measure_counts("precision", counts, sample)
    alone = sample_estimate(accuracy, sample)
    flat = {"predicted": np.zeros(100), "residual": VariancePrior(0.0, 4.0)}
    assert sample_estimate(accuracy, sample, **flat) == alone
    influence = np.array([1.0, -3, 1, 1]) / 8  # (t - 7/8 d) / 2
    assert alone.error == pytest.approx(np.sqrt(0.96 * influence.var(ddof=1) / 4), rel=1e-12)
