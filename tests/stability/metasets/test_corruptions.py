"""Laws that all transforms, and all corruptions, obey."""

import numpy as np
import pytest
from pictures import picture, textured

from autoeval.errors import InputError
from autoeval.stability.metasets.recipe import load_metaset_config
from autoeval.stability.metasets.transforms import (
    CORRUPTIONS,
    MILD,
    RELEASED_MIX,
    TransformStep,
    apply_step,
    get_transform,
)

NO_BOXES = np.zeros((0, 4))
# What these three add is random and can hide what they take away: see test_weather.py.
ADDING = {"snow", "frost", "fog"}
RANDOM = ADDING | {"gaussian_noise", "shot_noise", "impulse_noise", "motion_blur"}
RANDOM |= {"elastic_transform", RELEASED_MIX}


def corrupt(name, severity, image, *, boxes=NO_BOXES, seed=0):
    rng = np.random.default_rng(seed)
    return apply_step(TransformStep(name, severity), image, boxes, rng=rng)[:2]


def test_the_fourteen_are_those_of_the_configuration(configs):
    config = load_metaset_config(configs / "metasets" / "corruptions.py")
    assert config.transforms == CORRUPTIONS and len(set(CORRUPTIONS)) == 14
    assert config.n_transforms == 1 and config.in_turn and config.n_sets == 14 * 5
    for name in CORRUPTIONS:
        transform = get_transform(name)
        severities = [transform.magnitude(i) for i in range(transform.n_magnitudes)]
        assert severities == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", sorted(set(CORRUPTIONS) - ADDING))
def test_the_change_grows_with_severity(name):
    image = textured(200, 280)
    changes = [np.abs(corrupt(name, s, image)[0] - image.astype(float)).mean() for s in range(1, 6)]
    assert changes[0] > 0.5
    assert (np.diff(changes) > 0).all(), changes


@pytest.mark.parametrize("name", [*CORRUPTIONS, *MILD, RELEASED_MIX])
@pytest.mark.parametrize(
    "image",
    [
        textured(33, 57),
        np.zeros((20, 30, 3), np.uint8),
        np.full((20, 30, 3), 255, np.uint8),
        picture(5, 7),  # smaller than every kernel
        picture(1, 9),
        picture(1, 1),
    ],
    ids=["wide", "black", "white", "small", "row", "pixel"],
)
def test_any_image_gives_a_new_one_of_the_same_kind(name, image):
    before, transform = image.copy(), get_transform(name)
    for place in (0, transform.n_magnitudes // 2, transform.n_magnitudes - 1):
        corrupted, _ = corrupt(name, transform.magnitude(place), image)
        assert corrupted.shape == image.shape and corrupted.dtype == np.uint8
        assert corrupted.flags.c_contiguous
        assert name not in CORRUPTIONS or not np.shares_memory(corrupted, image)
    np.testing.assert_array_equal(before, image)


@pytest.mark.parametrize("name", [*CORRUPTIONS, RELEASED_MIX])
def test_the_generator_decides_and_nothing_else(name):
    image = textured(60, 90)
    severity = None if name == RELEASED_MIX else 3  # as recipes have it
    one, again = (corrupt(name, severity, image, seed=1)[0] for _ in range(2))
    np.testing.assert_array_equal(one, again)
    other = corrupt(name, severity, image, seed=2)[0]
    assert (one != other).any() == (name in RANDOM)


@pytest.mark.parametrize(
    "name",
    # Noise differs between channels, ice is bluish, JPEG rounds colours.
    sorted(set(CORRUPTIONS) - {*CORRUPTIONS[:3], "frost", "jpeg_compression"}),
)
def test_grey_stays_grey(name):
    image = textured(40, 60)[..., :1].repeat(3, 2)
    corrupted, _ = corrupt(name, 4, image)
    np.testing.assert_array_equal(corrupted[..., :1].repeat(3, 2), corrupted)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_boxes_stay_but_under_zoom(name):
    boxes = np.array([[10.0, 20, 40, 50], [60, 5, 90, 60]])
    for severity in (1, 5):
        _, moved = corrupt(name, severity, picture(60, 90), boxes=boxes)
        assert (moved == boxes).all() == (name != "zoom_blur")


@pytest.mark.parametrize("name", ["defocus_blur", "motion_blur", "zoom_blur", "elastic_transform"])
@pytest.mark.parametrize("severity", [1, 3, 5])
def test_the_box_holds_the_centre_of_what_it_held(name, severity):
    """A white square far from the centre; where its light is after the change."""
    image = np.zeros((200, 300, 3), np.uint8)
    image[30:50, 230:260] = 255
    corrupted, boxes = corrupt(name, severity, image, boxes=np.array([[230.0, 30, 260, 50]]))
    light = corrupted[..., 0] / corrupted[..., 0].sum(dtype=float)
    y, x = ((light * axis).sum() for axis in np.indices(light.shape) + 0.5)
    left, top, right, bottom = boxes[0]
    # Under zoom, larger copies hold more light, so its centre is a little further out.
    np.testing.assert_allclose([x, y], [(left + right) / 2, (top + bottom) / 2], atol=2)


@pytest.mark.parametrize("name", ["gaussian_noise", "zoom_blur"])
@pytest.mark.parametrize("severity", [0, 6, 2.5, -1])
def test_severities_that_there_are_not(name, severity):
    with pytest.raises(InputError, match=f"{name} expects a whole number from 1 to 5"):
        corrupt(name, severity, picture(5, 7))
