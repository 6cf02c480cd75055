"""A figure that several pages show is the same on all of them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import autoeval
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.fitting import fit_sets
from autoeval.estimation.labelled_sets import labelled_site
from autoeval.estimation.threshold_choice import ENDS, choose_from, draw_measures
from autoeval.io.labels.content import BoxColumns, LabelledBox, LabelSet
from autoeval.labels.labelled_estimate import estimate_with_labels
from autoeval.labels.plan_folder import load_plan, save_plan
from autoeval.report.estimate import (
    NO_SCORE,
    WHY,
    category_blocks,
    category_lines,
    estimate_page,
    estimate_text,
    estimate_values,
)
from autoeval.report.labels import category_order_blocks
from autoeval.report.page import Headline, Table
from autoeval.report.threshold import choice_text, curve_blocks
from autoeval.sites.site import Site
from autoeval.stability.methods.source_regression import PublishedEstimate
from tests.made_sites import WORDS, random_found, truth_from

SAMPLE = Path(__file__).resolve().parents[2] / "docs/getting-started/sample"


@pytest.mark.parametrize("first", ["car", ""])  # an empty name is that of a category alone
def test_the_label_page_has_the_label_free_intervals_of_the_estimate_page(tmp_path, first):
    words = (first, *WORDS[1:])
    found = replace(random_found(0), categories=words)
    truth = replace(truth_from(found), categories=words)
    labelled = labelled_site(Site(found, truth=truth, name="val"))
    fitted = fit_sets([labelled], context={})
    new = replace(random_found(1), categories=words)
    estimate = fitted.predict_site(Site(new, named=True))
    save_plan(fitted.plan_labels(estimate, n=12), tmp_path)
    plan = load_plan(tmp_path)
    truth = truth_from(new)
    boxes = tuple(
        LabelledBox(new.images[k].image_id, words[c], (x, y, right - x, bottom - y))
        for k, c, (x, y, right, bottom) in zip(truth.image, truth.label, truth.boxes, strict=True)
    )
    images = tuple(new.images[k] for k in plan.drawn)
    drawn = {image.image_id for image in images}
    boxes = BoxColumns.of([box for box in boxes if box.image_id in drawn])
    labels = LabelSet("l", images, words, boxes)
    labelled = estimate_with_labels(plan, labels)

    whole = {"value": estimate.value, "lower": estimate.lower, "upper": estimate.upper}
    assert labelled.label_free() == pytest.approx(whole, abs=1e-9)
    assert set(labelled.by_category) == set(estimate.per_category) == set(words)
    shown = category_blocks(estimate)[-1].table
    page = category_order_blocks(labelled)[-2].table.set_index("category")
    for _, row in shown.iterrows():
        there = {"value": row["estimate"], "lower": row["lower"], "upper": row["upper"]}
        assert labelled.label_free(row["category"]) == pytest.approx(there, abs=1e-9)
        assert page.loc[row["category"], "label_free"] == pytest.approx(row["estimate"], abs=1e-9)
    # the plot and the table have these intervals too, not those of the errors in the combination
    table = labelled.to_pandas()
    assert table["category"].tolist() == ["", *labelled.by_category]
    assert table["value"].tolist()[0] == pytest.approx(labelled.value)
    table = table[1:].set_index("category")
    car = estimate.per_category[first]
    arms = table.loc[first, ["label_free", "label_free_lower", "label_free_upper"]].tolist()
    assert arms == pytest.approx([car["value"], car["lower"], car["upper"]], abs=1e-9)
    assert labelled.by_category[first].prior.half_width(0.9) != pytest.approx(
        (car["upper"] - car["lower"]) / 2, abs=1e-3
    )


def test_page_text_and_json_have_the_evaluation_of_the_fit_also_of_a_file_that_was_cut():
    fitted = autoeval.fit(SAMPLE / "val.json", SAMPLE / "val_predictions.json")
    boxes = json.loads((SAMPLE / "new_predictions.json").read_text())
    sure = [row for row in boxes if row["score"] >= 0.3]
    (errors,) = fitted.fit_result_.cross_validation[:1]
    error = f"{100 * errors.summary()['mean_absolute_error']:.1f}"
    tables = {"methods", "held_out", "reliability"}
    for given, cut in ((boxes, False), (sure, True)):
        estimate = autoeval.estimate(given, estimator=fitted, images=SAMPLE / "new_site.json")
        assert (estimate.site.floor > 0) == cut
        page = estimate_page("", fitted, estimate)
        assert {block.name for block in page.blocks if isinstance(block, Table)} >= tables
        assert error in [block.value for block in page.blocks if isinstance(block, Headline)]
        assert f": {error} (mAP" in estimate_text(estimate, fitted)
        values = estimate_values(estimate, fitted)
        assert f"{100 * values['held_out'][0]['mean_absolute_error']:.1f}" == error
        assert values["calibration_error"]


def curve_at(thresholds):
    """Precision .1 + 10 t up to .95 and recall 1 - 5 t: at .08 .9 and .6, at .10 .95 and .5."""
    precision = np.minimum(0.1 + 10 * thresholds, 0.95)
    recall = np.maximum(1 - 5 * thresholds, 0)
    values = {"precision": precision, "recall": recall, "f1": precision * recall}
    parts = [
        pd.DataFrame({"threshold": thresholds, "measure": name, **dict.fromkeys(ENDS, of)})
        for name, of in values.items()
    ]
    return pd.concat(parts, ignore_index=True)


def star_of(curve, threshold, at):
    """Where the star stands, and at which threshold the line."""
    left = Figure().subplots()
    draw_measures(left, curve, threshold)
    right = curve_blocks(curve, threshold, at)[2].figure.axes[0]
    (star,) = [line for line in right.lines if line.get_marker() == "*"]
    dotted = [line for line in left.lines if line.get_linestyle() == ":"]
    return (*star.get_xdata(), *star.get_ydata()), dotted[0].get_xdata()[0], star.get_label()


def test_the_star_stands_at_the_printed_threshold_and_values():
    choice = choose_from(curve_at, precision=0.9)
    head, *lines = choice_text(choice).split("\n\n")[0].splitlines()
    assert head.endswith(": 0.08")
    assert "  precision there: 90.0 %" in lines and "  recall there: 60.0 %" in lines
    at = {measure: reached["value"] for measure, reached in choice.at.items()}
    star, line, label = star_of(choice.curve, choice.value, at)
    assert star == pytest.approx((60, 90)) and line == pytest.approx(0.08)
    assert label == "threshold 0.08"


def test_the_star_of_an_estimate_stands_at_its_values_not_at_a_neighbour_of_the_curve():
    coarse = curve_at(np.array([0.05, 0.1, 0.15]))
    star, line, _ = star_of(coarse, 0.08, {"precision": 0.9, "recall": 0.6})
    assert star == pytest.approx((60, 90)) and line == pytest.approx(0.08)


def test_a_category_without_a_score_is_not_said_to_have_no_box_over_a_threshold():
    """A page gave that reason, and a place outside a mean, for what the terminal said of scores."""
    parts = {"car": {"value": 0.5, "lower": 0.4, "upper": 0.6}, "bus": dict.fromkeys(ENDS, np.nan)}
    of_all = 0.4, 0.2, 0.6, 0.9, "jackknife+", "mAP", 80
    alone = PublishedEstimate(*of_all, {"bos": 0.7}, per_category=parts, method="bos")
    assert list(category_lines(alone))[1] == f"bus: {NO_SCORE}"
    assert list(category_blocks(alone)[-1].table) == ["category", "estimate", "lower", "upper"]
    of_point = Estimate(*of_all[:5], "precision@0.5", 80, per_category=parts)
    assert [bool(why) for why in category_blocks(of_point)[-1].table[WHY]] == [False, True]
