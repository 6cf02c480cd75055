"""Global measures by hand and against scikit-learn; thresholds of a detector."""

import numpy as np
import pytest
from sklearn.metrics import (
    mean_absolute_error,
    mean_absolute_percentage_error,
    root_mean_squared_error,
)

from autoeval.counting.measures.count_errors import absolute_error, mape, smape
from autoeval.errors import InputError

RNG = np.random.default_rng(1)
TARGET = RNG.integers(1, 500, 50)
PRED = TARGET * RNG.lognormal(0, 0.3, 50)


def test_against_scikit_learn():
    found = absolute_error(TARGET, PRED)
    assert found["MAE"] == pytest.approx(mean_absolute_error(TARGET, PRED))
    assert found["RMSE"] == pytest.approx(root_mean_squared_error(TARGET, PRED))
    assert mape(TARGET, PRED) == pytest.approx(100 * mean_absolute_percentage_error(TARGET, PRED))


def test_images_without_objects():
    assert mape([0, 0], [1, 0]) is not None and np.isnan(mape([0, 0], [1, 0]))
    assert mape([0, 10], [99, 9]) == pytest.approx(10)
    assert smape([0], [0]) == 0 and smape([0], [3]) == 100


def test_smape_by_hand():
    # 1/3, 0, a skipped answer, and a negative prediction: 4 / (2 + 2).
    found = smape([1, 5, 7, 2], [2, 5, np.nan, -2])
    assert found == pytest.approx(100 * (1 / 3 + 0 + 1 + 1) / 4)


def test_smape_is_symmetric_and_bounded():
    assert smape(TARGET, PRED) == pytest.approx(smape(PRED, TARGET))
    assert 0 < smape(TARGET, PRED) < 100


def test_smape_refuses_what_is_not_a_count():
    with pytest.raises(InputError):
        smape([1.0], [np.inf])
