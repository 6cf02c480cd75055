"""The scatter plot of the page, and its picture."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from autoeval.accuracy.measures import find_target
from autoeval.report.charts import plot_scatter
from autoeval.report.scatter import Cloud, RegressionBand, ScatterChart

MAP = find_target("mAP")


def points(n=12):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "source": np.repeat(["a", "_b", "$c"], n // 3),
            "sample_set": [f"id{k}" for k in range(n)],
            "kind": (["seed"] + ["sample"] * (n // 3 - 1)) * 3,
            "transforms": ([""] + ["Rotate 3"] * (n // 3 - 1)) * 3,
            "mAP": rng.uniform(0, 1, n),
            "bos": rng.uniform(0, 1, n),
            "ac": rng.uniform(0, 1, n),
            "same": 0.5,
        }
    )


def test_the_chart_says_how_well_each_score_goes_with_the_target():
    table = points()
    table.loc[3, "ac"] = math.nan
    chart = ScatterChart(table, ["bos", "ac", "same"], MAP, estimate={"value": 0.4, "ac": 0.3})
    drawn = chart.block().data
    assert list(drawn["scores"]) == ["bos", "ac"]  # "same" has but one value
    samples = table[table["kind"] == "sample"].dropna()
    r, rho = (f(samples["ac"], samples["mAP"]).statistic for f in (stats.pearsonr, stats.spearmanr))
    found = f"squared correlation R² {r * r:.2f}, ρ {rho:.2f} over {len(samples)} sample sets"
    assert drawn["scores"]["ac"]["note"] == found.replace("-", "\N{MINUS SIGN}")
    assert drawn["scores"]["ac"]["about"] == "least squares over the points"
    fitted = stats.linregress(samples["ac"], 100 * samples["mAP"])
    for x, y in zip(*(drawn["scores"]["ac"]["line"][axis] for axis in "xy"), strict=True):
        assert y == pytest.approx(fitted.intercept + fitted.slope * x, rel=1e-4)
    assert drawn["scores"]["ac"]["values"][3] is None
    assert drawn["estimate"] == {"value": 40.0} and drawn["scores"]["bos"]["estimate"] is None
    json.dumps(drawn, allow_nan=False)


def test_a_band_is_drawn_in_the_unit_of_the_target():
    ends = np.array([0.0, 1.0])
    lines = {
        "bos": RegressionBand(ends, ends / 2, ends / 4, ends, "the regression in use"),
        "ac": RegressionBand(ends, ends, np.full(2, np.nan), np.full(2, np.nan)),
    }
    drawn = ScatterChart(points(), ["bos", "ac"], MAP, lines).block().data["scores"]
    assert drawn["bos"]["line"] == {"x": [0, 1], "y": [0, 50], "lower": [0, 25], "upper": [0, 100]}
    assert drawn["ac"]["line"] == {"x": [0, 1], "y": [0, 100]}
    assert drawn["bos"]["about"] == "the regression in use"


def test_a_cloud_stands_behind_the_scores_that_it_has():
    values, y = np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.6, 0.4])
    cloud = Cloud({"bos": values}, y, "three others")
    star = {"value": 0.4, "lower": 0.3, "upper": 0.55, "bos": 0.5}
    drawn = ScatterChart(points(), ["bos", "ac"], MAP, {}, star, cloud).block().data
    assert drawn["cloud"] == {"about": "three others", "y": [20, 60, 40]}
    assert drawn["scores"]["bos"]["cloud"] == values.tolist()
    assert drawn["scores"]["ac"]["cloud"] is None
    assert drawn["estimate"] == {"value": 40, "lower": 30, "upper": 55}


def test_names_of_sources_are_not_markup_to_the_plot(tmp_path):
    table = points().replace({"source": {"a": r"$\frac", "_b": "_hidden"}})
    axes = plot_scatter(table, x="bos", target=MAP, highlight=(0.5, 0.5, "estimate"))
    axes.figure.savefig(tmp_path / "scatter.png")
    names = [label.get_text() for label in axes.get_legend().get_texts()]
    assert names == [r"$\frac", "_hidden", "$c", "estimate"]
