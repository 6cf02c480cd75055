import math

import pytest
from matplotlib.figure import Figure

from autoeval.estimation.estimate import Estimate

ESTIMATE = Estimate(0.4, 0.02, 0.3, 0.55, 0.9, "by source", "mAP", "bos", 12, guards=("few",))


def test_the_star_stands_on_the_interval_in_points_of_100():
    ax = ESTIMATE.plot()
    interval, star = ax.lines[0], ax.lines[1]
    assert list(interval.get_xdata()) == pytest.approx([30, 55])
    assert list(star.get_xdata()) == pytest.approx([40])
    assert ax.get_xlim() == (0, 100)
    assert "mAP" in ax.get_xlabel() and ax.get_title().endswith("cautions: 1")


def test_it_draws_where_it_is_asked_to():
    ax = Figure().subplots()
    assert ESTIMATE.plot(ax) is ax


@pytest.mark.parametrize("target", ["mAP/a$b", "count_mae"])
def test_what_is_missing_is_not_drawn(target):
    nan = math.nan
    ax = Estimate(nan, nan, nan, nan, 0.9, "none", target, "bos", 12).plot()
    ax.figure.canvas.draw()
    assert "caution" not in ax.get_title()
