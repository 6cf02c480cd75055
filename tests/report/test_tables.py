"""Curves, and the parts of reports as files."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from autoeval.report.charts import figure_of, log_ticks_at, plot_curves
from autoeval.report.page import (
    Table,
    escaped_markdown,
    format_cells,
    to_markdown,
    to_terminal,
)

pytestmark = pytest.mark.usefixtures("drawn")

ERRORS = pd.DataFrame(
    {
        "images": [5, 5, 50, 50],
        "method": ["bos", "ac", "bos", "ac"],
        "error": [0.2, 0.3, 0.1, np.nan],
        "lower": [0.1, np.nan, 0.05, np.nan],
        "upper": [0.35, np.nan, 0.2, np.nan],
    }
)


def test_all_of_a_curve_and_its_intervals_are_in_view():
    columns = {"x": "images", "y": "error", "lines": "method", "band": ("lower", "upper")}
    ax = plot_curves(ERRORS, **columns, scale=100)
    log_ticks_at(ax, ERRORS["images"])
    figure_of(ax).draw_without_rendering()
    low, high = ax.get_ylim()
    assert low <= 5 and high >= 35
    left, right = ax.get_xlim()
    assert left <= 5 and right >= 50
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["bos", "ac"]


# a line break, a cell's end, a tag, a link, an escape sequence
HOSTILE = "a\nb|c<i>[d](e)\x1b[2J _f_"


def test_a_part_is_the_same_in_csv_and_json_and_short_in_markdown(tmp_path):
    table = pd.DataFrame({"name": ["a|b", 'quo"te'], "value": [1 / 3, math.nan]})
    Table("p", table, formats={"value": "{:.2f}"}).write(tmp_path)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "p.csv"), table)
    rows = json.loads((tmp_path / "p.json").read_text())
    assert rows[0] == {"name": "a|b", "value": pytest.approx(1 / 3, rel=1e-14)}
    assert rows[1] == {"name": 'quo"te', "value": None}
    assert "| a\\|b | 0.33 |" in (tmp_path / "p.md").read_text()


def test_no_name_breaks_a_table_out_of_its_rows(tmp_path):
    table = pd.DataFrame({HOSTILE: [HOSTILE, "plain_name"], "value": [1.0, 2.0]})
    Table("p", table).write(tmp_path)
    lines = (tmp_path / "p.md").read_text().splitlines()
    assert len(lines) == 4
    assert lines[2] == r"| a b\|c\<i>\[d](e) \[2J \_f\_ | 1 |"
    assert lines[3].startswith("| plain_name |")
    shown = to_terminal(format_cells(table, {}))
    assert len(shown.splitlines()) == 3 and "\x1b" not in shown
    assert len(json.loads((tmp_path / "p.json").read_text())) == 2


def test_markdown_of_a_table_without_rows_is_its_head():
    assert to_markdown(pd.DataFrame({"a": [], "b": []})) == "| a | b |\n|:---|---:|"
    assert to_terminal(pd.DataFrame({"a": [], "b": []})) == "a  b"


def test_a_name_is_no_formula_no_sign_and_is_not_struck_through():
    r"""GitHub reads `$\foo$` as a formula, ``&lt;`` as ``<`` and ``~~x~~`` as struck through."""
    assert escaped_markdown(r"$\foo$ &lt; ~~x~~") == r"\$\\foo\$ \&lt; \~\~x\~\~"
