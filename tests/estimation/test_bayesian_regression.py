"""The estimator on pairs: what it takes from tables, and what it says of new places."""

import numpy as np
import pandas as pd
import pytest

from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.pair_table import OF_BOXES, pair_rows


def pair_table(n=24, seed=0, noise=0.04, categories=("car", "van")):
    """Pairs of two places a family, whose accuracy goes with the first score."""
    rng = np.random.default_rng(seed)
    score = rng.uniform(0.1, 0.6, n)
    return pd.DataFrame(
        {
            "source": [f"place{k // 2}" for k in range(n)],
            "family": [f"family{k // 4}" for k in range(n)],
            "category": [categories[k % len(categories)] for k in range(n)],
            "n_images": 100,
            "atc@0.30": score,
            "box_share@0.30": score + 0.1,
            "confident_images@0.20": 0.8,
            "mAP": np.clip(1.2 * score - 0.05 + rng.normal(0, noise, n), 0, 1),
        }
    )


def test_it_follows_the_scores_and_says_how_surely():
    table = pair_table()
    asked = table.iloc[[0, 0]].assign(**{"atc@0.30": [0.2, 0.5], "box_share@0.30": [0.3, 0.6]})
    low, high = BayesianRegression().fit(table).predict(asked)
    assert low.value == pytest.approx(0.19, abs=0.08)
    assert high.value == pytest.approx(0.55, abs=0.08)
    assert low.lower < 0.19 < low.upper and high.lower < 0.55 < high.upper


def test_a_mean_over_categories_of_one_place_keeps_what_they_share():
    table = pair_table()
    estimator = BayesianRegression().fit(table)
    asked = table.iloc[:2]
    one, mean = estimator.predict(asked)[0], estimator.predict_mean(asked)
    assert mean.raw == pytest.approx(np.mean([t.raw for t in estimator.predict(asked)]))
    assert 0.5 * one.reach < mean.reach < one.reach


def test_held_out_pairs_are_estimated_without_their_family():
    """Turning the accuracies of a family upside down changes nothing of its own estimates."""
    table = pair_table()
    other = table.assign(mAP=table["mAP"].where(table["family"] != "family1", 1 - table["mAP"]))
    before, after = (BayesianRegression().fit(t).cross_validated_ for t in (table, other))
    own = before["family"] == "family1"
    np.testing.assert_allclose(before.loc[own, "estimate"], after.loc[own, "estimate"])
    assert not np.allclose(before.loc[~own, "estimate"], after.loc[~own, "estimate"])


def test_tables_of_several_categories_are_stacked():
    wide = pd.DataFrame(
        {"source": ["a"], "kind": ["seed"], "repeat": [0], "n_images": [9], "ac": [0.3]}
        | {"ac/car": [0.4], "ac/van": [0.2], "mAP": [0.3], "mAP/car": [0.5], "mAP/van": [0.1]}
    )
    rows = pair_rows(wide).set_index("category")
    assert rows["ac"].to_dict() == {"car": 0.4, "van": 0.2}
    assert rows["mAP"].to_dict() == {"car": 0.5, "van": 0.1}
    assert set(rows["family"]) == {"a"}


def test_a_score_that_is_undefined_counts_as_the_least_that_it_can_be():
    table = pair_table()
    estimator = BayesianRegression().fit(table)
    nothing = table.iloc[:1].assign(**dict.fromkeys(OF_BOXES, 0.0) | {"atc@0.30": 0.3})
    undefined = table.iloc[:1].assign(**dict.fromkeys(OF_BOXES, np.nan))
    assert estimator.predict(nothing)[0].raw == estimator.predict(undefined)[0].raw


def test_a_score_that_some_pairs_lack_is_not_read():
    """Joined tables hold nan where a pass was not made; it must not count as agreement of 0."""
    table = pair_table()
    half = table.assign(**{"scale_ap@0.30": table["atc@0.30"]})
    half.loc[:7, "scale_ap@0.30"] = np.nan
    assert BayesianRegression().fit(half).features_ == OF_BOXES
    half.loc[:7, ["atc@0.30", "box_share@0.30"]] = np.nan
    assert BayesianRegression().fit(half).features_ == (*OF_BOXES, "scale_ap@0.30")


def test_bad_input():
    table = pair_table()
    with pytest.raises(InputError, match="no box is labelled"):
        BayesianRegression().fit(table.assign(mAP=np.nan))
    with pytest.raises(InputError, match="column mAP75"):
        BayesianRegression(target="mAP75").fit(table)
    twice = table.assign(family=[f"family{k}" for k in range(len(table))])
    with pytest.raises(InputError, match="place0 is in the families family0, family1"):
        BayesianRegression().fit(twice)
    with pytest.raises(InputError, match=r"columns atc@0\.30 but"):
        BayesianRegression().fit(table).predict(table.drop(columns="atc@0.30"))
    half = table.assign(**{"scale_ap@0.30": table["atc@0.30"]})
    estimator, asked = BayesianRegression().fit(half), half.assign(**{"scale_ap@0.30": np.nan})
    with pytest.raises(InputError, match=r"scale_ap@0\.30 of .* 24 of 24 lack it"):
        estimator.predict(asked)
