"""PrACo++ on two images worked out by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from autoeval.counting.counters import CountResult
from autoeval.counting.praco.data import CountedImage, CountingSet
from autoeval.counting.praco.mosaic_run import tile_counts, tiles_of_points
from autoeval.counting.praco.plus_plus import plus_plus, plus_plus_by_image, tiles_on_file
from autoeval.counting.praco.praco_measures import localised
from autoeval.errors import InputError

CLASSES = ["a", "b", "c", "d"]
TRUTH = pd.DataFrame([[4, 2, 0, 0], [0, 0, 0, 5]], ["x", "y"], CLASSES)
# x: errors 1 and 2, negatives 3 and 0. y: error 1, negatives 1, 2 and 6.
COUNTS = pd.DataFrame([[5.0, 0, 3, 0], [1, 2, 6, 4]], ["x", "y"], CLASSES)


def test_both_kinds_of_pccn_and_all_other_measures_by_hand():
    measures = plus_plus(plus_plus_by_image(COUNTS, TRUTH))
    assert measures["MNP macro"] == pytest.approx((1.5 + 3) / 2)
    assert measures["MNP micro"] == pytest.approx((3 + 9) / 5)
    assert measures["NMN macro"] == pytest.approx((1.5 / 6 + 3 / 5) / 2)
    assert measures["NMN micro"] == pytest.approx((3 + 9) / (2 * 6 + 3 * 5))
    assert measures["MAE macro"] == pytest.approx((1.5 + 1) / 2)
    assert measures["MAE micro"] == pytest.approx((1 + 2 + 1) / 3)
    assert measures["RMSE macro"] == pytest.approx((2.5**0.5 + 1) / 2)
    assert measures["RMSE micro"] == pytest.approx(((1 + 4 + 1) / 3) ** 0.5)
    # x: own error 1.5. One at a time (|4-3| + |4-0| + |2-3| + |2-0|) / 4 = 2; average 3: 1.5.
    by_image = plus_plus_by_image(COUNTS, TRUTH)
    assert by_image["near_one"].tolist() == [1, 1]  # y: 1 < (4 + 3 + 1) / 3
    assert by_image["near_average"].tolist() == [0, 1], "the tie of x fails"
    measures = plus_plus(by_image)
    assert (measures["PCCN one at a time"], measures["PCCN average GT"]) == (100, 50)


def test_undefined_cells_leave_the_means():
    counts = COUNTS.copy()
    counts.loc["x", "a"] = counts.loc["y", "c"] = np.nan
    by_image = plus_plus_by_image(counts, TRUTH)
    measures = plus_plus(by_image)
    assert by_image["n_undefined"].tolist() == [1, 1]
    assert measures["MAE micro"] == pytest.approx((2 + 1) / 2)
    assert measures["MNP micro"] == pytest.approx((3 + 3) / 4)


def test_an_image_with_every_class():
    """x holds both; y is asked for one absent class, of which 3 are counted."""
    counts = pd.DataFrame([[1.0, 2.0], [3.0, 3.0]], ["x", "y"], ["a", "b"])
    truth = pd.DataFrame([[1, 2], [2, 0]], ["x", "y"], ["a", "b"])
    by_image = plus_plus_by_image(counts, truth)
    paper, released = (plus_plus(by_image, mode) for mode in ("paper", "released"))
    assert (paper["MNP macro"], released["MNP macro"]) == (3, 1.5)
    assert (paper["NMN macro"], released["NMN macro"]) == (3 / 2, 3 / 4)
    assert paper["MNP micro"] == released["MNP micro"] == 3
    # y: own error 1, distance of the absent class |2 - 3| = 1: a tie, which fails.
    assert (paper["PCCN average GT"], released["PCCN average GT"]) == (0, 0)
    near = by_image.assign(near_one=[np.nan, 1.0])
    assert plus_plus(near)["PCCN one at a time"] == 100
    assert plus_plus(near, "released")["PCCN one at a time"] == 50


def test_a_map_is_of_no_image_whose_name_another_shares(tmp_path):
    np.save(tmp_path / "1_a.npy", np.ones((8, 8)))
    np.save(tmp_path / "2_a.npy", np.ones((8, 8)))
    points = {"a": np.zeros((1, 2))}
    images = tuple(CountedImage(n, Path(n), points) for n in ("x/1.jpg", "y/1.jpg", "y/2.jpg"))
    tiles, notes = tiles_on_file(tmp_path, CountingSet("all", ("a", "b"), images), 1)
    assert tiles == {("y/2.jpg", "a"): [16.0] * 4}
    assert len(notes) == 1 and "2 classes" in notes[0]


def test_tiles_of_points_and_of_a_map_agree():
    """Eleven rows in four tiles of 2, 2, 2 and 5."""
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 11, (50, 2))
    density = np.zeros((11, 11))
    np.add.at(density, (points[:, 1].astype(int), points[:, 0].astype(int)), 1)
    tiles = tiles_of_points(points, 11, 11, divisions=2)
    assert sum(tiles) == 50
    assert tile_counts(CountResult(50.0, density=density), 11, 11, divisions=2) == tiles
    boxes = np.concatenate([points - 1, points + 1], axis=1)
    assert tile_counts(CountResult(50.0, boxes=boxes), 11, 11, divisions=2) == tiles


def test_localised_by_hand():
    places = localised([[3, 0, 1, 0], [0, 0, 0, 0]], [[1, 2, 1, 0], [0, 0, 0, 0]])
    # Right: 1 + 0 + 1; wrong: 2; of 4 true ones.
    assert places.loc[0, ["TP", "FP", "MAE"]].tolist() == [2, 2, 4]
    assert places.loc[0, ["precision", "recall", "f1"]].tolist() == [0.5, 0.5, 0.5]
    assert places.loc[1, ["precision", "recall", "f1"]].isna().all()
    places = localised([[7]], [[5]]).iloc[0]
    assert (places["TP"], places["FP"]) == (5, 2)
    with pytest.raises(InputError, match="not counts only"):
        tile_counts(CountResult(3.0), 9, 9, divisions=1)
