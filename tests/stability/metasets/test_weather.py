"""Weather: what is left of the scene, and what is added."""

import cv2
import numpy as np
import pytest
from pictures import picture, textured

from autoeval.stability.metasets.transforms import TransformStep, apply_step
from autoeval.stability.metasets.transforms.corruptions import brightness, fog, frost, plasma, snow

GRAINS = dict(mean=0.1, size=3, threshold=0.5, blur=(10, 4))


def rng(seed=0):
    return np.random.default_rng(seed)


def contrast_left(name, severity):
    """Show the same weather over two scenes: how far apart are they still?"""
    scenes = [(textured(120, 160) * factor).astype(np.uint8) for factor in (0.2, 0.4)]
    scenes = [np.pad(scene, ((0, 1), (0, 0), (0, 0)), constant_values=200) for scene in scenes]
    step, none = TransformStep(name, severity), np.zeros((0, 4))
    one, other = (apply_step(step, scene, none, rng=rng())[0].astype(float) for scene in scenes)
    return np.abs(one - other).mean() / np.abs(scenes[0] - scenes[1].astype(float)).mean()


@pytest.mark.parametrize(
    ("name", "equal"),
    # Published severities that take away as much as the one before and differ in what they add.
    [("frost", []), ("fog", [4])],
)
def test_less_of_the_scene_is_left_the_severer(name, equal):
    left = [contrast_left(name, severity) for severity in range(1, 6)]
    assert left[0] <= 1.01
    for severity in range(2, 6):
        difference = left[severity - 2] - left[severity - 1]
        assert difference == pytest.approx(0, abs=0.01) if severity in equal else difference > 0.02


def test_snow_whitens_more_the_severer_but_for_the_published_step_back_at_3():
    image = textured(200, 280)
    step, none = "snow", np.zeros((0, 4))
    steps = [TransformStep(step, severity) for severity in range(1, 6)]
    light = [apply_step(each, image, none, rng=rng())[0].mean() for each in steps]
    assert image.mean() < light[0] < light[2] < light[3] < light[4] and light[2] < light[1]


def test_between_the_flakes_snow_is_a_whitened_scene():
    """Grey 40 whitened is 1.5 * 40 + 128 = 188; .8 * 40 + .2 * 188 = 69.6."""
    snowy = snow(np.full((100, 150, 3), 40, np.uint8), rng(), **GRAINS, keep=0.8)
    assert snowy.min() == 70
    assert 0.2 < (snowy > 70).mean() < 0.9


def test_no_noise_above_the_threshold_is_no_flake():
    image = picture(50, 70)
    clear = snow(image, rng(), **{**GRAINS, "threshold": 1.01}, keep=1.0)
    np.testing.assert_array_equal(clear, image)


def test_frost_adds_the_same_ice_to_any_scene():
    dark = (picture(60, 90) // 4, picture(60, 90, seed=1) // 4)
    one, other = (frost(image, rng(), keep=0.6, add=0.5).astype(float) for image in dark)
    np.testing.assert_allclose(one - other, 0.6 * (dark[0] - dark[1].astype(float)), atol=1.01)
    ice = frost(np.zeros((240, 320, 3), np.uint8), rng(), keep=1.0, add=1.0)
    assert 80 < ice.mean() < 200 and ice.std() > 30
    assert ice[..., 0].mean() > ice[..., 2].mean()  # bluish


@pytest.mark.parametrize("density", [1.5, 3.0])
def test_fog_shrinks_contrast_by_its_density(density):
    scenes = [textured(90, 120), textured(90, 120, seed=1)]
    for scene in scenes:
        scene[0, 0] = 255
    one, other = (fog(scene, rng(), density=density, decay=3.0).astype(float) for scene in scenes)
    difference = (scenes[0] - scenes[1].astype(float)) / (1 + density)
    np.testing.assert_allclose(one - other, difference, atol=1.01)


def test_plasma_spans_zero_to_one_and_smooths_with_decay():
    for size in [(60, 100), (100, 60), (64, 64), (65, 7), (1, 5)]:
        field = plasma(size, rng(), decay=2)
        assert field.shape == size and field.min() == 0 and field.max() == 1
    assert plasma((1, 1), rng(), decay=2).tolist() == [[0]]
    rough = [
        np.abs(np.diff(plasma((200, 200), rng(), decay=decay))).mean() for decay in (1, 1.5, 2, 4)
    ]
    assert (np.diff(rough) < 0).all()


@pytest.mark.parametrize(
    ("pixel", "expected"),
    # V = max + 51: the ratio of the channels stays, black becomes grey, white stays.
    [
        ((0, 50, 100), (0, 76, 151)),
        ((200, 100, 50), (251, 126, 63)),
        ((0, 0, 0), (51, 51, 51)),
        ((230, 230, 230), (255, 255, 255)),
        ((255, 10, 0), (255, 10, 0)),
    ],
)
def test_brightness_by_hand(pixel, expected):
    assert brightness(np.uint8([[pixel]]), rng(), add=0.2).tolist() == [[list(expected)]]


def test_brightness_adds_to_the_value_of_hsv():
    image = textured(40, 60)
    hsv = cv2.cvtColor(image.astype(np.float32) / 255, cv2.COLOR_BGR2HSV)
    hsv[..., 2] = np.minimum(hsv[..., 2] + 0.3, 1)
    expected = cv2.cvtColor(hsv, cv2.COLOR_HSV2BGR) * 255
    np.testing.assert_allclose(brightness(image, rng(), add=0.3), expected, atol=0.51)
