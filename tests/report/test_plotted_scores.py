"""What a report plots accuracy against."""

import numpy as np
import pandas as pd
import pytest

from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.reports.method_page import LEFT_OUT, method_chart


def score_table(*sources):
    """Worlds in which mAP = bos / 2 + .1, and ac says nothing."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        [
            {
                "source": source,
                "sample_set": f"{source}{k}",
                "kind": "sample" if k else "seed",
                "transforms": "Rotate 3" if k else "",
                "repeat": repeat,
                "n_images": 20,
                "bos": (bos := 0.2 + 0.1 * j + 0.15 * k),
                "bos/car": 0.5,
                "ac": rng.uniform(),
                "mAP": bos / 2 + 0.1,
                "count_mae": 1.5,
                "network_s": 2.0,
            }
            for j, source in enumerate(sources)
            for k in range(4)
            for repeat in range(2)
        ]
    )


def test_the_score_in_use_comes_first_with_its_regression():
    plotted = method_chart(PublishedEstimator("bos").fit(score_table("a", "b", "c")))
    assert list(plotted.scores) == ["bos", LEFT_OUT, "ac"]
    line = plotted.lines["bos"]
    np.testing.assert_allclose(line.y, line.x / 2 + 0.1)
    assert line.about == "the regression in use" and len(plotted.about) == 1


def test_held_out_estimates_are_in_the_unit_of_the_target_and_right_on_their_line():
    plotted = method_chart(PublishedEstimator("bos").fit(score_table("a", "b", "c")))
    points, line = plotted.points, plotted.lines[LEFT_OUT]
    assert len(points) == 12  # repeats are averaged
    np.testing.assert_allclose(points[LEFT_OUT], 100 * points["mAP"])
    np.testing.assert_allclose(line.x, 100 * line.y)
    assert line.about == "where it would be right"


@pytest.mark.parametrize("method", ["constant", "pcr"])
def test_without_a_single_score_the_held_out_estimates_come_first(method):
    table = score_table("a", "b", "c").rename(columns={"bos": "pcr_consistency"})
    table["pcr_reliability"] = np.linspace(0, 1, 24) ** 2
    plotted = method_chart(PublishedEstimator(method).fit(table))
    assert plotted.scores[0] == LEFT_OUT and set(plotted.lines) == {LEFT_OUT}


def test_two_sources_have_no_held_out_estimates():
    plotted = method_chart(PublishedEstimator("bos").fit(score_table("a", "b")))
    assert list(plotted.scores) == ["bos", "ac"] and LEFT_OUT not in plotted.lines
