"""Positions against values worked out by hand and against the released metadata."""

import json

import numpy as np
import pytest

from autoeval.counting.capture.synthetic import (
    LAYOUTS,
    SyntheticSpec,
    fit_shift,
    make_records,
    offsets,
    pattern_positions,
    possible_counts,
)
from autoeval.errors import InputError

BY_HAND = [
    # Angle 72 degrees: 100 + 50 cos = 115.45, 100 + 50 sin = 147.55.
    ("circle", 5, (0, 0), 1, [115.45, 147.55]),
    # The first object of a circle lies right of the centre; the offset is added.
    ("circle", 8, (26, -26), 0, [176.0, 74.0]),
    # k = 3, spacing 80 / 3; row 2 is 2 * 23.094 below 60 and starts one spacing left of 100.
    ("triangle", 6, (0, 0), 3, [73.33, 106.19]),
    # k = 4, spacing 20, last of the last row: 1.5 spacings right, 3 * 17.3205 down.
    ("triangle", 10, (0, 0), 9, [130.0, 111.96]),
    # 12 has the divisors 1 2 3 4 6 12: 4 rows (60 to 140) of 3 (80 to 120).
    ("rectangle", 12, (0, 0), 4, [100.0, 86.67]),
    # A prime is one column from 20 to 180: steps of 16 for 11; here moved off the canvas.
    ("rectangle", 11, (-26, -26), 0, [74.0, -6.0]),
    ("rectangle", 11, (0, 0), 1, [100.0, 36.0]),
]


@pytest.mark.parametrize(("pattern", "n", "offset", "index", "expected"), BY_HAND)
def test_positions_by_hand(pattern, n, offset, index, expected):
    assert pattern_positions(pattern, n, offset=offset)[index].tolist() == expected


def test_positions_equal_every_released_one(shared):
    released = json.loads((shared / "golden/capture/synthetic_metadata.json").read_text())
    ours = {record["image_file"]: record for record in make_records(SyntheticSpec())}
    keys = ["ground_truth", "shape", "offset", "color", "dot_shape", "positions"]
    assert len(released) == 1150
    for record in released:
        for key in keys:
            assert ours[record["image_file"]][key] == record[key], (record["image_file"], key)
    names = [record["image_file"] for record in released]
    assert [name for name in ours if name in set(names)] == names  # the same order


def test_number_of_occluded_objects_is_distributed_as_released(shared):
    released = json.loads((shared / "golden/capture/synthetic_metadata.json").read_text())
    published = np.array([record["num_occluded"] for record in released])
    names = {record["image_file"] for record in released}
    means = []
    for seed in range(3):
        records = make_records(SyntheticSpec(seed=seed))
        means.append(np.mean([r["num_occluded"] for r in records if r["image_file"] in names]))
    error = published.std() / np.sqrt(len(published))
    assert published.mean() == pytest.approx(2.73, abs=0.005)  # Table 1
    assert abs(np.mean(means) - published.mean()) < 2 * error


def test_five_places_are_the_centre_and_13_percent_towards_the_corners():
    assert offsets(200) == [(0, 0), (-26, -26), (26, -26), (-26, 26), (26, 26)]
    assert offsets(400)[1] == (-52, -52)


@pytest.mark.parametrize("pattern", LAYOUTS)
def test_every_layout_gives_n_distinct_objects_and_scales_with_the_canvas(pattern):
    for n in possible_counts(pattern, range(5, 30)):
        small, large = pattern_positions(pattern, n), pattern_positions(pattern, n, size=400)
        assert small.shape == (n, 2) and len(np.unique(small, axis=0)) == n
        np.testing.assert_allclose(large, 2 * small, atol=0.02)


def test_impossible_patterns_are_refused():
    with pytest.raises(InputError, match="cannot be made of 7"):
        pattern_positions("triangle", 7)
    with pytest.raises(InputError, match="circle, triangle"):
        pattern_positions("hexagon", 7)


def test_shift_moves_no_further_than_needed():
    points = pattern_positions("rectangle", 5, offset=(26, -26))  # y from -6 to 154
    assert fit_shift(points, 200, 5).tolist() == [0, 11]
    assert fit_shift(points + np.array([0, 60]), 200, 5).tolist() == [0, -19]  # y to 214
    with pytest.raises(InputError, match="does not fit"):
        fit_shift(np.array([[0.0, 0.0], [0.0, 200.0]]), 200, 5)
