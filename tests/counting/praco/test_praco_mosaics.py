"""Which mosaics are made, how they are joined, and where a count falls."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from autoeval.counting.counters import CountResult
from autoeval.counting.praco.data import CountedImage, CountingSet, load_fsc147
from autoeval.counting.praco.evaluation_page import (
    LOWER_COLOR,
    SIDE,
    UPPER_COLOR,
    choose_mosaics,
    draw_panel,
)
from autoeval.counting.praco.mosaic_run import (
    all_pairs,
    draw_pairs,
    halves,
    read_pairs,
    stack,
    write_pairs,
)
from autoeval.errors import InputError


def many(n: int = 60) -> CountingSet:
    images = tuple(
        CountedImage(f"{k}.jpg", None, {"abc"[k % 3]: np.zeros((1, 2))}) for k in range(n)
    )
    return CountingSet("test", ("a", "b", "c", "nothing"), images)


def test_draws_depend_on_the_seed_alone():
    random.seed(7)
    expected = random.random()
    random.seed(7)
    draw_pairs(many())
    assert random.random() == expected
    whole = draw_pairs(many())
    fewer = draw_pairs(many().exclude(["0", "17"]))
    assert fewer == [r for r in whole if r.positive not in ("0.jpg", "17.jpg")]
    assert draw_pairs(many()) != draw_pairs(many(), seed=1)


def test_several_negatives_are_all_different():
    found = draw_pairs(many(), n_negatives=5)
    assert len({(r.positive, r.negative) for r in found}) == len(found) == 60 * 2 * 5
    everything = draw_pairs(many(9), n_negatives=99)
    assert len(everything) == 9 * 2 * 3, "a class has three images"
    assert {r.negative_class for r in draw_pairs(many())} == {"a", "b", "c"}


def test_all_pairs_and_a_file_of_pairs(fsc147, tmp_path):
    found = {(r.positive, r.negative) for r in all_pairs(load_fsc147(fsc147))}
    ids = ["1.jpg", "2.jpg", "3.jpg", "4.jpg"]
    same = {("1.jpg", "4.jpg"), ("4.jpg", "1.jpg")}
    assert found == {(p, n) for p in ids for n in ids if p != n} - same
    counting_set = load_fsc147(fsc147)
    write_pairs(tmp_path / "pairs.csv", draw_pairs(counting_set, layout="paper"))
    with pytest.raises(InputError, match=r"unknown or of another class: 1\.jpg, 2\.jpg"):
        read_pairs(tmp_path / "pairs.csv", many())
    (tmp_path / "pairs.csv").write_text("positive,oops\n1.jpg,2\n")
    with pytest.raises(InputError, match="Cannot read the mosaic pairs"):
        read_pairs(tmp_path / "pairs.csv", counting_set)


def test_released_layout_is_that_of_pillow():
    rng = np.random.default_rng(0)
    top, below = (rng.integers(0, 256, s, np.uint8) for s in ((51, 80, 3), (300, 20, 3)))
    mosaic, seam = stack(top, below)
    assert mosaic.shape == (50, 51, 3) and seam == 25, "H = 51 wide, 2 x (H // 2) high"
    canvas = Image.new("RGB", (51, 50))
    canvas.paste(Image.fromarray(top).resize((51, 25)), (0, 0))
    canvas.paste(Image.fromarray(below).resize((51, 25)), (0, 25))
    assert (mosaic == np.asarray(canvas)).all()


def test_paper_layout_keeps_shapes_and_released_takes_any():
    mosaic, seam = stack(
        np.full((10, 40, 3), 9, np.uint8), np.zeros((30, 20, 3), np.uint8), "paper"
    )
    assert mosaic.shape == (35, 20, 3) and seam == 5
    assert (mosaic[:5] == 9).all() and not mosaic[5:].any()
    mosaic, seam = stack(np.zeros((3000, 4000, 3), np.uint8), np.zeros((20, 30, 3), np.uint8))
    assert mosaic.shape == (20, 20, 3) and seam == 10


@pytest.mark.parametrize(
    ("layout", "sizes"), [("released", ((1, 9), (50, 50))), ("paper", ((1, 900), (300, 3)))]
)
def test_images_too_small_or_too_different(layout, sizes):
    top, below = (np.zeros((*size, 3), np.uint8) for size in sizes)
    with pytest.raises(InputError, match="too small or too different"):
        stack(top, below, layout)


def test_boxes_and_rows_of_maps_belong_to_the_part_their_middle_is_in():
    boxes = np.array([[0, 0, 5, 19.9], [0, 1, 5, 19.1], [0, 9, 5, 11]])  # centres 9.95, 10.05, 10
    result = CountResult(3.0, boxes=boxes)
    assert halves(result, 30, 10) == (1, 2)
    points = CountResult(3.0, boxes=boxes, points=np.array([[0, 2.0]] * 3))
    assert halves(points, 30, 10) == (3, 0), "points come first"
    density = np.ones((7, 2))  # the mosaic is 35 high, the seam at 5: one row of seven
    assert halves(CountResult(14.0, density=density), 35, 5) == (2, 12)
    for rows, upper in ((4, 1 + 2), (5, 1 + 2), (1, 0)):  # half the rows, rounded down
        density = np.arange(1.0, rows + 1)[:, None]
        found = halves(CountResult(density.sum(), density=density), 384, 192)
        assert found == (upper, density.sum() - upper)
    assert np.isnan(halves(CountResult(float("nan"), status="skipped"), 10, 5)).all()
    with pytest.raises(InputError, match="cannot be separated"):
        halves(CountResult(3.0), 10, 5)


GREY = np.full((40, 40, 3), 128, np.uint8)


def shares(panel):
    """How many pixels of each half carry either colour, away from the two counts."""
    left = panel[:, : SIDE // 2]
    halves = np.split(left, 2)
    return [
        [int((half == color).all(-1).sum()) for color in (UPPER_COLOR, LOWER_COLOR)]
        for half in halves
    ]


def test_boxes_points_and_maps_are_drawn():
    boxes = np.array([[2, 2, 10, 10], [2, 24, 10, 34]], float)
    panel = draw_panel(GREY, 20, CountResult(2.0, boxes=boxes))
    (above, wrong_above), (wrong_below, below) = shares(panel)
    assert panel.shape == (SIDE, SIDE, 3)
    assert above > 0 and below > 0 and wrong_above == wrong_below == 0
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
