"""Arrays of a file come back to the last bit, and take less room."""

import json
import zlib

import numpy as np
import pytest

from autoeval.labels.plan_folder import compact, restored

RNG = np.random.default_rng(0)
CORNERS = np.sort(RNG.uniform(0, 640, (500, 2, 2)), axis=1).reshape(500, 4).round(1)
XYWH = RNG.uniform(0, 640, (500, 4)).round(2)

ARRAYS = {
    "boxes of one decimal": CORNERS.astype(np.float32),
    "boxes of two decimals, as a left edge and a width": np.concatenate(
        [XYWH[:, :2], XYWH[:, :2] + XYWH[:, 2:]], axis=1
    ),
    "scores of six decimals in double precision": RNG.random(500).round(6),
    "boxes of any number": RNG.normal(size=(50, 4)).astype(np.float32),
    "scores of four decimals": RNG.random(500).round(4).astype(np.float32),
    "not finite": np.array([0.5, np.nan, np.inf, -0.0, 1e30], np.float32),
    "negative zero": np.array([-0.0, 1.0], np.float32),
    "rising": np.sort(RNG.integers(0, 10**6, 500)),
    "rising in each of two categories": np.tile(np.arange(0, 900, 3, dtype=np.int32), 2),
    "in any order": RNG.permutation(500),
    "double precision": RNG.normal(size=(2, 80)),
    "a row of columns": np.zeros((0, 3), np.float32),
    "nothing": np.zeros(0, np.int64),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_comes_back_as_it_was(name):
    array = ARRAYS[name]
    stored, how = compact(array)
    again = restored(stored, json.loads(json.dumps(how)))
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.tobytes() == array.tobytes()


def test_boxes_and_ids_take_less_room():
    for name in (
        "boxes of one decimal",
        "boxes of two decimals, as a left edge and a width",
        "rising in each of two categories",
    ):
        array = ARRAYS[name]
        stored, _ = compact(array)
        sizes = [len(zlib.compress(content.tobytes())) for content in (stored, array)]
        assert sizes[0] < 0.75 * sizes[1], name
