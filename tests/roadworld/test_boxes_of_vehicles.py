"""Boxes: corners by hand, the pixels that were drawn, and the visibility rule."""

import numpy as np
import pytest

from autoeval.roadworld.dataset import MIN_SIDE, MIN_VISIBLE, projected_box, visible_boxes
from autoeval.roadworld.environments import ENVIRONMENTS, draw_light
from autoeval.roadworld.ground import Road
from autoeval.roadworld.panels import Camera
from autoeval.roadworld.rendering import render
from autoeval.roadworld.scene import Scene, draw_scene
from autoeval.roadworld.traffic import Vehicle

GREY = np.array([0.5, 0.5, 0.5])
BUS_HALF = 5.75
BUS_HALF_WIDTH = 1.275
BUS_TOP = 3.15
BUS_BELLY = 0.32


def stage(*vehicles, height=1.5, pitch=0.0, focal=300.0):
    """A scene of nothing but vehicles on a straight road."""
    camera = Camera(height, pitch, focal)
    light = draw_light("day", "clear", np.random.default_rng(0))
    return Scene(camera, light, (Road(0, 0, 0),), vehicles)


def vehicle(kind, x, y, heading=0.0):
    return Vehicle(kind, x, y, heading, GREY)


def test_bus_from_behind_by_hand():
    scene = stage(vehicle("bus", 0, 20))
    rear = 20 - BUS_HALF
    side = 300 * BUS_HALF_WIDTH / rear
    top = 300 * (BUS_TOP - 1.5) / rear
    # The lowest points in the picture are the rear wheels' lowest corners: an octagon of radius .48
    # whose axle is .52 of half the length behind the middle.
    low, back = 0.48 * np.cos(np.pi / 8), 0.48 * np.sin(np.pi / 8)
    bottom = 300 * (1.5 - (0.48 - low)) / (20 - 0.52 * BUS_HALF - back)
    expected = [160 - side, 96 - top, 160 + side, 96 + bottom]
    assert projected_box(scene, 0) == pytest.approx(expected)


def test_bus_from_straight_above_by_hand():
    scene = stage(vehicle("bus", 2, -1), height=40, pitch=np.pi / 2, focal=200)
    # To the right and to the left the roof counts, as it is nearest. So it does behind; in front
    # it ends .15 m short of the belly, and yet reaches farther in the picture.
    roof, belly = 40 - BUS_TOP, 40 - BUS_BELLY
    left, right = 2 - BUS_HALF_WIDTH, 2 + BUS_HALF_WIDTH
    ahead = max((BUS_HALF - 0.15 - 1) / roof, (BUS_HALF - 1) / belly)
    expected = [160 + 200 * left / roof, 96 - 200 * ahead,
                160 + 200 * right / roof, 96 + 200 * (BUS_HALF + 1) / roof]  # fmt: skip
    # The left side lies to the right of the axis, so there the belly, being farther, is innermost.
    expected[0] = 160 + 200 * left / belly
    wheels = 160 + 200 * (left - 0.01) / (40 - 0.48 + 0.48 * np.cos(np.pi / 8))
    expected[0] = min(expected[0], wheels)
    assert projected_box(scene, 0) == pytest.approx(expected)


def test_box_is_clipped_to_the_image():
    scene = stage(vehicle("bus", -5, 14))
    box = projected_box(scene, 0)
    assert box[0] == 0 and 0 < box[1] < box[3] < 192 and 0 < box[2] < 320
    assert visible_boxes(scene, render(scene))[0][0] == pytest.approx(box)


@pytest.mark.parametrize("kind", ["sedan", "hatchback", "suv", "van", "bus", "truck"])
@pytest.mark.parametrize(("heading", "pitch"), [(0, 5), (2.6, 15), (1.2, 40), (4.0, 85)])
def test_drawn_pixels_fill_the_projected_box(kind, heading, pitch):
    pitch = np.deg2rad(pitch)
    x, y = 1.0, 25 / np.tan(pitch) if pitch > 0.5 else 28
    scene = stage(vehicle(kind, x, y, heading), height=25 if pitch > 0.5 else 4, pitch=pitch)
    rows, columns = np.nonzero(render(scene).owner == 1)
    drawn = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    assert np.abs(projected_box(scene, 0) - drawn).max() <= 1.5


@pytest.mark.parametrize("name", ["day_street", "night_highway", "drone_high", "snow"])
def test_boxes_hold_and_touch_the_pixels_seen(name):
    for seed in range(4):
        scene = draw_scene(ENVIRONMENTS[name], np.random.default_rng(seed))
        rendering = render(scene)
        boxes, index = visible_boxes(scene, rendering)
        assert len(set(index.tolist())) == len(index)
        for box, i in zip(boxes, index, strict=True):
            rows, columns = np.nonzero(rendering.owner == i + 1)
            seen = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
            assert np.abs(box - seen).max() <= 1.5
            assert len(rows) >= MIN_VISIBLE * rendering.drawn[i]
            assert (box[2:] - box[:2]).min() >= MIN_SIDE
            assert (box[:2] >= 0).all() and (box[2:] <= [320, 192]).all()


def test_a_car_behind_a_truck_is_not_labelled_and_no_vehicles_no_boxes():
    scene = stage(vehicle("truck", 0, 15), vehicle("sedan", 0, 30))
    assert visible_boxes(scene, render(scene))[1].tolist() == [0]
    boxes, index = visible_boxes(stage(), render(stage()))
    assert boxes.shape == (0, 4) and index.shape == (0,)


def test_a_car_half_behind_a_truck_ends_where_the_truck_begins():
    scene = stage(vehicle("truck", 0, 15), vehicle("sedan", 3.0, 30))
    boxes, index = visible_boxes(scene, render(scene))
    assert index.tolist() == [0, 1]
    whole = projected_box(scene, 1)
    truck_edge = projected_box(scene, 0)[2]
    assert whole[0] < truck_edge - 2
    assert boxes[1][0] == pytest.approx(truck_edge, abs=1.5)
    assert boxes[1][1:] == pytest.approx(whole[1:], abs=1.5)


def test_nearer_is_drawn_over_farther_in_either_order():
    near, far = vehicle("van", 0, 15), vehicle("bus", 0, 35)
    first, second = render(stage(near, far)), render(stage(far, near))
    assert np.array_equal(first.owner == 1, second.owner == 2)
    assert np.array_equal(first.image, second.image)
