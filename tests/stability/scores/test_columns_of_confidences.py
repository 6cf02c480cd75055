"""Scores of confidences alone: many images at once, and images drawn again."""

import numpy as np
import pytest

from autoeval.boxes import Boxes, LabelledImage
from autoeval.detections import Evidence
from autoeval.stability.scores.base import ConfidenceScore, score_of, scores
from tests.made_sites import N_IMAGES

OF_CONFIDENCE = [score for score in scores().values() if issubclass(score, ConfidenceScore)]
RATIOS = ("atc@0.30", "box_share@0.30", "confident_images@0.20")


@pytest.fixture(scope="module")
def found():
    """Boxes of which some lie on the thresholds, and three images without any."""
    rng = np.random.default_rng(0)
    n = 400
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (40, 40)) for k in range(N_IMAGES))
    scores = np.round(rng.beta(0.4, 1.2, n), 2)
    columns = (rng.integers(0, N_IMAGES - 3, n), rng.integers(0, 3, n), np.zeros((n, 4), "f4"))
    return Boxes(images, ("car", "bus", "cat"), *columns, scores.astype("f4"))


def fed(score, found, category, images, size=40):
    """Feed a score class image by image."""
    for k in images:
        boxes = found.detections(k)
        score.update(Evidence(str(k), (size, size), boxes[boxes.labels == category]))
    return score


@pytest.mark.parametrize("kind", OF_CONFIDENCE)
def test_many_images_at_once_are_one_image_after_another(found, kind):
    """Merged from two halves of the images."""
    single = fed(kind(), found, 0, range(N_IMAGES)).compute()
    images = [
        Evidence(str(k), (40, 40), boxes[boxes.labels == 0])
        for k, boxes in ((k, found.detections(k)) for k in range(N_IMAGES))
    ]
    halves = [kind(), kind()]
    for half, part in zip(halves, (images[:9], images[9:]), strict=True):
        half.update_batch(part)
    halves[0].merge(halves[1])
    np.testing.assert_equal(halves[0].compute(), single)


def test_images_drawn_again_are_images_that_are_there_twice(found):
    times = np.random.default_rng(1).multinomial(N_IMAGES, np.full(N_IMAGES, 1 / N_IMAGES), 5)
    for name in RATIOS:
        drawn = fed(score_of(name)(), found, 0, range(N_IMAGES)).resample(times)[name]
        for k, counts in enumerate(times):
            chosen = np.repeat(np.arange(N_IMAGES), counts)
            expected = fed(score_of(name)(), found, 0, chosen).compute()[name]
            assert drawn[k] == pytest.approx(expected, abs=1e-12)
