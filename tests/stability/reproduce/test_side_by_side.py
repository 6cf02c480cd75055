"""Printed tables of errors and their ±, with own figures beside them."""

import re
from dataclasses import replace

import numpy as np
import pytest
from score_tables import score_table

from autoeval.stability.reproduce.side_by_side import SideBySide, load_printed

ALL = ["1", "2", "3", "4"]
ROWS = {"bos": r"^BoS \(ours\) (.*)$", "bos_ps": r"^BoS \+ PS (.*)$"}


@pytest.mark.parametrize("name", ALL)
def test_a_printed_average_of_deviations_is_the_mean_of_the_columns(name):
    """Not the deviation of the average over runs, which would be smaller."""
    (table,) = load_printed("bos", [name]).tables
    assert table.deviations.keys() <= table.errors.keys()
    for deviations in table.deviations.values():
        assert len(deviations) == len(table.columns)
        if table.columns[-1].source == "" and table.columns[0].source:
            assert np.mean(deviations[:-1]) == pytest.approx(deviations[-1], abs=0.0051)


def test_errors_and_deviations_are_those_of_the_text_of_the_paper(shared):
    text = (shared / "papers" / "bos.txt").read_text()
    text = re.sub(r"plus-or-minus\{\\pm\}± ?", "", text)
    for method, pattern in ROWS.items():
        printed = [line.replace("±", " ").split() for line in re.findall(pattern, text, re.M)]
        stored = [t for t in load_printed("bos", ALL).tables if method in t.deviations]
        pairs = [
            f"{value:.2f}"
            for table in stored
            for both in zip(table.errors[method], table.deviations[method], strict=True)
            for value in both
        ]
        assert pairs == [number for line in printed for number in line]


def test_own_deviations_are_those_of_the_errors_over_repeats():
    """Sample sets lie on mAP = bos; own images 2 points beside in one repeat, 4 in the other."""
    (table,) = load_printed("bos", ["1"]).tables
    names = [column.source for column in table.columns if column.source]
    worlds = {name: 0.3 + 0.05 * k for k, name in enumerate(names)}
    measured = score_table(worlds, repeats=2, step=0.02, bos=lambda value, repeat, row: value)
    own = measured["kind"] == "seed"
    measured.loc[own, "bos"] += 0.02 + 0.02 * measured.loc[own, "repeat"]
    printed = replace(table, errors={"bos": table.errors["bos"]})
    rows = SideBySide(printed, {"retinanet_r50": measured}, len(names)).rows
    rows = rows.set_index(["method", "column"])
    assert rows.loc["bos", "own"].to_numpy() == pytest.approx(3.0)
    assert rows.loc["bos ±", "own"].to_numpy() == pytest.approx(1.0)
    assert rows.loc[("bos ±", "KITTI"), "printed"] == 0.07
    alone = SideBySide(printed, {"retinanet_r50": measured[measured["repeat"] == 0]}, len(names))
    assert alone.rows.set_index("method").loc["bos ±", "own"].isna().all()


@pytest.mark.parametrize("name", ["1", "4"])
def test_an_average_is_of_the_sources_with_an_estimate(name):
    """Own images are 2 points beside the line; of BDD they have no score, so the constant stands
    there, whose error is another."""
    (table,) = load_printed("bos", [name]).tables
    names = [column.source for column in load_printed("bos", ["1"]).tables[0].columns][:-1]
    worlds = {name: 0.3 + 0.05 * k for k, name in enumerate(names)}
    measured = score_table(worlds, repeats=1, step=0.02, bos=lambda value, repeat, row: value)
    own = measured["kind"] == "seed"
    measured.loc[own, "bos"] += 0.02
    measured.loc[own & (measured["source"] == "bdd"), "bos"] = np.nan
    columns = [c for c in table.columns if c.target == "mAP" and not c.detector] or table.columns
    errors = [2.0] * len(columns)
    printed = replace(table, columns=tuple(columns), errors={"bos": errors}, deviations={})
    compared = SideBySide(printed, {"retinanet_r50": measured}, len(names))
    rows = compared.rows
    rows = rows[rows["method"] == "bos"].set_index("column")
    assert rows["own"].drop("BDD", errors="ignore").to_numpy() == pytest.approx(2.0)
    assert name == "4" or np.isnan(rows.loc["BDD", "own"])
    assert sum("1 of 10 sources" in note for note in compared.section().notes) == 1
