"""The draw: equal inclusion probabilities, spread over the order, kept by a larger draw; blocks."""

from dataclasses import dataclass

import numpy as np
import pytest

from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.estimation.label_planning import PlanRequest, make_plan
from autoeval.labels.plan import (
    balanced_order,
    blocks_of,
    inclusion_probabilities,
    inverse_probabilities,
    unequal_order,
)


@pytest.mark.parametrize(("n_pool", "n"), [(16, 5), (37, 10), (61, 50)])  # odd halves too
def test_each_image_is_drawn_equally_often(n_pool, n):
    times, draws = np.zeros(n_pool), 1500
    for seed in range(draws):
        times[balanced_order(np.arange(n_pool), seed=seed)[:n]] += 1
    share = n / n_pool
    error = np.sqrt(share * (1 - share) / draws)
    assert np.abs(times / draws - share).max() < 4.5 * error


def test_it_is_a_permutation_by_its_seed():
    order = np.random.default_rng(0).permutation(50)
    drawn = balanced_order(order, seed=3)
    assert sorted(drawn) == list(range(50))
    assert (drawn == balanced_order(order, seed=3)).all()
    assert (drawn != balanced_order(order, seed=4)).any()


def merged(order, rng):
    """The draw as it is defined: the sequences of two halves, merged by their keys."""
    if len(order) < 2:
        return order
    halves = [merged(part, rng) for part in np.array_split(order, 2)]
    start = rng.random()
    offsets = (start, (start + 0.5) % 1)
    keys = [(np.arange(len(p)) + at) / len(p) for p, at in zip(halves, offsets, strict=True)]
    return np.concatenate(halves)[np.argsort(np.concatenate(keys), kind="stable")]


@pytest.mark.parametrize("n", [*range(1, 20), 31, 33, 64, 100, 1023])
def test_all_parts_of_a_depth_are_merged_as_one_by_one(n):
    order = np.random.default_rng(n).permutation(n)
    rng = np.random.default_rng(5)
    turned = np.roll(order, rng.integers(n))
    assert (balanced_order(order, seed=5) == merged(turned, rng)).all()


@pytest.mark.parametrize("n", [4, 8, 16])
def test_every_beginning_is_spread_over_the_order(n):
    for seed in range(20):
        strata = np.sort(balanced_order(np.arange(64), seed=seed)[:n])
        gaps = np.diff(np.append(strata, strata[0] + 64))
        assert gaps.max() <= 2 * 64 / n
        assert gaps.min() >= 1


def test_means_vary_less_than_by_a_simple_draw():
    values = np.sort(np.random.default_rng(0).normal(size=100))
    means = [values[balanced_order(np.arange(100), seed=s)[:10]].mean() for s in range(200)]
    assert np.std(means) < 0.75 * values.std() * np.sqrt((1 - 0.1) / 10)


@dataclass(frozen=True)
class Named:
    image_id: str


IMAGES = [Named(f"{camera}/{n}.jpg") for camera in ("a", "b") for n in (10, 2, 1, 3)]


def test_files_are_no_frames_by_default():
    assert sorted(blocks_of(IMAGES)) == list(range(8))


def test_numbers_are_counted_as_numbers_camera_by_camera():
    blocks = blocks_of(IMAGES, frames=2).tolist()
    assert blocks[2] == blocks[1] != blocks[3] == blocks[0]
    assert set(blocks[:4]).isdisjoint(blocks[4:])


def test_frames_are_known_by_their_file_names():
    """Ids are numbers, too, and may be given in any order; a suffix may end in a number."""
    names = [f"{camera}/{n:02}.jp2" for camera in "ab" for n in range(5)]
    ids = np.random.default_rng(0).permutation(len(names)).tolist()
    images = [LabelledImage(str(k), name, None) for k, name in zip(ids, names, strict=True)]
    assert blocks_of(images, frames=3).tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert blocks_of(images[::-1], frames=3).tolist()[::-1] == [2, 2, 2, 3, 3, 0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    "form",
    ["{}/{:02}_jpg.rf.{:08x}ab.jpg", "{}/{:02}_png.rf.a{:08x}.jpg", "{0}/{2:07x}a-{1:02}.jpg"],
)
def test_frames_are_known_by_the_names_that_they_had_before_an_upload(form):
    hashes = np.random.default_rng(0).permutation(10).tolist()
    names = [form.format(camera, n, hashes.pop()) for camera in "ab" for n in range(5)]
    images = [LabelledImage(name, name, None) for name in names]
    assert blocks_of(images, frames=3).tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]


@pytest.mark.parametrize(
    "form",
    [
        "{}_2026-03-02_{:02}-{:02}-00.jpg",
        "2026-03-02/{1:02}{2:02}_{0}.jpg",
        "{0}_20260302T{1:02}{2:02}+0100.jpg",  # the zone
        "{0}_2026-03-02T{1:02}-{2:02}-00.{1}{2:02}Z.jpg",  # parts of a second
        "{0}-20260302{1:02}{2:02}00-00.jpg",  # of Motion: a number within the second
    ],
)
def test_frames_are_known_by_the_times_in_their_names(form):
    minutes = range(57, 62)
    names = [form.format(camera, 8 + m // 60, m % 60) for camera in "ab" for m in minutes]
    images = [LabelledImage(name, name, None) for name in names]
    assert blocks_of(images, frames=3).tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert blocks_of(images[::-1], frames=3).tolist()[::-1] == [2, 2, 2, 3, 3, 0, 0, 0, 1, 1]


def test_numbers_behind_a_time_are_those_of_frames():
    """A time is then that of the film; other files may have a number alone there."""
    names = [f"{film}_{n}.jpg" for film in ("20260302_0815", "20260302_0816") for n in range(4)]
    images = [LabelledImage(name, name, None) for name in [*names, "20260302_0817.jpg", "7.jpg"]]
    assert blocks_of(images, frames=2).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 5]


@pytest.mark.parametrize("form", ["20260302T08150{}.{:03}Z.jpg", "20260302_08150{}{:03}.jpg"])
def test_frames_within_a_second_are_in_the_order_of_its_parts(form):
    names = [form.format(second, part) for second in (7, 8) for part in (40, 240, 440, 640, 840)]
    images = [LabelledImage(name, name, None) for name in names]
    assert blocks_of(images, frames=4).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert blocks_of(images[::-1], frames=4).tolist()[::-1] == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]


def test_days_are_series_of_their_own():
    """Eight digits are no hash of Label Studio's, nor is what several names begin with."""
    names = [f"{day}-{n}.jpg" for day in (20260301, "a0260302") for n in range(4)]
    images = [LabelledImage(name, name, None) for name in names]
    assert blocks_of(images, frames=2).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_draw_over_time_is_spread_in_whatever_order_a_file_lists_frames():
    order = np.random.default_rng(1).permutation(60)
    images = tuple(LabelledImage(str(k), f"{k:03}.jpg", (99, 99)) for k in order.tolist())
    none = np.zeros(0, int)
    boxes = Boxes(images, ("car",), none, none, np.zeros((0, 4)), np.zeros(0))
    blocks = blocks_of(images, frames=10)
    for seed in range(8):
        request = PlanRequest(12, seed=seed)
        drawn = make_plan(boxes, None, request, blocks=blocks).drawn
        assert np.bincount(blocks[drawn], minlength=6).min() > 0


def test_blocks_that_are_known_stay_and_are_numbered_as_they_appear():
    known = np.array([5, 5, 3, 3, 0, 1, 2, 4])  # a video, another, and single images
    assert blocks_of(IMAGES, known=known).tolist() == [0, 0, 1, 1, 2, 3, 4, 5]
    blocks = blocks_of(IMAGES, frames=2, known=known).tolist()
    assert blocks[0] == blocks[1] != blocks[2] == blocks[3]
    assert blocks[6] == blocks[5] != blocks[7] == blocks[4]


@pytest.mark.rare
def test_images_are_drawn_as_often_as_their_sizes_say():
    n_pool, n, draws = 40, 10, 3000
    sizes = np.where(np.arange(n_pool) % 4 == 0, 2.5, 0.5)
    expected, times = inclusion_probabilities(sizes, n), np.zeros(n_pool)
    assert expected.sum() == pytest.approx(n)
    assert expected[0] / expected[1] == pytest.approx(5)
    for seed in range(draws):
        sequence = unequal_order(np.arange(n_pool), sizes, seed=seed)
        times[sequence[:n]] += 1
    assert sorted(sequence) == list(range(n_pool))
    assert np.abs(times / draws - expected).max() < 0.05


def test_of_equal_sizes_the_draw_is_the_balanced_one():
    order = np.random.default_rng(1).permutation(30)
    equal = unequal_order(order, np.full(30, 2.0), seed=5)
    np.testing.assert_array_equal(equal, balanced_order(order, seed=5))


def test_what_is_drawn_for_certain_counts_once():
    """Of sizes 1, 1, 2 and 8 the last is certain; one more of 4 in all: 1/4, 1/4, 1/2."""
    weights = inverse_probabilities(np.array([1.0, 1, 2, 8]), np.array([3, 2]))
    assert weights == pytest.approx([1, 2])
    assert inverse_probabilities(None, np.array([0])) is None
    assert inverse_probabilities(np.ones(2), np.array([1, 0])) is None  # all are labelled
    assert inverse_probabilities(np.full(4, 0.3), np.array([1, 0])) is None  # all are equal


def test_a_weighted_mean_of_many_draws_is_that_of_the_pool():
    rng = np.random.default_rng(0)
    values, sizes = rng.normal(size=60), 0.5 + rng.exponential(0.5, 60)
    means = []
    for seed in range(1500):
        images = unequal_order(np.argsort(values), sizes, seed=seed)[:15]
        means.append(np.average(values[images], weights=inverse_probabilities(sizes, images)))
    assert np.mean(means) == pytest.approx(values.mean(), abs=0.02)


@pytest.mark.parametrize("names", ["ab", ["a/1", "b/1"]])
def test_frames_of_which_there_are_none_are_refused(names):
    """The option did nothing there, and said nothing."""
    images = [Named(f"{name}.jpg") for name in names]
    assert blocks_of(images).tolist() == [0, 1]
    with pytest.raises(InputError, match="--frames 5"):
        blocks_of(images, frames=5)
