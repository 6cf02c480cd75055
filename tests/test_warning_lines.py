"""Which warnings come first, and how many of them are printed."""

from pathlib import Path

from autoeval.words import (
    ALWAYS_PRINTED,
    MOST,
    OF_INPUT,
    Notice,
    ordered_warnings,
    prefixed,
    warning_lines,
)

COPIES = Notice("copies-left-out", "2 copies", severity="note")
NOTHING = Notice("nothing-found", "nothing found", severity="refused")
DISPLACED = Notice("labels-displaced", "labels lie beside the boxes")
WARNINGS = [Notice("few-images", word) for word in "abcde"]
A, B, C, D, _ = WARNINGS


def test_what_was_refused_comes_first_and_notes_last():
    assert ordered_warnings([COPIES, A, NOTHING, B, A]) == [NOTHING, A, B, COPIES]


def test_the_short_form_prints_three_warnings_and_counts_the_others():
    lines = warning_lines([COPIES, A, B, C, D, A, NOTHING], MOST)
    assert lines[:4] == ["warning: nothing found", *(f"warning: {word}" for word in "abc")]
    assert lines[4:] == ["1 more warning and 1 note are on the page; --verbose prints them"]
    assert warning_lines([COPIES], MOST) == ["1 note is on the page; --verbose prints it"]
    assert warning_lines([COPIES, A]) == ["warning: a", "note: 2 copies"]
    assert warning_lines([]) == []


def test_files_to_replace_are_printed_however_many_warnings_there_are():
    broken = Notice("images-unreadable", "2 images could not be read")
    lines = warning_lines([A, B, C, D, broken], MOST)
    assert lines[MOST] == "warning: 2 images could not be read"
    assert lines[MOST + 1 :] == ["1 more warning is on the page; --verbose prints it"]


def test_inputs_that_do_not_belong_together_come_before_other_warnings():
    given = [*WARNINGS, DISPLACED]
    assert warning_lines(given, MOST)[0] == "warning: labels lie beside the boxes"
    lines = warning_lines([*WARNINGS, *prefixed("gate", [DISPLACED])], MOST)
    assert lines[0].startswith("warning: gate: labels lie")


def test_codes_of_the_input_are_codes_that_exist():
    page = Path(__file__).parents[1] / "docs/reference/warnings.md"
    codes = OF_INPUT | ALWAYS_PRINTED
    assert [code for code in codes if f"| `{code}` |" not in page.read_text()] == []
