"""How many labels a width takes."""

import math

import pytest
from scipy import stats

from autoeval.estimation.labels.needed import Outlook, outlook_after
from autoeval.estimation.labels.spread import Spread
from autoeval.estimation.labels.value_with_error import ValueWithError


def test_half_width_by_hand():
    outlook = Outlook(Spread(0.04, 0.0), n_pool=10**9)
    expected = stats.t.ppf(0.95, 19) * math.sqrt(0.04 / 20)
    assert outlook.half_width(20) == pytest.approx(expected, rel=1e-6)


def test_the_number_needed_is_the_first_that_suffices():
    outlook = Outlook(Spread(0.09, 6.0), 500, ValueWithError(0.5, 0.08))
    n = outlook.needed(0.05)
    assert outlook.half_width(n) <= 0.05 < outlook.half_width(n - 1)


def test_all_labels_leave_nothing_open():
    outlook = Outlook(Spread(0.09, 6.0), 30)
    assert outlook.half_width(30) == 0
    assert outlook.needed(1e-9) == 30


def test_the_outlook_after_labels_goes_on_where_they_are():
    measured = ValueWithError(0.4, 0.05, 25.0)
    outlook = outlook_after(measured, 20, 200)
    assert outlook.half_width(20) == pytest.approx(measured.half_width(0.9))
