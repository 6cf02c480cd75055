"""PrACo++ on two images worked out by hand."""

from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest

from autoeval.counting.counters import CountResult
from autoeval.counting.counters.adapters import FunctionCounter
from autoeval.counting.praco.data import CountedImage, CountingSet, load_fsc147
from autoeval.counting.praco.mosaic_run import (
    draw_pairs,
    evaluate_counter,
    tile_counts,
    tiles_of_points,
)
from autoeval.counting.praco.plus_plus import (
    evaluate_multi_class,
    evaluate_multi_class_file,
    plus_plus,
    plus_plus_by_image,
    tiles_on_file,
)
from autoeval.counting.praco.praco_measures import localised
from autoeval.counting.prompting import PromptedCounter
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


def test_what_was_not_answered_is_no_zero_in_either_mode():
    counts = COUNTS.mask(TRUTH == 0)
    for mode in ("paper", "released"):
        measures = plus_plus(plus_plus_by_image(counts, TRUTH), mode)
        assert np.isnan([measures[f"{m} macro"] for m in ("MNP", "NMN")]).all(), mode
        assert measures["MAE macro"] == pytest.approx((1.5 + 1) / 2)
    assert measures["PCCN average GT"] == 0


def test_a_map_is_of_no_image_whose_name_another_shares(tmp_path):
    np.save(tmp_path / "1_a.npy", np.ones((8, 8)))
    np.save(tmp_path / "2_a.npy", np.ones((8, 8)))
    points = {"a": np.zeros((1, 2))}
    names = ("x/1.jpg", "y/1.jpg", "y/2.jpg")
    images = tuple(CountedImage(name, Path(name), points, (8, 8)) for name in names)
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


@pytest.mark.parametrize("cell", [1, 8, 9])
def test_a_counter_without_mistakes_has_no_localised_error(tmp_path, cell):
    """Points are in a frame 384 high, the file has 375 rows, and the map may be coarser."""
    cv2.imwrite(str(tmp_path / "1.png"), np.zeros((375, 500, 3), np.uint8))
    x, y = np.meshgrid(np.arange(20) * 25 + 12.5, np.arange(15) * 25 + 5.0)
    there = np.column_stack([x.ravel(), y.ravel()])
    points = {"a": there * [512 / 500, 384 / 375]}
    image = CountedImage("1.png", tmp_path / "1.png", points, (384, 512))
    data = CountingSet("all", ("a", "b"), (image,))

    def places(image, prompt):
        density = np.zeros((-(-375 // cell), -(-500 // cell)))
        np.add.at(density, tuple((there[:, ::-1] // cell).astype(int).T), prompt == "a")
        return density if cell > 1 else there[prompt != "a" :]

    counted = PromptedCounter(FunctionCounter(places, name="f"))
    measures = evaluate_multi_class(counted, data, tmp_path / "f", settings={}).measures()
    assert measures["localised MAE macro"] == 0


@pytest.mark.parametrize("size", [None, (375, 500)])
def test_tiles_of_maps_on_file_are_those_of_the_image_where_no_frame_is_stated(tmp_path, size):
    """375 rows are 47 of a map: 3 tiles of 93 end at rows 12, 23, 35, and a quarter of 47 is 11."""
    cv2.imwrite(str(tmp_path / "1.png"), np.zeros((375, 500, 3), np.uint8))
    points = np.array([[10.0, 91.0], [10, 180]])  # map rows 11 and 22
    image = CountedImage("1.png", tmp_path / "1.png", {"a": points}, size)
    density = np.zeros((47, 63))
    density[[11, 22], 1] = 1
    (tmp_path / "density_maps").mkdir()
    np.save(tmp_path / "density_maps" / "1_a.npy", density)
    (tmp_path / "counts.csv").write_text("image,a,b\n1.png,2,0\n")
    data = CountingSet("all", ("a", "b"), (image,))
    measures = evaluate_multi_class_file(tmp_path / "counts.csv", "m", data).measures()
    assert measures["localised MAE macro"] == 0


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


def test_what_was_counted_without_tiles_is_counted_again(fsc147, tmp_path, stub_counter):
    """The test of single classes leaves counts without tiles in the folder of the model."""
    data, folder = load_fsc147(fsc147), tmp_path / "model"
    evaluate_counter(PromptedCounter(stub_counter()), data, [], folder, settings={})
    counter = stub_counter()
    measures = [
        evaluate_multi_class(PromptedCounter(counter), data, into, settings={}).measures()
        for into in (folder, folder, tmp_path / "fresh")
    ]
    assert len(counter.asked) == 2 * 12, "four images of three classes in two folders, once"
    assert measures[0]["localised MAE macro"] > 0 and measures[0] == measures[1] == measures[2]


def test_a_function_that_declines_the_first_image_still_says_where_it_counts(fsc147, tmp_path):
    """Its localised measures, and the mosaics of a run that goes on, were left out."""
    data = load_fsc147(fsc147)

    def places(image, prompt):
        return None if prompt == "a" else [[0.5, 1.0], [1.5, 1.0]]

    counted = PromptedCounter(FunctionCounter(places, name="f"))
    result = evaluate_multi_class(counted, data, tmp_path / "f", settings={})
    assert result.localised is not None and result.localised["class"].tolist() == ["b", "c"]
    assert result.measures()["localised MAE macro"] == (2 + 3) / 2
    for _ in range(2):
        counted = PromptedCounter(FunctionCounter(places, name="f"))
        again = evaluate_counter(counted, data, draw_pairs(data), tmp_path / "g", settings={})
        assert again.mosaics is not None and again.undefined()["mosaics without a count"] == 4


def test_a_counter_that_declines_every_prompt_has_no_localised_measure(
    fsc147, tmp_path, stub_counter
):
    counter = stub_counter()
    counter.count = lambda image, prompt, context=None: CountResult(np.nan, status="skipped")
    data = load_fsc147(fsc147)
    result = evaluate_multi_class(PromptedCounter(counter), data, tmp_path / "n", settings={})
    assert np.isnan(result.measures()["localised MAE macro"])
