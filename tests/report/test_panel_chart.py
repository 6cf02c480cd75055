"""What stands behind the estimate on its page, and what pages of fits and estimates begin with."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_reports import blocks

import autoeval
from autoeval.model.priors import FULL, PAIRS, shipped
from autoeval.model.train_prior import FLOORS, shown_pairs
from autoeval.report.estimate import estimate_page
from autoeval.report.fit import fit_figures, fit_page
from autoeval.report.scatter import chart_of_panel
from autoeval.runtime.files import shipped_config

pytestmark = pytest.mark.usefixtures("drawn")

SAMPLE = Path(__file__).parents[2] / "docs/getting-started/sample"
SCORES = ("expected_ap", "likely_share", "box_size")


@pytest.fixture(scope="module")
def fitted():
    return autoeval.fit(SAMPLE / "val.json", SAMPLE / "val_predictions.json")


@pytest.fixture(scope="module")
def estimate(fitted):
    return fitted.predict(SAMPLE / "new_predictions.json", images=SAMPLE / "new_site.json")


def test_the_shipped_pairs_are_those_that_the_prior_is_fitted_on():
    content = json.loads(shipped_config("panel_pairs.json").read_text())
    assert content == {"floors": [shown_pairs(floor) for floor in FLOORS]}
    assert len(shipped(PAIRS, FULL)["mAP"]) == 460
    assert shipped(PAIRS, 0.31) == shipped(PAIRS, 0.3) != shipped(PAIRS, FULL)


def test_the_chart_of_an_estimate_holds_the_panel_the_labelled_pairs_and_the_star(fitted, estimate):
    (chart,) = (of.data for of in blocks(estimate_page("t", fitted, estimate), "scatter"))
    pairs, rows = shipped(PAIRS, FULL), fitted.regression_.pairs_
    assert list(chart["scores"]) == list(SCORES)
    np.testing.assert_allclose(chart["cloud"]["y"], 100 * np.array(pairs["mAP"]))
    assert [point["y"] for point in chart["points"]] == pytest.approx(100 * rows["mAP"], rel=1e-5)
    assert [point["set"] for point in chart["points"]] == rows["category"].tolist()
    for name in SCORES:
        score = chart["scores"][name]
        np.testing.assert_allclose(score["cloud"], pairs[name])
        np.testing.assert_allclose(score["values"], rows[name], rtol=1e-5)
        assert score["estimate"] == pytest.approx(estimate.features[name], rel=1e-5)
        assert "new site" in score["about"]
    star = [estimate.value, estimate.lower, estimate.upper]
    assert list(chart["estimate"].values()) == pytest.approx(100 * np.array(star), rel=1e-5)


@pytest.mark.parametrize("name", SCORES)
def test_the_line_is_what_the_fit_predicts_where_other_scores_are_as_usual(fitted, estimate, name):
    band = chart_of_panel(fitted, estimate).lines[name]
    pairs = shipped(PAIRS, FULL)
    k = len(band.x) // 2
    row = {"category": "new", name: band.x[k], "n_images": estimate.n_images}
    for other in SCORES:
        if other != name:
            row[other] = np.polyval(np.polyfit(pairs[name], pairs[other], 1), band.x[k])
    found = fitted.regression_.predict(pd.DataFrame([row]))[0]
    drawn = (band.y[k], band.lower[k], band.upper[k])
    np.testing.assert_allclose(drawn, (found.value, found.lower, found.upper), rtol=1e-6)
    assert band.x[0] <= min(pairs[name]) and band.x[-1] >= estimate.features[name]


def test_targets_that_the_panel_lacks_have_lines_without_a_cloud(fitted):
    plotted = chart_of_panel(fitted.for_target("recall@0.5"))
    assert plotted.cloud is None and "expected_recall@0.5" in plotted.lines


def test_a_score_that_no_labelled_pair_has_has_no_line_and_others_have():
    """Boxes have no size on images of unknown size, and the panel has no pair of this target."""
    labels = json.loads((SAMPLE / "val.json").read_text())
    images = [{"id": of["id"], "file_name": of["file_name"]} for of in labels["images"]]
    rows = json.loads((SAMPLE / "val_predictions.json").read_text())
    fitted = autoeval.fit(labels | {"images": images}, rows).for_target("precision@0.3")
    assert np.isnan(fitted.regression_.pairs_["box_size"]).all()
    of_chart, read = chart_of_panel(fitted).lines, {*fitted.regression_.features_}
    assert {*of_chart} == read - {"box_size"}


def test_a_page_begins_with_its_number_and_ends_with_what_it_is_about(fitted, estimate):
    given = {"command": "autoeval of mine"}
    of_estimate = estimate_page("t", fitted, estimate, about=given).blocks
    of_fit = fit_page("t", fitted, about=given).blocks
    assert of_estimate[0].kind == "interval"
    coco, labelled, half = of_fit[:3]
    (printed,) = fitted.fit_result_.labelled_sets["mAP"]  # by pycocotools: test_coco_accuracy
    assert coco.value == f"{100 * printed:.1f}"
    assert labelled.value == f"{100 * fitted.regression_.pairs_['mAP'].mean():.1f}"
    assert half.value.startswith("±")
    for page in (of_estimate, of_fit):
        assert page[-1].facts == given


def test_the_width_to_expect_is_that_of_a_new_site_like_the_labelled_one(fitted):
    rows = fitted.regression_.pairs_
    found = fitted.regression_.predict_mean(rows)
    _, of_fit, half = fit_figures(fitted)
    assert half.value == f"±{50 * (found.upper - found.lower):.1f}"
    assert of_fit.note.startswith("6 categories ")


def test_categories_are_dots_with_intervals_the_highest_first(fitted, estimate):
    page = estimate_page("t", fitted, estimate)
    (plot,) = blocks(page, "intervals")
    first, *rows = plot.rows
    assert first.name == "all categories" and first.value == estimate.value
    each = sorted(estimate.per_category.items(), key=lambda of: -of[1]["value"])
    assert [row.name for row in rows] == [name for name, _ in each]
    html = page.render()
    dots = re.findall(r'<span class="dot now" style="left: ([\d.]+)%', html)
    bars = re.findall(r'<span class="reach now" style="left: ([\d.]+)%; right: ([\d.]+)%', html)
    for at, (left, right), (_, of) in zip(dots[1:], bars[1:], each, strict=True):
        assert float(at) == pytest.approx(100 * of["value"], abs=0.006)
        assert float(left) == pytest.approx(100 * of["lower"], abs=0.006)
        assert 100 - float(right) == pytest.approx(100 * of["upper"], abs=0.006)


def test_columns_are_explained_and_pages_of_files_have_no_pictures(fitted, estimate):
    page = estimate_page("t", fitted, estimate)
    captions = " ".join(getattr(block, "caption", "") for block in page.blocks)
    for name in ("expected_ap", "likely_share", "box_size", "share", "confident", "mean_score"):
        assert f"{name}: " in captions
    assert not blocks(page, "thumbnails")
