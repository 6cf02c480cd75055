"""Which categories an estimate with labels names first, of a made site of eight."""

import re
from dataclasses import replace

import numpy as np
import pytest
from label_worlds import assistance_of, label_set, make_site
from made_reports import blocks, tables

from autoeval.estimation.label_planning import PlanRequest, make_plan
from autoeval.labels.labelled_estimate import estimate_with_labels
from autoeval.labels.values import NOTHING, ValueWithError
from autoeval.report.labels import category_order_blocks, labelled_heads, most_helpful
from autoeval.report.page import Page

WORDS = tuple(f"word{k}" for k in range(8))


@pytest.fixture(scope="module")
def site():
    return make_site(7, n_images=80, categories=WORDS)


@pytest.fixture(scope="module")
def plan(site):
    priors = {f"mAP/{name}": ValueWithError(0.4, 0.15) for name in WORDS}
    priors["mAP"] = ValueWithError(0.4, 0.1)
    return replace(make_plan(site.pool, assistance_of(3), PlanRequest(12)), priors=priors)


@pytest.fixture(scope="module")
def estimate(site, plan):
    return estimate_with_labels(plan, label_set(site, plan.drawn))


def shown_table(estimate):
    """The table of all categories."""
    return tables(Page("t", category_order_blocks(estimate)))["categories"].table


def test_the_lowest_come_first(estimate):
    each = {name: of.combined.estimate.value for name, of in estimate.by_category.items()}
    order = sorted(each, key=each.__getitem__)
    assert shown_table(estimate)["category"].tolist() == order
    (line,) = [x for x in labelled_heads(estimate)[1].splitlines() if x.startswith("lowest")]
    named = re.findall(r"(word\d) (\d+) \(", line)
    value = {name: f"{100 * np.clip(each[name], 0, 1):.0f}" for name in order[:5]}
    assert named == list(value.items())


@pytest.mark.parametrize("known", [WORDS[:2], ()])
def test_categories_without_a_value_are_not_the_lowest(estimate, known):
    """As of precision without a box over the threshold."""
    by_category = {
        name: of if name in known else replace(of, combined=replace(of.combined, estimate=NOTHING))
        for name, of in estimate.by_category.items()
    }
    head = labelled_heads(replace(estimate, by_category=by_category))[1]
    assert "nan" not in head and head.count("lowest") == bool(known)
    assert {*re.findall(r"(word\d) \d+ \(", head)} == {*known}


def test_labels_that_help_narrow_the_interval(estimate):
    rows = most_helpful(estimate)
    assert len(rows) and (np.diff(rows["half_width"]) >= 0).all()
    assert (rows["half_width"] < estimate.recommended.half_width()).all()


def test_where_all_images_are_labelled_no_more_labels_help(site, plan):
    whole = estimate_with_labels(replace(plan, n=80), label_set(site, np.arange(80)))
    assert whole.recommended.error == 0 and not len(most_helpful(whole))
    assert "help" not in labelled_heads(whole)[1]


def test_terminal_page_and_picture(estimate, tmp_path):
    assert len(labelled_heads(estimate)[1].splitlines()) == 3
    (picture,) = blocks(Page("t", category_order_blocks(estimate)), "chart")
    assert picture.name == "categories"
    labels = [of.get_text() for of in picture.figure.get_yticklabels()]
    assert (len(labels), labels[0]) == (9, "all categories")
    assert labels[-1] == shown_table(estimate)["category"][0]


def test_the_page_draws_each_category_with_and_without_labels(estimate):
    page = Page("t", category_order_blocks(estimate))
    (plot,), rows = blocks(page, "intervals"), estimate.to_pandas()
    assert plot.rows[0].value == rows["value"][0]
    each = rows[1:].sort_values("value", ascending=False)
    assert [row.name for row in plot.rows[1:]] == each["category"].tolist()
    for row, of in zip(plot.rows[1:], each.to_dict("records"), strict=True):
        assert (row.value, row.lower, row.upper) == (of["value"], of["lower"], of["upper"])
        assert row.before[0] == of["label_free"]
    dots = re.findall(r'<span class="dot (\w+)" style="left: ([\d.]+)%', page.render())
    for (before, there), (now, at), row in zip(dots[::2], dots[1::2], plot.rows, strict=True):
        assert (before, now) == ("before", "now")
        assert float(there) == pytest.approx(100 * row.before[0], abs=0.006)
        assert float(at) == pytest.approx(100 * row.value, abs=0.006)


def test_one_category_is_not_put_in_order(estimate):
    one = replace(estimate, by_category=dict(list(estimate.by_category.items())[:1]))
    assert len(labelled_heads(one)) == 1 and category_order_blocks(one) == []
