"""Blurs against scipy, and what they must leave alone."""

import numpy as np
import pytest
from pictures import picture, textured
from scipy import ndimage

from autoeval.metasets.transforms.degradations import defocus_blur, streak, zoom_blur

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("radius", [3, 6, 10])
def test_defocus_averages_over_a_disc(radius):
    image = textured(40, 70)
    y, x = np.ogrid[-radius : radius + 1, -radius : radius + 1]
    disc = (x**2 + y**2 <= radius**2).astype(float)
    expected = ndimage.convolve(image.astype(float), disc[..., None] / disc.sum(), mode="reflect")
    found = defocus_blur(image, RNG, radius=radius, smooth=0.1)
    np.testing.assert_allclose(found, expected, atol=0.51)


@pytest.mark.parametrize(("degrees", "axis", "mirrored"), [(0, 1, 1), (180, 1, -1), (90, 0, -1)])
def test_streaks_along_the_axes_are_half_a_bell(degrees, axis, mirrored):
    weights = np.exp(-0.5 * (np.arange(21) / 5) ** 2)
    weights /= weights.sum()
    # Pixels further along (from 180 degrees on: back) count less, the mean distance counts as none.
    centre = round((weights * np.arange(21)).sum())
    window = np.concatenate([np.zeros(20), weights])[centre : centre + 41]
    window = np.pad(window, (0, 41 - len(window)))[::mirrored]
    image = textured(60, 80)
    expected = ndimage.correlate1d(image.astype(float), window, axis=axis, mode="nearest")
    found = streak(image, radius=10, sigma=5, degrees=degrees)
    # Weights are multiples of 1/256: 21 of them are each off by 1/512 at most, times 255.
    np.testing.assert_allclose(found, expected, atol=5)
    assert abs(found - expected).mean() < 1


@pytest.mark.parametrize("degrees", [-45, -20, 0, 33, -100])
def test_a_streak_is_a_line_in_its_direction(degrees):
    point = np.zeros((101, 101), np.uint8)
    point[50, 50] = 255
    y, x = np.nonzero(streak(point, radius=15, sigma=12, degrees=degrees))
    (along, across), axes = np.linalg.eigh(np.cov(x, y))
    assert along < 0.3 and across > 50  # variances, pixels squared: thin and long
    direction = np.rad2deg(np.arctan2(-axes[1, 1], axes[0, 1]))
    assert (direction - degrees + 90) % 180 - 90 == pytest.approx(0, abs=1.5)


@pytest.mark.parametrize(
    "blur",
    [
        lambda image: defocus_blur(image, RNG, radius=8, smooth=0.5),
        lambda image: streak(image, radius=15, sigma=8, degrees=30),
        lambda image: zoom_blur(image, RNG, n_steps=10, step=0.03),
    ],
    ids=["defocus", "motion", "zoom"],
)
@pytest.mark.parametrize("value", [0, 77, 255])
def test_a_plain_image_stays(blur, value):
    plain = np.full((30, 50, 3), value, np.uint8)
    np.testing.assert_array_equal(blur(plain), plain)


def test_zoom_averages_enlargements_about_the_centre():
    image = picture(120, 180).astype(float)
    y, x = np.indices((120, 180)) - np.array([59.5, 89.5])[:, None, None]
    layers = [image]
    for factor in 1 + 0.02 * np.arange(13):
        at = [y / factor + 59.5, x / factor + 89.5]
        layers.append(
            np.stack([ndimage.map_coordinates(c, at, order=1) for c in image.transpose(2, 0, 1)], 2)
        )
    found = zoom_blur(image.astype(np.uint8), RNG, n_steps=12, step=0.02)
    # What is enlarged is cut out in whole pixels, so layers are off by half a pixel.
    np.testing.assert_allclose(found, np.mean(layers, 0), atol=5)
    assert abs(found - np.mean(layers, 0)).mean() < 1
