"""Tables of earlier versions call the column of groups ``family``: all routes read it as such."""

import pandas as pd
import pytest
from label_worlds import make_site
from test_protocol import WORLDS, make_table

from autoeval.errors import InputError
from autoeval.estimation.artefact import read_artefact, write_artefact
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.stability.fitting.meta_set import BOXES_FILE, LABELLED, read_stored_sets
from autoeval.stability.fitting.stored_sets import pack_set
from autoeval.stability.methods.leave_one_out import leave_one_source_out
from autoeval.stability.methods.score_rows import read_scores
from tests.estimation.test_bayesian_regression import pair_table

FORMER = {"group": "family"}


def former_estimator(fitted, folder):
    """Write an estimator as earlier versions did."""
    fitted.save(folder / "today.parquet")
    table, metadata = read_artefact(folder / "today.parquet")
    write_artefact(folder / "former.parquet", table.rename(columns=FORMER), metadata)
    return folder / "former.parquet"


def test_a_saved_estimator_still_leaves_groups_out_together(tmp_path):
    fitted = AccuracyEstimator().fit_rows(pair_table())
    loaded = AccuracyEstimator.load(former_estimator(fitted, tmp_path))
    assert loaded.regression_.groups_ == [f"group{k}" for k in range(6)]
    pd.testing.assert_frame_equal(
        loaded.regression_.cross_validated_, fitted.regression_.cross_validated_
    )
    loaded.save(tmp_path / "again.parquet")
    assert not {"family"} & {*read_artefact(tmp_path / "again.parquet")[0]}


def test_a_table_that_a_user_read_is_fitted_on_by_its_groups():
    table = pair_table()
    expected = BayesianRegression().fit(table).predict_left_out()
    former = BayesianRegression().fit(table.rename(columns=FORMER))
    assert former.predict_left_out().tolist() == expected.tolist()
    alone = BayesianRegression().fit(table.drop(columns="group")).predict_left_out()
    assert alone.tolist() != expected.tolist()  # so that the column matters here


def test_a_score_table_is_read_with_its_groups(tmp_path):
    table = make_table({**WORLDS, "d": 0.4}, noise=0.1)
    names = {"a": "f", "b": "f", "c": "g", "d": "h"}
    grouped = table.assign(group=table["source"].map(names))
    former = grouped.rename(columns=FORMER)
    former.to_parquet(tmp_path / "scores.parquet")
    pd.testing.assert_frame_equal(read_scores(tmp_path), grouped)
    expected = leave_one_source_out(grouped, "bos").per_source
    pd.testing.assert_frame_equal(leave_one_source_out(former, "bos").per_source, expected)


def test_boxes_of_a_work_dir_keep_their_groups(tmp_path):
    site = make_site(0, n_images=4, name="a")
    row = {"source": "a", "family": "town", LABELLED: pack_set(site.pool, site.truth)}
    pd.DataFrame([row]).to_parquet(tmp_path / BOXES_FILE)
    (labelled,) = read_stored_sets(tmp_path)
    assert labelled.group == "town"


def test_both_columns_are_refused():
    with pytest.raises(InputError, match="`group` and `family`, its former name: leave one"):
        BayesianRegression().fit(pair_table().assign(family="f"))
