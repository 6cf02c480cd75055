"""What the pixels say moves the way that a change of the camera should move it."""

import cv2
import numpy as np
import pytest

from autoeval.monitoring.changes.image_numbers import MEANINGS
from autoeval.monitoring.observing.signals import image_signals
from autoeval.stability.metasets.transforms import get_transform


@pytest.fixture(scope="module")
def street():
    """Rectangles of all sizes on a grey ground, with a little noise: edges at every scale."""
    rng = np.random.default_rng(3)
    image = np.full((360, 640, 3), 120, np.uint8)
    for _ in range(150):
        x, y, w, h = rng.integers((0, 0, 3, 3), (640, 360, 90, 90))
        colour = [int(c) for c in rng.integers(20, 230, 3)]
        cv2.rectangle(image, (int(x), int(y)), (int(x + w), int(y + h)), colour, -1)
    noisy = image + rng.normal(0, 2, image.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def moved(image, name, severity):
    changed = get_transform(name).change(image, severity, np.random.default_rng(0))
    before, now = image_signals(image), image_signals(changed)
    return {signal: now[signal] - before[signal] for signal in MEANINGS}


def test_there_are_all_signals_and_they_are_finite(street):
    assert list(image_signals(street)) == list(MEANINGS)
    for shape in ((1, 1, 3), (3, 9, 3), (2000, 2, 3)):
        values = image_signals(np.zeros(shape, np.uint8))
        assert list(values) == list(MEANINGS) and np.isfinite(list(values.values())).all()


def test_defocus_takes_the_finest_details_first_and_more_the_stronger_it_is(street):
    weak, strong = (moved(street, "defocus_blur", severity) for severity in (1, 4))
    for change in (weak, strong):
        octaves = [change[f"detail_{k}"] for k in range(1, 5)]
        assert octaves == sorted(octaves) and octaves[0] < -0.5
    assert strong["detail_1"] < weak["detail_1"] and strong["edges"] < weak["edges"] < 0
    assert abs(strong["brightness"]) < 0.01 and abs(strong["contrast"]) < 0.2


def test_noise_raises_the_noise_level_and_leaves_coarse_edges(street):
    change = moved(street, "gaussian_noise", 2)
    assert change["noise"] > 1 and abs(change["coarse_edges"]) < 0.2 * change["noise"]


def test_the_noise_level_is_the_standard_deviation_of_the_noise():
    rng = np.random.default_rng(0)
    grey = rng.normal(128, 10, (400, 400, 1)).round().clip(0, 255).astype(np.uint8)
    level = np.exp(image_signals(np.repeat(grey, 3, axis=2))["noise"])
    assert level == pytest.approx(10, rel=0.03)


def test_lower_contrast_lowers_every_octave_alike(street):
    change = moved(street, "contrast", 2)
    assert [change[f"detail_{k}"] for k in range(2, 5)] == pytest.approx([np.log(0.3)] * 3, abs=0.1)
    assert change["contrast"] == pytest.approx(np.log(0.3), abs=0.05)


def test_fog_raises_the_dark_channel_and_takes_the_colour(street):
    change = moved(street, "fog", 3)
    assert change["haze"] > 0.02 and change["saturation"] < -0.05


def test_compression_shows_at_the_borders_of_its_blocks(street):
    assert moved(street, "jpeg_compression", 5)["blockiness"] > 0.2
    assert moved(street, "defocus_blur", 3)["blockiness"] < 0.2


def test_light_is_measured_in_shares():
    image = np.zeros((40, 80, 3), np.uint8)
    image[:, 40:] = 255
    values = image_signals(image)
    assert values["brightness"] == pytest.approx(0.5, abs=0.02)
    assert values["dark"] == pytest.approx(0.5, abs=0.05)
    assert values["bright"] == pytest.approx(0.5, abs=0.05)
