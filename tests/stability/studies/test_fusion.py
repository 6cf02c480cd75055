"""Errors of single and fused scores, and the tests between them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from score_tables import WORLDS, score_table

from autoeval.errors import InputError
from autoeval.stability.reports.score_correlation import (
    compare_with_first,
    fusion_report,
    paired_t_test,
)
from autoeval.stability.scores.base import feature_names

ES = feature_names("es")


def world(seed=0):
    """`bos` is the accuracy less what es@0.30 holds: neither is enough, together they are exact."""
    rng = np.random.default_rng(seed)
    table = score_table(WORLDS, repeats=3, n_sets=6)
    for name in ES:
        table[name] = rng.uniform(size=len(table))
    # a score of the clean pass is the same in every repeat
    clean = table.groupby("sample_set")[list(ES)].transform("first")
    table[list(ES)] = clean
    table["bos"] = table["mAP"] - 0.2 * table["es@0.30"] + rng.normal(0, 1e-6, len(table))
    return table


def test_a_fusion_that_holds_the_missing_part_is_exact_and_significant():
    result, warnings = compare_with_first(world(), ["bos", "bos+es", "bos"])
    rows = result.set_index("method")
    assert warnings == [] and list(rows.index) == ["bos", "bos+es"]
    assert rows.loc["bos+es", "error"] < 1e-5 < rows.loc["bos", "error"]
    assert rows.loc["bos+es", "difference"] == pytest.approx(
        rows.loc["bos+es", "error"] - rows.loc["bos", "error"]
    )
    assert rows.loc["bos+es", "mark"] == "***" and rows.loc["bos", "mark"] == ""
    # four sources that all gain: two of 2^4 signs are as extreme
    assert rows.loc["bos+es", "p_sources"] == pytest.approx(2 / 16)


def test_the_paired_test_is_that_of_the_textbook():
    one, other = np.array([3.0, 4.0, 6.0]), np.array([1.0, 3.0, 2.0])
    # differences 2, 1, 4: mean 7/3, standard error sqrt(7/3 / 3), two degrees of freedom
    t = (7 / 3) / np.sqrt((7 / 3) / 3)
    assert paired_t_test(one, other) == pytest.approx(2 * stats.t.sf(t, 2))
    assert paired_t_test(one, one) == 1 and paired_t_test(one + 1, one) == 0
    assert np.isnan(paired_t_test(one[:1], other[:1]))


def test_a_score_that_is_absent_is_named_and_the_others_are_compared():
    report = fusion_report(world(), methods=["bos", "bos+fd", "bos+es"])
    table = report.parts[0].table
    assert isinstance(table, pd.DataFrame) and list(table["method"]) == ["bos", "bos+es"]
    (warning,) = report.warnings
    assert warning.startswith("bos+fd: ") and "fd" in warning
    assert "less bos" in report.text()
    with pytest.raises(InputError, match="fd"):
        fusion_report(world(), methods=["fd", "bos"])


def test_sources_of_a_group_change_signs_together():
    table = world()
    table["group"] = table["source"].replace({"b": "a"})
    rows = compare_with_first(table, ["bos", "bos+es"])[0].set_index("method")
    # three groups that all gain: two of 2^3 signs are as extreme
    assert rows.loc["bos+es", "p_sources"] == pytest.approx(2 / 8)
