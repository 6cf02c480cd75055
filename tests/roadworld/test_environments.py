"""Environments: deterministic, different from each other, placing nothing twice."""

import numpy as np
import pytest

from autoeval.errors import InputError
from autoeval.roadworld import ENVIRONMENTS, make_picture
from autoeval.roadworld.scene import draw_scene
from autoeval.roadworld.traffic import _overlap

SHOWN = ("day_street", "dusk_city", "night_highway", "highway_day", "fog", "snow")


def test_there_are_ten_with_their_own_names():
    assert len(ENVIRONMENTS) == 10
    assert all(name == environment.name for name, environment in ENVIRONMENTS.items())


def test_same_seed_same_pixels_whatever_came_before():
    later = make_picture("rain", 5, seed=2)
    make_picture("fog", 0)
    again = make_picture("rain", 5, seed=2)
    assert np.array_equal(later.image, again.image)
    assert np.array_equal(later.boxes, again.boxes) and later.kinds == again.kinds


def test_environment_seed_and_index_each_change_the_picture():
    one = make_picture("overpass", 1, seed=1).image
    others = [("overpass", 2, 1), ("overpass", 1, 2), ("highway_day", 1, 1)]
    for name, index, seed in others:
        assert not np.array_equal(one, make_picture(name, index, seed=seed).image)


def test_unknown_environment_is_refused_with_the_names():
    with pytest.raises(InputError, match=r"No environment 'moon'.*day_street"):
        make_picture("moon", 0)


def test_light_fog_and_snow_show():
    pictures = {name: [make_picture(name, i).image for i in range(6)] for name in SHOWN}
    mean = {name: np.mean(images) for name, images in pictures.items()}
    assert mean["night_highway"] < 0.6 * mean["dusk_city"] < 0.6 * 0.8 * mean["day_street"]
    contrast = {n: np.mean([image.std() for image in pictures[n]]) for n in ("fog", "highway_day")}
    assert contrast["fog"] < 0.8 * contrast["highway_day"]
    ground = {n: np.mean([image[130:] for image in pictures[n]]) for n in ("snow", "day_street")}
    assert ground["snow"] > 1.15 * ground["day_street"]


def test_every_environment_has_vehicles_of_several_kinds():
    for name in ("day_street", "night_highway", "drone_high"):
        pictures = [make_picture(name, i, seed=3) for i in range(4)]
        assert sum(len(picture.boxes) for picture in pictures) >= 8
        assert len({kind for picture in pictures for kind in picture.kinds}) >= 3


def test_vehicles_do_not_overlap_on_the_ground():
    for seed in range(6):
        vehicles = draw_scene(ENVIRONMENTS["drone_high"], np.random.default_rng(seed)).vehicles
        for i, one in enumerate(vehicles):
            assert not any(_overlap(one, other) for other in vehicles[:i])
