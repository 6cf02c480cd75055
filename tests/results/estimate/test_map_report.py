"""What the sections of a report of an estimate say, and what they leave out."""

import json
import math
import re

import pandas as pd
import pytest
from made_reports import ESTIMATE, HOSTILE, NONE, held_out, points, report, text

from autoeval.results.estimate.estimate_charts import PlottedScores
from autoeval.targets import find_target


def test_the_answer_comes_before_everything_else():
    said = text(report())
    assert re.search(r"Estimated mAP\s+40\.0\s+90% interval: 30\.0 to 55\.0", said)
    assert "from 80 unlabelled images" in said and "± 1.0 over the dropout repeats" in said
    assert "None of the checks of this estimate gives a warning." in said


def test_the_answer_comes_first_on_the_terminal_and_the_tables_last():
    whole = report(judged=held_out(bos=0.1, constant=0.2), warnings=("only 3 images",)).text()
    assert whole.startswith("\n".join(ESTIMATE.headline()))
    parts = "\nMAE on ", "\nwarning: only 3 images", "\nCross-validation, one group of sources held"
    places = [whole.index(part) for part in parts]
    assert places == sorted(places)
    short = report(judged=held_out(bos=0.1, constant=0.2)).text(verbose=False)
    assert short.startswith("\n".join(ESTIMATE.headline())) and "Cross-validation" not in short


def test_what_few_images_add_to_the_interval_is_told():
    expected = "± 2.0 over the choice of images; without the sampling error 35.0 to 50.0."
    known = report(sampling_std=0.02, source_lower=0.35, source_upper=0.5)
    assert expected in text(known) and "choice of images" not in text(report())


def test_one_image_is_not_several():
    assert "from 1 unlabelled image," in text(report(n_images=1))


def test_warnings_are_shown_in_their_words():
    said = text(report(warnings=("only 3 images", HOSTILE)))
    assert "only 3 images" in said and "None of the checks" not in said
    assert "&lt;img src=x onerror=alert(1)&gt;" in said


@pytest.mark.parametrize(("error", "doubted"), [(0.2, True), (0.1, True), (0.099, False)])
def test_a_method_no_better_than_a_constant_is_doubted(error, doubted):
    said = text(report(judged=held_out(bos=error, constant=0.1)))
    assert ("these scores do not predict accuracy here" in said) == doubted
    assert re.search(r"MAE on held-out sources\s+" + f"{100 * error:.1f}", said)
    assert re.search(r"True value in the interval\s+67%\s+of 3 held-out sources", said)


def test_no_interval_is_said_and_not_drawn():
    none = report(why_none="Too few.", interval_method="none: fewer than 3 sources", **NONE)
    page = none.page().render()
    assert "No interval (none: fewer than 3 sources)" in page and "Too few." in page
    assert 'class="mark" style="left: 40.0%"' in page and 'class="reach"' not in page


def test_no_estimate_is_a_dash_without_a_star(tmp_path):
    made = report(value=math.nan, features={"bos": math.nan}, **NONE)
    made.write(tmp_path)
    assert re.search(r"Estimated mAP\s+–\s+No interval", text(made))
    assert '"estimate": {"value": null}' in (tmp_path / "report.html").read_text()


def test_without_unlabelled_images_there_is_no_answer_to_show(tmp_path):
    made = report(estimate=None, judged=held_out(bos=0.1, constant=0.2))
    said = text(made)
    assert "Estimated mAP" not in said and "red star" not in said
    assert "None of the checks" not in said and "Methods over all held-out sources" in said
    made.write(tmp_path)
    assert json.loads((tmp_path / "result.json").read_text())["estimate"] is None


def test_both_kinds_of_r2_are_told_apart():
    said = text(report(judged=held_out(bos=0.1, constant=0.2)))
    assert "R² in this table is 1 - (mean squared error of the held-out estimates)" in said
    assert "squared correlations over the sample sets" in said


def test_categories_have_a_table_of_their_own(tmp_path):
    of = {HOSTILE: {"value": 0.25, "lower": 0.1, "upper": 0.5}, "car": {"value": math.nan, **NONE}}
    made = report(per_category=of)
    assert re.search(r"onerror=alert\(1\)&gt;\s+25\.0\s+10\.0\s+50\.0\s+car\s+–\s+–", text(made))
    made.write(tmp_path)
    written = pd.read_csv(tmp_path / "report" / "categories.csv")
    assert written["estimate"].tolist()[0] == 0.25 and written["category"][0] == HOSTILE


def test_a_counting_error_keeps_its_own_unit():
    plotted = PlottedScores(points().rename(columns={"mAP": "count_mae"}), ["bos"], {}, ())
    made = report(target=find_target("count_mae"), plotted=plotted, value=2.5, lower=1.0, upper=4.0)
    page = made.page().render()
    assert ">2.50<" in page and "1.00 to 4.00" in page and 'class="scale"' not in page
    assert '"axis": "count_mae (objects an image)"' in page
