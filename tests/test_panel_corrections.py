"""Corrections of the default's estimates: their forms, what they may read, their error, bounds."""

import numpy as np
import pandas as pd
import pytest

from autoeval.model import Mixture, predict_intervals
from benchmarks.panel import Nested, kin, quarters, read_panel
from benchmarks.panel_corrections import (
    WIDTHS,
    clustered_error,
    corrected_fold,
    with_known,
)
from benchmarks.width_bounds import bounds_of_cells, described, least_reach, mean_bounds
from benchmarks.width_forms import (
    by_bands,
    conformal,
    moved,
    scaled,
    unchanged,
)


def estimates(raw, true, reach=0.2):
    raw = np.asarray(raw, float)
    value = np.clip(raw, 0, 1)
    rows = {"raw": raw, "estimate": value, "true": true, "reach": reach + np.abs(value - raw)}
    return pd.DataFrame(rows).assign(lower=value - reach, upper=value + reach)


def test_without_a_correction_intervals_are_those_of_the_default():
    means, std = np.array([[0.5, -0.1, 0.97, 1.05]]), np.full((1, 4), 0.1)
    shipped = predict_intervals(Mixture(np.ones(1), means, std))
    rows = pd.DataFrame({"raw": means[0], "reach": [of.reach for of in shipped]})
    found = unchanged(rows)(rows).intervals()
    for name, bound in (("estimate", "value"), ("lower", "lower"), ("upper", "upper")):
        np.testing.assert_allclose(found[name], [getattr(of, bound) for of in shipped], atol=1e-9)


def test_a_location_is_the_ridge_solution_and_none_with_a_strong_prior():
    # at .35 the second term is 0: the shift is n e w / (n w + 1 / .03²), w = 1 / (3 std²)
    rows = estimates(np.full(12, 0.35), np.full(12, 0.45), reach=0.16449)
    w = 1 / (3 * 0.01)
    shift = 12 * 0.1 * w / (12 * w + 1 / 0.03**2)
    found = moved("line", 1.0)(rows)(rows)
    np.testing.assert_allclose(found.mean, 0.35 + shift, rtol=1e-3)
    np.testing.assert_allclose(moved("line", 1e9)(rows)(rows).mean, 0.35, atol=1e-6)


@pytest.mark.parametrize("shape", ["line", "ends"])
def test_a_location_keeps_the_order_of_estimates(shape):
    rng = np.random.default_rng(0)
    raw = np.sort(rng.uniform(0, 1, 200))
    rows = estimates(raw, np.clip(0.2 + 0.5 * raw + rng.normal(0, 0.1, 200), 0, 1))
    found = moved(shape, 1.0)(rows)(rows).mean
    assert (np.diff(found) > 0).all()
    off = np.abs(found - rows["true"]).mean()
    assert off < np.abs(raw - rows["true"]).mean()


def test_a_width_follows_errors_that_grow_and_a_strong_ridge_leaves_one_factor():
    rng = np.random.default_rng(0)
    known = rng.normal(0, 1, 3_000)
    rows = estimates(np.full(3_000, 0.5), 0.5 + rng.normal(0, 0.1 * np.exp(0.5 * known)))
    rows = rows.assign(known=known)
    half = scaled(["known"], 1.0)(rows)(rows).half
    slope = np.polyfit(known, np.log(half), 1)[0]
    assert slope == pytest.approx(0.5, abs=0.05)
    assert np.mean(np.abs(rows["true"] - 0.5) < half) == pytest.approx(0.9, abs=0.02)
    assert np.ptp(np.log(scaled(["known"], 1e9)(rows)(rows).half)) < 1e-3


def test_a_value_that_is_not_known_counts_as_the_middle():
    rng = np.random.default_rng(0)
    known = rng.normal(3, 1, 500)
    rows = estimates(np.full(500, 0.5), 0.5 + rng.normal(0, 0.03 * np.exp(0.5 * (known - 3))))
    correction = scaled(["known"], 1.0)(rows.assign(known=known))
    two = rows[:2].assign(known=[known.mean(), np.nan])
    np.testing.assert_allclose(*correction(two).half)


def test_a_band_has_its_own_quantile_shrunk_to_that_of_all():
    low, high = np.full(30, 0.05), np.full(30, 0.6)
    rows = estimates(np.append(low, high), np.append(low + 0.02, high + 0.1))
    found = by_bands(5.0)(rows)(rows).half
    # errors are .1 and .5 half-widths; 30 pairs count as ten, all together (.5) as five
    own = np.exp((10 * np.log(0.1) + 5 * np.log(0.5)) / 15)
    np.testing.assert_allclose(found[[0, -1]], [0.2 * own, 0.1])
    assert conformal(np.arange(1.0, 100.0)) == 90


def test_a_correction_reads_no_truth_of_its_detector_or_of_the_groups_it_is_applied_to():
    rows = read_panel()[0]
    rows = rows[rows["detector"].isin(["nanodet", "yolox_416", "fastestdet"])]
    forms = {
        "line": [moved("line", 1.0)],
        "width": [scaled(WIDTHS["estimate, kind, labels, distance, size"], 4.0)],
        "bands": [by_bands(5.0), by_bands(20.0)],
    }
    before = corrected_fold(Nested(rows), "nanodet", 1, forms)
    hidden = rows["group"].map(quarters(rows)) == 1
    hidden |= (rows["detector"].map(kin) == "nanodet") & (rows["kind"] == "seed")
    after = corrected_fold(
        Nested(rows.assign(mAP=rows["mAP"].mask(hidden, 0.5))), "nanodet", 1, forms
    )
    pd.testing.assert_frame_equal(before.drop(columns="true"), after.drop(columns="true"))
    own = Nested(rows).estimate("nanodet", 1)
    changed = {name: before[before["form"] == name]["upper"].to_numpy() for name in forms}
    assert all((of != own["upper"].to_numpy()).any() for of in changed.values())


def test_what_is_known_counts_labels_of_all_words_of_a_vehicle():
    rows = read_panel()[0]
    found = with_known(Nested(rows).estimate("nanodet", 1), rows, None)
    own = rows[(rows["detector"] == "nanodet") & (rows["kind"] == "category")]
    counts = own.set_index("category")["n_boxes"]
    vehicles = found[found["category"] == "vehicle"]
    expected = np.log1p(counts["car"] + counts["bus"] + counts["truck"])
    assert len(vehicles) and np.allclose(vehicles["log_labelled"], expected)
    assert np.isfinite(found[[*WIDTHS["estimate, kind, labels, distance, size"]]]).all().all()


def test_the_error_of_a_mean_counts_clusters_of_both_kinds():
    values = np.array([1.0, 1.0, -1.0, -1.0])
    alone, pairs = pd.Series(list("abcd")), pd.Series(list("aabb"))
    # each value on its own: 4 squares times 4/3, the root over 4
    assert clustered_error(values, alone, alone) == pytest.approx(np.sqrt(4 * 4 / 3) / 4)
    # pairs of equal values: 2 squares of 2 times 2, which is more than their crossing
    assert clustered_error(values, alone, pairs) == pytest.approx(np.sqrt(8 * 2) / 4)
    # rows and columns of a table cross in single values
    crossed = clustered_error(np.array([2.0, 0.0, 0.0, -2.0]), pairs, pd.Series(list("abab")))
    assert crossed == pytest.approx(np.sqrt(2 * 8 * 2 - 8 * 4 / 3) / 4)


def test_bounds_are_the_smallest_widths_that_hold_nine_of_ten():
    errors = np.array([0.3] * 2 + [0.1] * 18)
    assert least_reach(errors, 0.9) == 0.1
    own = estimates(np.full(20, 0.05), 0.05 + errors, reach=0.04).assign(lower=0.0)
    found = described(own)
    # from 0 to .15: 7.5 points, and two of twenty outside
    assert found["bound"] == pytest.approx(7.5) and found["n"] == 20
    # one shift makes an interval of 18 equal truths as short as it likes
    assert found["shifted"] == pytest.approx(0)
    assert found["coverage"] == 0 and found["bias"] == pytest.approx(-12)
    wide = estimates(np.full(20, 0.6), 0.6 + errors / 2).assign(points="b")
    cells = pd.concat([own.assign(points="a"), wide]).assign(
        categories="all of them", category_group="g"
    )
    table = mean_bounds(cells).loc["all"]
    assert table["bound"] == pytest.approx((7.5 + 5) / 2)
    assert [*bounds_of_cells(cells)["n"]] == [20, 20, 40]
    few = pd.concat([own.assign(points="a"), wide[:15]])
    few = few.assign(categories="all of them", category_group="g")
    assert [*bounds_of_cells(few)["n"]] == [20, 35]
