"""Reading answers: the table of cases, laws, and other extractors."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autoeval.counting.capture.answer_numbers import words_to_number
from autoeval.counting.capture.answers import (
    Extraction,
    ModelExtractor,
    extract_choice,
    extract_confidence,
    extract_count,
)
from autoeval.counting.capture.results import read_cases, score_extractor
from autoeval.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
CASES = json.loads((ROOT / "configs/counting/capture/answer_cases.json").read_text())


def test_every_case_of_the_table_is_read_as_a_person_reads_it():
    wrong = [
        (c["text"], c["value"], r)
        for c in CASES
        if (r := extract_count(c["text"])).value != c["value"]
    ]
    assert not wrong


REASONS = [
    ("", "empty"),
    ("<think>nine", "unfinished reasoning"),
    ("A grid of squares.", "no number"),
    ("between 8 and 10", "no single number"),
    ("12.5", "fraction"),
    ("It is impossible to count the 3 dots.", "refusal"),
    ("99999999 dots", "too large"),
    ('[{"point_2d": [10, 20]}, {"point_2d": [30', "cut off"),
    ("Row 1 has 4, row 2", "rows of a list"),
]


@pytest.mark.parametrize(("answer", "rule"), REASONS)
def test_skipped_answers_say_why(answer, rule):
    assert extract_count(answer) == Extraction(None, rule)


SMALL = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
]
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def spelled(n, join="-", and_=" and "):
    """Write a number below a million in words."""
    if n < 20:
        return SMALL[n]
    if n < 100:
        return TENS[n // 10] + (join + SMALL[n % 10] if n % 10 else "")
    large, name = (1000, "thousand") if n >= 1000 else (100, "hundred")
    rest = (and_ if n < 1000 else " ") + spelled(n % large, join, and_) if n % large else ""
    return f"{spelled(n // large, join, and_)} {name}{rest}"


def test_any_number_in_words_is_read_also_before_what_is_counted():
    for n in (*range(0, 130), *range(130, 1300, 23), 1299, 2021, 21_121, 300_451):
        for words in (spelled(n), spelled(n, " ", " ")):
            assert words_to_number(words) == n
            assert extract_count(f"There are {words} apples.").value == n, words
    for text in ("{}", "Final count: {}.", "**{}.0**", "So the total is {} dots."):
        assert extract_count(text.format(847)).value == 847, text


DEGENERATE = [
    *("1 " * 9000, "one hundred and " * 5000, "9" * 50000, "twenty " * 9000, "(" * 40000),
    *("[" * 20000, '{"' * 20000, "{ " * 20000, "<think>" * 5000, "[1," * 9000),
    *("| 1 | 2 |\n" * 900, "\n" * 40000),
]


@pytest.mark.parametrize("text", DEGENERATE)
def test_endless_answers_take_no_time(text):
    start = time.process_time()
    extract_count(text)
    extract_confidence(text)
    assert time.process_time() - start < 5


CHOICES = [
    ("Rectangle", "rectangle"),
    ("The circles are arranged in a triangle.", "triangle"),
    ("The squares form a ring, i.e. a circular pattern.", "circle"),
    ("It is not a circle but a rectangle.", "rectangle"),
    ("The dots form a rectangle, not a circle.", "rectangle"),
    ("A triangle rather than a circle or a rectangle", "triangle"),
    ("It is neither a triangle nor a rectangle: a circle.", "circle"),
    ("<think>a triangle?</think>It is a grid.", "rectangle"),
    ("◁think▷Maybe a circle, or", None),
    ("<|channel|>analysis<|message|>It may be a triangle", None),
    ("A triangle? No.</think>A grid.", "rectangle"),
    ("The circles cannot be told apart.", None),
    ("", None),
    ("It is a circle. The dots do not form a rectangle or triangle.", "circle"),
    ("It is a circle, not a rectangular grid.", "circle"),
    ("They don't form a circle; they form a triangle.", "triangle"),
    ("A circle, as the dots are not in a line.", "circle"),
]


@pytest.mark.parametrize(("answer", "expected"), CHOICES)
def test_patterns_are_read(answer, expected):
    assert extract_choice(answer, ("circle", "triangle", "rectangle")) == expected


COUNTS = [
    ("I count: 1, 2, 3, 4, 5.", 5),
    ("Let me count: 1, 2, 3, 4, 5, 6, 7. There are 7 circles.", 7),
    ("Count: 12, 3 of them hidden", 12),
    ("There are 12 circles.\nConfidence: 7 out of 10", 12),
]


@pytest.mark.parametrize(("answer", "expected"), COUNTS)
def test_counting_aloud_and_confidences_are_no_other_count(answer, expected):
    assert extract_count(answer).value == expected


RARE = [
    ("10³", 1000),
    ("There are about 1.5 × 10³ birds.", 1500),
    ("5 rows of 3, each 10² px apart: 15 in all", 15),
    ("2½", None),
    ("1½ dozen eggs", 18),
    ("None overlap.", None),
    ("There are 12 circles. None overlap.", 12),
    ("There are 12 circles. None of them are damaged.", 12),
    ("None of them are circles.", 0),
    ("None are visible.", 0),
    ("20 people in the background. 3 in the foreground", None),
    ("20 people in the background.", 20),
    ("20 people in the park. 3 in the street.", None),
    ("Visible: 9. Count with the hidden ones: 12", 12),
]


@pytest.mark.parametrize(("answer", "expected"), RARE)
def test_rare_forms_are_read(answer, expected):
    assert extract_count(answer).value == expected


NO_COUNT = [  # of a model or a server that saw nothing: neither 0 nor the number of the error
    *("I don't have access to images", "I have no access to the image.", "No visual input."),
    *("I have no ability to see images.", "There isn't any image attached.", "No comment."),
    *("I do not see any attached image.", "The image is not visible.", "None of the options."),
    *("I cannot see any objects because the image is missing.", "No response.", "No thanks."),
    *("Nothing is visible because the image did not load.", "No puedo contar.", "No se puede ver."),
    *("Error 404", "HTTP 429", '{"error": {"code": 429, "message": "limit"}}', "No lo sé."),
]


@pytest.mark.parametrize("answer", NO_COUNT)
@pytest.mark.parametrize("hidden", [False, True])
def test_a_refusal_is_no_count_of_zero(answer, hidden):
    assert extract_count(answer, hidden=hidden).value is None


OF_NONE = [
    *("No apples.", "No hay manzanas", "I don't see any apples.", "There aren't any apples."),
    *("The dogs in the image were not visible.", "I can't see any visible apples in the image."),
    '{"status": "ok", "apples": 0}',
]


@pytest.mark.parametrize("answer", OF_NONE)
def test_a_count_of_zero_is_no_refusal(answer):
    assert extract_count(answer).value == 0


OF_SOME = [
    ("42 birds. 3 may be statues.", 42),
    ("42 birds, though 3 could be statues.", 42),
    ("10 birds. 12 could be right.", 12),
    ("Ten are blue, two are red.", None),
    ("There are 350 people, with an uncertainty of 50.", 350),
    ("2 hundred 50", 250),
    ("2 thousand 300 people", 2300),
    ("2 thousand, 30 of them hidden", 2000),
    ("7 players, including number 10.", 7),
    ("14, but possibly 15", None),
    ("14 — possibly 15", None),
    ("15 (actually 14)", 14),
    ("3 bunches of 7 bananas", None),
    ("3 bunches of 7 bananas, so 21 bananas", 21),
    ("9 out of 12 are visible", 12),
    ("20-something", None),
]


# Classes of FSC-147 and COCO that end as units of an arrangement do.
NAMED_AS_UNITS = ["onion rings", "chicken wings", "parking meters", "stop signs", "traffic signs"]


@pytest.mark.parametrize("name", NAMED_AS_UNITS)
def test_objects_may_be_called_as_units_are(name):
    assert extract_count(f"There are 12 {name}, 3 of which are hidden.").value == 12
    assert extract_count(f"12 {name}").value == 12
    assert extract_count(f"There are no {name} in the image.").value == 0
    assert extract_count("There are 12 picture frames, 3 of which are hidden.").value == 12


def test_units_of_an_arrangement_are_no_objects():
    for units in ("2 concentric rings", "3 square meters", "4 hind legs", "6 rings"):
        assert extract_count(f"15 dots in {units}").value == 15
        assert extract_count(f"{units.capitalize()}.").value is None


@pytest.mark.parametrize(("answer", "expected"), OF_SOME)
def test_a_number_of_some_or_in_doubt_is_not_of_all(answer, expected):
    assert extract_count(answer).value == expected


OF_HIDDEN = [  # with what is read where all objects are asked for
    ("12 in total. 9 are visible, so 3 are hidden.", 3, 12),
    ("9 circles are visible and 3 hidden, for a total of 12.", 3, 12),
    ("9 visible, 3 hidden", 3, None),
    ("12 - 9 = 3", 3, 3),
    ("3", 3, 3),
    ("Perhaps 4 are hidden. Final answer: 3", 3, 3),
    ("2 are hidden. Wait, 3 are hidden.", 3, 3),
    ("Total: 12\nVisible: 9\nHidden: 3", 3, 12),
    ("3 of the 12 circles are hidden.", 3, 12),
    ("Of the 12 circles, 3 are behind the box.", 3, 12),
    ("12 circles with 3 hidden", 3, 12),
    ("The box does not hide any circles.", 0, 0),
    ("It hides 2 circles in row 1 and 1 circle in row 2, so 3 in total.", 3, 3),
    ("I cannot tell.", None, None),
    ('{"total": 12, "occluded": 3}', 3, 12),
    ('{"visible": 9, "hidden": 3}', 3, None),
    ('{"hidden_count": null, "total": 12}', None, 12),
    ('{"fully_hidden": 1, "partly_hidden": 2, "answer": 3}', 3, 3),
    # what is said of hidden objects, but is not how many there are
    ('{"is_occluded": true, "count": 3}', 3, 3),
    ('{"occluded_region": "top left", "covered_area": "40%", "count": 3}', 3, 3),
    ('{"hidden_rows": 2, "answer": 6}', 6, 6),
    ('{"occluded_object": "dot", "num_occluded": 3}', 3, 3),
    ('{"unoccluded": 9, "occluded": 3, "total": 12}', 3, 12),
    ('{"hidden_pattern": "grid 3x4", "hidden_dots": 3, "total": 12}', 3, 12),
    ("The total is 12; visible 9; so hidden = 3", 3, 12),
    ("Number of hidden dots = 12 - 9 = 3", 3, 3),
    ("The number of triangles hidden is 15 - 12 = 3.", 3, 3),
    ("There are 12 dots. 9 can be seen. Therefore, 3 are missing.", 3, 12),
    ("9 dots are visible; 3 are not visible.", 3, None),
    ("9 dots are visible; 3 dots are not visible.", 3, None),
    ("3 of the 12 dots cannot be seen.", 3, 12),
    ("2 dots are fully hidden and 1 is partially hidden, so 3 in total.", 3, 3),
    ("2 fully hidden + 1 partially hidden = 3", 3, 3),
    ("It hides none.", 0, 0),
    ("Visible: 9\nBehind the black box: 3", 3, None),
    ("12 dots in total, including 3 hidden behind the box.", 3, 12),
    ("9 are visible. Including the 3 hidden ones: 12", 3, 12),
    ("I see 9 dots. Counting only the hidden ones: 3", 3, 9),
    ("Without counting the hidden ones: 9. Hidden ones: 3", 3, None),
    ("Fully visible dots: 9\nDots with partially hidden edges: 3", 3, None),
    ("5 dots are hidden, including 2 partially covered ones.", 5, None),
]


@pytest.mark.parametrize(("answer", "hidden", "of_all"), OF_HIDDEN)
def test_the_question_decides_which_number_is_read(answer, hidden, of_all):
    assert extract_count(answer, hidden=True).value == hidden
    assert extract_count(answer).value == of_all


CONFIDENCES = [
    ("12 dots.\nConfidence: 85 %", 0.85),
    ("Confidence: 0.7", 0.7),
    ("Confidence: .7", 0.7),
    ("Confidence .95", 0.95),
    ("Confidence... 95", 0.95),
    ("I am 95% confident that there are 12.", 0.95),
    ("Confidence: 100%", 1.0),
    ("My confidence level is 60 percent", 0.6),
    ("Confidence: high", None),
    ("12", None),
    ("Confidence: 850 %", None),
    ("12\nConfidence: 8/10", 0.8),
    ("12. My confidence is 7 out of 10.", 0.7),
    ("Confidence: 85 out of 100", 0.85),
    ("Confidence (0-100): 85", 0.85),
    ("Confidence (0 to 1): 0.85", 0.85),
    ("Confidence (85 %)", 0.85),
    ("Confidence (1-10): 8", 0.8),
    ("Confidence (between 0 and 100): 85", 0.85),
    ("Confidence (0-100): 0.85", 0.85),  # of 1, whatever was requested
    ("Confidence (0-10): 0.9", 0.9),
    ("Confidence (0-10): 0.5 %", 0.005),
    ("Confidence: 8 on a scale of 1 to 10", 0.8),
    ("Confidence: 0,85", 0.85),
    ("Confidence: 80-90%", None),
]


@pytest.mark.parametrize(("answer", "expected"), CONFIDENCES)
def test_confidences_are_read(answer, expected):
    assert extract_confidence(answer) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"count": {"min": 10, "max": 14}}', None),
        ('{"count": {"lower_bound": 10, "upper_bound": 14}, "confidence": 80}', None),
        ('{"count": {"estimate": 12, "min": 10, "max": 14}}', 12),
        ('{"image": {"width": 640, "height": 480}, "objects": [{"x": 1}, {"x": 2}]}', 2),
    ],
)
def test_bounds_of_a_count_are_no_count(answer, expected):
    assert extract_count(answer).value == expected


def test_extractor_report_counts_each_kind_of_mistake():
    cases = [
        {"kind": "a", "text": "right", "value": 1},
        {"kind": "a", "text": "wrong", "value": 2},
        {"kind": "b", "text": "missed", "value": 3},
        {"kind": "b", "text": "invented", "value": None},
    ]
    read = {"right": 1, "wrong": 9, "missed": None, "invented": 4}
    table, errors = score_extractor(lambda text: Extraction(read[text], "test"), cases)
    assert table.loc["all"].tolist() == [4, 1, 1, 1, 1, 25.0]
    assert table.loc["b"].tolist() == [2, 0, 0, 1, 1, 0.0]
    assert len(errors) == 3 and errors[0].startswith("a: expected 2, got 9")


def test_case_tables_of_another_form_are_refused(tmp_path):
    (tmp_path / "cases.json").write_text('[{"text": "7"}]')
    with pytest.raises(InputError, match="to be a list of"):
        read_cases(tmp_path / "cases.json")
    with pytest.raises(InputError, match="No table of answers"):
        read_cases(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "holds no answers"),
        ("{}", "holds no answers"),
        ('[{"kind": "a", "text": 7, "value": 7}]', "answer 0: expected a text"),
        ('[{"kind": "a", "text": "7", "value": "7"}]', "a number or null, got '7' and '7'"),
        ('[{"kind": "a", "text": "7", "value": NaN}]', "a number or null, got '7' and nan"),
    ],
)
def test_cases_that_hold_no_texts_or_numbers_are_refused(tmp_path, content, message):
    (tmp_path / "cases.json").write_text(content)
    with pytest.raises(InputError, match=message):
        read_cases(tmp_path / "cases.json")


REPLIES = [
    *(("12", 12), ("12.", 12), ("12.0", 12), ("-1", None), ("about 12", None), ("", None)),
    *(("1,234", 1234), ("10,12", None)),
]


@pytest.mark.parametrize(("reply", "value"), REPLIES)
def test_a_language_model_may_read_the_answers(reply, value):
    asked = []

    def ask(image, prompt):
        asked.append((image, prompt))
        return reply

    assert ModelExtractor(ask, "Read: {answer}")("nine {or} ten").value == value
    assert asked == [(None, "Read: nine {or} ten")]
    assert ModelExtractor(ask, "{answer}")(" ").rule == "empty" and len(asked) == 1


def test_reading_answers_needs_no_library():
    program = (
        "from autoeval.counting.capture.answers import extract_count as e; print(e('7').value)"
    )
    environment = {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "7\n", done.stderr
