import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from autoeval.accuracy.measures import bootstrap_std, resampled_counts
from autoeval.estimation.observation.samples import blocks_of_read
from autoeval.stability.methods.source_regression import (
    Interval,
    inside,
    sampling_error,
    source_interval,
    widened,
)

BY_SOURCE = Interval(0.2, 0.8, "jackknife+")


def sum_of(*names):
    return lambda rows: sum(rows[name] for name in names)


def passed(*drawn, n_images=10, **features):
    """Make the rows of a pass, one a repeat."""
    return pd.DataFrame(
        {
            "repeat": range(len(drawn)),
            "n_images": n_images,
            "resampled": [{name: np.array(v) for name, v in one.items()} for one in drawn],
            **features,
        }
    )


@pytest.mark.parametrize("n", [5, 200])
def test_the_spread_of_a_mean_is_its_standard_error(n):
    values = np.random.default_rng(n).normal(size=n)
    means = resampled_counts(n, resamples=4000) @ values / n
    assert bootstrap_std(means, n) == pytest.approx(stats.sem(values), rel=0.05)


def test_draws_in_small_integers_are_those_of_numpy():
    drawn = np.random.default_rng(3).multinomial(300, np.full(300, 1 / 300), size=5)
    for dtype in (np.int64, np.uint8):
        ours = resampled_counts(300, resamples=5, seed=3, dtype=dtype)
        assert ours.dtype == dtype
        np.testing.assert_array_equal(ours, drawn)


def test_draws_without_an_estimate_are_left_out():
    assert bootstrap_std(np.array([0.3, math.nan, 0.5]), 2) == pytest.approx(0.1 * math.sqrt(2))
    assert math.isnan(bootstrap_std(np.array([0.3, math.nan]), 2))


def test_variances_add():
    # t(.95, 9) = 1.833113, and .6² + .8² = 1
    wide = widened(Interval(-0.6, 0.6, "x"), 0.0, 0.8 / 1.833113, n_images=10)
    assert (wide.lower, wide.upper) == (pytest.approx(-1, abs=1e-6), pytest.approx(1, abs=1e-6))


def test_few_images_widen_and_many_do_not():
    per_image = 0.5
    widths = []
    for n in (2, 10, 50, 500, 5000):
        wide = widened(BY_SOURCE, 0.4, per_image / math.sqrt(n), n_images=n)
        widths.append(wide.upper - wide.lower)
    assert widths == sorted(widths, reverse=True)
    assert widths[1] > 1.2 * widths[3]
    assert widths[-1] == pytest.approx(0.6, rel=1e-3)


def test_a_bound_beyond_the_estimate_moves_out_by_all_of_the_sampling_error():
    # the jackknife+ may lie to one side of the estimate
    wide = widened(BY_SOURCE, 0.1, 0.1, n_images=10)
    assert wide.lower == pytest.approx(0.2 - 0.1833113)


@pytest.mark.parametrize(
    ("interval", "std"), [(BY_SOURCE, math.nan), (Interval(math.nan, math.nan, "none"), 0.1)]
)
def test_nothing_known_changes_nothing(interval, std):
    assert widened(interval, 0.5, std, n_images=10) is interval


ROOT = 0.1 * math.sqrt(2)  # of two draws that differ by .2


@pytest.mark.parametrize(
    ("rows", "features", "std", "warning"),
    [
        # means of the draws over both repeats: .3, .5
        (passed({"ac": [0.2, 0.6]}, {"ac": [0.4, 0.4]}, n_images=2), ["ac"], ROOT, ""),
        # features that cancel have no sampling error
        (passed({"ac": [0.2, 0.6, 0.4], "bos": [0.8, 0.4, 0.6]}), ["ac", "bos"], 0, ""),
        # a feature without bootstrap keeps its value and is named; where none has, none is known
        (passed({"ac": [0.2, 0.4]}, n_images=2, fd=7.0), ["ac", "fd"], ROOT, "error of fd,"),
        (passed({"ac": [0.2, 0.4]}, fd=7.0), ["fd"], math.nan, "sampling error of fd,"),
        (passed({"ac": [0.2, 0.2]}, n_images=1), ["ac"], math.nan, "one image"),
        # a pass without draws
        (pd.DataFrame({"repeat": [0], "n_images": 9, "ac": 0.5}), ["ac"], math.nan, ""),
    ],
)
def test_the_error_of_the_sum_of_features(rows, features, std, warning):
    error = sampling_error(rows, features, sum_of(*features))
    assert error.std == pytest.approx(std, nan_ok=True, abs=1e-9)
    assert len(error.warnings) == bool(warning) and warning in "".join(error.warnings)


def test_an_estimate_that_depends_on_a_few_images_gives_a_warning():
    rows = passed({"ac": [0.2, 0.2, math.nan, 0.2]})
    (warning,) = sampling_error(rows, ["ac"], sum_of("ac")).warnings
    assert warning.startswith("25% of the draws")


def test_blocks_of_equal_images_vary_as_their_number_says():
    """Ten frames each of eight scenes tell as much of the mean as the eight scenes do."""
    scenes = np.random.default_rng(3).normal(size=8)
    values, blocks = np.repeat(scenes, 10), np.repeat(np.arange(8), 10)
    counts = resampled_counts(80, resamples=4000, blocks=blocks)
    assert (counts.sum(axis=1) == 80).all()
    by_block = bootstrap_std(counts @ values / 80, 8)
    assert by_block == pytest.approx(stats.sem(scenes), rel=0.05)
    by_frame = bootstrap_std(resampled_counts(80, resamples=4000) @ values / 80, 80)
    assert by_frame < 0.5 * by_block


def test_blocks_of_one_image_change_nothing():
    plain = resampled_counts(7, resamples=5, seed=2)
    assert (resampled_counts(7, resamples=5, seed=2, blocks=np.arange(7)) == plain).all()


def test_few_blocks_give_a_warning_and_widen_the_interval():
    drawn = {"bos": [0.3, 0.4, 0.5]}
    images = sampling_error(passed(drawn, bos=0.4), ["bos"], sum_of("bos"))
    blocks = sampling_error(passed(drawn, bos=0.4, n_blocks=3), ["bos"], sum_of("bos"))
    one = sampling_error(passed(drawn, bos=0.4, n_blocks=1), ["bos"], sum_of("bos"))
    assert (images.n_units, blocks.n_units) == (10, 3) and images.warnings == ()
    assert blocks.std == pytest.approx(images.std * math.sqrt(3 / 2 * 9 / 10))
    assert [notice.code for notice in blocks.warnings] == ["few-blocks"]
    assert math.isnan(one.std)
    assert [notice.code for notice in one.warnings] == ["sampling-error-left-out"]


def test_blocks_leave_out_what_cannot_be_read():
    class Video(list):
        blocks = np.array([0, 0, 1, 2, 2])

    assert blocks_of_read(Video("abcde"), {2}).tolist() == [0, 0, 1, 1]
    assert blocks_of_read(["a", "b"], {}).tolist() == [0, 1]


def test_intervals_of_drawn_residuals():
    rng = np.random.default_rng(0)
    for _ in range(500):
        m = int(rng.integers(3, 14))
        estimate = float(rng.choice([rng.normal(0.4, 0.5), 0.0, 1.0, -0.3, 1.4]))
        residuals = np.abs(rng.normal(0, rng.choice([0.0, 0.05, 0.2]), m))
        left_out = estimate + rng.normal(0, rng.choice([0.0, 0.02, 0.3]), m)
        found = inside(source_interval(estimate, left_out, residuals), estimate)
        value = min(max(estimate, 0.0), 1.0)
        assert 0 <= found.lower <= value <= found.upper <= 1
        assert found.upper - found.lower >= 0.005


def test_an_estimate_below_0_reaches_up_by_its_distance_and_its_errors():
    """The line says -20, errors are 10: the truth may be at 30."""
    found = inside(Interval(-0.3, -0.1, "jackknife+"), -0.2)
    assert (found.lower, round(found.upper, 9)) == (0.0, 0.3)


def test_a_count_has_no_upper_bound():
    found = inside(Interval(2.0, 9.0, "jackknife+"), 5.0, most=np.inf)
    assert (found.lower, found.upper) == (2.0, 9.0)
