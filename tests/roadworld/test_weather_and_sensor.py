"""What weather and sensor do to a picture, by laws."""

import numpy as np
import pytest

from autoeval.roadworld.air import _streak, precipitation, sense
from autoeval.roadworld.environments import Sensor

PERFECT = Sensor(defocus=(0, 0), noise=(0, 0))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def picture(rng):
    return rng.integers(0, 256, (192, 320, 3), dtype=np.uint8)


def test_a_perfect_sensor_changes_nothing(picture, rng):
    assert np.array_equal(sense(picture, PERFECT, rng), picture)


@pytest.mark.parametrize(("grey", "deviation"), [(88, 5.0), (24, 5 * 0.5**0.5)])
def test_noise_has_the_deviation_asked_for(grey, deviation, rng):
    # The deviation is the level times the square root of (grey + 40) / 128.
    flat = np.full((192, 320, 3), grey, np.uint8)
    noisy = sense(flat, Sensor((0, 0), noise=(5, 5)), rng).astype(float)
    assert noisy.std() == pytest.approx(deviation, rel=0.03)
    assert noisy.mean() == pytest.approx(grey - 0.5, abs=0.2)  # whole grey levels, rounded down


def test_half_resolution_loses_a_chequerboard(rng):
    board = np.indices((192, 320)).sum(0) % 2 * np.uint8(255)
    coarse = sense(
        np.dstack([board] * 3).astype(np.uint8), Sensor((0, 0), noise=(0, 0), shrink=0.5), rng
    )
    assert coarse.shape == (192, 320, 3)
    assert np.abs(coarse.astype(int) - 127).max() <= 1


def test_blur_keeps_the_mean_and_takes_the_edges(picture, rng):
    for sensor in (Sensor((1, 1), noise=(0, 0)), Sensor((0, 0), (5, 5), (0, 0))):
        blurred = sense(picture, sensor, rng)
        assert blurred.mean() == pytest.approx(picture.mean(), abs=1)
        assert blurred.std() < 0.7 * picture.std()


@pytest.mark.parametrize("angle", [0.0, 0.8, np.pi / 2])
def test_motion_blur_moves_no_brightness(angle):
    kernel = _streak(6, angle)
    assert kernel.sum() == pytest.approx(1) and (kernel >= 0).all()
    rows, columns = np.nonzero(kernel > 0.05)
    spread = np.ptp(columns) * np.cos(angle) + np.ptp(rows) * np.sin(angle)
    assert spread == pytest.approx(6, abs=2)


def test_rain_and_snow_brighten_and_clear_air_does_not(rng):
    dark = np.full((192, 320, 3), 40, np.uint8)
    for weather in ("rain", "snow"):
        assert precipitation(dark, weather, rng).mean() > 41
    for weather in ("clear", "fog"):
        assert precipitation(dark, weather, rng) is dark
