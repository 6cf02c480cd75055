"""Changes of a site and the watch over it, on made-up cameras that lose their focus."""

from dataclasses import replace

import numpy as np
import pytest
from monitoring.made_records import made_record
from scipy import stats

from autoeval.errors import InputError
from autoeval.model.calibration import ScoreCalibration
from autoeval.monitoring.changes.change_model import ChangeModel
from autoeval.monitoring.changes.condition import CONDITION, condition
from autoeval.monitoring.changes.image_numbers import MEANINGS, NUMBERS, image_numbers
from autoeval.monitoring.changes.site_watch import change_of_numbers, watch
from autoeval.monitoring.changes.slopes import Slopes

SLOPE, LEVEL = 0.2, 0.5
BLIND = np.zeros((len(MEANINGS), len(MEANINGS)))  # no image is new


def image(number, sharpness, **options):
    """Make an image whose finest details are as given, with a little of its own."""
    own = 0.05 * np.random.default_rng([7, number]).standard_normal()
    signals = {name: 0.0 for name in MEANINGS} | {"detail_1": sharpness + own}
    return made_record(number, **options, **signals)


def images(n, sharpness, *, first=0):
    return [image(first + k, sharpness) for k in range(n)]


def estimate_change(model, before, after, *, map_before=LEVEL, **options):
    numbers = image_numbers(before), image_numbers(after)
    return change_of_numbers(model, *numbers, map_before=map_before, **options)


@pytest.fixture
def model():
    """A fall of the finest details by 1 costs a fifth of the mAP before; nothing else is read."""
    slopes = Slopes(np.array([SLOPE]), np.array([[0.02**2]]), 0.01)
    weights = np.where(np.array(CONDITION) == "detail_1", [[SLOPE]] * 2, 0.0)
    return ChangeModel(("detail_1",), np.array([1e3]), slopes, weights, BLIND, "made up")


def test_the_change_is_level_times_slope_times_difference(model):
    estimated = estimate_change(model, images(30, 2.0), images(30, 1.0, first=30))
    moved = np.mean([r.signals["detail_1"] for r in images(30, 1.0, first=30)]) - np.mean(
        [r.signals["detail_1"] for r in images(30, 2.0)]
    )
    assert estimated.value == pytest.approx(LEVEL * SLOPE * moved, rel=1e-4)
    assert estimated.moved == pytest.approx({"detail_1": estimated.value})


def test_the_interval_holds_slopes_noise_and_sampling(model):
    estimated = estimate_change(model, images(30, 2.0), images(30, 1.0, first=30))
    slopes = np.hypot(0.02 * LEVEL * 1.0, 0.01)
    half = 1.645 * np.hypot(slopes, estimated.sampling_std)
    assert (estimated.upper - estimated.lower) / 2 == pytest.approx(half, rel=0.02)
    # The mean of 30 differs from that of 30 others by .05 sqrt(2 / 30) in the quantity.
    assert estimated.sampling_std == pytest.approx(LEVEL * SLOPE * 0.05 * np.sqrt(2 / 30), rel=0.35)


def test_images_of_one_block_count_as_one(model):
    before, after = images(30, 2.0), images(30, 1.0, first=30)
    alone = estimate_change(model, before, after)
    twice = [one for one in after[:15] for _ in range(2)]
    blocks = np.repeat(np.arange(15), 2)
    together = estimate_change(model, before, twice, blocks=(None, blocks))
    naive = estimate_change(model, before, twice)
    assert together.sampling_std > naive.sampling_std
    assert together.sampling_std > alone.sampling_std


def test_the_level_before_scales_the_change_and_bounds_it(model):
    before, after = images(30, 9.0), images(30, 1.0, first=30)
    high, low = (estimate_change(model, before, after, map_before=m) for m in (0.6, 0.3))
    assert high.value == pytest.approx(-0.6) and low.value == pytest.approx(-0.3)  # all is lost
    assert low.lower >= -1


def test_the_most_influential_images_are_those_that_lost_most(model):
    after = [*images(10, 2.0, first=50), image(99, 0.0), *images(10, 2.0, first=70)]
    estimated = estimate_change(model, images(30, 2.0), after)
    assert estimated.most_influential[0] == 10


def test_records_without_signals_are_refused_by_name(model):
    with pytest.raises(InputError, match=r"Expected signals of the images \(detail_1"):
        watch(model, [made_record(0), made_record(1)], images(2, 2.0), map_before=LEVEL)
    bare = [made_record(k, half=False) for k in range(2)]
    of_half = replace(model.without_signals(), names=("half_boxes",))
    with pytest.raises(InputError, match=r"half the input size \(half_boxes\)"):
        watch(of_half, bare, bare, map_before=LEVEL)


def test_the_watch_sees_the_onset_and_estimates_the_change_since(model):
    after = [*images(15, 2.0, first=40), *images(15, 1.5, first=60)]
    seen = watch(model, images(40, 2.0), after, map_before=LEVEL)
    assert seen.alarm and abs(seen.onset - 15) <= 1 and 15 <= seen.alarm_at <= 22
    assert seen.change.value == pytest.approx(-0.5 * LEVEL * SLOPE, rel=0.1)


def test_the_watch_is_quiet_where_nothing_changed(model):
    seen = watch(model, images(40, 2.0), images(40, 2.0, first=40), map_before=LEVEL)
    assert not seen.alarm and seen.onset is None
    assert seen.change.lower < 0 < seen.change.upper


def test_the_whole_watch_keeps_its_rate(model):
    """With the baseline's own mean in every value, and sets of images as they come."""
    alarms = [
        watch(
            model,
            images(15, 2.0, first=1000 * seed),
            images(45, 2.0, first=1000 * seed + 15),
            map_before=LEVEL,
            alpha=0.1,
            seed=seed,
        ).alarm
        for seed in range(80)
    ]
    assert sum(alarms) <= stats.binom.ppf(0.999, len(alarms), 0.1)


def test_a_watch_needs_a_baseline_and_may_begin_without_anything_after_it(model):
    seen = watch(model, images(20, 2.0), [], map_before=LEVEL)
    assert not seen.alarm and seen.change is None and len(seen.capital) == 0
    with pytest.raises(InputError, match="in the period before but got 1"):
        watch(model, images(1, 2.0), images(5, 2.0, first=5), map_before=LEVEL)


def test_the_change_of_a_watch_is_that_of_its_images(model):
    before, after = images(30, 2.0), images(12, 2.0, first=50)
    seen = watch(model, before, after, map_before=LEVEL, seed=4)
    blocks = np.arange(30), np.arange(12)
    estimated = estimate_change(model, before, after, seed=4, blocks=blocks)
    assert not seen.alarm and len(seen.capital) == 12
    assert (seen.change.value, seen.change.lower) == (estimated.value, estimated.lower)


def test_blocks_are_watched_as_one(model):
    blocks = np.repeat(np.arange(10), 4)
    seen = watch(
        model,
        images(40, 2.0),
        images(40, 1.0, first=40),
        map_before=LEVEL,
        blocks_before=blocks,
        blocks_after=blocks + 100,
    )
    assert len(seen.capital) == 10 and seen.alarm and seen.onset == 0
    assert seen.alarm_at % 4 == 3


def test_an_image_says_how_far_it_is_from_the_baseline(model):
    before = image_numbers(images(10, 2.0))
    details = before[:, NUMBERS.index("detail_1")]
    expected = SLOPE * np.tanh(details - details.mean())  # the bound of details is 1
    said = model.image_series(before, before)
    assert said.shape == (3, 20) and not said[2].any()
    assert said[0] == pytest.approx(np.tile(expected, 2), abs=1e-9)


def test_numbers_of_one_image_by_hand():
    record = image(0, 1.0, n_boxes=4)
    scores = record.clean.scores
    (numbers,) = image_numbers([record])
    by_name = dict(zip(NUMBERS, numbers, strict=True))
    assert by_name["boxes"] == (scores > 0.05).sum()
    assert by_name["score"] == pytest.approx(scores[scores > 0.05].sum())
    assert by_name["share"] == (scores > 0.3).sum() / (scores > 0.05).sum()
    assert by_name["squares"] == pytest.approx((scores[scores > 0.05] ** 2).sum())
    assert by_name["certain"] == (scores > 0.7).sum()
    assert by_name["sure"] == (scores > 0.3).sum() and by_name["best"] == pytest.approx(
        scores.max()
    )
    estimated = dict(zip(CONDITION, condition(numbers), strict=True))
    assert estimated["found"] == pytest.approx(np.log(by_name["squares"] + 0.1))
    assert estimated["half_boxes"] == pytest.approx(
        np.log((record.half_size.scores > 0.3).sum() + 0.1)
    )
    assert estimated["ac"] == pytest.approx(scores[scores > 0.05].mean())
    assert image_numbers([record], category=1)[0, : NUMBERS.index("detail_1")].sum() == 0


def test_a_calibrated_model_watches_probabilities(model):
    halved = ScoreCalibration(np.array([[0.0, 1.0, 0.0]]), np.zeros(3))  # p = s / (1 + s)
    records = [made_record(k, **dict.fromkeys(MEANINGS, 0.0)) for k in range(40)]
    numbers = image_numbers(records, calibration=halved)
    scores = np.array([r.clean.scores.astype(float) for r in records])
    p = scores / (1 + scores)
    assert numbers[:, NUMBERS.index("best")] == pytest.approx(p.max(axis=1), rel=1e-5)
    assert numbers[:, NUMBERS.index("sure")].tolist() == (p > 0.3).sum(axis=1).tolist()
    reads = replace(model, names=("best",), slopes=Slopes(np.ones(1), np.full((1, 1), 1e-9), 0.0))
    after = [replace(r, clean=replace(r.clean, scores=r.clean.scores / 2)) for r in records]
    seen = {
        calibrated: watch(
            replace(reads, calibrated=calibrated),
            records,
            after,
            map_before=LEVEL,
            calibration=halved,
            alpha=1e-9,
        ).change.value
        for calibrated in (True, False)
    }
    fell = {True: (scores / 2 / (1 + scores / 2), p), False: (scores / 2, scores)}
    for calibrated, (low, high) in fell.items():
        moved = low.max(axis=1).mean() - high.max(axis=1).mean()
        assert seen[calibrated] == pytest.approx(LEVEL * moved, rel=1e-4)
