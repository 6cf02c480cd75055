"""Which categories are at a site: found by its boxes, or said to be there."""

import numpy as np
import pytest

from autoeval.boxes import Boxes
from autoeval.model.calibration import ScoreCalibration
from autoeval.sites.site import LEAST_SHARE, Site

NAMES = ("vehicle", "person", "dog")
#: Probabilities are confidences.
SAME = ScoreCalibration(np.tile([0.0, 1.0, 1.0], (10, 1)), np.zeros(3))


def presence(boxes, **options):
    """Decide by a number of boxes of each category, all with one probability."""
    label = np.repeat(np.arange(3), [n for n, _ in boxes])
    p = np.concatenate([np.full(n, p) for n, p in boxes])
    corners = np.tile([0.0, 0.0, 9.0, 9.0], (len(p), 1))
    found = Boxes((), NAMES, np.zeros(len(p), np.int64), label, corners, p)
    return Site(found, calibration=SAME, **options).presence


def test_a_category_counts_with_a_likely_box_and_a_tenth_of_the_mean_expected_objects():
    # 100 vehicles of .8 and k persons of .5: the mean of 80 and k / 2 is 40 + k / 4, a tenth of it
    # 4 + k / 40, which k / 2 exceeds from k = 8.42 on
    assert LEAST_SHARE == 0.1
    assert presence([(100, 0.8), (8, 0.5), (0, 0.0)]).counted == ("vehicle",)
    assert presence([(100, 0.8), (9, 0.5), (0, 0.0)]).counted == ("vehicle", "person")
    # without a likely box many unlikely ones do not count, nor do they move the mean
    found = presence([(100, 0.8), (9, 0.5), (5000, 0.3)])
    assert found.counted == ("vehicle", "person")
    assert found.likely.tolist() == [100, 9, 0]
    assert found.expected == pytest.approx([80, 4.5, 1500])


def test_what_is_said_to_be_there_counts_and_moves_nothing_else():
    found = presence([(100, 0.8), (8, 0.5), (0, 0.0)], present=["dog"])
    assert found.counted == ("vehicle", "dog") and found.candidates.tolist() == [0, 1, 2]
    assert presence([(0, 0.0)] * 3).counted == ()
    assert presence([(0, 0.0)] * 3, present=["person"]).counted == ("person",)
