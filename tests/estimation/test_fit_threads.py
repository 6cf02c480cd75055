"""Linear algebra of a fit runs on one thread, and what runs afterwards on as many as before."""

from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from autoeval.errors import InputError
from autoeval.estimation import fitting


def threads():
    np.linalg.inv(np.eye(2))
    return [of["num_threads"] for of in threadpool_info() if of["user_api"] == "blas"]


@pytest.mark.parametrize(
    ("called", "fit", "given"),
    [
        ("check_some_right", fitting.fit_sets, []),
        (
            "_check_same_detector",
            fitting.join_fits,
            dict.fromkeys("ab", SimpleNamespace(context_={"detector": {}})),
        ),
    ],
)
def test_one_thread_inside_and_as_many_as_before_outside(called, fit, given, monkeypatch):
    before, inside = threads(), []

    def stopped(*args, **options):
        inside.extend(threads())
        raise InputError("noted")

    monkeypatch.setattr(fitting, called, stopped)
    with pytest.raises(InputError, match="noted"):
        fit(given, **({} if called == "_check_same_detector" else {"context": {}}))
    assert set(inside) == {1} and threads() == before
