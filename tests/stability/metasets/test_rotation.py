"""Rotation: boxes against corners worked out by hand, and against pixels that turn with them."""

import math

import numpy as np
import pytest
from steady import given, st

from autoeval.stability.metasets.transforms import TransformStep, apply_step, rotate_boxes

RNG = np.random.default_rng(0)


def rotate(image, boxes, degrees, **options):
    step = TransformStep("Rotate", degrees)
    return apply_step(step, image, np.array(boxes, float), rng=RNG, **options)


def blank(height, width):
    return np.zeros((height, width, 3), np.uint8)


R = math.sqrt(2)
TURNS = [
    # In a 100 x 60 image about (50, 30) up becomes left: (x, y) goes to (20 + y, 80 - x).
    ([60, 20, 70, 25], 90, (60, 100), [40, 10, 45, 20]),
    # A square of side 2 about the centre becomes a diamond of half-diagonal sqrt(2).
    ([29, 9, 31, 11], 45, (20, 60), [30 - R, 10 - R, 30 + R, 10 + R]),
    # Half a turn mirrors both axes.
    ([1, 2, 4, 8], 180, (20, 60), [56, 12, 59, 18]),
]


@pytest.mark.parametrize(("box", "degrees", "size", "expected"), TURNS)
def test_turns_by_hand(box, degrees, size, expected):
    np.testing.assert_allclose(rotate_boxes(np.array([box], float), degrees, size), [expected])


angles = st.floats(-180, 180)
corner = st.tuples(st.floats(0, 300), st.floats(0, 200))
sides = st.tuples(st.floats(1, 100), st.floats(1, 100))


@given(angles, corner, sides)
def test_box_encloses_the_turned_corners_tightly(degrees, start, side):
    """The size of the enclosing box follows from the sides alone: w |cos| + h |sin|."""
    (x, y), (w, h) = start, side
    ((x1, y1, x2, y2),) = rotate_boxes(np.array([[x, y, x + w, y + h]]), degrees, (200, 300))
    cos, sin = abs(math.cos(math.radians(degrees))), abs(math.sin(math.radians(degrees)))
    assert x2 - x1 == pytest.approx(w * cos + h * sin, abs=1e-6)
    assert y2 - y1 == pytest.approx(w * sin + h * cos, abs=1e-6)
    for px, py in ((x, y), (x + w, y), (x + w, y + h), (x, y + h)):
        # Complex numbers turn a point without a matrix; y points down, hence the conjugate.
        point = complex(px - 150, py - 100).conjugate()
        point *= complex(math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))
        assert x1 - 1e-6 <= point.real + 150 <= x2 + 1e-6
        assert y1 - 1e-6 <= 100 - point.imag <= y2 + 1e-6


@given(angles, corner, sides)
def test_turning_back_never_shrinks_a_box(degrees, start, side):
    box = np.array([[*start, start[0] + side[0], start[1] + side[1]]])
    ((x1, y1, x2, y2),) = rotate_boxes(rotate_boxes(box, degrees, (200, 300)), -degrees, (200, 300))
    assert x1 <= box[0, 0] + 1e-6 and y1 <= box[0, 1] + 1e-6
    assert x2 >= box[0, 2] - 1e-6 and y2 >= box[0, 3] - 1e-6


@pytest.mark.parametrize("degrees", [-15, -7.5, 0, 3, 15, 45, 90])
def test_boxes_stay_on_the_pixels(degrees):
    """H != W, and an object off the centre: a wrong sign or centre would show."""
    image = blank(120, 200)
    image[40:60, 110:150] = 255
    turned, boxes, _ = rotate(image, [[110, 40, 150, 60]], degrees)
    rows, columns = np.nonzero((turned[..., 0] > 127) & (turned != 128).any(-1))
    seen = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    np.testing.assert_allclose(boxes[0], seen, atol=1.5)


def test_size_stays_and_bare_corners_are_grey():
    image, _, _ = rotate(np.full((60, 100, 3), 255, np.uint8), np.zeros((0, 4)), 15)
    assert image.shape == (60, 100, 3)
    assert (image[0, 0] == 128).all() and (image[30, 50] == 255).all()


def test_boxes_are_clipped_and_dropped_by_the_share_left():
    """A quarter turn of 100 x 60: columns 20..80 of the old image stay, as rows 60..0.

    The box (10, 0, 30, 10) lies half in the part that stays: x 20..30 of 10..30.
    """
    boxes = [[10, 0, 30, 10], [0, 0, 10, 10], [40, 20, 50, 30]]
    _, half, kept = rotate(blank(60, 100), boxes, 90, min_visibility=0.49)
    assert kept.tolist() == [0, 2]
    np.testing.assert_allclose(half[0], [20, 50, 30, 60], atol=1e-9)
    _, _, kept = rotate(blank(60, 100), boxes, 90, min_visibility=0.51)
    assert kept.tolist() == [2]
    # Without a minimum only boxes wholly outside go.
    _, left, kept = rotate(blank(60, 100), [[0, 0, 10, 10], [0, 0, 21, 10]], 90, min_visibility=0)
    assert kept.tolist() == [1] and left.shape == (1, 4)
    _, left, kept = rotate(blank(10, 20), np.zeros((0, 4)), 10)
    assert left.shape == (0, 4) and kept.shape == (0,)
