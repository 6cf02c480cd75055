"""Which warnings come first, and how many of them are printed."""

from pathlib import Path

import pytest

from autoeval.notices import Notice
from autoeval.report.warning_lines import MOST, OF_INPUT, Importance, importance, warning_lines


@pytest.mark.parametrize(
    ("warning", "about"),
    [
        ("labelled boxes without area, left out: 3", Importance.LEFT_OUT),
        ("3 of 9 images could not be read and were left out: a.png", Importance.LEFT_OUT),
        ("detected categories that the labels do not have, left out of the mean: a", "LEFT_OUT"),
        ("too wide to act on: ±17 points. More labelled sites help little", Importance.WIDTH),
        # about the error on held-out sources, not about anything that was not used
        ("on sources that were left out of the fit the mean absolute error is 10.6", "VALUE"),
        ("low scores or all but the best boxes were left out, or all are high", "VALUE"),
        ("the labels contradict the label-free estimate", Importance.VALUE),
    ],
)
def test_a_warning_is_about_the_value_the_width_or_what_was_left_out(warning, about):
    assert importance(warning) == (Importance[about] if isinstance(about, str) else about)


def test_each_is_printed_once_the_most_important_first_and_five_at_most():
    given = ["boxes, left out: 2", "too wide to act on: ±20", "a", "a", "b", "c", "d"]
    lines = warning_lines(given, MOST)
    assert lines[:4] == [f"warning: {word}" for word in "abcd"]
    assert lines[4] == "warning: too wide to act on: ±20" and len(lines) == MOST + 1
    assert lines[5] == "1 more warning is on the page; --verbose prints it"
    assert warning_lines(given)[-1] == "warning: boxes, left out: 2"
    assert warning_lines([]) == []


def test_inputs_that_do_not_belong_together_come_before_all_else():
    given = [*"abcde", Notice("labels-displaced", "labels lie beside the boxes")]
    assert warning_lines(given, MOST)[0] == "warning: labels lie beside the boxes"
    prefixed = given[-1].prefixed("gate")
    assert warning_lines([*given[:-1], prefixed], MOST)[0].startswith("warning: gate: labels lie")


def test_codes_of_the_input_are_codes_that_exist():
    page = Path(__file__).parents[2] / "docs/reference/warnings.md"
    assert [code for code in OF_INPUT if f"| `{code}` |" not in page.read_text()] == []
