import numpy as np
import pytest
from rectangles import BOXES, RectangleDetector, write_world

from autoeval.data.image_folder import load_image_folder
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.presets import preset
from autoeval.estimation.observation.samples import UnlabelledSamples


def draws(files, *, batch_size=2, seed=0):
    settings = preset("paper", repeats=2, seed=seed)
    observer = Observer(RectangleDetector(), BOXES, settings, batch_size=batch_size)
    return [row["resampled"] for row in observer.rows(UnlabelledSamples(files), resamples=8)]


@pytest.fixture
def files(tmp_path):
    return load_image_folder(write_world(tmp_path, 160, n_images=5) / "images")


def test_draws_are_the_same_for_any_batch_size(files):
    expected = draws(files)
    for batch_size in (1, 5):
        for one, other in zip(draws(files, batch_size=batch_size), expected, strict=True):
            assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in other)


def test_the_seed_of_the_pass_decides_the_draws(files):
    first, second = (draws(files, seed=seed)[0]["bos"] for seed in (0, 1))
    assert first.shape == (8,) and not np.array_equal(first, second)


def test_one_image_is_drawn_again_as_it_is(files):
    (bos,) = {value for value in draws(files[:1])[0]["bos"]}
    assert 0 < bos < 1
