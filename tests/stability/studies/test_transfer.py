"""What the study of transfer fits on and what it evaluates."""

import numpy as np
import pandas as pd
import pytest

from autoeval.errors import InputError
from autoeval.model.calibrated_features import FEATURES
from autoeval.stability.reports.transfer import transfer_report
from autoeval.stability.studies.transfer import (
    by_labelled_set,
    few_groups,
    figures,
    groups_left_out,
    in_hindsight,
    labelled_of,
    mean_deviations,
    sites_of,
)
from tests.estimation.test_bayesian_regression import pair_table


def scores():
    """Places of six groups and a labelled set that comes from the first of them."""
    sites = pair_table(categories=("car", "van")).assign(kind="seed", repeat=0)
    own = pair_table(n=8, seed=1).assign(kind="category", repeat=0, source="set", group="group0")
    own = own.assign(category=[f"word{k}" for k in range(len(own))])
    return pd.concat([sites, own], ignore_index=True)


def test_figures_worked_by_hand():
    rows = [("a", 0.5, 0.4, 0.3, 0.6), ("a", 0.5, 0.7, 0.6, 0.8), ("b", 0.2, *[np.nan] * 3)]
    columns = ["group", "true", "estimate", "lower", "upper"]
    found = figures(pd.DataFrame(rows, columns=columns).assign(constant=0.4))
    # group a: errors .1 and .2; group b is refused, so the constant's .2 counts
    assert found["error"] == pytest.approx((0.15 + 0.2) / 2)
    assert found["by_pair"] == pytest.approx((0.1 + 0.2 + 0.2) / 3)
    assert found["constant"] == pytest.approx((0.1 + 0.2) / 2)
    assert found["coverage"] == pytest.approx(0.5) and found["refused"] == pytest.approx(0.5)
    assert found["half_width"] == pytest.approx((0.15 + 0.1) / 2)


def test_a_labelled_set_never_evaluates_its_own_group():
    table = scores()
    sites, labelled = sites_of(table), labelled_of(table)
    assert "group0" not in set(by_labelled_set(labelled, sites)["group"])
    assert "group0" not in set(few_groups(sites, labelled, m=1, draws=2)["group"])
    # where groups are left out, the set is left out together with its own
    alone, both = groups_left_out(sites), groups_left_out(sites, labelled)
    own = (alone["group"] == "group0").to_numpy()
    np.testing.assert_allclose(alone["estimate"][own], both["estimate"][own])
    assert not np.allclose(alone["estimate"][~own], both["estimate"][~own])


def test_a_set_that_is_better_than_its_scores_tell_stands_out():
    sites, own = sites_of(scores()), labelled_of(scores())
    better = own.assign(source="seen", mAP=own["mAP"] + 0.1)
    off = mean_deviations(sites, pd.concat([own, better])).set_index("set")["off"]
    assert list(off.index) == ["sites by the others", "set", "seen"]
    assert off["seen"] - off["set"] == pytest.approx(0.1)


def test_no_line_errs_less_than_the_best_in_hindsight():
    sites = sites_of(scores())
    options = {"features": FEATURES}
    best = figures(in_hindsight(sites, **options))["error"]
    x = np.c_[np.ones(len(sites)), sites["expected_ap"]]
    squares = x @ np.linalg.lstsq(x, sites["mAP"], rcond=None)[0]
    assert 0 < best <= figures(in_hindsight(sites, **options).assign(estimate=squares))["error"]
    assert best < figures(groups_left_out(sites, **options))["error"]
    exact = sites.assign(mAP=0.1 + 0.8 * sites["expected_ap"])
    assert figures(in_hindsight(exact, **options))["error"] == pytest.approx(0)


def test_m_groups_are_fitted_on_and_all_others_evaluated():
    sites = sites_of(scores())
    evaluated = few_groups(sites, m=4, draws=3)
    assert (evaluated.groupby("draw")["group"].nunique() == 2).all()
    with pytest.raises(InputError, match="1 to 5 groups"):
        few_groups(sites, m=0)


def test_the_report_holds_every_way_and_size():
    report = transfer_report(scores(), sizes=(0, 2), draws=1, without=("word0",))
    ways, sizes = (part.table["way"].drop_duplicates().tolist() for part in report.parts[:2])
    assert ways == [
        *("other sites of the category", "other sites of all categories"),
        *("sites of the other categories alone", "other sites and set"),
        *("set alone", "set without word0"),
    ]
    assert sizes == ["0 and the labelled set", "2 and the labelled set", "2"]
    lines = ["one for each category", "one for all"]
    assert report.parts[2].table["way"].tolist() == [line for line in lines for _ in range(2)]
    with pytest.raises(InputError, match="3 groups or more but got 1"):
        transfer_report(scores().query("group == 'group1'"))
