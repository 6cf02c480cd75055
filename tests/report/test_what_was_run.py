"""Where the time of a run went."""

import pandas as pd
import pytest

from autoeval.estimation.protocol import FitResult
from autoeval.report.fit import STAGES, time_table

SPENT = {"read_s": 1.0, "network_s": 6.0, "scores_s": 2.0, "map_s": 1.0, "n_images": 100}


def test_seconds_of_a_sample_set_count_once_however_many_repeats():
    table = pd.DataFrame(
        [
            {"source": source, "sample_set": "x", "repeat": repeat, **SPENT}
            for source in ("a", "b")
            for repeat in range(3)
        ]
    )
    (times,) = (made.table for made in time_table(FitResult(table), None))
    assert times["stage"].tolist() == [*STAGES.values(), "all"]
    assert times["sample sets, s"].tolist() == [2, 12, 4, 2, 20]
    assert times["sample sets, ms an image"].tolist() == pytest.approx([10, 60, 20, 10, 100])


def test_a_pass_over_unlabelled_images_has_columns_of_its_own():
    (times,) = (made.table for made in time_table(None, SPENT))
    assert times["unlabelled images, s"].tolist() == [1, 6, 2, 1, 10]
    assert "sample sets, s" not in times


def test_a_table_without_times_tells_nothing():
    fit = FitResult(pd.DataFrame({"source": ["a"], "sample_set": ["x"]}))
    assert time_table(fit, None) == []
