import math

import numpy as np
import pandas as pd
import pytest
from test_protocol import WORLDS, make_table

from autoeval.accuracy.measures import find_target
from autoeval.errors import InputError
from autoeval.report.estimate import estimate_head
from autoeval.stability.methods.leave_one_out import leave_one_source_out
from autoeval.stability.methods.published_estimator import PublishedEstimator


def counting_table():
    """Score table of three worlds in which the counting error is 20 (1 - mAP)."""
    table = make_table(WORLDS)
    return table.assign(count_mae=20 * (1 - table["mAP"]))


@pytest.mark.parametrize(
    ("name", "value", "clipped", "text"),
    [
        ("mAP", 1.2, 1.0, "100.0"),
        ("mAP50/car", -0.3, 0.0, "0.0"),
        ("count_mae", 12.0, 12.0, "12.00"),  # objects have no upper bound
        ("count_relative_mae", 1.3, 1.3, "130.0"),
        ("count_mae", math.nan, math.nan, None),
    ],
)
def test_estimates_stay_where_values_can_be(name, value, clipped, text):
    target = find_target(name)
    assert target.name == name
    np.testing.assert_equal(target.clip(np.array([value])), [clipped])
    np.testing.assert_equal(target.clip(value), clipped)
    assert text is None or target.text(clipped) == text


@pytest.mark.parametrize("name", ["astrology", "count_mae/car", "map"])
def test_unknown_targets_are_refused_with_the_known_ones(name):
    with pytest.raises(InputError, match=rf"mAP, mAP50.*count_mae.*'{name}'"):
        find_target(name)
    with pytest.raises(InputError, match=name):
        PublishedEstimator("bos", target=name).fit(make_table(WORLDS))


def test_counting_errors_above_one_are_estimated():
    table = counting_table()
    estimator = PublishedEstimator("bos", target="count_mae").fit(table)
    new = table[(table["source"] == "b") & (table["kind"] == "seed")]
    estimate = estimator.predict_rows(new)
    assert estimate.value == pytest.approx(14)  # mAP .3
    assert "estimated count_mae (objects an image): 14.00 ± 0.00" in estimate_head(estimate)
    assert not estimate.warnings


def test_leaving_sources_out_keeps_the_unit():
    result = leave_one_source_out(counting_table(), "constant", target="count_mae")
    # a: mean of 14 and 6; b: of 16 and 6; c: of 16 and 14
    assert result.per_source["estimate"].tolist() == pytest.approx([10, 11, 15])
    assert result.summary()["mean_absolute_error"] == pytest.approx((6 + 3 + 9) / 3)


def test_a_long_tail_moves_the_mean_but_not_the_median():
    table = counting_table()
    far = table[table["source"] == "a"].assign(source="d", count_mae=1000.0)
    result = leave_one_source_out(pd.concat([table, far]), "median", target="count_mae")
    # a: median of 14, 6 and 1000; b: of 16, 6 and 1000; c: of 16, 14 and 1000; d: of 16, 14 and 6
    assert result.per_source["estimate"].tolist() == [14, 16, 16, 14]


def test_a_small_counting_error_is_no_reason_for_doubt():
    table = counting_table().assign(count_mae=lambda t: t["count_mae"] / 200)
    new = table[table["kind"] == "seed"].iloc[:1]
    fitted = PublishedEstimator("bos", target="count_mae").fit(table)
    assert fitted.predict_rows(new).warnings == ()


@pytest.mark.parametrize(
    ("value", "beside", "text"),
    [
        (0.0502, 0.05, "5.02"),  # not reached: 5.0 would look so
        (0.0498, 0.05, "4.98"),  # below: an interval to 5.0 would not look so
        (0.04274, 0.0428, "4.27"),
        (0.05, 0.05, "5.0"),
        (0.07, 0.07, "7.0"),
        (0.06, 0.05, "6.0"),
        (-0.0002, 0.0, "-0.02"),
        (0.05 + 1e-12, 0.05, "5.000000"),  # not for ever
        (0.0502, math.nan, "5.0"),
        (math.nan, 0.05, "–"),
    ],
)
def test_rounding_does_not_move_a_value_to_what_it_is_compared_with(value, beside, text):
    assert find_target("mAP").text(value, beside) == text
