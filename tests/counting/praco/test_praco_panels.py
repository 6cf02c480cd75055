"""What is drawn into mosaics, and which mosaics are shown."""

import numpy as np
import pandas as pd

from autoeval.counting.counters import CountResult
from autoeval.counting.praco.praco_charts import (
    LOWER_COLOR,
    SIDE,
    UPPER_COLOR,
    choose_mosaics,
    draw_panel,
)

GREY = np.full((40, 40, 3), 128, np.uint8)


def shares(panel):
    """How many pixels of each half carry either colour, away from the two counts."""
    left = panel[:, : SIDE // 2]
    halves = np.split(left, 2)
    return [
        [int((half == color).all(-1).sum()) for color in (UPPER_COLOR, LOWER_COLOR)]
        for half in halves
    ]


def test_boxes_carry_the_colour_of_their_half():
    boxes = np.array([[2, 2, 10, 10], [2, 24, 10, 34]], float)
    panel = draw_panel(GREY, 20, CountResult(2.0, boxes=boxes))
    (above, wrong_above), (wrong_below, below) = shares(panel)
    assert panel.shape == (SIDE, SIDE, 3)
    assert above > 0 and below > 0 and wrong_above == wrong_below == 0


def test_points_and_maps_are_drawn():
    points = draw_panel(GREY, 20, CountResult(1.0, points=np.array([[5.0, 30.0]])))
    assert shares(points)[1][1] > 0
    density = np.zeros((10, 10))
    density[2, 2] = 3
    heat = draw_panel(GREY, 20, CountResult(3.0, density=density)).astype(int)
    assert np.ptp(heat[100:140, 100:140], axis=-1).max() > 50, "coloured where the map is high"
    assert (heat[400:, :200] == 128).all(), "and untouched where it is 0"


def test_the_lowest_precisions_come_first():
    table = pd.DataFrame({"precision": [0.9, np.nan, 0.1, 0.5, 0.2, 1.0, 0.7, 0.6]})
    table["positive"] = [*"abcdefg", "d"]  # of the two of "d", the worse is shown
    assert choose_mosaics(table, 6)["precision"].tolist() == [0.1, 0.2, 0.5, 0.7, 0.9, 1.0]
    assert len(choose_mosaics(table.head(2), 6)) == 1
    assert choose_mosaics(table.iloc[[1]], 6).empty
