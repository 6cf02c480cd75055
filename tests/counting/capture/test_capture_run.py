"""Tasks put to counters: questions, context, back-off, samples, failures, going on after a stop."""

import json
import shutil
import threading
from dataclasses import replace

import cv2
import numpy as np
import pytest

from autoeval.counting.capture.making import SyntheticSpec, load_inpainter, write_synthetic
from autoeval.counting.capture.split import with_found
from autoeval.counting.capture.task_run import (
    TASKS,
    PromptBook,
    RunOptions,
    coordinates,
    get_task,
    load_prompts,
    run_task,
)
from autoeval.counting.counters.adapters import FunctionCounter, TextCounter, VisibleOnly
from autoeval.counting.counters.endpoint import EndpointError
from autoeval.counting.prompting import BACKOFF, CellJournal
from autoeval.errors import InputError
from examples.pattern_completion import PatternCompletion


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    spec = SyntheticSpec(counts=(6,), patterns=("triangle",), colors=("blue",), fit_canvas=True)
    return write_synthetic(spec, tmp_path_factory.mktemp("split"))


@pytest.fixture
def journal(tmp_path):
    return CellJournal(tmp_path / "answers.jsonl", ["key"])


class Speaker:
    """Keeps what it is asked and answers by a function of the number of the question."""

    def __init__(self, answer):
        self.answer, self.asked, self.lock = answer, [], threading.Lock()

    def __call__(self, image, question, **options):
        with self.lock:
            self.asked.append((image, question, options))
            n = len(self.asked)
        return self.answer(n)

    def counter(self):
        return TextCounter(self, name="speaker")


def run(split, name, speaker, journal, book=None, **options):
    book = book or load_prompts()
    return run_task(split, get_task(name), speaker.counter(), book, journal, RunOptions(**options))


def test_every_task_has_a_complete_question(split, tmp_path):
    for task in TASKS.values():
        item = task.items(split.items)[0]
        item = replace(item, record={**item.record, "found_points": [[1.2, 3.4], [5, 6]]})
        question = task.question(item, load_prompts())
        assert "{" not in question and "circles" in question, task.name
    question = get_task("oracle-visible").question(split.items[0], load_prompts())
    assert coordinates(split.items[0].visible_points.tolist()) in question
    assert get_task("occluded-only").truth(split.items[0]) == split.items[0].num_occluded
    assert get_task("pattern-original").truth(split.items[0]) == "triangle"
    book = load_prompts(model="molmo")
    item = split.items[0]
    assert book.total(item, "occluded") == (
        "Your task is to count objects in the image. Assume the pattern of circles continues "
        "behind the black box. First, state what the pattern is, then give your final count."
    )
    assert book.total(item, "original") == (
        "Count the exact number of circles in the image. Only count circles that are visible "
        "within the frame."
    )
    other = load_prompts(model="qwen2-vl").total(item, "occluded")
    assert load_prompts().total(item, "original") == other
    with pytest.raises(InputError, match="lack total, occluded_only"):
        PromptBook({})
    (tmp_path / "prompts.py").write_text("conf = 'How sure are you?'")
    with pytest.raises(InputError, match=r"has 'conf', .* confidence"):
        load_prompts(tmp_path / "prompts.py")
    with pytest.raises(InputError, match="'gpt-9'; there are some for default, gpt-4o"):
        load_prompts(model="gpt-9")
    with pytest.raises(InputError, match="No task 'sum'"):
        get_task("sum")


def test_what_a_detector_found_goes_into_the_question_of_a_hybrid(split, journal, tmp_path):
    first, second, third = (item.image_file for item in split.items[:3])
    found = {f"occluded/{first}": [[10, 20], [30.4, 40]], second: {"points": []}, third: None}
    (tmp_path / "points.json").write_text(json.dumps(found))
    speaker = Speaker(lambda n: "6")
    counts = run(with_found(split, tmp_path / "points.json"), "hybrid", speaker, journal)
    assert counts.answered == 2, "of the third and all others nothing is known"
    questions = [question for _, question, _ in speaker.asked]
    assert "finds 2 circles" in questions[0] and "(10, 20), (30, 40)" in questions[0]
    assert "finds 0 squares" in questions[1]
    row = next(iter(journal.read().values()))
    assert row["context"] == {"found_points": [[10, 20], [30.4, 40]]}
    with pytest.raises(InputError, match="No item of"):
        run(split, "hybrid", speaker, CellJournal(tmp_path / "other.jsonl", ["key"]))
    (tmp_path / "points.json").write_text('{"x.png": []}')
    with pytest.raises(InputError, match="points of none of the 10 images"):
        with_found(split, tmp_path / "points.json")


def test_each_variant_is_shown_and_each_answer_read(split, journal):
    speaker = Speaker(lambda n: f"There are {n}.")
    counts = run(split, "total-original", speaker, journal)
    assert (counts.answered, counts.reused, counts.failed) == (10, 0, {})
    images = [image for image, _, _ in speaker.asked]
    assert all((image.max(2) > 40).all() for image in images)  # no black box
    rows = list(journal.read().values())
    assert [row["value"] for row in rows] == list(range(1, 11))
    assert rows[0]["text"] == "There are 1." and rows[0]["question"] == speaker.asked[0][1]
    occluded = Speaker(lambda n: "5")
    run(split, "total-occluded", occluded, journal)
    assert all((image == 0).all(2).any() for image, _, _ in occluded.asked)


def test_better_rules_read_kept_answers_without_asking(split, journal):
    run(split, "total-occluded", Speaker(lambda n: "There are twenty-one circles."), journal)
    rows = list(journal.read().values())
    old = [{**row, "value": 20, "rule": "last"} for row in rows[:2]]  # of an earlier version
    old.append({**rows[2], "value": None, "rule": "cut off", "status": "skipped"})
    with journal.writer() as write:
        write(old)
    speaker = Speaker(lambda n: "nothing")
    counts = run(split, "total-occluded", speaker, journal)
    assert counts.reused == 10 and speaker.asked == []
    values = [row["value"] for row in journal.read().values()]
    assert values[:3] == [21, 21, None] and set(values[3:]) == {21}


@pytest.mark.parametrize(
    ("task", "answer", "field", "old", "new"),
    [
        ("occluded-only", "21 in total. 18 are visible, so 3 are hidden.", "value", 21, 3),
        ("pattern-occluded", "A circle, not a triangle", "value", "triangle", "circle"),
        ("confidence-occluded", "21 circles.\nConfidence: 8/10", "confidence", 0.08, 0.8),
    ],
)
def test_patterns_and_confidences_are_read_again_too(split, journal, task, answer, field, old, new):
    run(split, task, Speaker(lambda n: answer), journal)
    with journal.writer() as write:
        write([{**row, field: old} for row in journal.read().values()])  # of an earlier version
    speaker = Speaker(lambda n: "nothing")
    run(split, task, speaker, journal)
    assert speaker.asked == []
    assert {row[field] for row in journal.read().values()} == {new}


def test_nothing_is_asked_twice_and_failures_again(split, journal):
    def first(n):
        if n == 3:
            raise EndpointError("gave up")
        return "no idea" if n == 4 else "6"

    counts = run(split, "total-occluded", Speaker(first), journal)
    assert (counts.answered, counts.skipped, len(counts.failed)) == (8, 1, 1)
    assert next(iter(counts.failed.values())) == "failed: EndpointError: gave up"
    speaker = Speaker(lambda n: "7")
    counts = run(split, "total-occluded", speaker, journal)
    assert (counts.reused, counts.answered, len(speaker.asked)) == (9, 1, 1)
    statuses = [row["status"] for row in journal.read().values()]
    assert sorted(statuses) == ["ok"] * 9 + ["skipped"]


def test_workers_and_a_torn_line_change_no_answer(split, journal):
    speaker = Speaker(lambda n: "6")
    assert run(split, "total-occluded", speaker, journal, workers=4).answered == 10
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[: len(whole) - 40])
    speaker = Speaker(lambda n: "6")
    assert run(split, "total-occluded", speaker, journal, workers=2).reused == 9
    assert len(speaker.asked) == 1
    assert len(journal.path.read_text().splitlines()) == 10


def test_another_box_or_question_or_model_is_another_answer(split, journal, tmp_path):
    run(split, "total-occluded", Speaker(lambda n: "6"), journal)
    spec = SyntheticSpec(
        seed=9, counts=(6,), patterns=("triangle",), colors=("blue",), fit_canvas=True
    )
    other = write_synthetic(spec, tmp_path / "other")
    assert run(other, "total-occluded", Speaker(lambda n: "6"), journal).reused == 0
    boxes = {tuple(item.box) for of in (split, other) for item in of.items}
    assert {tuple(row["box"]) for row in journal.read().values()} == boxes
    molmo = load_prompts(model="molmo")
    assert run(split, "total-occluded", Speaker(lambda n: "6"), journal, molmo).reused == 0
    assert run(split, "total-occluded", Speaker(lambda n: "6"), journal).reused == 10


def test_temperature_falls_by_a_tenth_until_an_answer_can_be_read(split, journal):
    one = split.first(2)
    speaker = Speaker(lambda n: "hm" if n <= 3 or n > 4 else "six")
    counts = run(one, "total-occluded", speaker, journal, temperatures=BACKOFF)
    used = [options["temperature"] for _, _, options in speaker.asked]
    assert used[:4] == [1.0, 0.9, 0.8, 0.7]
    assert used[4:] == [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]
    assert (counts.answered, counts.skipped) == (1, 1)
    row = next(iter(journal.read().values()))
    assert row["temperature"] == 0.7 and [a["text"] for a in row["attempts"]] == ["hm"] * 3


def test_sampled_questions_are_asked_20_times_with_seeds_of_their_own(split, journal):
    one = split.first(2)
    speaker = Speaker(lambda n: "6")
    assert run(one, "sampled-occluded", speaker, journal).answered == 40
    options = [options for _, _, options in speaker.asked]
    assert {option["temperature"] for option in options} == {1.0}
    assert len({option["seed"] for option in options}) == 40
    again = Speaker(lambda n: "6")
    run(one, "sampled-occluded", again, CellJournal(journal.path.parent / "b", ["key"]))
    assert [option for _, _, option in again.asked] == options


def test_privileged_facts_are_recorded_and_rows_are_plain_json(split, journal):
    run(split, "oracle-visible", Speaker(lambda n: "6\u2028 dots"), journal)
    rows = [json.loads(line) for line in journal.path.read_bytes().split(b"\n")[:-1]]
    assert len(rows) == len(journal.read()) == 10
    for row in rows:
        item = next(i for i in split.items if i.image_file == row["image_file"])
        assert row["context"] == {"visible_points": item.visible_points.tolist()}
        assert row["text"] == "6\u2028 dots"


def test_prompted_confidence_and_patterns_are_read(split, journal):
    run(split, "confidence-occluded", Speaker(lambda n: "6.\nConfidence: 80 %"), journal)
    run(split, "pattern-occluded", Speaker(lambda n: "A triangle."), journal)
    rows = list(journal.read().values())
    assert {(r["task"], r["value"], r["confidence"]) for r in rows} == {
        ("confidence-occluded", 6, 0.8),
        ("pattern-occluded", "triangle", None),
    }


def test_inpainting_shows_what_the_hook_returns(split, journal):
    with pytest.raises(InputError, match="needs an inpainter"):
        run(split, "inpainted", Speaker(lambda n: "6"), journal)
    speaker = Speaker(lambda n: "6")
    run(split, "inpainted", speaker, journal, inpainter=load_inpainter("telea"))
    assert all((image.max(2) > 40).all() for image, _, _ in speaker.asked)
    assert "continues" in speaker.asked[0][1]
    assert load_inpainter("numpy.copy") is np.copy
    for name in ("nothing.here", "numpy.pi"):
        with pytest.raises(InputError, match=name):
            load_inpainter(name)


def test_unreadable_images_are_failures_of_their_item(split, journal):
    item = split.items[4]
    path = split.image_path(item, "occluded")
    content = path.read_bytes()
    path.unlink()
    try:
        counts = run(split, "total-occluded", Speaker(lambda n: "6"), journal)
    finally:
        path.write_bytes(content)
    assert counts.answered == 9
    assert list(counts.failed) == [f"{item.image_file} (0)"]
    assert "no such file" in counts.failed[f"{item.image_file} (0)"]
    assert run(split, "total-occluded", Speaker(lambda n: "6"), journal).answered == 1


def test_an_endpoint_that_is_gone_or_refuses_ends_the_run_and_answers_stay(split, journal):
    def gone(n):
        raise EndpointError("refused")

    with pytest.raises(InputError, match=r"failed on 10 questions in a row.*goes on from here"):
        run(split, "sampled-occluded", Speaker(gone), journal)
    rows = journal.read().values()
    assert len(rows) == 10 and all(r["status"].startswith("failed") for r in rows)

    def refuse(n):
        if n == 5:
            raise InputError("the key is refused")
        return "6"

    with pytest.raises(InputError, match="the key is refused"):
        run(split, "total-occluded", Speaker(refuse), journal)
    assert run(split, "total-occluded", Speaker(lambda n: "6"), journal).reused >= 4


def test_a_counter_is_asked_again_about_other_facts(split, journal):
    """It went on with what it had counted of objects that were visible then."""
    task, book = get_task("total-occluded"), load_prompts()
    run_task(split, task, VisibleOnly(), book, journal)
    first, *others = split.items
    seen = replace(first, hidden=~first.hidden)
    changed = replace(split, items=(seen, *others))
    assert run_task(changed, task, VisibleOnly(), book, journal).answered == 1
    values = {row["image_file"]: row["value"] for row in journal.read().values()}
    assert values[first.image_file] == first.hidden.sum() != (~first.hidden).sum()
    assert run_task(changed, task, VisibleOnly(), book, journal).reused == len(split.items)


def test_an_answer_without_the_end_of_its_line_is_asked_for_again(split, journal):
    """It was read, and so not asked for, and then dropped: the report had it as missing."""
    task, book = get_task("total-occluded"), load_prompts()
    run_task(split, task, VisibleOnly(), book, journal)
    journal.path.write_bytes(journal.path.read_bytes()[:-1])
    counts = run_task(split, task, VisibleOnly(), book, journal)
    assert (counts.answered, counts.reused) == (1, len(split.items) - 1)
    assert len(journal.path.read_text().splitlines()) == len(split.items)


def test_another_image_of_the_same_name_is_asked_about(split, journal, tmp_path):
    """Another time of the file alone is no other image."""
    task, book = get_task("total-original"), load_prompts()
    folder = shutil.copytree(split.folder, tmp_path / "split")
    copied = replace(split, folder=folder)
    counter = FunctionCounter(lambda image, prompt: float(image.mean()), name="f")
    run_task(split, task, counter, book, journal)
    path = folder / "original" / split.items[0].image_file
    (folder / "original" / split.items[1].image_file).touch()
    cv2.imwrite(str(path), np.full((200, 200, 3), 7, np.uint8))
    counts = run_task(copied, task, counter, book, journal)
    assert (counts.answered, counts.reused) == (1, len(split.items) - 1)
    values = {row["image_file"]: row["value"] for row in journal.read().values()}
    assert values[split.items[0].image_file] == 7


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_count_that_is_not_finite_is_a_failure(split, journal, bad):
    """It was an answer that nobody asked for again, and a skipped one in the report."""
    given = [bad] * 3 + [6.0] * 7
    counter = FunctionCounter(lambda image, prompt: given.pop(0), name="f")
    task, book = get_task("total-original"), load_prompts()
    counts = run_task(split, task, counter, book, journal)
    assert counts.answered == 7 and len(counts.failed) == 3 and counts.skipped == 0
    given += [6.0] * 3
    assert run_task(split, task, counter, book, journal).answered == 3
    assert {row["value"] for row in journal.read().values()} == {6.0}


def test_counters_without_speech_get_the_name_and_the_facts_they_need(split, journal):
    task = get_task("total-occluded")
    book = load_prompts()
    for counter in (VisibleOnly(), PatternCompletion(), PatternCompletion(centres="detected")):
        assert run_task(split, task, counter, book, journal).answered == 10
    rows = [row for row in journal.read().values() if row["model"] == "visible-only"]
    truth = {item.image_file: len(item.visible_points) for item in split.items}
    assert all(row["value"] == truth[row["image_file"]] for row in rows)
    assert set(rows[0]["context"]) == {"image_id", "visible_points"}
    # Nothing is hidden in the originals.
    run_task(split, get_task("total-original"), VisibleOnly(), book, journal)
    rows = [row for row in journal.read().values() if row["task"] == "total-original"]
    assert {row["value"] for row in rows} == {6.0}
    for name in ("pattern-occluded", "occluded-only", "sampled-occluded", "oracle-all"):
        with pytest.raises(InputError, match="answers no questions"):
            run_task(split, get_task(name), VisibleOnly(), book, journal)
    with pytest.raises(InputError, match="'visible_points'"):
        VisibleOnly().count(np.zeros((2, 2, 3)), "dots")
