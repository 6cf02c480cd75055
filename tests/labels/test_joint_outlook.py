"""Forecasts of joint estimates: they start at the result, and know what labels will not measure."""

from dataclasses import replace

import numpy as np
import pytest
from label_worlds import SIDE, assistance_of, label_set, make_site

from autoeval.accuracy.measures import influence_on, value_of
from autoeval.boxes import Boxes, LabelledImage
from autoeval.estimation.label_planning import PlanRequest, make_plan
from autoeval.labels.assistance import MODEL, MixingWeights
from autoeval.labels.joint import (
    EACH_IMAGE,
    JointOutlook,
    JointPrior,
    MeasuredCategories,
    Outlook,
    estimate_jointly,
    expected_holding,
)
from autoeval.labels.labelled_estimate import estimate_with_labels
from autoeval.labels.plan import BY_CHANCE, ByImage, LabelPlan, balanced_order
from autoeval.labels.plan_folder import load_plan, save_plan
from autoeval.labels.values import DOF, ValueWithError, VariancePrior

WORDS = ("car", "bus", "van", "truck")


def outlook_of(shares, n_pool=200, error=0.18, error_of_mean=0.08):
    c = len(shares)
    each = [ValueWithError(0.4, error)] * c
    prior = JointPrior.of(each, ValueWithError(0.4, error_of_mean))
    per_image = 0.12 / np.maximum(shares, 1e-3)  # that of the law, by images that hold it
    return JointOutlook(prior, np.array([shares, np.ones(c)]), 0.5, per_image, n_pool)


def test_rare_categories_keep_the_interval_wide():
    """All categories in every image, or each in one of a hundred: the plan must tell them apart."""
    frequent, rare = outlook_of([0.9] * 40), outlook_of([0.01] * 40)
    assert rare.half_width(20) > 2 * frequent.half_width(20)
    assert rare.half_width(20) <= 1.645 * 0.08 + 1e-6  # never wider than without labels
    assert frequent.needed(0.03) < rare.needed(0.03)


def test_more_labels_give_narrower_intervals_and_all_of_them_none():
    outlook = outlook_of(np.geomspace(0.01, 0.5, 30))
    widths = [outlook.half_width(k) for k in (5, 10, 20, 50, 100, 199, 200)]
    assert (np.diff(widths) < 0).all()
    assert widths[-1] == 0 and outlook.needed(1e-9) == 200
    n = outlook.needed(0.05)
    assert outlook.half_width(n) <= 0.05 < outlook.half_width(n - 1)


@pytest.mark.parametrize("shares", [[0.3], [0.02, 0.3, 0.9], [0.01] * 40])
def test_the_forecast_is_the_mean_over_draws_of_what_each_would_give(shares):
    """Draws are weighed together; each by itself has only the categories that it holds."""
    outlook, k, widths = outlook_of(shares), 12, []
    for held in outlook._held(k):
        at = np.flatnonzero(held)
        (covariance,), (dof,) = outlook._measured(held[None], k)
        labels = MeasuredCategories(
            at, outlook.prior.values[at], covariance[np.ix_(at, at)], dof[at], np.eye(len(at))
        )
        joint = estimate_jointly(outlook.prior, labels)
        widths.append(joint.mean.estimate.half_width(outlook.level))
    assert outlook.half_width(k) == pytest.approx(np.mean(widths), rel=1e-12)


def test_categories_that_labels_will_measure():
    """By hand: three of ten images hold it with probability 1 - .8**10 - ... = .3222."""
    outlook = outlook_of([0.2] * 100)
    assert outlook.measured(10) == pytest.approx(32.2, abs=8)
    assert outlook_of([1.0, 0.0]).measured(10) == 1


def test_expected_holding_by_hand():
    boxes = Boxes(
        (None,) * 2,
        ("a", "b"),
        np.array([0, 0, 1]),
        np.array([0, 0, 1]),
        np.zeros((3, 4)),
        np.array([0.5, 0.5, 0.2], np.float32),
    )
    holding = expected_holding(boxes, np.array([0.5, 0.5, 0.2]))
    assert holding[0] == pytest.approx([0.75 / 2, 0.2 / 2])
    assert holding[1] == pytest.approx([1 / 0.75, 1])
    assert 2 * holding.prod(axis=0) == pytest.approx([1, 0.2])


def test_missed_objects_count_where_a_box_shows_the_category():
    """By hand: one box of probability .5 beside .7 missed ones, one of .01, an image without."""
    found = Boxes(
        (None,) * 3,
        ("a",),
        np.array([0, 1]),
        np.array([0, 0]),
        np.zeros((2, 4)),
        np.array([0.5, 0.1], np.float32),
    )
    holding = expected_holding(found, np.array([0.5, 0.01]), [np.array([1.2, 0.71, 0.7])])
    held = 1 - 0.5 * np.exp(-0.7) + 0.01
    assert holding[0] == pytest.approx([held / 3])
    assert holding[1] == pytest.approx([(1.2 + 0.01) / held])


class TestOfAPlan:
    @pytest.fixture(scope="class")
    def site(self):
        return make_site(5, n_images=100, categories=WORDS)

    @pytest.fixture(scope="class")
    def plan(self, site):
        priors = {f"mAP/{word}": ValueWithError(0.5, 0.18) for word in WORDS}
        priors["mAP"] = ValueWithError(0.5, 0.12)
        held = [np.mean(ranking.n_true > 0) for ranking in site.evaluation.rankings]
        objects = [r.n_true.sum() / np.sum(r.n_true > 0) for r in site.evaluation.rankings]
        plan = make_plan(site.pool, assistance_of(5), PlanRequest(20))
        return replace(plan, priors=priors, holding=np.array([held, objects]))

    def test_the_forecast_after_labels_starts_at_their_half_width(self, plan, site):
        estimate = estimate_with_labels(plan, label_set(site, plan.drawn))
        half = estimate.recommended.half_width()
        assert estimate.outlook.half_width(20) == pytest.approx(half, rel=1e-6)
        assert estimate.more_labels(half / 2) > 5
        assert estimate.outlook.half_width(20 + estimate.more_labels(half / 2)) <= half / 2

    def test_the_plan_promises_what_labels_give(self, plan, site):
        across = np.argsort(plan.predicted("mAP")[-1], kind="stable")
        reached = []
        for seed in range(8):
            drawn = replace(plan, sequence=balanced_order(across, seed=seed))
            estimate = estimate_with_labels(drawn, label_set(site, drawn.drawn))
            reached.append(estimate.recommended.half_width())
        assert plan.outlook.half_width(20) == pytest.approx(np.mean(reached), rel=0.3)

    def test_it_survives_the_file(self, plan, tmp_path):
        save_plan(plan, tmp_path)
        assert load_plan(tmp_path).outlook.half_width(20) == plan.outlook.half_width(20)

    def test_it_expects_missed_objects_too(self, plan, site):
        """Nearer to the labelled number than what boxes alone expect."""
        made = make_plan(site.pool, assistance_of(5), PlanRequest(20))
        found = made.n_pool * expected_holding(made.found, made.probabilities).prod(axis=0).sum()
        expected = made.n_objects.sum()
        true = sum(ranking.n_true.sum() for ranking in site.evaluation.rankings)
        assert abs(expected - true) < abs(found - true)


def in_frames(site, frames):
    """Each image of a site as so many frames of a video that show the same."""
    images = tuple(
        LabelledImage(name, name, (SIDE, SIDE))
        for name in (f"{k}.jpg" for k in range(frames * len(site.boxes.images)))
    )

    def repeated(boxes):
        image = (frames * boxes.image[:, None] + np.arange(frames)).ravel()
        rows = np.repeat(np.arange(len(boxes)), frames)
        return replace(boxes.where(rows), images=images, image=image)

    return replace(site, boxes=repeated(site.boxes), truth=repeated(site.truth))


class TestOfBlocks:
    """Forty labels in few blocks of time: the estimate counts a block once, and so its forecast."""

    @pytest.fixture(scope="class", params=["mAP", "mAP50", "recall@0.3"])
    def target(self, request):
        return request.param

    def plan_of(self, site, target, blocks, seed=0):
        priors = {"mAP": ValueWithError(0.5, 0.2), "mAP50": ValueWithError(0.7, 0.2)}
        priors["recall@0.3"] = ValueWithError(0.7, 0.2)
        request = PlanRequest(40, seed=seed)
        plan = make_plan(site.pool, assistance_of(5), request, targets=[target], blocks=blocks)
        return replace(plan, priors=priors)

    @pytest.mark.parametrize(("n_blocks", "frames"), [(5, 20), (20, 10)])
    def test_the_plan_promises_what_labels_of_few_blocks_give(self, target, n_blocks, frames):
        reached, forecast = [], []
        for seed in range(8):
            site = in_frames(make_site(10 + seed, n_images=n_blocks), frames)
            plan = self.plan_of(site, target, np.arange(n_blocks * frames) // frames, seed)
            estimate = estimate_with_labels(plan, label_set(site, plan.drawn))
            half = estimate.recommended.half_width()
            assert estimate.outlook.half_width(40) == pytest.approx(half, rel=1e-6)
            reached.append(half)
            forecast.append(plan.forecast(40))
        assert np.mean(forecast) == pytest.approx(np.mean(reached), rel=0.25)

    def test_without_blocks_no_number_changes(self, target):
        site = make_site(10, n_images=100)
        plan = self.plan_of(site, target, None)
        estimate = estimate_with_labels(plan, label_set(site, plan.drawn))
        for outlook in (plan.outlook, estimate.outlook):
            alone = replace(outlook, n_blocks=EACH_IMAGE)
            for k in (40, 50, 99):
                assert outlook.half_width(k) == alone.half_width(k)

    def test_further_frames_of_labelled_blocks_add_little(self, target):
        site = in_frames(make_site(10, n_images=20), 10)
        plan = self.plan_of(site, target, np.arange(200) // 10)
        alone = replace(plan.outlook, n_blocks=EACH_IMAGE)
        widths = [outlook.half_width(k) for outlook in (plan.outlook, alone) for k in (20, 80)]
        assert widths[0] / widths[1] < widths[2] / widths[3]
        estimate = estimate_with_labels(plan, label_set(site, plan.drawn))
        assert estimate.outlook.half_width(120) > 0.6 * estimate.recommended.half_width()


def test_a_single_block_leaves_the_estimate_without_labels():
    prior = ValueWithError(0.5, 0.1)
    outlook = Outlook(VariancePrior(0.04, 0.0), 9, prior, n_blocks=np.minimum(np.arange(10), 1))
    assert outlook.half_width(5) == pytest.approx(prior.half_width())
    assert outlook.half_width(9) == 0


def plan_at_threshold(likely, objects, image, measures, mixing):
    """Return a plan for boxes of these probabilities on these images, all over a threshold of .3.

    `objects` are those that are expected in each image.
    """
    n = len(objects)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(n))
    corners = np.tile([0.0, 0, 9, 9], (len(image), 1))
    label, scores = np.zeros(len(image), int), np.full(len(image), 0.9)
    return LabelPlan(
        Boxes(images, ("car",), image, label, corners, scores),
        ByImage.unknown(1, 3, n),
        holding=np.ones((2, 1)),
        sequence=np.arange(n),
        n=2,
        seed=0,
        order=BY_CHANCE,
        blocks=np.arange(n),
        mixing=mixing,
        small_sample_bias=0.0,
        priors={},
        target=f"{measures[0]}@0.3",
        level=0.9,
        detector="by hand",
        probabilities=likely,
        objects=ByImage.of([objects[None]], n),
        points=dict.fromkeys(measures, mixing),
    )


def test_the_law_at_a_threshold_is_the_variance_of_independent_boxes_and_misses():
    """By simulation: some three boxes an image, each right in .6 of cases, and 1.2 misses."""
    n, right, missed = 4000, 0.6, 1.2
    rng = np.random.default_rng(0)
    n_boxes = rng.poisson(3, n)
    hits = rng.binomial(n_boxes, right)
    counts = np.array([hits, n_boxes, hits + rng.poisson(missed, n)], float)
    at = np.repeat(np.arange(n), n_boxes)
    likely = right + rng.normal(0, 0.01, len(at))  # so that the prediction varies
    mixing = MixingWeights({MODEL: 1.0}, VariancePrior(1.0, 0.0), 0.5)  # and says nothing
    objects = np.bincount(at, likely, n) + missed
    plan = plan_at_threshold(likely, objects, at, ("precision", "f1"), mixing)
    for measure in ("precision", "f1"):
        value = value_of(measure, counts)
        prior = {f"{measure}@0.3": ValueWithError(value, 0.1)}
        forecast = replace(plan, target=f"{measure}@0.3", priors=prior).outlook
        variance = influence_on(measure, counts).var()
        assert forecast.per_image.variance == pytest.approx(variance, rel=0.06), measure


def test_a_forecast_at_a_threshold_lies_between_the_law_of_shares_and_the_prediction():
    """By hand: six images with a box and an object each, of probability .9 and .1 in turn."""
    n, likely = 6, np.tile([0.9, 0.1], 3)
    mixing = MixingWeights({MODEL: 1.0}, VariancePrior(2.0, DOF), 0.5)
    plan = plan_at_threshold(likely, np.ones(n), np.arange(n), ("precision",), mixing)
    of_prediction = 2.0 * 0.4**2 * 6 / 5  # the influence is .4 and -.4
    of_shares = 0.25 * 11 / 12  # one box an image, without a label-free estimate
    assert plan.outlook.per_image.variance == pytest.approx((of_prediction * of_shares) ** 0.5)
    sure = replace(plan, points={"precision": replace(mixing, residual=VariancePrior(2.0, 1e9))})
    assert sure.outlook.per_image.variance == pytest.approx(of_prediction)
