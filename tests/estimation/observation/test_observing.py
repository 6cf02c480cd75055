"""Draws of the images of a pass are those of its seed."""

import math

import cv2
import numpy as np
import pytest
from rectangles import BOXES, RectangleDetector, write_world

from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.errors import InputError
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import (
    MOST_WORKERS,
    ImageLoading,
    PassLog,
    Sample,
    UnlabelledSamples,
    at_once,
    observe_batches,
)
from autoeval.io.image_lists import load_image_folder
from autoeval.io.video import video_frames
from autoeval.stability.passes.presets import preset
from autoeval.stability.passes.tally import scored_rows


def observer(batch_size=2, seed=0, workers=None):
    settings = preset("paper", repeats=2, seed=seed)
    reading = ImageLoading(batch_size, workers)
    return Observer(RectangleDetector(), BOXES, settings, reading=reading)


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


def test_the_reason_of_a_failed_image_is_that_of_the_function():
    """The names of the detector and of the image came before it, and it was cut off."""

    def find(images):
        if images[0].any():
            raise RuntimeError("expected 3 channels, " + "but got 4 " * 10)
        return [[]], [[]], [[]]

    log = PassLog()
    detector = BlackBoxDetector(find, ["car"], name="/models/of/all/sites/" * 5)
    images = [np.full((8, 8, 3), grey, np.uint8) for grey in (0, 255)]
    batches = [
        [(k, Sample(f"{k}.png", image, *[np.zeros(0)] * 3))] for k, image in enumerate(images)
    ]
    assert len([*observe_batches(batches, at_once(detector.observe), log)]) == 1
    assert log.unreadable[1].count("but got 4") == 10 and "/models" not in log.unreadable[1]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_workers_change_no_number_and_name_the_same_bad_images(files, workers):
    files[2].path.write_bytes(b"no image")
    samples = UnlabelledSamples(files)
    rows = [without_seconds(row) for row in scored_rows(observer(workers=workers), samples)]
    assert same(rows, [without_seconds(row) for row in scored_rows(observer(workers=0), samples)])
    assert [row["n_unreadable"] for row in rows] == [1, 1]
    assert files[2].path.name in rows[0]["unreadable"]


def test_as_many_workers_as_cores_and_one_where_images_have_an_order(files):
    class Frame:
        image_id = "video 0:00"

        def read(self):
            raise NotImplementedError

    still, moving = UnlabelledSamples(files), UnlabelledSamples([*files, Frame()])
    assert 1 <= ImageLoading().workers(still) <= MOST_WORKERS
    assert ImageLoading(num_workers=20).workers(still) == 20
    assert [ImageLoading(num_workers=n).workers(moving) for n in (0, 1, 20)] == [0, 1, 1]
    for wrong in ({"batch_size": 0}, {"num_workers": -1}):
        with pytest.raises(InputError, match="Expected"):
            ImageLoading(**wrong)


def test_a_video_is_decoded_once_with_any_number_of_workers(tmp_path):
    path, opened = tmp_path / "street.avi", []
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 10, (64, 48))
    for k in range(12):
        writer.write(np.full((48, 64, 3), 20 * k, np.uint8))
    writer.release()
    frames = video_frames(path, "1", "street.avi")
    frames[0].video._open = lambda: opened.append(1)
    watching = Observer(RectangleDetector(), BOXES, reading=ImageLoading(2, 8))
    levels = [s.image.mean() for s, _ in watching.each(UnlabelledSamples(frames))]
    assert np.allclose(levels, 20 * np.arange(12), atol=4) and not opened


def test_the_seed_of_the_pass_decides_the_draws_and_one_image_is_drawn_as_it_is(files):
    first, second = (draws(files, seed=seed)[0]["bos"] for seed in (0, 1))
    assert first.shape == (8,) and not np.array_equal(first, second)
    (bos,) = {value for value in draws(files[:1])[0]["bos"]}
    assert 0 < bos < 1
