"""The constant of several categories: the mean of all pairs, in whatever order they come."""

import numpy as np
import pytest

from autoeval.model.pair_table import SEED
from autoeval.stability.methods import Constant
from autoeval.stability.methods.score_rows import Rows


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_every_category_of_a_source_counts(order):
    source, category = np.array(["gate", "gate", "yard"]), np.array(["car", "person", "car"])
    columns = {"source": source, "category": category, "mAP": np.array([0.6, 0.2, 0.7])}
    once = {name: values[order] for name, values in columns.items()}
    repeats = {name: np.concatenate([values, values]) for name, values in once.items()}
    rows = Rows(**repeats, kind=np.full(6, SEED))
    assert Constant().fit(rows, "mAP").value_ == pytest.approx(0.5)
