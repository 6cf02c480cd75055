import numpy as np
import pandas as pd
import pytest

from autoeval.report.compared_with_print import ComparedWithPrint, chapters_text, chapters_values
from autoeval.runtime.files import plain

FIGURES = pd.DataFrame(
    [
        ("a", "MAE", 63.9, 63.87, 1),  # 63.9 to one digit
        ("a", "std", 216.4, 216.5, 1),
        ("b", "MAE", 10.0, np.nan, 1),
        ("b", "std", np.nan, 3.0, 0),  # not in print
    ],
    columns=["model", "column", "printed", "own", "decimals"],
)


def beside(**options):
    return ComparedWithPrint("table_9", "Table 9", FIGURES, **options)


def test_differences_and_agreement_to_the_digit_in_print():
    rows = beside().rows.set_index(["model", "column"])
    assert rows.loc[("a", "MAE"), "difference"] == pytest.approx(-0.03)
    assert rows["same"].tolist() == [True, False, None, None]
    assert "2 of 3 printed figures are here, 1 the same" in beside().agreement()


def test_a_minus_before_a_zero_makes_no_other_figure():
    figures = pd.DataFrame([("R²", "all", 0.0, -0.004, 2), ("ρ", "all", 0.0, -0.006, 2)])
    figures.columns = FIGURES.columns
    assert ComparedWithPrint("t", "T", figures).rows["same"].tolist() == [True, False]


def test_people_see_own_printed_and_difference():
    shown = beside().shown().set_index("model")
    assert shown.loc["a"].tolist() == ["63.9 (63.9, +0.0)", "216.5 (216.4, +0.1)"]
    assert shown.loc["b"].tolist() == ["– (10.0)", "3"]
    only = FIGURES.assign(own=[1.0, np.nan, np.nan, np.nan])
    assert ComparedWithPrint("t", "T", only, only_own=True).shown()["model"].tolist() == ["a"]
    none = FIGURES.assign(own=np.nan)
    assert len(ComparedWithPrint("t", "T", none, only_own=True).shown()) == 2


def test_marks_and_notes_are_said_and_written(tmp_path):
    section = beside(marks="NOT AS PRINTED: b", notes=["c is left out"])
    assert section.text().splitlines()[2] == "NOT AS PRINTED: b"
    assert chapters_text([section]) == section.text()
    told = plain(chapters_values([section]))["table_9"]
    assert told["not_as_printed"] == "NOT AS PRINTED: b" and told["notes"] == ["c is left out"]
    assert told["rows"][2]["own"] is None and told["rows"][0]["same"] is True
    section.table().write(tmp_path)
    assert pd.read_csv(tmp_path / "table_9.csv")["printed"].tolist()[:3] == [63.9, 216.4, 10.0]
