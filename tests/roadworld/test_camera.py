"""The pinhole camera against projections worked out by hand, and against its own inverse."""

import numpy as np
import pytest

from autoeval.roadworld.panels import Camera

DOWN = np.pi / 2
THIRTY = np.deg2rad(30)
PROJECTED = [
    # 3 m to the right and 1 m below the lens at 20 m: 100 * 3 / 20 = 15 and 100 * 1 / 20 = 5.
    (Camera(2, 0, 100), (3, 20, 1), (160 + 15, 96 + 5), 20),
    # A roof 10 m up is 40 m away; ahead of the camera is up in the picture.
    (Camera(50, DOWN, 200), (4, 8, 10), (160 + 200 * 4 / 40, 96 - 200 * 8 / 40), 40),
    # The view axis meets the ground where the pitch says.
    (Camera(10, THIRTY, 300), (0, 10 / np.tan(THIRTY), 0), (160, 96), 20),
    # Roll turns the picture.
    (Camera(0, 0, 100), (1, 10, 0), (170, 96), 10),
    (Camera(0, 0, 100, roll=np.pi / 2), (1, 10, 0), (160, 86), 10),
]


@pytest.mark.parametrize(("camera", "point", "pixels", "depth"), PROJECTED)
def test_projections_by_hand(camera, point, pixels, depth):
    assert (camera.width, camera.lines) == (320, 192)
    found, distance = camera.project(np.array(point, float))
    assert found == pytest.approx(pixels) and distance == pytest.approx(depth)


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
