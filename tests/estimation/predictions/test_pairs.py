"""Pairs of place and category out of predictions, and what an estimate rests on."""

import numpy as np
import pandas as pd
import pytest

from autoeval.data.labels.content import LabelledImage
from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions
from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.estimation.predictions import image_spread
from autoeval.estimation.predictions.features import FEATURES
from autoeval.estimation.predictions.half_size import agreement, rank_half_size
from autoeval.estimation.predictions.image_spread import sampling_std
from autoeval.estimation.predictions.memory import Memory, check_floor
from autoeval.estimation.predictions.prediction_estimator import PredictionsEstimator
from autoeval.estimation.predictions.prediction_pairs import (
    labelled_pairs,
    pairs_everywhere,
    pairs_where_found,
)
from autoeval.scores.resampling import resampled_counts
from autoeval.scores.scale_ap import ScaleAP

N_IMAGES, WORDS = 24, ("car", "bus", "cat", "dog", "cow")


def random_found(seed, n=600):
    rng = np.random.default_rng(seed)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (200, 200)) for k in range(N_IMAGES))
    corner, size = rng.random((n, 2)) * 120, 10 + rng.random((n, 2)) * 60
    boxes = np.concatenate([corner, corner + size], axis=1).astype("f4")
    scores = (0.01 + 0.98 * rng.beta(0.5, 1.5, n)).astype("f4")
    image = rng.integers(0, N_IMAGES - 2, n)
    return Predictions(images, WORDS, image, rng.integers(0, 5, n), boxes, scores, {})


def shaken(found, seed, pixels=3.0):
    move = np.random.default_rng(seed).normal(0, pixels, found.boxes.shape).astype("f4")
    return Predictions(
        found.images, WORDS, found.image, found.label, found.boxes + move, found.scores, {}
    )


def truth_from(found, seed=5):
    """Label the confident boxes, and some others."""
    sure = found.scores > 0.25
    boxes = shaken(found, seed).boxes[sure].astype(float)
    columns = (found.image[sure], found.label[sure], boxes, np.zeros(sure.sum(), bool))
    return Truth(found.images, WORDS, *columns)


@pytest.fixture(scope="module")
def table():
    found = random_found(0)
    return labelled_pairs(found, truth_from(found), source="val")


def test_a_pair_is_on_the_images_that_hold_its_category(table):
    found = random_found(0)
    truth = truth_from(found)
    held = [len(np.unique(truth.image[truth.label == k])) for k in range(5)]
    assert table["n_images"].tolist() == held
    everywhere = labelled_pairs(found, truth, source="val", everywhere=True)
    assert set(everywhere["n_images"]) == {N_IMAGES}
    # what is found where a category is not costs precision only there
    assert (everywhere["mAP"] <= table["mAP"]).all()


def test_categories_with_few_boxes_are_left_out():
    found = random_found(0)
    truth = truth_from(found)
    few = truth.where((truth.label != 0) | (np.cumsum(truth.label == 0) < 8))  # seven cars
    assert labelled_pairs(found, few, source="val")["category"].tolist() == list(WORDS[1:])
    with pytest.raises(InputError, match="No category of val has 8 boxes in 5 images"):
        labelled_pairs(found, truth.where(truth.image < 3), source="val")


def test_where_found_takes_images_with_a_box_and_categories_that_are_sure_once():
    found = random_found(1)
    unsure = found.where((found.label != 2) | (found.scores < 0.3))
    pairs = pairs_where_found(unsure)
    assert [pair.category for pair in pairs] == ["car", "bus", "dog", "cow"]
    seen = found.image[(found.label == 0) & (found.scores > 0.05)]
    np.testing.assert_array_equal(pairs[0].images, np.unique(seen))
    assert pairs[0].row()["n_images"] == len(np.unique(seen))


@pytest.mark.parametrize("category", [0, 3])
def test_agreement_at_half_the_size_is_that_of_the_score_class(category):
    found = random_found(2)
    half = shaken(found, 3)
    score = ScaleAP()
    for k in range(N_IMAGES):
        clean, again = (of.detections(k) for of in (found, half))
        parts = [boxes[boxes.labels == category] for boxes in (clean, again)]
        score.update(Evidence(str(k), (200, 200), parts[0], half_size=parts[1]))
    ranked = rank_half_size(found, half)[category]
    ours = agreement(ranked, np.ones((1, N_IMAGES)))[0]
    assert ours == pytest.approx(score.compute()["scale_ap@0.30"], abs=1e-9)
    assert 0.1 < ours < 0.95
    times = resampled_counts(N_IMAGES, resamples=4, seed=1)
    expected = score.resample(times)["scale_ap@0.30"]
    np.testing.assert_allclose(agreement(ranked, times), expected, rtol=0, atol=1e-9)


def test_half_size_of_other_images_is_refused():
    found = random_found(2)
    with pytest.raises(InputError, match="other images or categories"):
        rank_half_size(found, found.on_images(range(5)))


def test_sampling_error_is_that_of_estimates_from_images_drawn_again(table):
    estimator = PredictionsEstimator().fit(table, Memory(WORDS))
    found = random_found(4)
    pairs = pairs_everywhere(found)
    rows = pd.DataFrame([pair.row() for pair in pairs])
    ours = sampling_std(estimator.pairs_, pairs, rows)
    again = []
    for times in resampled_counts(N_IMAGES, resamples=200, seed=0)[:60]:
        chosen = np.repeat(np.arange(N_IMAGES), times)
        scores = {pair.category: pair.parts.on(chosen).values() for pair in pairs}
        drawn = rows.assign(
            **dict(
                zip(
                    FEATURES,
                    np.array([scores[c] for c in rows["category"]]).T,
                    strict=True,
                )
            )
        )
        again.append(estimator.pairs_.predict_mean(drawn).raw)
    assert ours == pytest.approx(np.std(again) * np.sqrt(N_IMAGES / (N_IMAGES - 1)), rel=0.25)


def test_images_drawn_in_parts_are_those_drawn_at_once(table, monkeypatch):
    estimator = PredictionsEstimator().fit(table, Memory(WORDS))
    pairs = pairs_where_found(random_found(4))
    rows = pd.DataFrame([pair.row() for pair in pairs])
    whole = sampling_std(estimator.pairs_, pairs, rows)
    monkeypatch.setattr(image_spread, "AT_ONCE", 70)  # three draws of 24 images
    assert sampling_std(estimator.pairs_, pairs, rows) == pytest.approx(whole, rel=1e-12)


def test_save_and_load(table, tmp_path):
    memory = Memory(WORDS, {"1": "car"}, 0.01, 40)
    estimator = PredictionsEstimator(target="mAP50", level=0.8).fit(table, memory)
    estimator.save(tmp_path / "e.parquet")
    loaded = PredictionsEstimator.load(tmp_path / "e.parquet")
    assert loaded.memory_ == memory
    pairs = pairs_everywhere(random_found(6))
    assert str(loaded.estimate(pairs)) == str(estimator.estimate(pairs))
    assert loaded.estimate(pairs).level == 0.8


def test_other_targets_stand_beside_and_a_wide_interval_comes_with_advice(table):
    pairs = pairs_everywhere(random_found(6))
    estimate = PredictionsEstimator().fit(table, Memory(WORDS)).estimate(pairs)
    for name in ("mAP50", "mAP75"):
        alone = PredictionsEstimator(target=name).fit(table, Memory(WORDS)).estimate(pairs)
        assert estimate.beside[name]["value"] == pytest.approx(alone.value, abs=1e-12)
        assert estimate.beside[name]["lower"] == pytest.approx(alone.source_lower, abs=1e-12)
    assert bool(estimate.advice) == ((estimate.source_upper - estimate.source_lower) / 2 > 0.15)


def test_nothing_to_estimate_from(table):
    with pytest.raises(InputError, match="no category has a box"):
        PredictionsEstimator().fit(table, Memory(WORDS)).estimate([])


def test_floors():
    found = random_found(0)
    assert check_floor(found, "p.json") == ()
    (told,) = check_floor(found.where(found.scores > 0.1), "p.json")
    assert told.startswith("the lowest score in p.json is 0.1")
    high = found.where(found.scores > 0.31)
    with pytest.raises(InputError, match="--truncated"):
        check_floor(high, "p.json")
    assert len(check_floor(high, "p.json", truncated=True)) == 1


def test_what_looks_like_another_detector_is_told():
    found = random_found(0)
    memory = Memory.of(found)
    assert memory.differences(found) == ()
    (floor,) = memory.differences(found.where(found.scores > 0.2))
    assert "in the fit it was 0.01" in floor
    crowd = found.where(np.repeat(np.arange(len(found)), 3))
    (many,) = memory.differences(crowd)
    assert f"up to {3 * found.most_boxes} boxes an image" in many
    (strange,) = Memory(WORDS[:4], floor=0.01, most_boxes=99).differences(found)
    assert "did not know: cow" in strange
    with pytest.raises(InputError, match="of another detector: it knows car"):
        Memory(("plane",), floor=0.01, most_boxes=99).differences(found)
