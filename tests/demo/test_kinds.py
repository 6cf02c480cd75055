"""The classifier that gives the sample's detector several categories."""

import numpy as np
import pytest

from autoeval.demo.kinds import KindClassifier, categories_of
from autoeval.roadworld import make_picture
from autoeval.roadworld.traffic import KINDS
from autoeval.roadworld.vehicles import MODELS


@pytest.fixture(scope="module")
def classifier():
    return KindClassifier(n_images=15, seed=1).fit()


def test_every_model_has_a_category():
    assert set(categories_of(list(MODELS))) == set(range(len(KINDS)))


@pytest.mark.rare
def test_it_tells_most_vehicles_apart(classifier):
    """Better than calling every vehicle a sedan, on pictures that it was not fitted on."""
    shares, true = [], []
    for index in range(15):
        picture = make_picture("day_street", index, seed=2)
        shares.append(classifier.predict_proba(picture.image, picture.boxes))
        true += categories_of(picture.kinds)
    shares, true = np.concatenate(shares), np.array(true)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.mean(shares.argmax(axis=1) == true) > np.mean(true == KINDS.index("sedan")) + 0.05


@pytest.mark.rare
def test_an_image_without_boxes(classifier):
    image = np.zeros((192, 320, 3), np.uint8)
    assert classifier.predict_proba(image, np.zeros((0, 4))).shape == (0, len(KINDS))
    beyond = np.array([[400.0, 10, 420, 30]])  # clipped to nothing
    assert np.isfinite(classifier.predict_proba(image, beyond)).all()
