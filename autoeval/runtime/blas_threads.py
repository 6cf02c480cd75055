"""Linear algebra on one thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def one_blas_thread(function: Function) -> Function:
    """Run a function with one thread of linear algebra.

    The matrices of a fit are small: on a busy machine several threads that wait for each other take
    more than four times the processor time of one.
    """

    @wraps(function)
    def limited(*args: Any, **options: Any) -> Any:
        from threadpoolctl import threadpool_limits  # comes with scikit-learn

        with threadpool_limits(limits=1, user_api="blas"):
            return function(*args, **options)

    return limited  # type: ignore[return-value]
