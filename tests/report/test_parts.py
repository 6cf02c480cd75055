"""The tables of a report as files and as text."""

import json
import math

import pandas as pd
import pytest

from autoeval.report.sections import Part
from autoeval.report.tables import format_cells, to_markdown, to_terminal

# a line break, a cell's end, a tag, a link, an escape sequence
HOSTILE = "a\nb|c<i>[d](e)\x1b[2J _f_"


def test_a_part_is_the_same_in_csv_and_json_and_short_in_markdown(tmp_path):
    table = pd.DataFrame({"name": ["a|b", 'quo"te'], "value": [1 / 3, math.nan]})
    Part("p", table, formats={"value": "{:.2f}"}).write(tmp_path)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "p.csv"), table)
    rows = json.loads((tmp_path / "p.json").read_text())
    assert rows[0] == {"name": "a|b", "value": pytest.approx(1 / 3, rel=1e-14)}
    assert rows[1] == {"name": 'quo"te', "value": None}
    assert "| a\\|b | 0.33 |" in (tmp_path / "p.md").read_text()


def test_no_name_breaks_a_table_out_of_its_rows(tmp_path):
    table = pd.DataFrame({HOSTILE: [HOSTILE, "plain_name"], "value": [1.0, 2.0]})
    Part("p", table).write(tmp_path)
    lines = (tmp_path / "p.md").read_text().splitlines()
    assert len(lines) == 4
    assert lines[2] == r"| a b\|c\<i>\[d](e) \[2J \_f\_ | 1.0 |" and lines[3].startswith(
        "| plain_name |"
    )
    shown = to_terminal(format_cells(table, {}))
    assert len(shown.splitlines()) == 3 and "\x1b" not in shown
    assert len(json.loads((tmp_path / "p.json").read_text())) == 2


def test_markdown_of_a_table_without_rows_is_its_head():
    assert to_markdown(pd.DataFrame({"a": [], "b": []})) == "| a | b |\n|:---|---:|"
    assert to_terminal(pd.DataFrame({"a": [], "b": []})) == "a  b"
