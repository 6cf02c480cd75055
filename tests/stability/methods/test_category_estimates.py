import numpy as np
import pandas as pd
import pytest

from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError
from autoeval.estimation.category_scores import stack_categories
from autoeval.estimation.estimate import Estimate
from autoeval.io.tasks.seed_set import NO_PIXELS, Sample
from autoeval.report.estimate import estimate_head
from autoeval.stability.methods.categories import (
    PartialPooling,
    estimate_categories,
    shrunken_means,
)
from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.methods.score_rows import Rows
from autoeval.stability.passes.presets import ScoredSettings
from autoeval.stability.passes.tally import Tally
from autoeval.stability.scores.base import feature_names
from autoeval.stability.scores.box_stability import StrictBoxStability

OFFSET = {"car": 0.1, "person": -0.1, "van": 0.0}


def score_table(n_sources=6, n_sets=5, seed=0, noise=0.01):
    """Make a table in which the mAP of a category is half its `ac`, plus its offset."""
    rng = np.random.default_rng(seed)
    rows = []
    for source in range(n_sources):
        for k in range(n_sets + 1):
            row = {
                "source": f"s{source}",
                "sample_set": f"{source}-{k}",
                "kind": "sample" if k else "seed",
                "repeat": 0,
                "n_images": 50,
                "ac": 0.5,
                "mAP": 0.4,
            }
            for category, offset in OFFSET.items():
                row[f"ac/{category}"] = rng.uniform(0.3, 0.9)
                row[f"mAP/{category}"] = 0.5 * row[f"ac/{category}"] + offset + rng.normal(0, noise)
            rows.append(row)
    return pd.DataFrame(rows)


def test_columns_of_categories_become_rows():
    table = pd.DataFrame(
        {"source": ["a"], "ac": [9.0], "ac/car": [0.5], "ac/van": [0.7], "mAP/car": [0.2]}
    )
    stacked = stack_categories(table, ["car", "van"])
    assert stacked["category"].tolist() == ["car", "van"]
    assert stacked["ac"].tolist() == [0.5, 0.7]
    assert stacked["mAP"].tolist()[0] == 0.2
    assert np.isnan(stacked["mAP"].tolist()[1])


def test_shrinkage_worked_by_hand():
    # within: ((.1² + .1²) + (.1² + .1²)) / 2 = .02; noise of a mean of two: .01
    groups = {"a": np.array([0.2, 0.4]), "b": np.array([-0.4, -0.2])}
    # between: mean of .3² - .01 and .3² - .01 = .08, so each keeps .08 / .09
    assert shrunken_means(groups) == pytest.approx({"a": 0.3 * 8 / 9, "b": -0.3 * 8 / 9})


def test_offsets_within_chance_are_dropped_and_rare_categories_keep_less():
    assert shrunken_means({"a": np.array([0.3, -0.3]), "b": np.array([-0.3, 0.3])}) == {
        "a": 0.0,
        "b": 0.0,
    }
    kept = shrunken_means({"often": np.array([0.2, 0.3] * 5), "rare": np.array([0.25, 0.25])})
    assert kept["rare"] < kept["often"] < 0.25


def test_partial_pooling_finds_the_offsets_of_the_categories():
    stacked = stack_categories(score_table(noise=0.001), list(OFFSET))
    rows = Rows(**{name: stacked[name].to_numpy() for name in stacked})
    fitted = PartialPooling("ac").fit(rows, "mAP")
    assert fitted.offsets_ == pytest.approx(OFFSET, abs=0.03)
    errors = fitted.predict(rows) - stacked["mAP"].to_numpy()
    assert np.abs(errors).max() < 0.06


def test_every_category_is_estimated_with_an_interval_where_sources_allow():
    table = score_table()
    rare = table["source"].isin(["s0", "s1"])
    table["mAP/van"] = table["mAP/van"].where(rare)
    asked = pd.DataFrame(
        [{"repeat": 0, "n_images": 50, "ac/car": 0.6, "ac/person": 0.6, "ac/van": 0.6}]
    )
    result = estimate_categories(table, asked, method="ac").set_index("category")
    assert result.loc["car", "estimate"] == pytest.approx(0.4, abs=0.04)
    assert result.loc["person", "estimate"] == pytest.approx(0.2, abs=0.04)
    assert result.loc["car", "lower"] < 0.4 < result.loc["car", "upper"]
    assert result.loc["car", "sources"] == 6
    assert "fewer than 3" in result.loc["van", "interval_method"]
    assert np.isnan(result.loc["van", "lower"])


def test_sources_of_a_group_are_left_out_together():
    table = score_table(n_sources=4)
    odd = table["source"] == "s0"
    table.loc[odd, "mAP/car"] += 0.3
    twin = table[odd].assign(source="twin")
    asked = pd.DataFrame(
        [{"repeat": 0, "n_images": 50, "ac/car": 0.6, "ac/person": 0.6, "ac/van": 0.6}]
    )
    groups = {"s0": "odd", "twin": "odd"}
    both = pd.concat([table, twin], ignore_index=True)
    both["group"] = both["source"].replace(groups)
    of_groups = estimate_categories(both, asked, method="ac").set_index("category")
    apart = estimate_categories(both.drop(columns="group"), asked, method="ac")
    car, leaking = of_groups.loc["car"], apart.set_index("category").loc["car"]
    assert car["estimate"] == leaking["estimate"] and car["sources"] == 5
    assert car["upper"] - car["lower"] > 1.1 * (leaking["upper"] - leaking["lower"])
    both["group"] = both["source"].replace({**groups, "s2": "s1", "s3": "s1"})
    none = estimate_categories(both, asked, method="ac").set_index("category").loc["car"]
    assert "fewer than 3" in none["interval_method"] and np.isnan(none["lower"])


def test_a_table_without_categories_is_refused():
    table = score_table()[["source", "sample_set", "kind", "repeat", "n_images", "ac", "mAP"]]
    with pytest.raises(InputError, match="several categories"):
        estimate_categories(table, table.head(1), method="ac")


def test_a_score_of_whole_images_gives_no_estimate_of_a_category():
    table = score_table().assign(fd=0.5)
    with pytest.raises(InputError, match="several categories"):
        estimate_categories(table, table.head(1), method="fd")
    varied = table.assign(fd=np.linspace(0.2, 0.9, len(table)))
    estimate = PublishedEstimator("fd").fit(varied).predict_rows(varied.head(1))
    assert np.isfinite(estimate.value) and not estimate.per_category


def tallied(categories, *images, repeats=1):
    """The tally of images whose boxes are all labelled: their detections, clean and perturbed."""
    tally = Tally(categories, ScoredSettings(repeats=repeats, wants=()))
    for found, *perturbed in images:
        sample = Sample("a", NO_PIXELS, found.boxes, found.labels, np.zeros(len(found), bool))
        tally.update([(sample, Evidence("a", (64, 64), found, tuple(perturbed)))])
    return tally


def test_scores_of_a_category_are_those_of_its_boxes_alone():
    boxes = np.array([[0, 0, 9, 9], [20, 20, 40, 40], [50, 50, 60, 60]], float)
    scores, labels = np.array([0.9, 0.5, 0.3]), np.array([0, 1, 1])
    moved = boxes + np.array([[1.0], [2.0], [0.0]])
    clean, perturbed = (Detections(of, scores, labels) for of in (boxes, moved))
    (both,) = tallied(("car", "person"), (clean, perturbed)).rows()
    for k, category in enumerate(("car", "person")):
        lookup = np.where(np.arange(2) == k, 0, -1)
        (alone,) = tallied((category,), (clean.relabel(lookup), perturbed.relabel(lookup))).rows()
        for name in ("bos", "bos_strict", "ac", "box_share@0.40", "boxes_per_image", "mAP"):
            assert both[f"{name}/{category}"] == alone[name]


def test_eighty_categories_keep_numbers_not_boxes():
    names, rng, images = tuple(f"c{k}" for k in range(80)), np.random.default_rng(0), []
    for _ in range(3):
        corner = rng.uniform(0, 40, (30, 2))
        boxes = np.hstack([corner, corner + rng.uniform(4, 20, (30, 2))])
        found = Detections(boxes, rng.uniform(0.1, 1, 30), rng.integers(0, 80, 30))
        images.append((found, found, found))
    tally = tallied(names, *images, repeats=2)
    row, _ = tally.rows()
    each = [row[f"boxes_per_image/{name}"] for name in names]
    own = [tally.by_category[name].rows()[0]["boxes_per_image"] for name in names]
    assert each == pytest.approx(own) and sum(each) == pytest.approx(row["boxes_per_image"])


def test_each_image_is_measured_once_for_all_categories_and_once_for_those_it_has_not(monkeypatch):
    """Whatever their number: the boxes of three categories, and none for the 77 others."""
    boxes, labels = np.tile([0.0, 0, 9, 9], (4, 1)), np.array([5, 9, 9, 70])
    found, calls = Detections(boxes, np.full(4, 0.9), labels), []
    measure = StrictBoxStability.measure
    monkeypatch.setattr(
        StrictBoxStability,
        "measure",
        lambda self, evidence: calls.append(len(evidence.clean)) or measure(self, evidence),
    )
    (row,) = tallied(tuple(f"c{k}" for k in range(80)), (found, found)).rows()
    assert sorted(calls) == [0, 1, 1, 2, 4]
    assert [row[f"boxes_per_image/c{k}"] for k in (0, 5, 9, 70)] == [0, 1, 2, 1]
    assert row["bos_strict/c9"] == 1 and row["bos_strict/c0"] == 0


def test_a_category_without_any_box_says_nothing_and_harms_nothing():
    found = Detections(np.array([[0, 0, 9, 9]]), np.array([0.9]), np.array([0]))
    (row,) = tallied(("car", "ghost"), (found, found)).rows()
    assert row["ac/car"] == pytest.approx(0.9)
    assert np.isnan(row["ac/ghost"]) and np.isnan(row["mAP/ghost"])


@pytest.mark.parametrize("method", ["ps", "bos+ps"])
def test_a_category_that_is_often_not_found_leaves_thresholds_to_the_others(method):
    """mAP is .2 + .5 ps@.50 wherever there is a box; vans are found at none of four sources."""
    table, rng = score_table(), np.random.default_rng(1)
    for name in ("", *(f"/{category}" for category in OFFSET)):
        share = rng.uniform(0.2, 0.8, len(table))
        columns = {f"{feature}{name}": 0.0 for feature in feature_names("ps")}
        columns |= {f"ps@0.50{name}": share, f"bos{name}": share, f"mAP{name}": 0.2 + 0.5 * share}
        table = table.assign(**columns)
    lost = table["source"].isin(["s0", "s1", "s2", "s3"])
    names = [f"{feature}/van" for feature in feature_names("ps")]
    table.loc[lost, names], table.loc[lost, ["bos/van", "mAP/van"]] = np.nan, 0.0
    asked = {"repeat": 0, "n_images": 50} | dict.fromkeys(feature_names("ps"), 0.5)
    asked |= {f"{n}/{c}": 0.4 for n in feature_names("ps") for c in ("car", "person")}
    asked |= {"bos": 0.5, "bos/car": 0.4, "bos/person": 0.4, "bos/van": 0.0}
    asked |= dict.fromkeys(names, np.nan)
    estimate = PublishedEstimator(method).fit(table).predict_rows(pd.DataFrame([asked]))
    assert estimate.value == pytest.approx(0.45)
    by_category = {name: found["value"] for name, found in estimate.per_category.items()}
    assert by_category == pytest.approx({"car": 0.4, "person": 0.4, "van": np.nan}, nan_ok=True)


def test_a_category_without_an_estimate_or_an_interval_says_why():
    nan = float("nan")
    bounds = [("car", 0.5, 0.3, 0.7), ("bus", nan, nan, nan), ("cat", 0.4, nan, nan)]
    each = {name: dict(value=v, lower=low, upper=high) for name, v, low, high in bounds}
    estimate = Estimate(0.45, 0.2, 0.7, 0.9, "predictive", "mAP", 9, per_category=each)
    lines = estimate_head(estimate).splitlines()
    assert "estimated mAP: 45.0, mean of 3 categories, from 9 images" in lines
    assert "  car: 50.0 (30.0 to 70.0)" in lines
    assert "  bus: no estimate, its interval would be wider than ±42 points" in lines
    assert "  cat: 40.0 (no interval: it would be wider than ±42 points)" in lines


def test_one_group_of_sources_gives_estimates_without_intervals():
    table = score_table(n_sources=3)
    new_rows = table[table["source"] == "s0"].head(1)
    for groups in ("one", table["source"].replace({"s2": "s1"})):
        result = estimate_categories(table.assign(group=groups), new_rows, method="ac")
        expected = [0.5 * new_rows[f"ac/{c}"].iloc[0] + offset for c, offset in OFFSET.items()]
        assert result["estimate"].to_numpy() == pytest.approx(expected, abs=0.03)
        assert result["lower"].isna().all() and result["sources"].tolist() == [3, 3, 3]
