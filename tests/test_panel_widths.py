"""The score of widths of intervals, and what an estimate of the panel may read."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.panel import Nested, kin, quarters, read_panel
from benchmarks.panel_widths import by_estimate, interval_score


def test_a_miss_costs_twenty_times_its_distance_at_90_per_cent():
    rows = pd.DataFrame({"lower": [0.1] * 3, "upper": [0.3] * 3, "true": [0.2, 0.35, 0.0]})
    np.testing.assert_allclose(interval_score(rows), [0.2, 1.2, 2.2])


@pytest.mark.parametrize(
    ("estimate", "name"),
    [(0.0, "0 to 5"), (0.05, "5 to 10"), (0.7, "70 to 100"), (1.0, "70 to 100")],
)
def test_classes_of_estimates_hold_their_lower_end(estimate, name):
    assert by_estimate(pd.DataFrame({"estimate": [estimate]})).tolist() == [name]


def test_an_estimate_reads_no_accuracy_of_its_detector_elsewhere_or_of_its_groups():
    rows = read_panel()[0]
    before = Nested(rows).estimate("nanodet", 1)
    hidden = rows["group"].map(quarters(rows)) == 1
    hidden |= (rows["detector"].map(kin) == "nanodet") & (rows["kind"] == "seed")
    assert hidden.sum() > 50
    changed = rows.assign(mAP=rows["mAP"].mask(hidden, 0.5))
    after = Nested(changed).estimate("nanodet", 1)
    pd.testing.assert_frame_equal(before.drop(columns="true"), after.drop(columns="true"))
