import math

import numpy as np
import pytest
import scipy.stats
from made import computed, scored

from autoeval.errors import InputError
from autoeval.stability.scores.base import THRESHOLDS
from autoeval.stability.scores.confidence_scores import (
    AverageConfidence,
    AverageThresholdedConfidence,
    BestBox,
    BoxShare,
    ConfidentImages,
    ContrastiveConfidence,
    EntropyBelow,
    EntropyMean,
    EntropyScore,
    PredictionScore,
    SourceThreshold,
    binary_entropy,
    fit_source_threshold,
)

# five boxes count: .04 is under the score threshold
IMAGES = scored(0.96, 0.5, 0.3, 0.04), scored(0.6, 0.3)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        # .3 is not over .3, in float32 as in the reals
        (PredictionScore, {"ps@0.00": 1, "ps@0.30": 3 / 5, "ps@0.50": 2 / 5, "ps@0.95": 1 / 5}),
        # the mean of 2/3 and 1/2, of 1/3 and 1/2, of 1/3 and 0
        (BoxShare, {"box_share@0.30": 7 / 12, "box_share@0.50": 5 / 12, "box_share@0.95": 1 / 6}),
        # both images have a box over .5, one has one over .6 (in float32), none over .96
        (ConfidentImages, {f"confident_images@{t}": v for t, v in (("0.50", 1), ("0.60", 0.5))}),
        (BestBox, {"best_box": (0.96 + 0.6) / 2}),
        (AverageConfidence, {"ac": (0.96 + 0.5 + 0.3 + 0.6 + 0.3) / 5}),
        (AverageThresholdedConfidence, {"atc@0.30": (0.96 + 0.5 + 0.6) / 3, "atc@0.95": 0.96}),
        (lambda: SourceThreshold(0.5), {"atc_source": 3 / 5}),
        # (.96 + .5 + .3) / 3 - 5 * .04 and (.6 + .3) / 2
        (ContrastiveConfidence, {"contrastive_confidence": (1.76 / 3 - 0.2 + 0.45) / 2}),
    ],
)
def test_worked_by_hand(make, expected):
    features = computed(make(), *IMAGES)
    assert {name: features[name] for name in expected} == pytest.approx(expected)


def test_entropy_of_the_boxes_below_a_threshold_worked_by_hand():
    # of scores .5 (H2 = 1), .25 (.811) and .9 (.469); .5 is not below .5
    features = computed(EntropyBelow(), scored(0.5, 0.25), scored(0.9))
    quarter, ninth = 2 - 0.75 * math.log2(3), -(0.9 * math.log2(0.9) + 0.1 * math.log2(0.1))
    assert features["es_below@0.50"] == pytest.approx(quarter)
    assert features["es_below@0.55"] == pytest.approx((1 + quarter) / 2)
    assert features["es_below@0.95"] == pytest.approx((1 + quarter + ninth) / 3)
    assert math.isnan(features["es_below@0.25"])


def test_an_image_without_a_box_has_no_best_one():
    assert computed(BestBox(), scored(0.8), scored(0.04), scored()) == {
        "best_box": pytest.approx(0.8 / 3)
    }


def test_entropy_score_worked_by_hand():
    # H2(.5) = 1; H2(.25) = 2 - .75 log2 3 = .811; H2(.9) = .469
    images = scored(0.5, 0.25), scored(0.9)
    features = computed(EntropyScore(), *images) | computed(EntropyMean(), *images)
    assert [features[f"es@{t}"] for t in ("0.45", "0.50", "0.85", "0.95")] == pytest.approx(
        [0, 1 / 3, 2 / 3, 2 / 3]
    )
    quarter, ninth = 2 - 0.75 * math.log2(3), -(0.9 * math.log2(0.9) + 0.1 * math.log2(0.1))
    assert features["es_mean@0.20"] == pytest.approx((1 + quarter + ninth) / 3)
    assert features["es_mean@0.25"] == pytest.approx((1 + ninth) / 2)
    assert features["es_mean@0.50"] == pytest.approx(ninth)


def test_binary_entropy_is_that_of_scipy():
    p = np.linspace(0, 1, 11)
    np.testing.assert_allclose(binary_entropy(p), scipy.stats.entropy([p, 1 - p], base=2))


@pytest.mark.parametrize("make", [PredictionScore, BoxShare, AverageThresholdedConfidence])
def test_there_is_a_feature_for_each_threshold(make):
    names = list(computed(make(), *IMAGES))
    assert [float(name.split("@")[1]) for name in names] == list(THRESHOLDS)
    assert THRESHOLDS[0] == 0
    assert THRESHOLDS[-1] == 0.95


def test_a_threshold_that_no_box_exceeds_gives_nan():
    features = computed(AverageThresholdedConfidence(), scored(0.4))
    assert math.isnan(features["atc@0.40"])
    assert features["atc@0.35"] == pytest.approx(0.4)


def test_the_source_threshold_gives_the_share_of_correct_boxes_on_the_source():
    rng = np.random.default_rng(0)
    scores = rng.uniform(0.1, 1, 200).astype(np.float32)
    correct = rng.random(200) < scores
    score = SourceThreshold(fit_source_threshold(scores, correct))
    assert computed(score, scored(*scores))["atc_source"] == pytest.approx(correct.mean())


@pytest.mark.parametrize(("correct", "share"), [(True, 1), (False, 0)])
def test_the_source_threshold_when_all_boxes_are_right_or_wrong(correct, share):
    threshold = fit_source_threshold(np.array([0.5, 0.75]), np.full(2, correct))
    assert computed(SourceThreshold(threshold), scored(0.5, 0.75))["atc_source"] == share


def test_no_source_box_is_refused():
    with pytest.raises(InputError, match="the labelled set has none"):
        fit_source_threshold(np.zeros(0), np.zeros(0, bool))


def test_a_side_without_boxes_has_mean_confidence_zero():
    assert computed(ContrastiveConfidence(), scored(0.8))[
        "contrastive_confidence"
    ] == pytest.approx(0.8)
    assert computed(ContrastiveConfidence(), scored())["contrastive_confidence"] == 0
