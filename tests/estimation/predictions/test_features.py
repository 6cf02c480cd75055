"""Vectorised scores against the score classes, which are fed image by image."""

import numpy as np
import pytest

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import Predictions
from autoeval.detections import Evidence
from autoeval.estimation.predictions.features import FEATURES, image_parts
from autoeval.scores.average_confidence import AverageConfidence
from autoeval.scores.box_share import BoxShare

N_IMAGES = 30


@pytest.fixture
def found():
    rng = np.random.default_rng(0)
    n = 400
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (40, 40)) for k in range(N_IMAGES))
    scores = np.round(rng.beta(0.4, 1.2, n), 2)  # some lie on the thresholds
    columns = (rng.integers(0, N_IMAGES - 3, n), rng.integers(0, 3, n), np.zeros((n, 4), "f4"))
    return Predictions(images, ("car", "bus", "cat"), *columns, scores.astype("f4"), {})


@pytest.mark.parametrize("category", [0, 1])
def test_equal_to_the_score_classes(found, category):
    scores = [AverageConfidence(), BoxShare()]
    for k in range(N_IMAGES):
        boxes = found.detections(k)
        mine = boxes[boxes.labels == category]
        for score in scores:
            score.update(Evidence(str(k), (40, 40), mine))
    expected = {name: value for score in scores for name, value in score.compute().items()}
    ours = dict(zip(FEATURES, image_parts(found, category).values(), strict=True))
    for name in ("ac", "box_share@0.30"):
        assert ours[name] == pytest.approx(expected[name], abs=1e-12)


def test_the_others_by_hand(found):
    parts = image_parts(found, 2)
    scores = found.scores[found.label == 2]
    images = found.image[found.label == 2]
    ours = dict(zip(FEATURES, parts.values(), strict=True))
    sure = {int(k) for k in images[scores > np.float32(0.2)]}
    assert ours["confident_images@0.20"] == pytest.approx(len(sure) / N_IMAGES)
    ratio = (scores > np.float32(0.5)).sum() / (scores > np.float32(0.1)).sum()
    assert ours["confident_ratio"] == pytest.approx(ratio)


def test_images_drawn_again_are_images_that_are_there_twice(found):
    times = np.random.default_rng(1).multinomial(N_IMAGES, np.full(N_IMAGES, 1 / N_IMAGES), 5)
    parts = image_parts(found, 0)
    drawn = parts.values(times)
    for row, counts in zip(drawn, times, strict=True):
        chosen = np.repeat(np.arange(N_IMAGES), counts)
        np.testing.assert_allclose(row, parts.on(chosen).values(), rtol=0, atol=1e-12)


def test_nothing_found(found):
    empty = found.where(np.zeros(len(found), bool))
    np.testing.assert_array_equal(image_parts(empty, 0).values(), np.zeros(len(FEATURES)))
