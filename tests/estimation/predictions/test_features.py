"""Vectorised scores against the score classes, which are fed image by image."""

import numpy as np
import pytest

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import Predictions
from autoeval.detections import Evidence
from autoeval.estimation.predictions.features import FEATURES, image_parts
from autoeval.scores.atc import AverageThresholdedConfidence
from autoeval.scores.average_confidence import AverageConfidence
from autoeval.scores.box_share import BoxShare
from autoeval.scores.confident_images import ConfidentImages

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
    scores = [AverageThresholdedConfidence(), AverageConfidence(), BoxShare(), ConfidentImages()]
    for k in range(N_IMAGES):
        boxes = found.detections(k)
        mine = boxes[boxes.labels == category]
        for score in scores:
            score.update(Evidence(str(k), (40, 40), mine))
    expected = {name: value for score in scores for name, value in score.compute().items()}
    ours = dict(zip(FEATURES, image_parts(found, category).values(), strict=True))
    for name in FEATURES:
        assert ours[name] == pytest.approx(expected[name], abs=1e-12)


def test_images_drawn_again_are_images_that_are_there_twice(found):
    times = np.random.default_rng(1).multinomial(N_IMAGES, np.full(N_IMAGES, 1 / N_IMAGES), 5)
    parts = image_parts(found, 0)
    drawn = parts.values(times)
    for row, counts in zip(drawn, times, strict=True):
        chosen = np.repeat(np.arange(N_IMAGES), counts)
        np.testing.assert_allclose(row, parts.on(chosen).values(), rtol=0, atol=1e-12)


def test_some_of_the_images(found):
    some = np.array([20, 3, 4, 29])
    every, few = image_parts(found, 1), image_parts(found, 1, some)
    np.testing.assert_array_equal(few.above, every.above[some])
    np.testing.assert_array_equal(few.below, every.below[some])


def test_nothing_found(found):
    empty = found.where(np.zeros(len(found), bool))
    np.testing.assert_array_equal(image_parts(empty, 0).values(), [0.3, 0, 0, 0])
