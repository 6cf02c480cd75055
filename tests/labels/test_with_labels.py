"""From labelled sites to label assistance, a plan, labels and an estimate, on made sites."""

import contextlib
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from label_worlds import SIDE, assistance_of, label_set, make_site

from autoeval.accuracy.measures import (
    OperatingPoint,
    image_counts,
    influence_function,
    influence_on,
    value_of,
)
from autoeval.boxes import Boxes
from autoeval.errors import InputError
from autoeval.estimation.label_planning import (
    PlanRequest,
    make_plan,
    with_boxes_over,
)
from autoeval.io.labels.content import BoxColumns
from autoeval.labels.assistance import REFERENCE, ProbableLabels, probability
from autoeval.labels.fit_assistance import fit_assistance
from autoeval.labels.labelled_estimate import estimate_with_labels
from autoeval.labels.plan import BY_TIME, inverse_probabilities
from autoeval.labels.plan_folder import load_plan, save_plan
from autoeval.labels.values import DOF, ValueWithError
from autoeval.model.calibration import ScoreCalibration
from autoeval.report.labels import about_label_free, labelled_heads
from autoeval.stability.fitting.meta_set import pack_set, unpack_set


@pytest.fixture(scope="module")
def assistance():
    return assistance_of(5)


@pytest.fixture(scope="module")
def site():
    return make_site(77, n_images=120)


@pytest.fixture(scope="module")
def plan(assistance, site):
    priors = {"mAP": ValueWithError(0.45, 0.09)}
    plan = make_plan(site.pool, assistance, PlanRequest(30))
    return replace(plan, priors=priors, detector="abc")


@pytest.fixture(scope="module")
def labels(plan, site):
    """Of all images that the plan drew."""
    return label_set(site, plan.drawn)


def warnings(plan, labels, **options):
    return " ".join(estimate_with_labels(plan, labels, **options).warnings)


def test_images_without_an_object_are_counted_among_those_that_the_plan_drew(plan, site):
    empty = {*range(120)} - {*site.truth.image.tolist()}
    drawn = empty & {*plan.drawn.tolist()}
    assert 0 < len(drawn) < len(empty)
    found = estimate_with_labels(plan, label_set(site, range(120))).warnings
    (notice,) = (notice for notice in found if notice.code == "empty-labelled-images")
    assert notice.startswith(f"{len(drawn)} of 30 ")
    assert site.boxes.images[min(drawn)].file_name in notice


def test_predicted_influence_goes_with_the_true_one(assistance, site):
    predicted = next(assistance.predict(site.pool)).mean(axis=0)
    assert predicted.mean() == pytest.approx(0, abs=1e-9)
    true = influence_function(site.evaluation.rankings[0]).mean(axis=0)
    assert np.corrcoef(predicted, true)[0, 1] > 0.3


def test_a_site_survives_storing(site):
    again = unpack_set(pack_set(site.pool, site.truth), "a", "b")
    assert again.evaluation.rankings[0].average_precision() == pytest.approx(
        site.evaluation.rankings[0].average_precision()
    )
    np.testing.assert_array_equal(again.pool.boxes, site.pool.boxes)
    with pytest.raises(InputError, match="cannot be read"):
        unpack_set(b"no", "a", "b")


def test_all_labels_give_the_truth(plan, site):
    whole = plan.larger(120)
    estimate = estimate_with_labels(whole, label_set(site, range(120)))
    truth = site.evaluation.rankings[0].average_precision()
    assert estimate.recommended.value == pytest.approx(truth.mean())
    assert estimate.recommended.error == 0
    assert estimate.whole["mAP50"].sample.value == pytest.approx(truth[0])
    assert estimate.whole["mAP75"].sample.value == pytest.approx(truth[5])
    assert estimate.more_labels(0.01) == 0
    assert [size for size, _ in estimate.history] == [120]  # nothing is estimated anew
    every = estimate_with_labels(whole, label_set(site, range(120)), planned=False)
    assert "no-plan" not in {warning.code for warning in every.warnings}  # no image is left to draw
    some = estimate_with_labels(whole, label_set(site, range(60)), planned=False)
    assert "no-plan" in {warning.code for warning in some.warnings}


def test_over_a_threshold_without_a_box_precision_is_not_defined(plan, site):
    estimate = estimate_with_labels(plan, label_set(site, plan.drawn), score_thr=0.9999)
    text = labelled_heads(estimate)[0]
    assert "precision@0.9999: not defined, no box of the labelled images is over" in text
    assert "recall@0.9999: 0.0 ± 0.0" in text


def test_the_order_in_which_labels_list_their_images_changes_nothing(plan, site):
    """From 30 labels on slopes are cross-fitted, in folds that were of neighbours in the file."""
    whole = plan.larger(60)
    listed = estimate_with_labels(whole, label_set(site, whole.drawn))
    rising = estimate_with_labels(whole, label_set(site, sorted(whole.drawn)))
    falling = estimate_with_labels(whole, label_set(site, sorted(whole.drawn, reverse=True)))
    assert listed.to_dict() == rising.to_dict() == falling.to_dict()


def test_a_prior_with_another_interval_than_the_label_free_estimate_says_so(assistance, site):
    """An error measured elsewhere has degrees of freedom; a stated one has a normal interval."""
    for prior, differs in ((ValueWithError(0.4, 0.1, 6), True), (ValueWithError(0.4, 0.1), False)):
        plan = make_plan(site.pool, assistance, PlanRequest(20))
        plan = replace(plan, priors={"mAP": prior})
        estimate = estimate_with_labels(plan, label_set(site, plan.drawn))
        assert bool(about_label_free(estimate)) == differs


def test_few_labels_come_near_the_truth(plan, site, labels):
    estimate = estimate_with_labels(plan, labels)
    truth = site.evaluation.rankings[0].average_precision().mean()
    assert estimate.n_labelled == 30
    assert abs(estimate.recommended.value - truth) < 3 * estimate.recommended.error
    assert estimate.recommended.error < estimate.whole["mAP"].prior.error
    sizes = [size for size, _ in estimate.history]
    assert sizes[0] == 5 and sizes[-1] == 30 and len(sizes) <= 20
    assert estimate.history[-1][1].combined == estimate.whole["mAP"].combined
    assert estimate.more_labels(0.02) > estimate.more_labels(0.03)
    json.dumps(estimate.to_dict(), allow_nan=False)


def test_images_that_were_uploaded_to_label_studio_are_recognised(plan, labels):
    ids = {image.image_id: str(k) for k, image in enumerate(labels.images)}
    images = [
        replace(image, image_id=ids[image.image_id], file_name=f"images/{k:08x}-{image.file_name}")
        for k, image in enumerate(labels.images)
    ]
    boxes = [replace(box, image_id=ids[box.image_id]) for box in labels.boxes]
    renamed = replace(labels, images=tuple(images), boxes=BoxColumns.of(boxes))
    lines = str(estimate_with_labels(plan, renamed)).splitlines()
    assert "Label Studio" in lines[-1]  # says how they were matched
    assert lines[:-1] == str(estimate_with_labels(plan, labels)).splitlines()


def test_labels_that_confident_boxes_contradict_give_a_warning(plan, labels):
    def warned(boxes):
        return warnings(plan, replace(labels, boxes=BoxColumns.of(boxes)))

    boxes, n = labels.boxes, len(labels.boxes)
    for said in ("labelled boxes lie", "are true positives", "px"):
        assert said not in warned(boxes)
    assert f"{2 * n} of {2 * n} labelled boxes lie" in warned([*boxes, *boxes])
    assert "do the labels miss objects" in warned(boxes[::2])
    left = [replace(b, xywh=(b.xywh[0] - 9, *b.xywh[1:])) for b in boxes]
    assert "px (to the right)" in warned(left)
    small = [replace(b, xywh=tuple(np.array(b.xywh) / SIDE)) for b in boxes]
    with pytest.raises(InputError, match="do not belong together"):
        warned(small)


def test_all_of_few_images_are_not_too_few(assistance):
    one = make_site(3, n_images=4)
    plan = make_plan(one.pool, assistance, PlanRequest(4))
    for images, expected in ((range(4), False), (range(3), True)):
        estimate = estimate_with_labels(plan, label_set(one, images), planned=False)
        assert ("few-labels" in [of.code for of in estimate.warnings]) == expected


def test_labels_that_a_tool_numbered_anew_are_refused(plan, site, labels):
    """By their ids they are other images, of which the plan drew few: too few to show it."""
    pool = [image.image_id for image in plan.found.images]
    drawn = {pool[k] for k in plan.drawn}
    few = len([name for name in pool[:30] if name in drawn])
    assert 0 < few < 10
    ids = dict(zip([image.image_id for image in labels.images], pool[:30], strict=True))
    images = [
        replace(image, image_id=ids[image.image_id], file_name=f"frame_{k:06}.PNG")
        for k, image in enumerate(labels.images)
    ]
    boxes = [replace(box, image_id=ids[box.image_id]) for box in labels.boxes]
    renamed = replace(labels, images=tuple(images), boxes=BoxColumns.of(boxes))
    with pytest.raises(InputError, match="do not belong together"):
        estimate_with_labels(plan, renamed)


def test_a_plan_survives_its_file_and_grows(plan, labels, tmp_path):
    save_plan(plan, tmp_path)
    again = load_plan(tmp_path)
    assert str(estimate_with_labels(again, labels)) == str(estimate_with_labels(plan, labels))
    assert set(plan.drawn) < set(again.larger(50).drawn)
    with pytest.raises(InputError, match="of 30"):
        again.larger(20)
    document = json.loads((tmp_path / "plan.json").read_text())
    (tmp_path / "plan.json").write_text(json.dumps(document | {"format": 6}))
    with pytest.raises(InputError, match="another version"):
        load_plan(tmp_path)
    (tmp_path / "plan.json").write_text("null")
    with pytest.raises(InputError, match="another version"):
        load_plan(tmp_path)
    (tmp_path / "plan.json").write_text(json.dumps(document))
    content = (tmp_path / "pool.npz").read_bytes()
    refused = 0
    for place in range(100, len(content), len(content) // 40):  # in a stream, a name, a checksum
        damaged = content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]
        (tmp_path / "pool.npz").write_bytes(damaged)
        with contextlib.suppress(InputError):
            load_plan(tmp_path)
            continue
        refused += 1
    assert refused > 30
    (tmp_path / "pool.npz").write_bytes(b"no")
    with pytest.raises(InputError, match="cannot be read"):
        load_plan(tmp_path)
    with pytest.raises(InputError, match="No plan"):
        load_plan(tmp_path / "nowhere")


def test_frames_are_drawn_apart_and_counted_as_clusters(assistance, site):
    blocks = np.arange(120) // 40
    plan = make_plan(site.pool, assistance, PlanRequest(12), blocks=blocks)
    assert plan.order == BY_TIME
    assert np.bincount(blocks[plan.drawn]).tolist() == pytest.approx([4, 4, 4], abs=1)
    estimate = estimate_with_labels(plan, label_set(site, plan.drawn))
    assert (
        estimate.whole["mAP"].sample.dof == 2 + DOF
    )  # three clusters, and the variance by objects


class TestBadLabels:
    def test_images_outside_the_pool(self, plan, labels):
        stray = replace(labels.images[0], image_id="x.jpg", file_name="x.jpg")
        more = replace(labels, images=(*labels.images, stray))
        assert "not in the pool, left out: 1 (x.jpg)" in warnings(plan, more)
        with pytest.raises(InputError, match="None of the 1 labelled images"):
            estimate_with_labels(plan, replace(labels, images=(stray,), boxes=BoxColumns.of([])))

    def test_images_outside_the_draw(self, plan, site):
        more = label_set(site, [*plan.drawn, plan.sequence[40]])
        assert "did not draw, left out: 1" in warnings(plan, more)
        assert estimate_with_labels(plan, more).n_labelled == 30
        assert "simple random draw" in warnings(plan, more, planned=False)
        assert estimate_with_labels(plan, more, planned=False).n_labelled == 31

    def test_only_images_outside_the_draw_are_refused(self, plan, site):
        others = np.setdiff1d(np.arange(plan.n_pool), plan.drawn)[:5]
        with pytest.raises(InputError, match="drew none of the 5 labelled images"):
            estimate_with_labels(plan, label_set(site, others))

    def test_planned_images_without_labels(self, plan, site):
        some = label_set(site, plan.drawn[:25])
        assert "5 of 30 planned images are not labelled" in warnings(plan, some)

    def test_an_image_labelled_twice(self, plan, labels):
        again = replace(labels.images[0], image_id="again")
        with pytest.raises(InputError, match="labelled twice"):
            estimate_with_labels(plan, replace(labels, images=(*labels.images, again)))

    def test_only_empty_images(self, plan, labels):
        none = replace(labels, boxes=BoxColumns.of([]))
        # of which precision would be 0: labels that nobody has made yet look the same
        for target in ("mAP", "recall@0.3", "precision@0.3"):
            with pytest.raises(InputError, match=r"None of the 30 labelled images .*\(car\)"):
                estimate_with_labels(replace(plan, target=target, score_thr=0.3), none)

    def test_other_words(self, plan, labels):
        boxes = BoxColumns.of([replace(box, category="van") for box in labels.boxes])
        vans = replace(labels, categories=("van",), boxes=boxes)
        with pytest.raises(InputError, match="--words"):
            estimate_with_labels(plan, vans)
        expected = estimate_with_labels(plan, labels).recommended
        for words in ({"van": "car"}, {"Van": "Car"}):  # however they are spelt
            assert estimate_with_labels(plan, vans, words=words).recommended == expected

    def test_few_labels_lean_on_the_prior(self, plan, site):
        few = label_set(site, plan.drawn[:5])
        assert "too few for an interval of their own" in warnings(plan, few)


def test_a_category_that_is_not_seen_moves_with_the_level_alone(assistance, monkeypatch):
    """By hand: errors .1 of each and .1 of their mean are one error, alike in both categories.

    The excess of rare categories is left out: what is not seen is rarer than what is.
    """
    monkeypatch.setattr("autoeval.labels.joint.SMALL_SAMPLE_BIAS_STD", 0.0)
    site = make_site(5, n_images=80, categories=("car", "bus"))
    means = {"mAP": 0.4, "mAP/car": 0.5, "mAP/bus": 0.3}
    only_cars = replace(site, truth=site.truth.where(site.truth.label == 0))

    def estimate(error_of_mean):
        priors = {name: ValueWithError(value, 0.1) for name, value in means.items()}
        priors["mAP"] = ValueWithError(0.4, error_of_mean)
        plan = make_plan(site.pool, assistance, PlanRequest(20))
        holding = np.array([[0.5] * 2, [1.0] * 2])
        plan = replace(plan, priors=priors, small_sample_bias=0.0, holding=holding)
        return estimate_with_labels(plan, label_set(only_cars, plan.drawn))

    shared = estimate(0.1)
    assert (shared.n_measured, shared.by_category["bus"].measured) == (1, False)
    car, bus = (shared.by_category[name].combined.estimate for name in ("car", "bus"))
    assert bus.value - 0.3 == pytest.approx(car.value - 0.5)
    assert shared.recommended.value == pytest.approx((car.value + bus.value) / 2)
    assert "labels measure 1 of 2 categories" in " ".join(shared.warnings)
    apart = estimate(0.1 / math.sqrt(2)).by_category["bus"].combined.estimate
    assert apart.value == pytest.approx(0.3) and apart.error == pytest.approx(0.1)


def test_the_value_is_the_mean_of_the_possible_values_of_categories(assistance, monkeypatch):
    """By hand: errors .3 are one error, and labels that lower cars take buses from .1 below 0."""
    monkeypatch.setattr("autoeval.labels.joint.SMALL_SAMPLE_BIAS_STD", 0.0)
    site = make_site(5, n_images=80, categories=("car", "bus"))
    only_cars = replace(site, truth=site.truth.where(site.truth.label == 0))
    means = {"mAP": 0.5, "mAP/car": 0.9, "mAP/bus": 0.1}
    priors = {name: ValueWithError(value, 0.3) for name, value in means.items()}
    plan = make_plan(site.pool, assistance, PlanRequest(20))
    holding = np.array([[0.5] * 2, [1.0] * 2])
    plan = replace(plan, priors=priors, small_sample_bias=0.0, holding=holding)
    estimate = estimate_with_labels(plan, label_set(only_cars, plan.drawn))
    car, bus = (estimate.per_category[name] for name in ("car", "bus"))
    assert 0 < car["value"] < 0.8 and bus["value"] == 0  # buses: .1 less more than .1
    assert estimate.value == pytest.approx(car["value"] / 2, abs=1e-12)
    half = estimate.recommended.half_width(0.9)
    assert estimate.interval == pytest.approx(
        (max(estimate.value - half, 0), estimate.value + half), abs=1e-12
    )
    bus_half = estimate.by_category["bus"].combined.estimate.half_width(0.9)
    assert (bus["lower"], bus["upper"]) == pytest.approx((0, bus_half), abs=1e-12)
    table = estimate.to_pandas().set_index("category")
    assert table["value"].to_dict() == {"": estimate.value, "car": car["value"], "bus": 0}
    assert estimate.history[-1][1].combined.estimate == estimate.recommended


class TestThreeCategoriesOfWhichLabelsMeasureTwo:
    @pytest.fixture(scope="class")
    def estimated(self, assistance):
        """Estimate with priors of the two, and more."""
        site = make_site(5, n_images=80, categories=("car", "bus", "van"))
        seen = replace(site, truth=site.truth.where(site.truth.label < 2))
        of_two = {f"mAP/{name}": ValueWithError(0.5, 0.15) for name in ("car", "bus")}

        def estimate(more):
            plan = make_plan(site.pool, assistance, PlanRequest(30))
            holding = np.array([[0.5] * 3, [1.0] * 3])
            plan = replace(plan, priors=of_two | more, holding=holding)
            return estimate_with_labels(plan, label_set(seen, plan.drawn))

        return estimate

    def test_a_category_without_any_estimate_gets_that_of_the_others_and_widens_the_mean(
        self, estimated
    ):
        estimate = estimated({})
        same = estimated({"mAP/van": ValueWithError(0.5, 0.25)})
        assert estimate.n_measured == 2
        assert estimate.recommended.value == pytest.approx(same.recommended.value, abs=0.02)
        assert estimate.recommended.error > 0.2 / 3
        assert estimate.by_category["van"].combined.estimate.error > 0.2

    def test_it_gets_what_the_label_free_mean_leaves(self, estimated):
        """By hand: 3 * .4 - 2 * .5 = .2."""
        van = estimated({"mAP": ValueWithError(0.4, 0.05)}).by_category["van"]
        same = estimated(
            {"mAP": ValueWithError(0.4, 0.05), "mAP/van": ValueWithError(0.2, 0.25)}
        ).by_category["van"]
        assert van.combined.estimate.value == pytest.approx(same.combined.estimate.value)


def test_a_contradicted_prior_is_left_out_with_a_warning(assistance, site):
    plan = make_plan(site.pool, assistance, PlanRequest(40))
    plan = replace(plan, priors={"mAP": ValueWithError(0.99, 0.02)})
    estimate = estimate_with_labels(plan, label_set(site, plan.drawn))
    assert estimate.whole["mAP"].combined.conflict
    assert "contradict" in " ".join(estimate.warnings)


def test_without_a_prior_labels_stand_alone(assistance, site):
    plan = make_plan(site.pool, assistance, PlanRequest(20))
    estimates = estimate_with_labels(plan, label_set(site, plan.drawn)).whole["mAP"]
    assert estimates.combined.estimate.interval() == pytest.approx(estimates.difference.interval())
    assert math.isnan(estimates.prior.value)


class TestAtAThreshold:
    @pytest.fixture(scope="class")
    def two(self):
        return make_site(9, n_images=120, categories=("car", "bus"))

    @pytest.fixture(scope="class")
    def plan(self, assistance, two):
        priors = dict.fromkeys(["recall@0.4", "recall@0.4/car"], ValueWithError(0.6, 0.2))
        plan = make_plan(two.pool, assistance, PlanRequest(30), targets=["recall@0.4"])
        return replace(plan, priors=priors)

    def test_all_labels_give_the_truth_of_each_category_and_of_all_together(self, plan, two):
        estimate = estimate_with_labels(plan.larger(120), label_set(two, range(120)))
        counts = [image_counts(ranking, 0.4) for ranking in two.evaluation.rankings]
        for name in ("precision", "recall", "f1"):
            whole = estimate.whole[f"{name}@0.4"].combined.estimate
            assert whole.value == pytest.approx(value_of(name, np.sum(counts, axis=0)))
            assert whole.error == 0
        car = estimate.by_category["car"].combined.estimate.value
        assert car == pytest.approx(value_of("recall", counts[0]))
        assert estimate.whole["mAP"].sample.value == pytest.approx(
            np.mean([ranking.average_precision().mean() for ranking in two.evaluation.rankings])
        )

    def test_few_labels_come_near_the_truth_and_nearer_with_the_predictions(self, plan, two):
        counts = np.sum([image_counts(ranking, 0.4) for ranking in two.evaluation.rankings], axis=0)
        predicted = plan.predicted("recall@0.4")[-1]
        assert np.corrcoef(predicted, influence_on("recall", counts))[0, 1] > 0.2
        estimate = estimate_with_labels(plan, label_set(two, plan.drawn))
        truth = value_of("recall", counts)
        assert abs(estimate.recommended.value - truth) < 3 * estimate.recommended.error
        assert estimate.recommended.error < 0.1

    def test_expected_counts_are_sums_of_probabilities_of_boxes_over_the_threshold(self, plan):
        expected = plan.expected_counts(OperatingPoint("recall", 0.4))[1]
        mine = (plan.found.label == 1) & (plan.found.scores > 0.4) & (plan.found.image == 7)
        assert expected[0, 7] == pytest.approx(plan.probabilities[mine].sum(), rel=1e-5)
        assert expected[1, 7] == mine.sum()
        assert expected[2, 7] == pytest.approx(plan.objects[0][1, 7])

    def test_any_threshold_can_be_estimated_from_a_plan_of_another(self, plan, two, tmp_path):
        save_plan(plan, tmp_path)
        labels = label_set(two, plan.drawn)
        estimate, same = (
            estimate_with_labels(same_plan, labels, score_thr=0.7)
            for same_plan in (load_plan(tmp_path), plan)
        )
        assert estimate.whole["recall@0.7"] == same.whole["recall@0.7"]
        assert not estimate.whole["recall@0.7"].prior.known
        assert "recall@0.7" in str(estimate)

    @pytest.mark.parametrize("n", [1, 2, 6])
    def test_recall_and_f1_are_0_where_no_box_is_over_the_threshold(self, plan, two, n):
        """By definition, as without labels; with fewer than three labels they were NaN."""
        highest = 0.97
        assert two.pool.scores.max() < highest
        labels = label_set(two, plan.drawn[:n])
        estimate = estimate_with_labels(plan, labels, score_thr=highest)
        for measure in ("recall", "f1"):
            recommended = estimate.whole[f"{measure}@{highest:g}"].combined.estimate
            assert (recommended.value, recommended.error) == (0, 0)
        assert not estimate.whole[f"precision@{highest:g}"].combined.estimate.known

    def test_a_plan_without_probabilities_and_one_for_another_iou(self, plan, two):
        labels = label_set(two, plan.drawn)
        old = replace(plan, probabilities=None, target="mAP", score_thr=None)
        assert estimate_with_labels(old, labels).recommended.known
        with pytest.raises(InputError, match="fit again"):
            estimate_with_labels(old, labels, score_thr=0.4)
        with pytest.raises(InputError, match=r"IoU of 0\.5, not 0\.75"):
            plan.predicted("recall@0.4:0.75")

    def test_a_plan_for_precision_draws_images_with_a_box_alone(self, assistance, two):
        over = 0.7
        holding = {int(image) for image in two.pool.image[two.pool.scores > over]}
        images, (note,) = with_boxes_over(two.pool, None, over)
        assert images.tolist() == sorted(holding) and 3 < len(holding) < len(two)
        assert f"{120 - len(holding)} of 120 images have no box over 0.7" in note
        pool, inside = two.pool.on_images(images), np.isin(two.pool.image, images)
        assert (pool.features == two.pool.features[inside]).all()

        plan = make_plan(pool, assistance, PlanRequest(len(images)), targets=[f"precision@{over}"])
        for threshold in (over, 0.8):
            counts = np.sum(
                [image_counts(ranking, threshold) for ranking in two.evaluation.rankings], axis=0
            )
            estimates = estimate_with_labels(plan, label_set(two, range(120)), score_thr=threshold)
            estimate = estimates.whole[f"precision@{threshold}"].combined.estimate
            assert estimate.value == pytest.approx(value_of("precision", counts))
            assert estimate.error == 0
        assert set(estimates.whole) == {f"precision@{over}", "precision@0.8"}
        with pytest.raises(InputError, match=r"measure nothing at 0\.4"):
            estimate_with_labels(plan, label_set(two, range(120)), score_thr=0.4)

    @pytest.mark.parametrize(("cut", "severity"), [(True, "note"), (False, "warning")])
    def test_labels_of_other_images_are_a_note_where_the_plan_left_images_out(
        self, assistance, two, cut, severity
    ):
        """A plan of a difference has all images, so that its labels are of none that it lacks."""
        images, notes = with_boxes_over(two.pool, None, 0.7)
        pool = two.pool.on_images(images) if cut else two.pool
        plan = make_plan(pool, assistance, PlanRequest(20), targets=["precision@0.7"])
        plan = replace(plan, warnings=notes if cut else (), cut=cut)
        labels = label_set(two, range(120))
        stray = replace(labels.images[0], image_id="x.jpg", file_name="x.jpg")
        more = replace(labels, images=(*labels.images, stray))
        found = estimate_with_labels(plan, more, planned=False).warnings
        (notice,) = (of for of in found if of.code == "images-not-in-pool")
        assert notice.severity == severity and ("no box over 0.7" in notice) == cut
        with pytest.raises(InputError, match="box over 0.7" if cut else "as they were.$"):
            estimate_with_labels(plan, replace(labels, images=(stray,)), planned=False)

    def test_where_every_image_has_a_box_nothing_is_left_out(self, two):
        images, notes = with_boxes_over(two.pool, None, 0.001)
        assert len(images) == len(two) and notes == ()


def labels_as_boxes(site, probability=1.0):
    """The labels of a site as the boxes of a reference detector that is always right."""
    truth = site.truth
    boxes, scores = truth.boxes.astype(np.float32), np.full(len(truth.image), 0.9, np.float32)
    found = site.pool
    label_boxes = Boxes(found.images, found.categories, truth.image, truth.label, boxes, scores)
    return ProbableLabels(label_boxes, np.full(len(scores), probability))


def test_boxes_of_a_perfect_reference_rank_as_labels_do(site):
    (ranking,), (true,) = labels_as_boxes(site).rankings(site.pool), site.evaluation.rankings
    np.testing.assert_array_equal(ranking.image, true.image)
    np.testing.assert_allclose(ranking.hits, true.hits)
    np.testing.assert_allclose(ranking.average_precision(), true.average_precision())
    three = make_site(8, categories=("car", "bus", "van"))
    each = labels_as_boxes(three).rankings(three.pool)
    for ranking, labelled in zip(each, three.evaluation.rankings, strict=True):
        np.testing.assert_allclose(ranking.average_precision(), labelled.average_precision())
        np.testing.assert_allclose(ranking.n_true, labelled.n_true)
    half = labels_as_boxes(site, 0.5).rankings(site.pool)[0]
    np.testing.assert_allclose(half.hits, 0.5 * true.hits)
    np.testing.assert_allclose(half.n_true, 0.5 * true.n_true)


def test_disagreement_by_hand(site):
    """A box that is right with .7 and matched to .9 counts .2; one without a match .7."""
    pool = site.pool
    detected = replace(
        pool,
        image=np.array([0, 1]),
        label=np.array([0, 0]),
        boxes=np.array([[0, 0, 10, 10], [0, 0, 10, 10]], np.float32),
        scores=np.array([0.8, 0.8], np.float32),
        crowd=np.zeros(2, bool),
    )
    other = replace(
        detected,
        image=np.array([0, 2]),
        boxes=np.array([[0, 0, 10, 9], [50, 50, 60, 60]], np.float32),
    )
    counted = ProbableLabels(other, np.array([0.9, 0.4])).disagreement(
        detected, np.array([0.7, 0.7])
    )
    assert counted.shape == (len(pool.categories), len(pool.images))
    assert counted[0, :3] == pytest.approx([0.2, 0.7, 0.4])
    assert counted.sum() == pytest.approx(1.3)
    moved = replace(other, boxes=np.array([[0, 0, 10, 8.2], [50, 50, 60, 60]], np.float32))
    counted = ProbableLabels(moved, np.array([0.9, 0.4])).disagreement(
        detected, np.array([0.7, 0.7]), range(10)
    )
    of_first = 0.7 * 0.2 + 0.3 * (0.7 + 0.9)  # IoU .82: matched at seven thresholds of ten
    assert counted[0, :3] == pytest.approx([of_first, 0.7, 0.4])


@pytest.fixture(scope="module")
def with_reference():
    """Label assistance that was fitted with a perfect reference."""
    sites = [make_site(seed) for seed in range(5)]
    for k, labelled in enumerate(sites):
        reference = labels_as_boxes(labelled)
        sites[k] = replace(
            labelled,
            reference=reference.boxes,
            reference_calibration=ScoreCalibration(np.zeros((10, 3)), np.zeros(3)),
            reference_probabilities=reference.probabilities,
        )
    return fit_assistance(sites)


def test_a_reference_predicts_the_influence_of_images(with_reference, assistance, site):
    assert REFERENCE in with_reference.mixing and REFERENCE not in assistance.mixing
    boxes = labels_as_boxes(site)
    predicted = next(with_reference.predict(site.pool, boxes)).mean(axis=0)
    true = influence_function(site.evaluation.rankings[0]).mean(axis=0)
    assert np.corrcoef(predicted, true)[0, 1] > 0.95
    without = next(with_reference.predict(site.pool)).mean(axis=0)
    np.testing.assert_allclose(without, next(assistance.predict(site.pool)).mean(axis=0))


def test_images_on_which_a_reference_disagrees_are_drawn_more_often(with_reference, site, tmp_path):
    boxes = labels_as_boxes(site)
    priors = {"mAP": ValueWithError(0.45, 0.09)}
    plan = make_plan(site.pool, with_reference, PlanRequest(20), reference_boxes=boxes)
    plan = replace(plan, priors=priors)
    assert plan.sizes.mean() == pytest.approx(1) and plan.sizes.min() >= 0.5
    right = probability(with_reference.box_model.true_positive, site.pool.features)[0]
    counted = boxes.disagreement(site.pool, right).sum(axis=0)
    assert np.corrcoef(plan.sizes, counted)[0, 1] == pytest.approx(1)
    assert counted[plan.drawn].mean() > counted.mean()
    save_plan(plan, tmp_path)
    again = load_plan(tmp_path)
    np.testing.assert_array_equal(again.sizes, plan.sizes)
    document = json.loads((tmp_path / "plan.json").read_text())
    expected = 1 / inverse_probabilities(plan.sizes, plan.drawn)
    assert document["probabilities"] == pytest.approx(expected.tolist(), abs=1e-6)
    assert "probability" not in document
    request = PlanRequest(20, everywhere=True)
    equal = make_plan(site.pool, with_reference, request, reference_boxes=boxes)
    assert equal.sizes is None
    request, target = PlanRequest(20), "recall@0.3"
    at_threshold = make_plan(
        site.pool, with_reference, request, targets=[target], reference_boxes=boxes
    )
    assert at_threshold.sizes is None


def test_labels_count_by_the_inverse_of_their_probability(with_reference, site):
    boxes = labels_as_boxes(site)
    plan = make_plan(site.pool, with_reference, PlanRequest(20), reference_boxes=boxes)
    labels = label_set(site, plan.drawn)
    estimate = estimate_with_labels(plan, labels)
    images = np.sort(plan.drawn)
    expected = (
        site.evaluation.rankings[0]
        .take(images)
        .average_precision(inverse_probabilities(plan.sizes, images))
        .mean()
    )
    assert estimate.whole["mAP"].sample.value == pytest.approx(expected)
    plain = site.evaluation.rankings[0].take(images).average_precision().mean()
    assert plain != pytest.approx(expected)
    simple = estimate_with_labels(plan, labels, planned=False)  # taken as a simple random sample
    assert simple.whole["mAP"].sample.value == pytest.approx(plain)
    every = estimate_with_labels(plan.larger(120), label_set(site, range(120)))
    assert every.recommended.value == pytest.approx(
        site.evaluation.rankings[0].average_precision().mean()
    )
