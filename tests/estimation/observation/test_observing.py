"""Parts of a pass add up to the whole, and draws of its images are those of its seed."""

import math

import numpy as np
import pytest
from rectangles import BOXES, RectangleDetector, write_world

from autoeval.errors import InputError
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import UnlabelledSamples
from autoeval.io.image_folder import load_image_folder
from autoeval.io.tasks.seed_set import load_seed_set
from autoeval.runtime.shards import TorchShards
from autoeval.stability.metasets import SampleSet, own_images
from autoeval.stability.passes.presets import preset
from autoeval.stability.passes.tally import scored_rows


class OnePart(TorchShards):
    """One rank on its own, which keeps what it would send."""

    def gather(self, item):
        self.sent = item
        return [item]


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


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_parts_of_a_pass_add_up_to_the_whole_to_the_last_bit(ranks, tmp_path):
    world = write_world(tmp_path, 180, n_images=7)
    (world / "images" / "5.png").write_bytes(b"not an image")
    annotated = world / "annotations.json", world / "images"
    seed_set = load_seed_set("w", *annotated, ("box",), {"box": "box"})
    samples = SampleSet(seed_set, own_images(seed_set))
    parts = [OnePart(rank, ranks) for rank in range(ranks)]
    for part in parts:
        rows_of(samples, part)
    tally, *others = (part.sent for part in parts)
    for other in others:
        tally.merge(other)
    rows = [without_seconds(row) for row in tally.rows()]
    assert same(rows, rows_of(samples))
    assert rows[0]["n_images"] == 6 and "5.png" in rows[0]["unreadable"]


def test_a_part_without_images_changes_nothing(tmp_path):
    files = load_image_folder(write_world(tmp_path, 180, n_images=2) / "images")
    samples = UnlabelledSamples(files)
    empty, full = OnePart(0, 3), OnePart(2, 3)
    assert [len(part.part(2)) for part in (empty, full)] == [0, 1]
    with pytest.raises(InputError, match="None of the 0 images"):
        rows_of(samples, empty)
    expected = rows_of(samples, full)
    empty.sent.merge(full.sent)
    assert same([without_seconds(row) for row in empty.sent.rows()], expected)


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
