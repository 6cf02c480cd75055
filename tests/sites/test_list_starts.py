"""Why a file begins at a higher score than the fit: a threshold, cut lists, few boxes, a scale."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.sites.list_starts import ListStart, begin_apart, log_chance, open_lists
from autoeval.sites.reference_statistics import ReferenceStatistics

SHARED = Path(__file__).parents[3] / "shared" / "real_predictions"
SHARES = ((0.1, 0.5), (0.25, 0.2), (0.5, 0.1))
FIT = ReferenceStatistics(("car",), floor=0.05, most_boxes=100, highest=0.99, floors=SHARES)


def boxes(*lists):
    """Lists of scores, one an image."""
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(len(lists)))
    image = np.repeat(np.arange(len(lists)), [len(of) for of in lists])
    n = len(image)
    corners = np.tile(np.float32([0, 0, 9, 9]), (n, 1))
    scores = np.float32(np.concatenate(lists))
    return Boxes(images, ("car",), image, np.zeros(n, np.int64), corners, scores)


def drawn(n_images, n_boxes, lowest, seed=0):
    """Lists whose scores are drawn alike, from a score on."""
    rng = np.random.default_rng(seed)
    return [lowest + (0.99 - lowest) * rng.beta(1, 4, n_boxes) for _ in range(n_images)]


def best(lists, n):
    return [np.sort(of)[::-1][:n] for of in lists]


def uneven(seed=0):
    """Lists of 30 to 400 boxes, as of sites where some images are crowded."""
    rng = np.random.default_rng(seed)
    return [drawn(1, int(n), 0.05, seed=k)[0] for k, n in enumerate(rng.integers(30, 400, 60))]


def test_the_scores_of_a_fit_say_what_is_by_chance():
    assert log_chance(3, 0.25, SHARES) == pytest.approx(3 * math.log(0.2))
    assert log_chance(1, 0.75, SHARES) == pytest.approx(math.log(0.05))
    assert log_chance(1, 0.9, ()) == -math.inf


def test_lists_over_one_threshold_do_not_begin_apart_and_cut_lists_do():
    for seed in range(20):
        assert not begin_apart(boxes(*drawn(60, 40, 0.2, seed)))
    assert not begin_apart(boxes(*uneven()))
    assert begin_apart(boxes(*best(uneven(), 25)))
    assert not begin_apart(boxes([0.9], [0.5], [0.7]))


def test_full_lists_are_those_with_the_most_boxes_of_several_images():
    lists = best(uneven(), 100)
    shown = open_lists(boxes(*lists))
    assert len(shown) == sum(len(of) for of in lists if len(of) < 100) > 0
    single = boxes(*([[0.5]] * 9))  # one box an image is no limit
    assert open_lists(single) is single
    one = boxes([0.4] * 12, [0.5] * 11, [0.6])
    assert open_lists(one) is one


@pytest.mark.parametrize(
    ("lists", "start"),
    [
        (drawn(50, 40, 0.055), ListStart()),
        (drawn(50, 40, 0.25), ListStart(floor=0.25)),
        ([of[of >= 0.25] for of in uneven()], ListStart(floor=0.25)),
        ([np.linspace(0.16 + k / 100, 0.9, 100) for k in range(20)], ListStart(cut=True)),
        (best(uneven(), 20), ListStart(cut=True)),
        ([[0.2, 0.9], [0.3]], ListStart(by_chance=True)),
        ([[0.33]] * 9, ListStart(unlikely=True)),
    ],
)
def test_why_a_file_begins_where_it_does(lists, start):
    assert FIT.start_of(boxes(*lists)) == start


def test_a_scale_of_its_own_is_refused():
    with pytest.raises(InputError, match="the scores do not compare"):
        FIT.start_of(boxes(*(of[of >= 0.13] for of in uneven())))


def test_what_is_unseen_of_cut_lists_is_counted_from_the_fit_on():
    found = boxes(*([np.linspace(low, 0.45, 40) for low in (0.1, 0.2, 0.4)] * 10))
    start = FIT.start_of(found)
    assert start == ListStart(cut=True)
    expected = (0.05 / 0.25 + 0.15 / 0.25 + 1) / 3
    assert FIT.unseen_of(found, start) == pytest.approx(expected, rel=1e-6)
    note, *_ = FIT.differences(found)
    assert note.code == "boxes-limited" and "the lowest score is 0.1, in the fit" in note
    few = boxes(*([[0.3]] * 9))
    assert FIT.unseen_of(few, FIT.start_of(few)) == pytest.approx(1, rel=1e-6)
    assert FIT.differences(few)[0].code == "another-threshold"
    lucky = boxes([0.2, 0.9])
    assert FIT.unseen_of(lucky, FIT.start_of(lucky)) == 0 and FIT.differences(lucky) == ()


@pytest.mark.skipif(not SHARED.exists(), reason="the real predictions are not on this machine")
@pytest.mark.parametrize(
    ("detector", "cuts"), [("yolov8n", False), ("fastestdet", False), ("nanodet_plus", True)]
)
def test_real_lists(detector, cuts):
    apart = []
    for path in sorted((SHARED / detector / "vehicle").glob("*.json")):
        rows = [row for row in json.loads(path.read_text()) if row["score"] >= 0.05]
        lists: dict[int, list[float]] = {}
        for row in rows:
            lists.setdefault(row["image_id"], []).append(row["score"])
        apart.append(begin_apart(boxes(*lists.values())))
    assert np.mean(apart) == 0 if not cuts else np.mean(apart) > 0.9
