"""The score that widths of intervals are chosen by, and what the choice may read."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks.panel import Nested, kin, quarters, read_panel
from benchmarks.panel_widths import (
    CHOICES,
    DEFAULT,
    Widths,
    by_estimate,
    choose_widths,
    interval_score,
)


def test_a_miss_costs_twenty_times_its_distance_at_90_per_cent():
    rows = pd.DataFrame({"lower": [0.1] * 3, "upper": [0.3] * 3, "true": [0.2, 0.35, 0.0]})
    np.testing.assert_allclose(interval_score(rows), [0.2, 1.2, 2.2])


def test_the_best_width_for_normal_errors_is_that_of_their_quantiles():
    errors = np.random.default_rng(0).normal(0, 0.1, 20_000)

    def estimate(widths):
        reach = 0.1 * widths.wider * stats.norm.ppf(0.95) / CHOICES[2].wider
        rows = {
            "true": errors,
            "lower": -reach,
            "upper": reach,
            "category_group": "a",
            "detector": "b",
        }
        return pd.DataFrame(rows)

    assert choose_widths(estimate).wider == CHOICES[2].wider


@pytest.mark.parametrize(
    ("estimate", "name"),
    [(0.0, "0 to 5"), (0.05, "5 to 10"), (0.7, "70 to 100"), (1.0, "70 to 100")],
)
def test_classes_of_estimates_hold_their_lower_end(estimate, name):
    assert by_estimate(pd.DataFrame({"estimate": [estimate]})).tolist() == [name]


def test_an_estimate_reads_no_accuracy_of_its_detector_elsewhere_or_of_its_groups():
    rows = read_panel()[0]
    before = Nested(rows).estimate("nanodet", 1, DEFAULT)
    hidden = rows["group"].map(quarters(rows)) == 1
    hidden |= (rows["detector"].map(kin) == "nanodet") & (rows["kind"] == "seed")
    assert hidden.sum() > 50
    changed = rows.assign(mAP=rows["mAP"].mask(hidden, 0.5))
    after = Nested(changed).estimate("nanodet", 1, DEFAULT)
    pd.testing.assert_frame_equal(before.drop(columns="true"), after.drop(columns="true"))
    narrower = Nested(rows).estimate("nanodet", 1, Widths(0.5, 1.0, 0.05))
    low = before["estimate"] < 0.1
    assert (
        low.any()
        and (narrower["upper"] - narrower["lower"] < before["upper"] - before["lower"]).mean() > 0.9
    )
