"""The pinhole camera against projections worked out by hand, and against its own inverse."""

import numpy as np
import pytest

from autoeval.demo.roadworld.panels import Camera


def test_level_camera_by_hand():
    camera = Camera(height=2, pitch=0, focal=100, width=320, lines=192)
    # 3 m to the right and 1 m below the lens at 20 m: 100 * 3 / 20 = 15 and 100 * 1 / 20 = 5.
    pixels, depth = camera.project(np.array([3.0, 20.0, 1.0]))
    assert pixels == pytest.approx([160 + 15, 96 + 5]) and depth == pytest.approx(20)


def test_straight_down_by_hand():
    camera = Camera(height=50, pitch=np.pi / 2, focal=200, width=320, lines=192)
    # A roof 10 m up is 40 m away; ahead of the camera is up in the picture.
    pixels, depth = camera.project(np.array([4.0, 8.0, 10.0]))
    assert pixels == pytest.approx([160 + 200 * 4 / 40, 96 - 200 * 8 / 40])
    assert depth == pytest.approx(40)


def test_the_view_axis_meets_the_ground_where_the_pitch_says():
    camera = Camera(height=10, pitch=np.deg2rad(30), focal=300)
    pixels, _ = camera.project(np.array([0.0, 10 / np.tan(np.deg2rad(30)), 0.0]))
    assert pixels == pytest.approx([160, 96])


def test_roll_turns_the_picture():
    level = Camera(height=0, pitch=0, focal=100)
    rolled = Camera(height=0, pitch=0, focal=100, roll=np.pi / 2)
    point = np.array([1.0, 10.0, 0.0])
    (u, v), (u_rolled, v_rolled) = level.project(point)[0], rolled.project(point)[0]
    assert (u, v) == pytest.approx((170, 96))
    assert (u_rolled, v_rolled) == pytest.approx((160, 86))


@pytest.mark.parametrize("pitch", [5, 25, 60, 90])
def test_ground_is_the_inverse_of_project(pitch):
    camera = Camera(height=7, pitch=np.deg2rad(pitch), focal=300, roll=0.05)
    x, y, depth = camera.ground
    rows, columns = np.nonzero(~camera.sky[camera.below :])
    points = np.stack([x, y, np.zeros_like(x)], -1)[rows, columns].astype(float)
    pixels, depths = camera.project(points)
    near = depth[rows, columns] < 200  # float32 rays lose the last digits far away
    centres = np.stack([columns + 0.5, rows + camera.below + 0.5], 1)
    assert np.abs(pixels - centres)[near].max() < 0.05
    np.testing.assert_allclose(depths[near], depth[rows, columns][near], rtol=1e-3)


def test_rows_of_sky_and_ground():
    level = Camera(height=5, pitch=0, focal=300, lines=192)
    assert level.above == pytest.approx(96, abs=3) and level.below == pytest.approx(96, abs=3)
    down = Camera(height=5, pitch=np.pi / 2, focal=300)
    assert (down.above, down.below) == (0, 0)
