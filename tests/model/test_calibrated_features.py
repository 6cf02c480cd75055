"""Features of calibrated boxes, by hand, by laws and against drawn labels."""

import numpy as np
import pytest

from autoeval.accuracy.average_precision import RankedDetections
from autoeval.model.calibrated_features import CalibratedFeatures, relative_sides
from autoeval.model.calibration import ScoreCalibration

LEVELS = 10
TRUE = np.stack([np.linspace(1.0, -2.0, LEVELS), np.full(LEVELS, 1.2), np.full(LEVELS, 0.7)], 1)
MISSED = np.array([-0.5, 0.8, 0.4])
CALIBRATION = ScoreCalibration(TRUE, MISSED)
N = 30


def boxes(n=200):
    rng = np.random.default_rng(0)
    scores = rng.beta(0.5, 1.5, n)
    return scores, rng.uniform(-4, 0, n), np.sort(rng.integers(0, N, n))


def features_of(*parts, calibration=CALIBRATION, **options):
    """Read boxes of several sets of images, laid out one after the other."""
    starts = np.cumsum([0, *(n for *_, n in parts)])
    scores, sides = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    image = np.concatenate([part[2] + start for part, start in zip(parts, starts, strict=False)])
    return CalibratedFeatures(calibration, scores, sides, image, int(starts[-1]), **options)


def test_images_without_the_category_change_no_score():
    """Neither those without a box, nor those whose boxes are right with less than .05."""
    scores, sides, image = boxes()
    base = features_of((scores, sides, image, N)).compute()
    assert all(np.isfinite(list(base.values())))
    assert CALIBRATION.at_half(np.array([0.01]))[0] < 0.05
    doubted = (np.full(40, 0.01), np.full(40, -0.5), np.arange(40), 40)
    none = (np.zeros(0), np.zeros(0), np.zeros(0, int), 40)
    for more in (none, doubted):
        assert features_of((scores, sides, image, N), more).compute() == base
        assert features_of(more, (scores, sides, image, N)).compute() == pytest.approx(base)
    nothing = features_of(doubted, none).compute()
    assert set(nothing) == set(base) and np.isnan(list(nothing.values())).all()


def test_expected_ap_of_known_boxes_is_their_average_precision():
    """Probabilities of 0 and 1, and no missed object; every image holds a true box."""
    rng = np.random.default_rng(0)
    scores, sides, image = boxes()
    hits = np.minimum.accumulate(rng.random((LEVELS, len(scores))) < 0.9, axis=0)
    hits[0, np.unique(image, return_index=True)[1]] = True
    nothing_missed = ScoreCalibration(TRUE, np.array([-700.0, 0, 0]))
    given = hits.astype(float)
    score = features_of((scores, sides, image, N), calibration=nothing_missed, probabilities=given)
    n_true = np.bincount(image[hits[0]], minlength=N)
    ranked = RankedDetections.of(scores, image, hits, n_true)
    assert score.compute()["expected_ap"] == pytest.approx(ranked.average_precision().mean())


def test_expected_ap_predicts_that_of_labels_drawn_from_the_probabilities():
    """Means over draws: the AP of expected labels is close to the expected AP of labels."""
    rng = np.random.default_rng(0)
    scores, sides, image = boxes(n=3000)
    score = features_of((scores, sides, image, N))
    p = CALIBRATION.probabilities(scores)
    missed = CALIBRATION.n_missed(p[0], image, N)
    drawn = []
    for _ in range(20):
        hits = rng.random(len(scores)) < p
        n_true = np.bincount(image[hits[0]], minlength=N) + rng.poisson(missed)
        drawn.append(RankedDetections.of(scores, image, hits, n_true).average_precision().mean())
    assert score.compute()["expected_ap"] == pytest.approx(np.mean(drawn), abs=0.02)


def test_likely_share_and_size_by_hand():
    """Two images, each with a box under .05; probabilities are confidences."""
    same = ScoreCalibration(np.tile([0.0, 1, 1], (LEVELS, 1)), MISSED)
    scores = np.array([0.9, 0.2, 0.04, 0.6, 0.03])
    sides = np.array([-1.0, -2, -9, -3, -9])
    features = features_of(
        (scores, sides, np.array([0, 0, 0, 1, 1]), 2), calibration=same
    ).compute()
    assert features["likely_share"] == pytest.approx((1 / 2 + 1) / 2)
    weighted = 0.9 * -1 + 0.2 * -2 + 0.6 * -3
    assert features["box_size"] == pytest.approx(weighted / (0.9 + 0.2 + 0.6))


def test_drawn_once_each_they_are_the_scores():
    score = features_of((*boxes(), N))
    once = score.resample(np.ones((1, N), int))
    assert {name: values[0] for name, values in once.items()} == pytest.approx(score.compute())
    never = score.resample(np.zeros((1, N), int))
    assert np.isnan([values[0] for values in never.values()]).all()


def test_sides_are_relative_to_those_of_the_image():
    sides = relative_sides(np.array([[0.0, 0, 20, 20], [5, 5, 5, 9]]), np.array([1600.0, 1600]))
    assert sides[0] == pytest.approx(np.log(20 / 40))
    assert sides[1] == pytest.approx(np.log(1e-3))  # of no width: a millionth of the area
