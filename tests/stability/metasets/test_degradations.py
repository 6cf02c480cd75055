"""Blur, noise and damage by processing against published formulas."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from pictures import picture, textured
from scipy import ndimage
from scipy.stats import norm

from autoeval.stability.metasets.transforms import TransformStep, apply_step
from autoeval.stability.metasets.transforms.corruptions import (
    contrast,
    defocus_blur,
    elastic_transform,
    gaussian_noise,
    impulse_noise,
    pixelate,
    shot_noise,
    streak,
    zoom_blur,
)

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
        channels = [ndimage.map_coordinates(c, at, order=1) for c in image.transpose(2, 0, 1)]
        layers.append(np.stack(channels, 2))
    found = zoom_blur(image.astype(np.uint8), RNG, n_steps=12, step=0.02)
    # What is enlarged is cut out in whole pixels, so layers are off by half a pixel.
    np.testing.assert_allclose(found, np.mean(layers, 0), atol=5)
    assert abs(found - np.mean(layers, 0)).mean() < 1


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


def plain(value):
    return np.full((300, 400, 3), value, np.uint8)


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("std", [0.02, 0.08, 0.12])
def test_gaussian_noise_has_the_mean_and_deviation_it_says(std):
    noise = gaussian_noise(plain(128), rng(), std=std) - 128.0
    assert abs(noise.mean()) < 0.2
    # Rounding to whole numbers adds the variance of a uniform number, 1 / 12.
    assert noise.std() == pytest.approx(np.sqrt((255 * std) ** 2 + 1 / 12), rel=0.01)


def test_gaussian_noise_is_clipped_at_both_ends_and_differs_between_channels_and_neighbours():
    noisy = gaussian_noise(plain(128), rng(), std=0.38)
    assert (noisy == 0).mean() == pytest.approx(norm.cdf(-127.5 / 96.9), rel=0.03)
    assert (noisy == 255).mean() == pytest.approx(norm.sf(126.5 / 96.9), rel=0.03)
    noisy = gaussian_noise(plain(128), rng(), std=0.1)
    assert abs(np.corrcoef(noisy.reshape(-1, 3).T)[0, 1]) < 0.01
    assert abs(np.corrcoef(noisy[:, 1:, 0].ravel(), noisy[:, :-1, 0].ravel())[0, 1]) < 0.01


@pytest.mark.parametrize(("value", "photons"), [(64, 60), (100, 25), (30, 12)])
def test_shot_noise_has_the_mean_and_variance_of_photons(value, photons):
    """With m photons on average, m = value * photons / 255, their number has the variance m."""
    noisy = shot_noise(plain(value), rng(), photons=photons).astype(float)
    assert noisy.mean() == pytest.approx(value, rel=0.01)
    assert noisy.var() == pytest.approx(value * 255 / photons, rel=0.02)


def test_shot_noise_is_whole_photons():
    noisy = shot_noise(plain(51), rng(), photons=5)  # one photon on average
    assert set(np.unique(noisy)) == {0, 51, 102, 153, 204, 255}
    for n_photons, chance in enumerate([1, 1, 1 / 2, 1 / 6]):  # e^-1 / n!
        share = (noisy == 51 * n_photons).mean()
        assert share == pytest.approx(chance / np.e, rel=0.03)
    assert (shot_noise(plain(0), rng(), photons=5) == 0).all()


@pytest.mark.parametrize("share", [0.03, 0.27])
def test_impulse_noise_hits_the_share_it_says_half_black_half_white(share):
    noisy = impulse_noise(plain(100), rng(), share=share)
    assert (noisy == 0).mean() == pytest.approx(share / 2, rel=0.05)
    assert (noisy == 255).mean() == pytest.approx(share / 2, rel=0.05)
    assert (noisy == 100).mean() == pytest.approx(1 - share, rel=0.01)
    assert (noisy != 100).all(2).mean() == pytest.approx(share**3, rel=0.1, abs=3e-5)
