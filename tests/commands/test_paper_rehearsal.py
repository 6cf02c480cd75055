"""The whole of table 1 with a real network: all ten layouts, from the command to the table."""

from argparse import Namespace

import numpy as np
import pandas as pd
import pytest

from benchmarks.paper_layouts import photographs, write_scenes
from benchmarks.paper_rehearsal import rehearse

SMALL = {"images": 6, "n_sets": 2, "n_images": 4, "repeats": 1}


@pytest.mark.slow  # two minutes of computing
def test_every_cell_of_table_1_has_a_figure_or_its_method_a_reason(tmp_path, capsys):
    args = Namespace(work_dir=tmp_path, detector=None, checkpoint=None, photographs=(), **SMALL)
    assert rehearse(args) == 0
    shown = capsys.readouterr()
    assert "10 of 10 sources at hand" in shown.err
    rows = pd.read_csv(tmp_path / "work" / "report" / "table_1.csv")
    rows = rows[~rows["method"].str.endswith("±")]  # the spread over repeats, of which there is one
    own = rows.pivot(index="method", columns="column", values="own")
    whole = own.drop(columns="average").notna().all(axis=1)
    assert whole["mAP"] and whole["bos"]
    for method in own.index[~whole]:
        assert f"{method} was not evaluated" in shown.out


def test_photographs_are_taken_at_equal_distances_with_their_vehicles(shared):
    path = shared / "real" / "two" / "bdd_day" / "annotations.json"
    found = list(photographs(path, 3))
    assert len(found) == 3 and all(boxes for _, boxes in found)
    assert all(image.ndim == 3 for image, _ in found)


def test_scenes_are_the_same_each_time(tmp_path):
    a, b = (write_scenes(tmp_path / name, 1) for name in "ab")
    for path in (a / "kitti").rglob("*.txt"):
        assert path.read_text() == (b / path.relative_to(a)).read_text()
    assert np.array_equal(*(sorted(p.name for p in root.rglob("*.png")) for root in (a, b)))
