"""Probabilities of order: right in a world that follows the model, and worth nothing in noise."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from autoeval.errors import InputError
from autoeval.estimation.panel_prior import regression_prior
from autoeval.model.calibrated_features import FEATURES
from autoeval.monitoring.monitor import among_worst
from autoeval.stability.reports.site_order import (
    places_report,
    predicted_orders,
    related_pairs,
    reliability,
    skill,
    worse_than,
)


def world(n_groups=16, *, seed=0, informed=True):
    rng, rows = np.random.default_rng(seed), []
    for group in range(n_groups):
        own = rng.normal(0, 0.07)
        for place in range(2):
            level = rng.uniform(0.1, 0.8)
            value = float(np.clip(level + own + rng.normal(0, 0.04), 0, 1))
            scores = level if informed else rng.uniform(0.1, 0.8)
            rows.append(
                {"source": f"p{group}{place}", "group": f"f{group}", "kind": "seed"}
                | {"sample_set": "own", "repeat": 0, "n_images": 200, "mAP": value}
                | {"expected_ap": scores, "likely_share": scores, "box_size": -1.8}
            )
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def told():
    return predicted_orders(world(), draws=12, samples=1000)


def test_every_pair_and_every_place_is_told_once_a_draw(told):
    n = told.groupby(["draw", "question"]).size().unstack()
    assert (n["worst"] == 16).all()
    assert (n["pair"] + n["related pair"] == 16 * 15 / 2).all()
    assert (n["related pair"] == 8).all()


def test_in_a_world_of_the_model_probabilities_are_right(told):
    table = skill(told).set_index("question")
    assert table.loc["pair", "calibration"] < 0.07
    assert table.loc["pair", "right"] > 0.8
    assert (table["brier"] < table["brier_none"]).loc[["pair", "worst"]].all()


def test_scores_that_tell_nothing_tell_no_order():
    """How steep the line is counts as known beforehand, so such a world is told too boldly.

    Yet less than by that line alone.
    """
    table = world(informed=False)
    predicted = predicted_orders(table, draws=6, samples=500)
    nothing = skill(predicted).set_index("question")
    assert nothing.loc["pair", "right"] == pytest.approx(0.5, abs=0.15)
    scaling, prior = regression_prior(FEATURES, "mAP")
    line = scaling.apply(table[list(FEATURES)].to_numpy()) @ np.array(prior.slopes)
    of_site = dict(zip(table["source"] + " all", line, strict=True))
    pairs = predicted[predicted["question"] == "pair"]
    gaps = np.array([of_site[b] - of_site[a] for a, b in pairs["of"]])
    bold = norm.cdf(gaps / np.hypot(prior.spread, prior.spread))
    assert nothing.loc["pair", "brier"] < np.mean((bold - pairs["true"]) ** 2)


def test_each_pair_of_a_group_is_named_once_the_one_told_to_be_worse_first():
    rows = {
        "question": ["related pair"] * 3 + ["pair"],
        "of": [("a", "b"), ("a", "b"), ("c", "d"), ("a", "c")],
        "probability": [0.1, 0.3, 0.6, 0.9],
        "gap": [-0.04, -0.04, -0.02, 0.1],  # true accuracy of the second less that of the first
    }
    table = related_pairs(pd.DataFrame(rows))
    assert table["of"].tolist() == ["b, a", "c, d"] and table["draws"].tolist() == [2, 1]
    assert table["predicted"].tolist() == pytest.approx([0.8, 0.6])
    assert table["apart"].tolist() == pytest.approx([0.04, -0.02])


def test_reliability_by_hand():
    told = {"question": "pair", "of": ["a", "b", "b", "c"], "draw": [0, 0, 1, 1]}
    told |= {"probability": [0.1, 0.6, 0.6, 0.7], "true": [False, True, False, True]}
    table = reliability(pd.DataFrame(told), np.array([0, 0.5, 1.0]))
    assert table["n"].tolist() == [1, 3]
    assert table["predicted"].tolist() == pytest.approx([0.1, 1.9 / 3])
    assert table["true"].tolist() == pytest.approx([0, 2 / 3])


def test_too_few_groups_are_refused():
    with pytest.raises(InputError, match="6 groups"):
        predicted_orders(world(5))
    with pytest.raises(InputError, match="share="):
        places_report([world()], share=1.5)


def test_the_report_draws_and_writes(tmp_path):
    report = places_report([world(), world(seed=1)], draws=3)
    assert {path.name for path in report.write(tmp_path)} >= {"place_order.png", "place_order.csv"}
    assert "related pair" in report.text()


def test_of_two_normal_sites_the_probability_is_known():
    rng = np.random.default_rng(0)
    drawn = rng.normal([0.30, 0.35], [0.10, 0.05], (200_000, 2))
    expected = norm.cdf(0.05 / np.hypot(0.10, 0.05))
    assert worse_than(drawn, np.array([0]))[0, 1] == pytest.approx(expected, abs=0.005)
    assert among_worst(drawn, 1)[0] == pytest.approx(expected, abs=0.005)


def test_an_error_that_all_share_does_not_blur_their_order():
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 0.2, (10_000, 1))
    drawn = np.array([0.3, 0.4]) + shared + rng.normal(0, 0.01, (10_000, 2))
    assert worse_than(drawn, np.array([0]))[0].tolist() == [0.5, 1.0]
