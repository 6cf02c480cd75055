"""From places to an aid, a plan, labels and an estimate, on a made world."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from label_worlds import SIDE, label_set, make_place

from autoeval.errors import InputError
from autoeval.estimation.labels.aid import LabelAid
from autoeval.estimation.labels.fit_aid import fit_aid
from autoeval.estimation.labels.plan import BY_TIME, make_plan
from autoeval.estimation.labels.plan_file import load_plan, save_plan
from autoeval.estimation.labels.stored import pack_place, unpack_place
from autoeval.estimation.labels.value_with_error import ValueWithError
from autoeval.estimation.labels.with_labels import estimate_with_labels


@pytest.fixture(scope="module")
def aid():
    return fit_aid([make_place(seed) for seed in range(5)])


@pytest.fixture(scope="module")
def place():
    return make_place(77, n_images=120)


@pytest.fixture
def plan(aid, place):
    return make_plan(
        place.pool, aid, n=30, priors={"mAP": ValueWithError(0.45, 0.09)}, detector="abc"
    )


def test_predicted_influence_goes_with_the_true_one(aid, place):
    from autoeval.estimation.labels.places import true_influence

    predicted = aid.predict(place.pool)[0].mean(axis=0)
    assert predicted.mean() == pytest.approx(0, abs=1e-9)
    assert np.corrcoef(predicted, true_influence(place.rankings[0]))[0, 1] > 0.3


def test_an_aid_survives_json(aid, place):
    again = LabelAid.from_dict(json.loads(json.dumps(aid.to_dict())))
    assert again.mixes == aid.mixes
    assert (again.predict(place.pool)[0] == aid.predict(place.pool)[0]).all()
    assert len(json.dumps(aid.to_dict())) < 20_000


def test_a_place_survives_storing(place):
    again = unpack_place(pack_place(place.pool, place.truth), "a", "b")
    assert again.rankings[0].average_precision() == pytest.approx(
        place.rankings[0].average_precision()
    )
    assert np.abs(again.pool.features - place.pool.features).max() < 1e-5
    with pytest.raises(InputError, match="cannot be read"):
        unpack_place(b"no", "a", "b")


def test_one_family_teaches_nothing():
    with pytest.raises(InputError, match="at least 2 families"):
        fit_aid([make_place(1)])


def test_all_labels_give_the_truth(plan, place):
    whole = plan.larger(120)
    found = estimate_with_labels(whole, label_set(place, range(120)))
    truth = place.rankings[0].average_precision()
    assert found.recommended.value == pytest.approx(truth.mean())
    assert found.recommended.error == 0
    assert found.whole["mAP50"].labels.value == pytest.approx(truth[0])
    assert found.whole["mAP75"].labels.value == pytest.approx(truth[5])
    assert found.more_labels(0.01) == 0


def test_few_labels_come_near_the_truth(plan, place):
    found = estimate_with_labels(plan, label_set(place, plan.drawn))
    truth = place.rankings[0].average_precision().mean()
    assert found.n_labelled == 30
    assert abs(found.recommended.value - truth) < 3 * found.recommended.error
    assert found.recommended.error < found.whole["mAP"].prior.error
    sizes = [size for size, _ in found.history]
    assert sizes == [5, 10, 15, 20, 25, 30]
    assert found.history[-1][1].combined == found.whole["mAP"].combined
    assert found.more_labels(0.02) > found.more_labels(0.03)
    json.dumps(found.to_dict(), allow_nan=False)


def test_labels_that_confident_boxes_speak_against_are_doubted(plan, place):
    labels = label_set(place, plan.drawn)

    def doubts(boxes):
        return " ".join(estimate_with_labels(plan, replace(labels, boxes=tuple(boxes))).doubts)

    assert "labelled boxes lie" not in doubts(labels.boxes)
    assert "are right by the labels" not in doubts(labels.boxes)
    n = len(labels.boxes)
    assert f"{2 * n} of {2 * n} labelled boxes lie" in doubts([*labels.boxes, *labels.boxes])
    assert "do the labels miss objects" in doubts(labels.boxes[::2])
    small = np.array([box.xywh for box in labels.boxes]) / SIDE
    assert re.search(
        "0% of the .* are right by the labels",
        doubts(replace(b, xywh=tuple(s)) for b, s in zip(labels.boxes, small, strict=True)),
    )


def test_a_plan_survives_its_file_and_grows(plan, place, tmp_path):
    save_plan(plan, tmp_path)
    again = load_plan(tmp_path)
    labels = label_set(place, plan.drawn)
    assert str(estimate_with_labels(again, labels)) == str(estimate_with_labels(plan, labels))
    assert set(plan.drawn) < set(again.larger(50).drawn)
    with pytest.raises(InputError, match="of 30"):
        again.larger(20)
    (tmp_path / "pool.npz").write_bytes(b"no")
    with pytest.raises(InputError, match="cannot be read"):
        load_plan(tmp_path)
    with pytest.raises(InputError, match="No plan"):
        load_plan(tmp_path / "nowhere")


def test_frames_are_drawn_apart_and_counted_as_clusters(aid, place):
    blocks = np.arange(120) // 40
    plan = make_plan(place.pool, aid, n=12, priors={}, blocks=blocks)
    assert plan.order == BY_TIME
    assert np.bincount(blocks[plan.drawn]).tolist() == pytest.approx([4, 4, 4], abs=1)
    found = estimate_with_labels(plan, label_set(place, plan.drawn))
    assert found.whole["mAP"].labels.dof == 2  # three clusters


class TestBadLabels:
    def test_images_outside_the_pool(self, plan, place):
        labels = label_set(place, plan.drawn)
        stray = replace(labels.images[0], image_id="x.jpg", file_name="x.jpg")
        found = estimate_with_labels(plan, replace(labels, images=(*labels.images, stray)))
        assert any("not in the pool, left out: 1 (x.jpg)" in doubt for doubt in found.doubts)
        with pytest.raises(InputError, match="None of the 1 labelled images"):
            estimate_with_labels(plan, replace(labels, images=(stray,), boxes=()))

    def test_images_outside_the_draw(self, plan, place):
        other = plan.sequence[40]
        found = estimate_with_labels(plan, label_set(place, [*plan.drawn, other]))
        assert found.n_labelled == 30
        assert any("did not draw, left out: 1" in doubt for doubt in found.doubts)
        free = estimate_with_labels(plan, label_set(place, [*plan.drawn, other]), planned=False)
        assert free.n_labelled == 31
        assert any("simple random draw" in doubt for doubt in free.doubts)

    def test_planned_images_without_labels(self, plan, place):
        found = estimate_with_labels(plan, label_set(place, plan.drawn[:25]))
        assert any("5 of 30 planned images are not labelled" in doubt for doubt in found.doubts)

    def test_an_image_labelled_twice(self, plan, place):
        labels = label_set(place, plan.drawn)
        again = replace(labels.images[0], image_id="again")
        with pytest.raises(InputError, match="labelled twice"):
            estimate_with_labels(plan, replace(labels, images=(*labels.images, again)))

    def test_only_empty_images(self, plan, place):
        labels = replace(label_set(place, plan.drawn), boxes=())
        with pytest.raises(InputError, match="None of the 30 labelled images holds a car"):
            estimate_with_labels(plan, labels)

    def test_other_words(self, plan, place):
        labels = label_set(place, plan.drawn)
        vans = tuple(replace(box, category="van") for box in labels.boxes)
        with pytest.raises(InputError, match="--words"):
            estimate_with_labels(plan, replace(labels, categories=("van",), boxes=vans))
        told = estimate_with_labels(
            plan, replace(labels, categories=("van",), boxes=vans), words={"van": "car"}
        )
        assert told.recommended == estimate_with_labels(plan, labels).recommended

    def test_few_labels_lean_on_the_prior(self, plan, place):
        found = estimate_with_labels(plan, label_set(place, plan.drawn[:5]))
        assert any("too few for an interval of their own" in doubt for doubt in found.doubts)


def test_a_category_that_is_not_seen_stays_label_free(aid):
    place = make_place(5, n_images=80, categories=("car", "bus"))
    rare = place.truth.where(place.truth.label == 0)
    priors = {
        "mAP": ValueWithError(0.4, 0.1),
        "mAP/car": ValueWithError(0.4, 0.1),
        "mAP/bus": ValueWithError(0.3, 0.1),
    }
    plan = make_plan(place.pool, aid, n=20, priors=priors)
    only_cars = replace(place, truth=rare)
    found = estimate_with_labels(plan, label_set(only_cars, plan.drawn))
    assert (found.n_behind, found.per_category["bus"].measured) == (1, False)
    assert found.per_category["bus"].combined.measured == ValueWithError(0.3, 0.1)
    mean = (found.per_category["car"].combined.measured.value + 0.3) / 2
    assert found.recommended.value == pytest.approx(mean)
    assert any("rests on 1 of 2 categories" in doubt for doubt in found.doubts)


def test_a_category_of_which_nothing_is_told_widens_the_mean(aid):
    place = make_place(5, n_images=80, categories=("car", "bus", "van"))
    priors = {f"mAP/{name}": ValueWithError(0.4, 0.1) for name in ("car", "bus")}
    plan = make_plan(place.pool, aid, n=30, priors=priors)
    seen = replace(place, truth=place.truth.where(place.truth.label < 2))
    found = estimate_with_labels(plan, label_set(seen, plan.drawn))
    assert found.n_behind == 2 and math.isnan(found.per_category["van"].combined.measured.value)
    known = {**priors, "mAP/van": ValueWithError(found.recommended.value, 0.25)}
    more = make_plan(place.pool, aid, n=30, priors=known)
    told = estimate_with_labels(more, label_set(seen, plan.drawn))
    assert found.recommended.value == pytest.approx(told.recommended.value)
    assert found.recommended.error == pytest.approx(told.recommended.error)
    assert found.recommended.error > 0.25 / 3


def test_labels_move_the_label_free_mean_by_the_share_of_categories_that_they_measure(aid):
    place = make_place(5, n_images=80, categories=("car", "bus", "van"))
    seen = replace(place, truth=place.truth.where(place.truth.label < 2))
    of_two = {f"mAP/{name}": ValueWithError(0.4, 0.1) for name in ("car", "bus")}
    plan = make_plan(place.pool, aid, n=30, priors={**of_two, "mAP": ValueWithError(0.3, 0.2)})
    found = estimate_with_labels(plan, label_set(seen, plan.drawn))
    of_measured = make_plan(
        place.pool, aid, n=30, priors={**of_two, "mAP/van": ValueWithError(0.3, 0.1)}
    )
    measured = estimate_with_labels(of_measured, label_set(seen, plan.drawn)).recommended
    # a third of that one is the van at .3; the rest is what labels say of the two others
    of_two_others = (measured.value - 0.3 / 3) * 3 / 2
    assert found.recommended.value == pytest.approx(0.3 + 2 / 3 * (of_two_others - 0.4))
    assert found.recommended.error == pytest.approx(measured.error - 0.1 / 3 + 0.2 / 3)


def test_a_contradicted_prior_is_dropped_and_said_so(aid, place):
    plan = make_plan(place.pool, aid, n=40, priors={"mAP": ValueWithError(0.99, 0.02)})
    found = estimate_with_labels(plan, label_set(place, plan.drawn))
    assert found.whole["mAP"].combined.conflict
    assert any("contradict" in doubt for doubt in found.doubts)


def test_without_a_prior_labels_stand_alone(aid, place):
    plan = make_plan(place.pool, aid, n=20, priors={})
    found = estimate_with_labels(plan, label_set(place, plan.drawn))
    told = found.whole["mAP"]
    assert told.combined.measured == told.difference
    assert math.isnan(told.prior.value)
