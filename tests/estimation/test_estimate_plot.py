import math

import numpy as np
import pytest
from matplotlib.figure import Figure
from test_protocol import WORLDS, make_table

from autoeval.errors import InputError
from autoeval.estimation.estimate import Estimate
from autoeval.stability.methods.source_regression import PublishedEstimate, SourceRegression
from autoeval.words import Notice

OF_METHOD = {"method": "bos", "std": 0.02, "warnings": (Notice("few-images", "few"),)}
ESTIMATE = PublishedEstimate(0.4, 0.3, 0.55, 0.9, "by source", "mAP", 12, **OF_METHOD)


def test_the_star_stands_on_the_interval_in_points_of_100():
    ax = ESTIMATE.plot()
    interval, star = ax.lines[0], ax.lines[1]
    assert list(interval.get_xdata()) == pytest.approx([30, 55])
    assert list(star.get_xdata()) == pytest.approx([40])
    assert ax.get_xlim() == (0, 100)
    assert "mAP" in ax.get_xlabel() and ax.get_title().endswith("warnings: 1")


def test_it_draws_where_it_is_asked_to():
    ax = Figure().subplots()
    assert ESTIMATE.plot(ax) is ax


@pytest.mark.parametrize("target", ["mAP/a$b", "count_mae"])
def test_what_is_missing_is_not_drawn(target):
    nan = math.nan
    ax = Estimate(nan, nan, nan, 0.9, "none", target, 12).plot()
    ax.figure.canvas.draw()
    assert "warning" not in ax.get_title()


def test_among_the_training_it_stands_at_what_was_estimated_and_what_was_true():
    table = make_table(WORLDS, noise=0.02)
    regression = SourceRegression("bos").fit(table)
    ax = ESTIMATE.plot(training=regression)
    drawn = np.concatenate([np.asarray(marks.get_offsets()) for marks in ax.collections])
    expected = np.stack([regression.predict_left_out(), table["mAP"]], axis=1) * 100
    np.testing.assert_allclose(drawn, expected)
    assert [line.get_label() for line in ax.lines[1:]] == ["90% interval", "40.0"]
    assert list(ax.lines[1].get_ydata()) == pytest.approx([30, 55])


def test_two_sources_have_nothing_to_draw():
    few = make_table({"a": 0.2, "b": 0.4})
    with pytest.raises(InputError, match="takes three"):
        ESTIMATE.plot(training=SourceRegression("bos").fit(few))


def test_its_representation_says_what_it_is():
    assert repr(ESTIMATE) == (
        "<estimated mAP by bos: 40.0 (90% interval 30.0 to 55.0), from 12 images; warnings: 1>"
    )
