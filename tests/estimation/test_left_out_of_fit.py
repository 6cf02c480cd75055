"""What a fit says of itself: its accuracy by its labels, and its error on what was left out."""

import numpy as np
import pandas as pd
import pytest

from autoeval.accuracy.measures import RankedDetections, count_curve
from autoeval.estimation.protocol import FitResult, HeldOutErrors, evaluate_pairs
from autoeval.model.regression import Regression


def pairs(n_sites, categories):
    """Return a pair of each site and category, whose accuracies scatter around a line."""
    rng, rows = np.random.default_rng(0), []
    for k in range(n_sites):
        for category in categories:
            score = rng.uniform(0.1, 0.8)
            site = {"source": f"site {k}", "group": f"site {k}", "category": category}
            scores = {"expected_ap": score, "likely_share": 0.4, "box_size": -2.0}
            accuracy = float(np.clip(score + rng.normal(0, 0.1), 0, 1))
            rows.append({**site, "n_images": int(rng.integers(3, 80)), **scores, "mAP": accuracy})
    return pd.DataFrame(rows)


def left_out(table, level=0.9):
    return evaluate_pairs(Regression(level=level).fit(table))


def test_the_error_does_not_depend_on_the_level_of_the_intervals():
    table = pairs(5, ["car", "bus"])
    usual, wide = left_out(table), left_out(table, level=0.999)
    assert wide[0].per_source["lower"].isna().any()  # too wide to be given
    assert HeldOutErrors.of(wide).mean_absolute_error == HeldOutErrors.of(usual).mean_absolute_error
    for name in ("pooled_rmse", "r2", "spearman"):
        assert wide[0].summary()[name] == usual[0].summary()[name]


def test_sites_are_counted_not_their_pairs():
    errors = HeldOutErrors.of(left_out(pairs(5, ["car", "bus"])))
    assert (errors.n, errors.by_category) == (5, False)


def test_a_category_is_left_out_of_both_of_two_sites():
    table = pairs(2, "abcdefg")
    result, constant = left_out(table)
    errors = HeldOutErrors.of((result, constant))
    assert (errors.n, errors.by_category) == (7, True)
    rows = constant.per_source
    for name, accuracies in table.groupby("category")["mAP"]:
        others = table.loc[table["category"] != name, "mAP"].mean()
        assert rows.loc[rows["group"] == name, "estimate"].to_numpy() == pytest.approx(others)
        assert sorted(rows.loc[rows["group"] == name, "true"]) == sorted(accuracies)


@pytest.mark.parametrize("categories", ["abcdefg", "abcdefghijklmn"])  # the latter in ten groups
def test_the_order_of_pairs_changes_no_error(categories):
    table = pairs(2, categories)
    expected = HeldOutErrors.of(left_out(table))
    for seed in range(3):
        errors = HeldOutErrors.of(left_out(table.sample(frac=1, random_state=seed)))
        assert errors.mean_absolute_error == pytest.approx(expected.mean_absolute_error, rel=1e-9)
        assert errors.baseline == pytest.approx(expected.baseline, rel=1e-9)


def test_two_categories_of_two_sites_are_too_few_to_leave_one_out():
    assert left_out(pairs(2, ["car", "bus"])) == ()


def ranked(n_right, n_boxes, n_objects):
    hits = (np.arange(n_boxes) < n_right)[None].repeat(10, axis=0)
    image, scores = np.zeros(n_boxes, int), np.linspace(0.9, 0.6, n_boxes)
    return RankedDetections.of(scores, image, hits.astype(float), np.array([n_objects]))


@pytest.mark.parametrize(
    ("measure", "expected"),
    [("precision", 8 / 10), ("recall", 8 / 40), ("f1", 2 * 8 / (10 + 40))],
)
def test_objects_of_a_category_that_is_never_found_count_at_a_threshold(measure, expected):
    # eight of ten cars are found by ten boxes, none of thirty buses
    site = {"source": "gate", "n_images": 5}
    cars, expected_cars = count_curve(ranked(8, 10, 10)), count_curve(ranked(5, 10, 6))
    buses = {"counts": count_curve(ranked(0, 0, 30)), "expected_counts": None}
    rows = [
        {**site, "category": "car", "counts": cars, "expected_counts": expected_cars},
        {**site, "category": "bus", **buses},
    ]
    fitted = FitResult(pd.DataFrame(rows), target=f"{measure}@0.5")
    assert fitted.value == pytest.approx(expected)


def test_accuracies_that_do_not_vary_have_no_coefficient_of_determination():
    table = pairs(5, ["car"]).assign(mAP=0.3)  # whose mean is not .3 to all digits
    assert np.isnan(left_out(table)[0].summary()["r2"])
