"""The difference estimator against hand-computed values, laws and simulation."""

import numpy as np
import pytest

from autoeval.labels.category_estimates import (
    MANY,
    LabelledSample,
    difference_estimate,
    slopes,
)
from autoeval.labels.values import VariancePrior


def estimate_of(value, influence, *predicted, n_pool, weights=None, clusters=None, **more):
    sample = LabelledSample(np.arange(len(influence)), n_pool, weights, clusters)
    return difference_estimate(value, influence, *predicted, sample=sample, **more)


def slopes_of(influence, predicted):
    return slopes(influence, predicted, np.arange(len(influence)))


def test_by_hand():
    influence, predicted = np.array([0.3, -0.1, 0.1, -0.3]), np.array([0.2, 0.0, 0.1, -0.1])
    estimate = estimate_of(0.5, influence, predicted, n_pool=20)
    rest = influence - predicted
    assert estimate.value == pytest.approx(0.5 - 0.05)
    assert estimate.error**2 == pytest.approx((1 - 4 / 20) * rest.var(ddof=1) / 4)
    assert estimate.dof == 3


def test_only_images_that_hold_an_object_show_a_variance():
    """The mean of a number over 4 of 20 images has the variance of a mean of 4, without bias."""
    numbers = np.array([0.9, 0.2, 0.4, 0.7])
    influence = np.zeros(20)
    influence[:4] = 20 / 4 * (numbers - numbers.mean())
    estimate = estimate_of(0.5, influence, n_pool=10**12, n_holding=4)
    assert (estimate.error**2, estimate.dof) == (pytest.approx(numbers.var(ddof=1) / 4), 3)
    assert not estimate_of(0.5, influence, n_pool=10**12, n_holding=1).known


def test_a_labelled_pool_leaves_no_error():
    influence = np.array([0.2, -0.1, -0.1])
    estimate = estimate_of(0.5, influence, 0.5 * influence, n_pool=3)
    assert (estimate.value, estimate.error) == (pytest.approx(0.5), 0)


def test_all_labels_give_the_statistic_whatever_the_slopes():
    rng = np.random.default_rng(8)
    predicted = rng.normal(size=40)
    predicted -= predicted.mean()  # of all images the mean influence is 0
    influence = 0.5 * predicted + rng.normal(size=40)
    assert len(set(slopes_of(influence, predicted))) == 5
    estimate = estimate_of(0.4, influence, predicted, n_pool=40)
    assert (estimate.value, estimate.error) == (pytest.approx(0.4, abs=1e-12), 0)


def test_a_perfect_prediction_leaves_no_error():
    influence = np.array([0.2, -0.1, 0.4])
    estimate = estimate_of(0.5, influence, influence, n_pool=100)
    assert estimate.error == pytest.approx(0, abs=1e-12)
    assert estimate.value == pytest.approx(0.5 - influence.mean())


def test_equal_weights_change_nothing():
    influence, predicted = np.random.default_rng(0).normal(size=(2, 9))
    plain = estimate_of(0.4, influence, predicted, n_pool=50)
    weighted = estimate_of(0.4, influence, predicted, n_pool=50, weights=np.full(9, 50 / 9))
    assert [weighted.value, weighted.error] == pytest.approx([plain.value, plain.error])


def test_each_image_a_cluster_changes_nothing_and_pairs_widen():
    rng = np.random.default_rng(1)
    influence = np.repeat(rng.normal(size=10), 2)  # neighbours say the same
    plain = estimate_of(0.4, influence, n_pool=1000)
    alone = estimate_of(0.4, influence, n_pool=1000, clusters=np.arange(20))
    paired = estimate_of(0.4, influence, n_pool=1000, clusters=np.repeat(np.arange(10), 2))
    assert (alone.error, alone.dof) == (pytest.approx(plain.error), 19)
    assert paired.dof == 9
    # Ten values counted twice: as ten independent ones.
    ten = estimate_of(0.4, influence[::2], n_pool=10**9)
    assert paired.error == pytest.approx(ten.error, rel=2e-2)


def test_one_cluster_knows_no_error():
    estimate = estimate_of(0.4, np.array([0.1, 0.2]), n_pool=9, clusters=np.zeros(2, int))
    assert not estimate.known


def test_a_prior_that_counts_as_nothing_adds_no_error():
    """Weights 2 and 0 give the variance of the labels, with their degrees of freedom."""
    nothing, influence = VariancePrior(0.09, 0.0), np.array([0.2, -0.1, -0.1])
    one = LabelledSample(np.array([0]), 12)
    estimate = difference_estimate(0.5, influence[:1], sample=one, variance_prior=nothing)
    assert not estimate.known and estimate.dof == 0
    three = LabelledSample(np.arange(3), 12)
    estimate = difference_estimate(0.5, influence, sample=three, variance_prior=nothing)
    assert estimate.error == pytest.approx(np.sqrt(9 / 12 * 0.03 / 3)) and estimate.dof == 2


def test_slopes_are_one_for_few_and_fitted_for_many():
    rng = np.random.default_rng(2)
    predicted = rng.normal(size=200)
    influence = 0.4 * predicted + 0.1 * rng.normal(size=200)
    assert (slopes_of(influence[: MANY - 1], predicted[: MANY - 1]) == 1).all()
    assert slopes_of(influence, predicted) == pytest.approx(0.4, abs=0.05)
    assert (slopes_of(-influence, predicted) == 0).all()
    assert (slopes_of(5 * influence, predicted) == 1).all()


def test_an_images_slope_is_fitted_without_it():
    rng = np.random.default_rng(3)
    influence, predicted = rng.normal(size=(2, 50))
    before = slopes_of(influence, predicted)[7]
    influence[7] += 100
    assert slopes_of(influence, predicted)[7] == before


def test_an_images_slope_is_fitted_without_the_other_frames_of_its_block():
    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(8)[::-1], 5)
    influence, predicted = rng.normal(size=(2, 40))
    influence += predicted / 2
    before = slopes(influence, predicted, clusters)
    for block in range(8):
        other = np.where(clusters == block, -9.0 * predicted, influence)
        mine = clusters == block
        assert (slopes(other, predicted, clusters)[mine] == before[mine]).all()
    # blocks of one image each are no blocks, and a single one leaves none to fit on
    single = rng.permutation(40)
    assert (slopes(influence, predicted, single) == slopes_of(influence, predicted)).all()
    assert (slopes(influence, predicted, np.zeros(40, int)) == 1).all()


def test_intervals_cover_with_few_blocks_of_frames():
    """Slopes that had seen a block by its other frames left too small a variance: 82 %."""
    rng, covered, n_blocks, size = np.random.default_rng(1), [], 100, 20
    images = np.repeat(size * np.arange(4), 10) + np.tile(np.arange(10), 4)

    def shared():
        return (rng.normal(size=(n_blocks, 1)) + rng.normal(size=(n_blocks, size)) / 2).ravel()

    for _ in range(600):
        predicted = shared()
        influence = predicted / 2 + shared()
        influence, predicted = influence - influence.mean(), predicted - predicted.mean()
        labelled = influence[images]
        estimate = difference_estimate(
            labelled.mean(),
            labelled - labelled.mean(),
            predicted[images],
            sample=LabelledSample(images, n_blocks * size, clusters=images // size),
        )
        lower, upper = estimate.interval(0.9)
        covered.append(lower <= 0 <= upper)
    assert np.mean(covered) > 0.865


def test_unequal_probabilities_are_weighed_back():
    """Hájek: images drawn in proportion to a size that goes with the influence."""
    rng = np.random.default_rng(4)
    size = rng.uniform(0.4, 1, 300)
    influence = size - size.mean()
    errors, naive = [], []
    for _ in range(400):
        drawn = np.flatnonzero(rng.random(300) < 0.2 * size)
        weights = 1 / (0.2 * size[drawn])
        # The statistic of a weighted sample is the pool's plus the weighted mean influence.
        errors.append(weights @ influence[drawn] / weights.sum())
        naive.append(influence[drawn].mean())
        influence_drawn = influence[drawn] - errors[-1]
        estimate = estimate_of(0.5 + errors[-1], influence_drawn, n_pool=300, weights=weights)
        errors[-1] = (estimate.value - 0.5) / estimate.error
    assert abs(np.mean(errors)) < 0.25
    assert np.mean(naive) > 0.03
    assert 0.85 < np.std(errors) < 1.15


def test_an_image_that_was_certain_to_be_drawn_adds_no_error():
    """By hand: weights 1, 2, 2 are shares of .2, .4, .4, of the mean .08 + .04 - .12 = 0."""
    influence, weights = np.array([0.4, 0.1, -0.3]), np.array([1.0, 2, 2])
    estimate = estimate_of(0.5, influence, n_pool=5, weights=weights)
    assert estimate.error**2 == pytest.approx(3 / 2 * (1 - 1 / 2) * 0.4**2 * (0.1**2 + 0.3**2))


@pytest.mark.parametrize("k", [10, 20, 50])
def test_intervals_cover_nine_of_ten(k):
    """Heavy-tailed influences of a finite pool, half of whose variance is predicted."""
    rng = np.random.default_rng(k)
    hits = 0
    for _ in range(600):
        predicted = rng.normal(size=200)
        influence = predicted + rng.standard_t(5, size=200)
        influence -= influence.mean()
        predicted -= predicted.mean()
        drawn = rng.choice(200, k, replace=False)
        value = 0.5 + influence[drawn].mean()
        influence_drawn = influence[drawn] - influence[drawn].mean()
        estimate = estimate_of(
            value,
            influence_drawn,
            predicted[drawn],
            n_pool=200,
            variance_prior=VariancePrior(1.6, 5),
        )
        lower, upper = estimate.interval(0.9)
        hits += lower <= 0.5 <= upper
    assert 0.87 <= hits / 600 <= 0.93


def test_a_prediction_saves_labels():
    """The gain in labels is 1 / (1 - rho^2): 2 for half of the variance."""
    rng = np.random.default_rng(9)
    predicted = rng.normal(size=2000)
    influence = predicted + rng.normal(size=2000)
    alone = estimate_of(0.5, influence, n_pool=10**9)
    helped = estimate_of(0.5, influence, predicted, n_pool=10**9)
    assert (alone.error / helped.error) ** 2 == pytest.approx(2, rel=0.12)


def test_labels_of_all_images_leave_no_error_be_they_of_one_block():
    influence = np.array([0.2, -0.1, -0.1])
    estimate = estimate_of(0.5, influence, n_pool=3, clusters=np.zeros(3, int))
    assert (estimate.value, estimate.error, estimate.known) == (0.5, 0.0, True)
