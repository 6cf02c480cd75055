"""Draws of the images of a pass are those of its seed."""

import math

import numpy as np
import pytest
from rectangles import BOXES, RectangleDetector, write_world

from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import UnlabelledSamples
from autoeval.io.image_folder import load_image_folder
from autoeval.stability.passes.presets import preset
from autoeval.stability.passes.tally import scored_rows


def observer(batch_size=2, seed=0):
    settings = preset("paper", repeats=2, seed=seed)
    return Observer(RectangleDetector(), BOXES, settings, batch_size=batch_size)


def rows_of(samples, shards=None):
    return [without_seconds(row) for row in scored_rows(observer(), samples, shards=shards)]


def without_seconds(row):
    return {name: value for name, value in row.items() if not name.endswith("_s")}


def same(rows, expected):
    pairs = [
        (row[name], other[name])
        for row, other in zip(rows, expected, strict=True)
        for name in row | other
    ]
    return all(a == b or (isinstance(a, float) and math.isnan(a) and a != b) for a, b in pairs)


def draws(files, **options):
    rows = scored_rows(observer(**options), UnlabelledSamples(files), resamples=8)
    return [row["resampled"] for row in rows]


@pytest.fixture
def files(tmp_path):
    return load_image_folder(write_world(tmp_path, 160, n_images=5) / "images")


def test_draws_are_the_same_for_any_batch_size(files):
    expected = draws(files)
    for batch_size in (1, 5):
        for one, other in zip(draws(files, batch_size=batch_size), expected, strict=True):
            assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in other)


def test_the_seed_of_the_pass_decides_the_draws_and_one_image_is_drawn_as_it_is(files):
    first, second = (draws(files, seed=seed)[0]["bos"] for seed in (0, 1))
    assert first.shape == (8,) and not np.array_equal(first, second)
    (bos,) = {value for value in draws(files[:1])[0]["bos"]}
    assert 0 < bos < 1
