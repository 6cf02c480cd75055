"""Lists of edges: which bin a count is in, files."""

import json

import numpy as np
import pytest

from autoeval.counting.binning import CountBins, load_bins, released_bins
from autoeval.errors import InputError


def test_bins_are_closed_above_and_the_first_on_both_sides():
    bins = CountBins((0.0, 0.5, 2.5, 5.0))
    counts = [-0.1, 0, 0.5, 0.51, 2.5, 2.6, 5, 5.1]
    assert bins.assign(counts).tolist() == [-1, 0, 0, 1, 1, 2, 2, 3]
    assert bins.assign_nearest(counts).tolist() == [0, 0, 0, 1, 1, 2, 2, 2]


def test_nan_lies_in_no_bin():
    with pytest.raises(InputError, match="NaN"):
        CountBins((0.0, 1.0)).assign([np.nan])


@pytest.mark.parametrize("edges", [(), (1.0,), (1.0, 1.0), (2.0, 1.0), (0.0, float("nan"))])
def test_bad_edges(edges):
    with pytest.raises(InputError, match="increasing"):
        CountBins(edges)


def test_saved_bins_come_back_with_their_origin(tmp_path):
    bins = released_bins(0, 300, 0.5)
    bins.save(tmp_path / "bins.json")
    loaded = load_bins(tmp_path / "bins.json")
    assert loaded == bins
    assert loaded.origin == {"method": "released", "gamma": 0.5, "min": 0, "max": 300}


def test_a_plain_list_and_named_lists_are_read(tmp_path):
    path = tmp_path / "bins.json"
    path.write_text("[0, 1, 5]")
    assert load_bins(path).edges == (0, 1, 5)
    path.write_text(json.dumps({"a": {"edges": [0, 1], "gamma": 0.6}, "b": [2, 3]}))
    assert load_bins(path, "a").edges == (0, 1) and load_bins(path, "b").edges == (2, 3)
    with pytest.raises(InputError, match=r"a, b.*name one of them"):
        load_bins(path)
    with pytest.raises(InputError, match="'c' is none"):
        load_bins(path, "c")


@pytest.mark.parametrize("text", ["", "{", '{"edges": ["x"]}', '{"edges": 3}', "[3, 2]"])
def test_files_that_hold_no_edges(tmp_path, text):
    path = tmp_path / "bins.json"
    path.write_text(text)
    with pytest.raises(InputError):
        load_bins(path)


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="check the path"):
        load_bins(tmp_path / "none.json")
