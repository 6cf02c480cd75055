"""Numbers by image and category, of which few are kept: equal to the whole array, but for bits."""

import numpy as np
import pytest

from autoeval.labels.plan import ByImage, with_few_bits


@pytest.fixture
def dense():
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=(5, 3, 1)), 40, axis=2)
    values[:, :, :15] = rng.normal(size=(5, 3, 15))
    return values


def test_every_number_is_kept_or_the_usual_one(dense):
    by_image = ByImage.of(dense, 40)
    for level in range(3):
        assert by_image[level] == pytest.approx(dense[:, level], rel=2e-4)
    assert len(by_image.image) == 5 * 15 and len(by_image) == 5


def test_images_that_all_differ_are_kept_all():
    values = np.arange(12.0).reshape(2, 1, 6)
    assert (ByImage.of(values, 6)[0] == values[:, 0]).all()


def test_categories_left_out_and_added(dense):
    by_image = ByImage.of(dense, 40)
    other = by_image.of_categories([3, 1], n_added=2)
    assert (other[2][:2] == by_image[2][[3, 1]]).all()
    assert other[2].shape == (4, 40) and not other[2][2:].any()


def test_bits_that_are_dropped():
    """By hand: steps above 1 are of 2**-12, and halves are rounded away from 0."""
    rounded = with_few_bits(np.array([1 + 2**-14, 1 + 3 * 2**-13, -1 - 3 * 2**-13, 0.0]))
    assert rounded.tolist() == [1, 1 + 2**-11, -1 - 2**-11, 0]
