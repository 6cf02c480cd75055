"""What the report of an estimate says, and what it leaves out."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from autoeval.report.chart import ScatterChart
from autoeval.report.parts import Part
from autoeval.report.scatter import RegressionBand, plot_scatter
from autoeval.results.map_page import map_page
from autoeval.results.map_report import MapReport
from autoeval.targets import find_target

HOSTILE = "<img src=x onerror=alert(1)>"
MAP = find_target("mAP")
ESTIMATE = {"value": 0.4, "std": 0.01, "lower": 0.3, "upper": 0.55, "level": 0.9, "bos": 0.7}
ESTIMATE |= {"interval_method": "jackknife+", "method": "bos", "n_images": 80, "guards": ()}


def points(n=12):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "source": np.repeat(["a", "_b", "$c"], n // 3),
            "sample_set": [f"id{k}" for k in range(n)],
            "kind": (["seed"] + ["sample"] * (n // 3 - 1)) * 3,
            "transforms": ([""] + ["Rotate 3"] * (n // 3 - 1)) * 3,
            "n_images": 20.0,
            "mAP": rng.uniform(0, 1, n),
            "bos": rng.uniform(0, 1, n),
            "ac": rng.uniform(0, 1, n),
            "same": 0.5,
        }
    )


def summary(method, error):
    return {
        "method": method,
        "mean_absolute_error": error,
        "coverage": 2 / 3,
        "width": 0.4,
    } | dict.fromkeys(("std", "pooled_rmse", "r2", "spearman"), 0.1)


def held_out(**errors):
    table = pd.DataFrame({"source": ["a", "_b", "$c"], "n_images": 20, "true": 0.5})
    columns = {"estimate": 0.4, "std": 0.0, "lower": 0.2, "upper": 0.6}
    return {
        "per_source": {m: table.assign(error=e, **columns) for m, e in errors.items()},
        "summaries": [summary(m, e) for m, e in errors.items()],
    }


def report(**changes):
    settings = {"title": "t", "points": points(), "scores": ["bos", "ac"], "target": MAP}
    return MapReport(**{**settings, "headline": ESTIMATE, "facts": {"seed": "0"}, **changes})


def text(made):
    """The page as a reader sees it, roughly."""
    html = map_page(made, {part.name: part for part in made.parts()}).render()
    return re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]*>", " ", html, flags=re.S)


def test_the_answer_comes_before_everything_else():
    said = text(report())
    assert re.search(r"Estimated mAP\s+40\.0\s+90% interval: 30\.0 to 55\.0", said)
    assert "from 80 unlabelled images" in said and "± 1.0 over the dropout repeats" in said
    assert "None of the checks of this estimate gives a reason for doubt." in said


def test_what_few_images_add_to_the_interval_is_told():
    known = {"sampling_std": 0.02, "source_lower": 0.35, "source_upper": 0.5}
    expected = "± 2.0 over the choice of images; by source alone 35.0 to 50.0."
    assert expected in text(report(headline=ESTIMATE | known))
    assert "choice of images" not in text(report())


def test_guards_are_told_in_their_words():
    said = text(report(headline=ESTIMATE | {"guards": ["only 3 images", HOSTILE]}))
    assert "only 3 images" in said and "None of the checks" not in said
    assert "&lt;img src=x onerror=alert(1)&gt;" in said


@pytest.mark.parametrize(("error", "doubted"), [(0.2, True), (0.1, True), (0.099, False)])
def test_a_method_no_better_than_a_constant_is_doubted(error, doubted):
    said = text(report(**held_out(bos=error, constant=0.1)))
    assert ("these scores say nothing" in said) == doubted
    assert re.search(r"Mean error on unseen sources\s+" + f"{100 * error:.1f}", said)
    assert re.search(r"True value in the interval\s+67%\s+of 3 held-out sources", said)


def test_no_interval_is_said_and_not_drawn():
    none = {"lower": math.nan, "upper": math.nan, "interval_method": "none: fewer than 3 sources"}
    made = report(headline=ESTIMATE | none, why_not_held_out="Too few sources.")
    page = map_page(made, {part.name: part for part in made.parts()}).render()
    assert "No interval (none: fewer than 3 sources)" in page and "Too few sources." in page
    assert 'class="mark" style="left: 40.0%"' in page and 'class="reach"' not in page


def test_no_estimate_is_a_dash_without_a_star(tmp_path):
    nan = math.nan
    made = report(headline=ESTIMATE | {"value": nan, "lower": nan, "upper": nan, "bos": nan})
    made.write(tmp_path / "report.html")
    assert re.search(r"Estimated mAP\s+–\s+No interval", text(made))
    assert '"estimate": {"value": null}' in (tmp_path / "report.html").read_text()


def test_without_unlabelled_images_there_is_no_answer_to_show():
    said = text(report(headline=None, **held_out(bos=0.1, constant=0.2)))
    assert "Estimated mAP" not in said and "red star" not in said
    assert "None of the checks" not in said and "Methods over all held-out sources" in said


def test_categories_have_a_table_of_their_own(tmp_path):
    table = pd.DataFrame({"category": [HOSTILE, "car"], "estimate": [0.25, math.nan]})
    made = report(categories=table.assign(lower=[0.1, math.nan], upper=[0.5, math.nan]))
    assert re.search(r"onerror=alert\(1\)&gt;\s+25\.0\s+10\.0\s+50\.0\s+car\s+–\s+–", text(made))
    made.write(tmp_path / "report.html")
    written = pd.read_csv(tmp_path / "report" / "categories.csv")
    assert written["estimate"].tolist()[0] == 0.25 and written["category"][0] == HOSTILE


def test_a_counting_error_keeps_its_own_unit():
    target = find_target("count_mae")
    made = report(
        target=target,
        points=points().rename(columns={"mAP": "count_mae"}),
        headline=ESTIMATE | {"value": 2.5, "lower": 1.0, "upper": 4.0},
    )
    page = map_page(made, {part.name: part for part in made.parts()}).render()
    assert ">2.50<" in page and "1.00 to 4.00" in page and 'class="scale"' not in page
    assert '"axis": "count_mae (objects an image)"' in page


def test_the_chart_says_how_well_each_score_goes_with_the_target():
    table = points()
    table.loc[3, "ac"] = math.nan
    chart = ScatterChart(table, ["bos", "ac", "same"], MAP, estimate={"value": 0.4, "ac": 0.3})
    drawn = chart.to_dict()
    assert list(drawn["scores"]) == ["bos", "ac"]  # "same" has but one value
    samples = table[table["kind"] == "sample"].dropna()
    r, rho = (f(samples["ac"], samples["mAP"]).statistic for f in (stats.pearsonr, stats.spearmanr))
    found = f"R² {r * r:.2f}, ρ {rho:.2f} over {len(samples)} sample sets"
    assert drawn["scores"]["ac"]["note"] == found.replace("-", "\N{MINUS SIGN}")
    fitted = stats.linregress(samples["ac"], 100 * samples["mAP"])
    for x, y in zip(*(drawn["scores"]["ac"]["line"][axis] for axis in "xy"), strict=True):
        assert y == pytest.approx(fitted.intercept + fitted.slope * x, rel=1e-4)
    assert drawn["scores"]["ac"]["values"][3] is None
    assert drawn["estimate"] == {"value": 40.0} and drawn["scores"]["bos"]["estimate"] is None
    json.dumps(drawn, allow_nan=False)


def test_a_band_is_drawn_in_the_unit_of_the_target():
    ends = np.array([0.0, 1.0])
    lines = {
        "bos": RegressionBand(ends, ends / 2, ends / 4, ends),
        "ac": RegressionBand(ends, ends, np.full(2, np.nan), np.full(2, np.nan)),
    }
    drawn = ScatterChart(points(), ["bos", "ac"], MAP, lines).to_dict()["scores"]
    assert drawn["bos"]["line"] == {"x": [0, 1], "y": [0, 50], "lower": [0, 25], "upper": [0, 100]}
    assert drawn["ac"]["line"] == {"x": [0, 1], "y": [0, 100]}


def test_names_of_sources_are_not_markup_to_the_plot(tmp_path):
    table = points().replace({"source": {"a": r"$\frac", "_b": "_hidden"}})
    axes = plot_scatter(table, x="bos", target=MAP, highlight=(0.5, 0.5, "estimate"))
    axes.figure.savefig(tmp_path / "scatter.png")
    names = [label.get_text() for label in axes.get_legend().get_texts()]
    assert names == [r"$\frac", "_hidden", "$c", "estimate"]


def test_a_part_is_the_same_in_csv_and_json_and_short_in_markdown(tmp_path):
    table = pd.DataFrame({"name": ["a|b", 'quo"te'], "value": [1 / 3, math.nan]})
    Part("p", table, formats={"value": "{:.2f}"}).write(tmp_path)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "p.csv"), table)
    rows = json.loads((tmp_path / "p.json").read_text())
    assert rows[0] == {"name": "a|b", "value": pytest.approx(1 / 3, rel=1e-14)}
    assert rows[1] == {"name": 'quo"te', "value": None}
    assert "| a\\|b | 0.33 |" in (tmp_path / "p.md").read_text()
