"""What the page of an estimate shows, and what it leaves out."""

import math
import re
from dataclasses import replace

import pandas as pd
import pytest
from made_reports import ESTIMATE, HOSTILE, NONE, blocks, held_out, points, report, text

from autoeval.accuracy.measures import find_target
from autoeval.estimation.protocol import FitResult, HeldOutErrors, worse_than_constant
from autoeval.report.estimate import estimate_head, sampling_text
from autoeval.report.fit import error_figures
from autoeval.report.page import figures_text, result_text
from autoeval.words import Notice


def test_the_answer_comes_before_everything_else():
    page = report()
    answer = page.blocks[0]
    assert answer.kind == "interval" and answer.name == "Estimated mAP"
    assert answer.value == "40.0" and "30.0 to 55.0" in answer.interval
    assert answer.on_scale == pytest.approx((40, 30, 55))
    assert "80 unlabelled images" in answer.note and "± 1.0" in answer.note


def test_the_answer_comes_first_on_the_terminal_and_the_details_last():
    few = Notice("few-images", "only 3 images")
    estimate, fit = replace(ESTIMATE, warnings=(few,)), FitResult(points(), held_out(bos=0.1))
    heads = [estimate_head(estimate), figures_text(error_figures(fit.held_out))]
    assert heads[1].startswith("MAE on 3 held-out sites: 10.0 (mAP, in points of 100)\nTrue value")
    warnings = estimate.all_warnings()
    whole = result_text(heads, warnings, ["details"])
    assert whole.split("\n\n") == [*heads, "warning: only 3 images", "details"]
    assert "details" not in result_text(heads, warnings, ["details"], verbose=False)


def test_what_few_images_add_to_the_interval_is_shown():
    known = replace(ESTIMATE, sampling_std=0.02, source_lower=0.35, source_upper=0.5)
    for said in (text(report(known)), sampling_text(known)):
        assert "± 2.0" in said and "35.0 to 50.0" in said
    assert sampling_text(ESTIMATE) == ""


def test_one_image_is_not_several():
    assert "1 unlabelled image," in text(report(n_images=1))


def test_warnings_are_shown_in_their_words():
    page = report(warnings=(Notice("few-images", "only 3 images"), Notice("odd", HOSTILE)))
    assert blocks(page, "warnings")[0].warnings == ["only 3 images", HOSTILE]
    assert "&lt;img src=x onerror=alert(1)&gt;" in text(page)


@pytest.mark.parametrize(("error", "doubted"), [(0.2, True), (0.1, True), (0.099, False)])
def test_a_method_no_better_than_a_constant_is_warned_of(error, doubted):
    results = held_out(bos=error, constant=0.1)
    errors = HeldOutErrors.of(results)
    assert [of.code for of in worse_than_constant(errors)] == ["no-better-than-constant"] * doubted
    of_counts = worse_than_constant(replace(errors, target="count_mae"))
    assert all("objects an image" in of for of in of_counts)
    figures = blocks(report(results=results), "headline")
    assert figures[0].value == f"{100 * error:.1f}" and figures[2].value == "67%"


def test_no_interval_is_said_and_not_drawn():
    page = report(interval_method="none: fewer than 3 groups of sources", **NONE).render()
    assert "none: fewer than 3 groups of sources" in page
    assert 'class="mark" style="left: 40.00%"' in page and 'class="reach"' not in page


def test_no_estimate_is_a_dash_without_a_star():
    page = report(value=math.nan, features={"bos": math.nan}, **NONE)
    assert page.blocks[0].value == "–"
    assert blocks(page, "scatter")[0].data["estimate"] == {"value": None}


def test_categories_have_a_table_of_their_own(tmp_path):
    of = {HOSTILE: {"value": 0.25, "lower": 0.1, "upper": 0.5}, "car": {"value": math.nan, **NONE}}
    page = report(per_category=of)
    assert re.search(r"onerror=alert\(1\)&gt;\s+25\.0\s+10\.0\s+50\.0\s+car\s+–\s+–", text(page))
    page.write(tmp_path / "report.html")
    written = pd.read_csv(tmp_path / "report" / "categories.csv")
    assert written["estimate"].tolist()[0] == 0.25 and written["category"][0] == HOSTILE


def test_a_counting_error_keeps_its_own_unit():
    made = report(target=find_target("count_mae"), scores=["bos"], value=2.5, lower=1.0, upper=4.0)
    page = made.render()
    assert ">2.50<" in page and "1.00 to 4.00" in page and 'class="scale"' not in page
    assert '"axis": "count_mae (objects an image)"' in page
