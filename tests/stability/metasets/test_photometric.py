"""Each transform against Pillow, scipy or a value worked out by hand."""

import numpy as np
import pytest
from pictures import picture
from PIL import Image, ImageEnhance, ImageOps
from scipy import ndimage

from autoeval.stability.metasets.transforms import MILD, TransformStep, apply_step, get_transform

IMAGE = picture(40, 60)
NO_BOXES = np.zeros((0, 4))


def apply(name, magnitude, image=IMAGE):
    rng = np.random.default_rng(0)
    return apply_step(TransformStep(name, magnitude), image, NO_BOXES, rng=rng)[0]


def pillow(change):
    return np.asarray(change(Image.fromarray(IMAGE)))


def test_the_seven_of_the_paper():
    names = "Rotate Sharpness Equalize ColorTemperature Solarize Autocontrast Brightness"
    assert sorted(MILD) == sorted(names.split())


@pytest.mark.parametrize("threshold", [96, 130, 255])
def test_solarize_equals_pillow(threshold):
    expected = pillow(lambda image: ImageOps.solarize(image, threshold))
    np.testing.assert_array_equal(apply("Solarize", threshold), expected)


def test_equalize_follows_the_cumulative_histogram_and_fades():
    """A value becomes the share of the other pixels at or below it, times 255."""
    flat = np.empty(IMAGE.shape)
    for channel in range(3):
        values = IMAGE[..., channel]
        at_or_below = (values[..., None, None] >= values).sum((2, 3))
        darkest = (values == values.min()).sum()
        flat[..., channel] = 255 * (at_or_below - darkest) / (values.size - darkest)
    np.testing.assert_allclose(apply("Equalize", 1.0).astype(float), flat, atol=0.51)
    half = apply("Equalize", 0.5).astype(float)
    np.testing.assert_allclose(half, (IMAGE + flat) / 2, atol=0.76)


@pytest.mark.parametrize(
    ("cutoff", "black", "white"),
    # The values 50 to 149, once each: 10 per cent off either end leaves 60 to 140.
    [(0, 50, 149), (10, 60, 140), (20, 70, 130)],
)
def test_autocontrast_stretches_what_is_left_of_a_ramp(cutoff, black, white):
    ramp = np.arange(50, 150, dtype=np.uint8).reshape(10, 10, 1).repeat(3, 2)
    expected = ((ramp - float(black)) * 255 / (white - black)).clip(0, 255)
    np.testing.assert_allclose(apply("Autocontrast", cutoff, ramp), expected, atol=0.51)


@pytest.mark.parametrize("factor", [0.5, 0.85, 1.0, 1.5])
def test_brightness_multiplies(factor):
    expected = (IMAGE * factor).clip(0, 255)
    np.testing.assert_allclose(apply("Brightness", factor).astype(float), expected, atol=1)
    expected = pillow(lambda image: ImageEnhance.Brightness(image).enhance(factor)).astype(int)
    np.testing.assert_allclose(apply("Brightness", factor).astype(int), expected, atol=1)


@pytest.mark.parametrize("alpha", [1 / 16, 0.5, 1.0])
def test_sharpness_adds_the_laplacian(alpha):
    """The centre of a 3 x 3 window weighs 9, its neighbours -1; alpha blends with the image."""
    image = IMAGE.astype(float)
    kernel = np.array([[-1, -1, -1], [-1, 9, -1], [-1, -1, -1]])
    sharp = ndimage.convolve(image, kernel[..., None], mode="mirror")
    expected = (image + alpha * (sharp - image)).clip(0, 255)
    np.testing.assert_allclose(apply("Sharpness", alpha).astype(float), expected, atol=0.5)


def test_color_temperature_is_orange_below_and_blue_above_and_keeps_green():
    grey = np.full((4, 4, 3), 120, np.uint8)
    warm, cool = apply("ColorTemperature", 3000, grey), apply("ColorTemperature", 15000, grey)
    assert warm[0, 0, 2] > 120 > warm[0, 0, 0]  # red over, blue under
    assert cool[0, 0, 2] < 120 < cool[0, 0, 0]
    assert (warm[..., 1] == 120).all() and (cool[..., 1] == 120).all()


@pytest.mark.parametrize("name", MILD)
def test_draws_fill_the_range_and_nothing_else(name):
    transform, rng = get_transform(name), np.random.default_rng(0)
    draws = np.array([transform.draw(rng) for _ in range(4000)])
    assert draws.min() == transform.low and draws.max() == transform.high
    steps = (draws - transform.low) / transform.step
    np.testing.assert_allclose(steps, steps.round(), atol=1e-6)
