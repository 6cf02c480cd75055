"""Fixtures of the dropout search's tests."""

from itertools import product

import pytest
from rectangles import rectangle_task

from autoeval.stability.network.forward.dropout_spec import DropoutSpec


@pytest.fixture(scope="session")
def boxes_task(tmp_path_factory):
    return rectangle_task(tmp_path_factory.mktemp("boxes"))


@pytest.fixture(scope="session")
def few_specs():
    each = product(((0,), (1, 2), (0, 3)), (0.1, 0.3, 0.9))
    return tuple(DropoutSpec("after", stages, rate) for stages, rate in each)
