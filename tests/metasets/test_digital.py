"""Digital damage against values worked out by hand and the library's own encoder."""

import cv2
import numpy as np
import pytest
from pictures import picture, textured

from autoeval.metasets.transforms import TransformStep, apply_step
from autoeval.metasets.transforms.degradations import contrast, elastic_transform, pixelate

RNG = np.random.default_rng(0)


def test_contrast_draws_each_channel_to_its_own_mean():
    image = np.zeros((2, 2, 3), np.uint8)
    image[..., 0] = [[100, 200], [100, 200]]  # mean 150: 150 -+ .4 * 50
    image[..., 1] = [[0, 0], [0, 80]]  # mean 20: 20 - .4 * 20, 20 + .4 * 60
    image[..., 2] = 9
    found = contrast(image, RNG, factor=0.4)
    assert found[..., 0].tolist() == [[130, 170], [130, 170]]
    assert found[..., 1].tolist() == [[12, 12], [12, 44]]
    assert (found[..., 2] == 9).all()


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_jpeg_has_the_published_quality(severity):
    image = textured(45, 70)
    quality = {1: 25, 2: 18, 3: 15, 4: 10, 5: 7}[severity]
    _, content = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    step = TransformStep("jpeg_compression", severity)
    found, _, _ = apply_step(step, image, np.zeros((0, 4)), rng=RNG)
    np.testing.assert_array_equal(found, cv2.imdecode(content, cv2.IMREAD_COLOR))


@pytest.mark.parametrize(("share", "side"), [(0.5, 2), (0.25, 4)])
def test_pixelate_averages_blocks(share, side):
    image = textured(40, 60)
    found = pixelate(image, RNG, share=share)
    blocks = image.reshape(40 // side, side, 60 // side, side, 3).mean((1, 3))
    np.testing.assert_allclose(found, blocks.repeat(side, 0).repeat(side, 1), atol=0.51)


def test_pixelate_leaves_as_many_pixels_as_it_says():
    found = pixelate(textured(100, 150), RNG, share=0.3)
    assert (np.diff(found.astype(int), axis=0) != 0).any((1, 2)).sum() == 29
    assert (np.diff(found.astype(int), axis=1) != 0).any((0, 2)).sum() == 44


def test_elastic_displacements_are_as_wide_as_they_say():
    """On ramps, values tell where a pixel came from."""
    height, width, std = 200, 250, 0.01
    ramps = np.stack([*np.indices((height, width)), np.zeros((height, width))], 2).astype(np.uint8)
    found = elastic_transform(ramps, np.random.default_rng(1), std=std)
    moved = (found.astype(float) - ramps)[10:-10, 10:-10, :2]
    assert moved.std((0, 1)) == pytest.approx([2, 2], rel=0.15)
    assert np.abs(moved).max() <= 3 * 2 + 0.5
    assert abs(np.corrcoef(moved.reshape(-1, 2).T)[0, 1]) < 0.3
    # Neighbours move alike: their displacements differ by less than a pixel, mostly.
    assert np.abs(np.diff(moved, axis=1)).mean() < 1


def test_elastic_grows_with_the_image():
    small, large = picture(60, 80), picture(240, 320)
    changes = [
        np.abs(elastic_transform(image, np.random.default_rng(0), std=0.02) - image.astype(float))
        for image in (small, large)
    ]
    # The same picture at four times the size: slopes are a quarter, displacements fourfold.
    assert changes[1].mean() == pytest.approx(changes[0].mean(), rel=0.3)
