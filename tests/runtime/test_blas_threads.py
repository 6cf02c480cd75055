"""Linear algebra of a fit runs on one thread, and what runs afterwards on as many as before."""

import numpy as np
from threadpoolctl import threadpool_info

from autoeval.runtime.blas_threads import one_blas_thread


def threads():
    np.linalg.inv(np.eye(2))
    return [of["num_threads"] for of in threadpool_info() if of["user_api"] == "blas"]


def test_one_thread_inside_and_as_many_as_before_outside():
    before = threads()
    inside = one_blas_thread(threads)()
    assert set(inside) == {1} and threads() == before
