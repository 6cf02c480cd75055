"""What results files of many sites are warned of."""

import pytest

from autoeval.errors import InputError
from autoeval.monitoring.read_sites import each_once, find_results
from autoeval.words import Notice


def noted(*texts):
    """Files a, b, c, ..., each with one warning of a kind."""
    return {"abcdef"[k]: [Notice("low-scores-missing", text)] for k, text in enumerate(texts)}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["cut"] * 5, ["a, b, c and 2 more: cut"]),
        (["1 box", "2 boxes"], ["a: 1 box", "b: 2 boxes"]),
        # one line for all sites of which a fit says the same but for its number
        ([f"{n} boxes" for n in (5, 6, 0.7, 8)], ["a, b, c and 1 more; in a: 5 boxes"]),
        (
            ["5 boxes", "cut", "6 boxes", "7 lost"],
            ["a: 5 boxes", "c: 6 boxes", "b: cut", "d: 7 lost"],
        ),
    ],
)
def test_a_kind_of_warning_of_many_files_is_one_line(texts, expected):
    shown = list(each_once(noted(*texts)))
    assert shown == expected and {notice.code for notice in shown} == {"low-scores-missing"}


def test_two_results_of_one_name_are_refused_whatever_lies_between_them(tmp_path):
    """Of the second one the boxes replaced those of the first, in every run."""
    for name in ("gate.json", "gate.night.json", "gate.parquet"):
        (tmp_path / name).write_text("[]")
    with pytest.raises(InputError, match=r"gate\.json and .*gate\.parquet"):
        find_results(tmp_path)
    (tmp_path / "gate.parquet").unlink()
    assert [file.name for file in find_results(tmp_path)] == ["gate", "gate.night"]
