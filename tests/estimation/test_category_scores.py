"""Scores and accuracy of each category, against the features of boxes and hand-made sites."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from autoeval.accuracy.measures import resampled_counts
from autoeval.boxes import Boxes, LabelledImage
from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.estimation.category_scores import (
    LABELLED_FEATURES,
    CategoryScores,
    labelled_rows,
    site_scores,
)
from autoeval.estimation.labelled_sets import labelled_site
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.pair_table import FEATURES, CalibratedFeatures, values_of
from autoeval.model.priors import calibration_prior
from autoeval.sites.site import Site, columns_of
from tests.made_sites import N_IMAGES, WORDS, random_found, truth_from

USUAL = calibration_prior().calibration


@pytest.fixture(scope="module")
def found():
    """Boxes of which some lie on the thresholds, and three images without any."""
    rng = np.random.default_rng(0)
    n = 400
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (40, 40)) for k in range(N_IMAGES))
    scores = np.round(rng.beta(0.4, 1.2, n), 2)
    columns = (rng.integers(0, N_IMAGES - 3, n), rng.integers(0, 3, n), np.zeros((n, 4), "f4"))
    return Boxes(images, ("car", "bus", "cat"), *columns, scores.astype("f4"))


def features_of(found, category, images, area=200 * 200):
    """Read the boxes of some images, an image as often as it is named."""
    parts = [found.detections(k) for k in images]
    parts = [boxes[boxes.labels == category] for boxes in parts]
    scores, corners = (
        np.concatenate([getattr(boxes, name) for boxes in parts]) for name in ("scores", "boxes")
    )
    at = np.repeat(np.arange(len(parts)), [len(boxes) for boxes in parts])
    p, areas = USUAL.probabilities(scores), np.full(len(parts), area)
    return CalibratedFeatures(USUAL, corners, scores, at, areas, probabilities=p)


@pytest.mark.parametrize("images", [range(N_IMAGES), [0, 3, 4, 7, N_IMAGES - 1]])
@pytest.mark.parametrize("category", [0, 3])
def test_the_features_of_a_category_are_those_of_its_boxes_on_these_images(category, images):
    found = random_found(2)
    boxes = Site(found.on_images(images), calibration=USUAL)
    ours = CategoryScores(boxes, category, FEATURES)
    expected = features_of(found, category, images)
    row = {name: value for name, value in ours.row.items() if name in FEATURES}
    assert row == pytest.approx(expected.values, abs=1e-12)
    times = resampled_counts(len(images), resamples=4, seed=1)
    drawn = expected.resample(times)
    for name, values in ours.parts[0].resample(times[:, ours.images]).items():
        np.testing.assert_allclose(values, drawn[name], atol=1e-12)


def test_calibrated_scores_of_images_drawn_again_are_those_of_images_that_are_there_twice():
    """To the last digit but for the expected AP, whose first order is most of its change."""
    found = random_found(2)
    boxes = Site(found, calibration=USUAL)
    times = resampled_counts(N_IMAGES, resamples=40, seed=1)
    scores = CategoryScores(boxes, 0, FEATURES)
    ours = scores.parts[0].resample(times[:, scores.images])
    drawn = [np.repeat(np.arange(N_IMAGES), counts) for counts in times]
    again = pd.DataFrame([features_of(found, 0, images).values for images in drawn])
    for name in ("likely_share", "box_size"):
        np.testing.assert_allclose(ours[name], again[name])
    assert np.corrcoef(ours["expected_ap"], again["expected_ap"])[0, 1] > 0.9
    assert ours["expected_ap"].std() == pytest.approx(again["expected_ap"].std(), rel=0.2)


def test_nothing_found(found):
    empty = found.where(np.zeros(len(found), bool))
    boxes = Site(empty, calibration=USUAL)
    row = CategoryScores(boxes, 0, FEATURES).row
    assert np.isnan([row[name] for name in FEATURES]).all()
    values = values_of(pd.DataFrame([row]), FEATURES)  # as the regression reads it
    np.testing.assert_array_equal(values, [[0, 0, -1.8]])


def test_a_column_that_is_no_feature(found):
    with pytest.raises(InputError, match=r"among expected_ap, .* but got beauty"):
        site_scores(Site(found, calibration=USUAL), ["expected_ap", "beauty"])


def test_a_pass_that_was_not_made_leaves_its_columns_out(found):
    boxes = Site(found, calibration=USUAL)
    row = CategoryScores(boxes, 0, LABELLED_FEATURES).row
    of_site = {"category", "n_images", "n_found", "highest_score", "expected_counts"}
    assert set(row) == {*of_site, *FEATURES}


def test_a_reference_on_other_images_is_refused():
    found = random_found(2)
    with pytest.raises(InputError, match="other images or categories"):
        Site(found, reference=found.on_images(range(5)))


def training(found, truth, **options):
    return labelled_site(Site(found, truth=truth, name="val", **options))


def test_a_pair_is_evaluated_on_the_images_that_hold_its_category_and_scored_where_it_is_found():
    found = random_found(0)
    truth = truth_from(found)
    table = labelled_rows(training(found, truth), USUAL)
    assert table["n_boxes"].tolist() == np.bincount(truth.label).tolist()
    assert set(table["kind"]) == {"category"} and set(table["group"]) == {"val"}
    everywhere = labelled_rows(training(found, truth, everywhere=True), USUAL)
    assert set(everywhere["kind"]) == {"seed"}
    # false positives on images without the category lower the precision only there
    assert (everywhere["mAP"] <= table["mAP"]).all()
    likely = USUAL.at_half(found.scores) > 0.05
    seen = [len(np.unique(found.image[likely & (found.label == k)])) for k in range(5)]
    for rows in (table, everywhere):
        assert rows["n_images"].tolist() == seen
    pd.testing.assert_frame_equal(table[list(FEATURES)], everywhere[list(FEATURES)])


def test_probabilities_of_another_calibration_take_the_place_of_its_own():
    found = random_found(0)
    labelled = training(found, truth_from(found))
    hopeful = ScoreCalibration(USUAL.boxes + np.array([1.0, 0, 0]), USUAL.missed)
    given = labelled_rows(labelled, USUAL, probabilities=hopeful.probabilities(found.scores))
    pd.testing.assert_frame_equal(given, labelled_rows(labelled, hopeful))
    assert (given["expected_ap"] > labelled_rows(labelled, USUAL)["expected_ap"]).all()


def test_categories_with_few_boxes_are_left_out():
    found = random_found(0)
    truth = truth_from(found)
    few = truth.where((truth.label != 0) | (np.cumsum(truth.label == 0) < 8))  # seven cars
    rows = labelled_rows(training(found, few), USUAL)
    assert rows["category"].tolist() == list(WORDS[1:])
    with pytest.raises(InputError, match="No category of val has 8 boxes in 5 images"):
        training(found, truth.where(truth.image < 3))


def test_a_site_takes_images_where_a_category_is_found_and_categories_that_are_likely_once():
    found = random_found(1)
    right = USUAL.at_half(found.scores)
    unsure = found.where((found.label != 2) | (right < 0.3))
    boxes = Site(unsure, calibration=USUAL)
    pairs, _ = site_scores(boxes, FEATURES)
    assert [pair.row["category"] for pair in pairs] == ["car", "bus", "dog", "cow"]
    seen = np.unique(found.image[(found.label == 0) & (right > 0.05)])
    np.testing.assert_array_equal(pairs[0].images, seen)
    assert pairs[0].row["n_images"] == len(seen)
    more, _ = site_scores(replace(boxes, present=("cat",)), FEATURES)
    assert [pair.row["category"] for pair in more] == ["car", "bus", "cat", "dog", "cow"]
    assert more[0].row == pairs[0].row


BOX = np.array([[0.0, 0, 20, 20]])


def hand_made():
    """Three images with all boxes in one spot: found, confidences, labelled, labelled crowds."""
    named = [
        ([0, 1], [0.9, 0.6], [0], []),
        ([0], [0.5], [0, 1], []),
        ([1], [0.4], [], [0]),
    ]
    images = tuple(LabelledImage(name, f"{name}.jpg", (40, 40)) for name in "abc")
    boxes = [
        Detections(np.repeat(BOX, len(found), 0), np.array(scores), np.array(found))
        for found, scores, _, _ in named
    ]
    true = [
        (k, c, crowd)
        for k, (*_, single, crowds) in enumerate(named)
        for crowd, of in enumerate((single, crowds))
        for c in of
    ]
    image, label, crowd = (np.array(column) for column in zip(*true, strict=True))
    truth = Boxes(
        images, ("car", "van"), image, label, np.repeat(BOX, len(true), 0), crowd=crowd.astype(bool)
    )
    return Site(columns_of(boxes, images, truth.categories)), truth


def test_scores_and_accuracy_by_hand(monkeypatch):
    """Cars: in a and b, found in both; vans: in b (the crowd of c is none), found in a and c.

    Confidences are probabilities, and 0.45 objects are missed in every image, so that 2.3 cars are
    expected: 0.9 of them with a precision of 0.9, a recall of 0.391, and 1.4 with a precision of
    0.7, a recall of 0.609. Of 1.9 vans 0.6 with 0.6, a recall of 0.316, and 1 with 0.5, 0.526.
    """
    for name in ("FEWEST_IMAGES", "FEWEST_BOXES"):
        monkeypatch.setattr(f"autoeval.sites.site.{name}", 1)
    boxes, truth = hand_made()
    same = ScoreCalibration(np.tile([0.0, 1, 1], (10, 1)), np.array([np.log(0.45), 0, 0]))
    labelled = labelled_site(replace(boxes, truth=truth, name="x"))
    car, van = labelled_rows(labelled, same).to_dict("records")
    assert (car["n_images"], car["n_boxes"], car["mAP"]) == (2, 2, pytest.approx(1.0))
    assert car["expected_ap"] == pytest.approx((40 * 0.9 + 21 * 0.7) / 101)
    assert (car["likely_share"], car["box_size"]) == (1, pytest.approx(np.log(20 / 40)))
    assert (van["n_images"], van["n_boxes"], van["mAP"]) == (2, 1, 0.0)
    assert van["expected_ap"] == pytest.approx((32 * 0.6 + 21 * 0.5) / 101)
