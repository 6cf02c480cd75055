import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from autoeval.estimation.intervals import Interval, widened
from autoeval.estimation.sampling import bootstrap_std, sampling_error
from autoeval.scores.resampling import resampled_counts

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


def test_repeats_are_averaged_draw_by_draw():
    # means of the draws over both repeats: .3, .5
    rows = passed({"ac": [0.2, 0.6]}, {"ac": [0.4, 0.4]}, n_images=2)
    error = sampling_error(rows, ["ac"], sum_of("ac"))
    assert error.std == pytest.approx(0.1 * math.sqrt(2))
    assert error.doubts == ()


def test_features_that_cancel_have_no_sampling_error():
    rows = passed({"ac": [0.2, 0.6, 0.4], "bos": [0.8, 0.4, 0.6]})
    assert sampling_error(rows, ["ac", "bos"], sum_of("ac", "bos")).std == pytest.approx(0)


def test_a_feature_without_bootstrap_keeps_its_value_and_is_named():
    rows = passed({"ac": [0.2, 0.4]}, n_images=2, fd=7.0)
    error = sampling_error(rows, ["ac", "fd"], sum_of("ac", "fd"))
    assert error.std == pytest.approx(0.1 * math.sqrt(2))
    (doubt,) = error.doubts
    assert "sampling error of fd," in doubt


def test_where_no_feature_has_a_bootstrap_nothing_is_known():
    error = sampling_error(passed({"ac": [0.2, 0.4]}, fd=7.0), ["fd"], sum_of("fd"))
    assert math.isnan(error.std) and "sampling error of fd," in error.doubts[0]


def test_one_image_does_not_tell_how_images_vary():
    error = sampling_error(passed({"ac": [0.2, 0.2]}, n_images=1), ["ac"], sum_of("ac"))
    assert math.isnan(error.std) and "one image" in error.doubts[0]


def test_an_estimate_that_hangs_on_a_few_images_is_doubted():
    rows = passed({"ac": [0.2, 0.2, math.nan, 0.2]})
    (doubt,) = sampling_error(rows, ["ac"], sum_of("ac")).doubts
    assert doubt.startswith("25% of the draws")


def test_a_pass_without_draws_says_nothing():
    rows = pd.DataFrame({"repeat": [0], "n_images": 9, "ac": 0.5})
    error = sampling_error(rows, ["ac"], sum_of("ac"))
    assert math.isnan(error.std) and error.doubts == ()
