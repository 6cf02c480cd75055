"""The estimator on pairs: what it takes from tables, and what it says of new places."""

import numpy as np
import pandas as pd
import pytest

from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.pair_table import FEATURES, WITH_TEACHER, pair_rows
from autoeval.regression import Prior, Scaling


def pair_table(n=24, seed=0, noise=0.04, categories=("car", "van")):
    """Pairs of two places a family, whose accuracy is the expected AP and 0.05, up to noise."""
    rng = np.random.default_rng(seed)
    score = rng.uniform(0.1, 0.6, n)
    return pd.DataFrame(
        {
            "source": [f"place{k // 2}" for k in range(n)],
            "family": [f"family{k // 4}" for k in range(n)],
            "category": [categories[k % len(categories)] for k in range(n)],
            "n_images": 100,
            "expected_ap": score,
            "likely_share": 0.3,
            "box_size": -1.8,
            "mAP": np.clip(score + 0.05 + rng.normal(0, noise, n), 0, 1),
        }
    )


def test_it_follows_the_scores_and_says_how_surely():
    table = pair_table()
    asked = table.iloc[[0, 0]].assign(expected_ap=[0.2, 0.5])
    low, high = BayesianRegression().fit(table).predict(asked)
    assert low.value == pytest.approx(0.25, abs=0.05)
    assert high.value == pytest.approx(0.55, abs=0.05)
    assert low.lower < 0.25 < low.upper and high.lower < 0.55 < high.upper


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
    nothing = table.iloc[:1].assign(expected_ap=0.0, likely_share=0.0, box_size=-1.8)
    undefined = table.iloc[:1].assign(**dict.fromkeys(FEATURES, np.nan))
    assert estimator.predict(nothing)[0].raw == estimator.predict(undefined)[0].raw


def test_a_score_that_some_pairs_lack_is_not_read():
    """Joined tables hold nan where a pass was not made; it must not count as agreement of 0."""
    table = pair_table()
    half = table.assign(**{WITH_TEACHER: table["expected_ap"]})
    half.loc[:7, WITH_TEACHER] = np.nan
    assert BayesianRegression().fit(half).features_ == FEATURES
    half.loc[:7, list(FEATURES)] = np.nan
    assert BayesianRegression().fit(half).features_ == (*FEATURES, WITH_TEACHER)


def test_bad_input():
    table = pair_table()
    with pytest.raises(InputError, match="no box is labelled"):
        BayesianRegression().fit(table.assign(mAP=np.nan))
    with pytest.raises(InputError, match="column mAP75"):
        BayesianRegression(target="mAP75").fit(table)
    twice = table.assign(family=[f"family{k}" for k in range(len(table))])
    with pytest.raises(InputError, match="place0 is in the families family0, family1"):
        BayesianRegression().fit(twice)
    with pytest.raises(InputError, match=r"columns expected_ap but"):
        BayesianRegression().fit(table).predict(table.drop(columns="expected_ap"))
    with pytest.raises(InputError, match=r"regression of mAP on ac\. .* on expected_ap, "):
        BayesianRegression(features=["ac"]).fit(table.assign(ac=0.5))
    half = table.assign(**{"scale_ap@0.30": table["expected_ap"]})
    of_two = {"features": ["expected_ap", "scale_ap@0.30"], "prior": Prior((0.1, 0.1))}
    scaling = Scaling(np.full(2, 0.3), np.full(2, 0.2))
    estimator = BayesianRegression(**of_two, scaling=scaling).fit(half)
    asked = half.assign(**{"scale_ap@0.30": np.nan})
    with pytest.raises(InputError, match=r"scale_ap@0\.30 of .* 24 of 24 lack it"):
        estimator.predict(asked)
