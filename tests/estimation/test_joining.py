"""What joined fits keep of each."""

from types import SimpleNamespace

import pytest
from estimation.pairs.test_pair_estimator import pair_table

from autoeval.errors import InputError
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.joining import join_fits

CONTEXT = {"detector": {"name": "one"}, "pass": {"stability": 0.5}, "task": {"categories": ["car"]}}


def fit(name, *, aid=None, **of_pass):
    table = pair_table().assign(kind="seed", repeat=0)
    table["source"], table["family"] = name + table["source"], name + table["family"]
    context = {**CONTEXT, "pass": {**CONTEXT["pass"], **of_pass}}
    return MapEstimator().fit_rows(table, context=context, aid=aid)


def test_the_first_says_what_is_looked_at_and_what_helps_labels():
    aid = SimpleNamespace()
    joined = join_fits({"a": fit("a", aid=aid), "b": fit("b")}, level=0.8)
    assert joined.aid_ is aid and joined.context_ == CONTEXT and joined.level == 0.8
    assert len(joined.table_) == 48
    assert join_fits({"b": fit("b"), "a": fit("a", aid=aid)}).aid_ is None


def test_a_teacher_that_one_was_fitted_without_is_forgotten():
    taught, plain = fit("a", teacher="large"), fit("b")
    assert "teacher" not in join_fits({"a": taught, "b": plain}).context_["pass"]
    both = join_fits({"a": taught, "c": fit("c", teacher="large")})
    assert both.context_["pass"]["teacher"] == "large"


def test_other_passes_and_methods_are_refused():
    with pytest.raises(InputError, match=r"a and b do not go together.*\n.*stability"):
        join_fits({"a": fit("a"), "b": fit("b", stability=0.7)})
    published = fit("c")
    published.method = "bos"
    with pytest.raises(InputError, match="c is a fit by 'bos'"):
        join_fits({"a": fit("a"), "c": published})
