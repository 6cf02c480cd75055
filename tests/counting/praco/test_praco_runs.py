"""Both tests end to end with counters from a table: resuming, failing, being killed."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autoeval.counting.counters import CountResult
from autoeval.counting.counters.adapters import FunctionCounter
from autoeval.counting.praco.data import load_fsc147
from autoeval.counting.praco.mosaic_run import (
    count_matrix,
    draw_pairs,
    run_mosaic_test,
    run_negative_test,
)
from autoeval.counting.prompting import (
    CountRequest,
    PromptedCounter,
    check_different_names,
    check_same_run,
)
from autoeval.errors import InputError


@pytest.fixture
def counting_set(fsc147):
    return load_fsc147(fsc147)


@pytest.fixture
def negatives(counting_set, tmp_path):
    """Run the negative-label test with a counter, always in one folder."""
    return lambda counter, *prompt, **options: run_negative_test(
        PromptedCounter(counter, *prompt, **options), counting_set, tmp_path
    )


@pytest.fixture
def mosaics_of(counting_set, tmp_path):
    """Run the mosaic test with a counter, always in one folder."""

    def run(counter, recipes=None, **options):
        recipes = recipes or draw_pairs(counting_set)
        prompted = PromptedCounter(counter, **options)
        return run_mosaic_test(prompted, counting_set, recipes, tmp_path)

    return run


def test_every_class_is_asked_for_in_every_image(counting_set, negatives, stub_counter):
    counter = stub_counter(lambda prompt, context: len(prompt) + int(context["image_id"][0]))
    table = negatives(counter, "the {}s")
    assert counter.asked == [(f"{k}.jpg", f"the {c}s") for k in range(1, 5) for c in "abc"]
    matrix = count_matrix(table, counting_set)
    assert matrix.loc["3.jpg"].tolist() == [9, 9, 9]
    assert list(matrix.columns) == ["a", "b", "c"]
    again = stub_counter()
    assert negatives(again).equals(table)
    assert not again.asked, "everything was in the journal"


def test_failures_are_asked_again_and_skipped_answers_are_not(negatives, stub_counter):
    def bad(prompt, context):
        if context["image_id"] == "2.jpg":
            raise RuntimeError("out of memory")
        return {"a": float("nan"), "b": float("inf"), "c": -1.5}[prompt]

    table = negatives(stub_counter(bad))
    status = table.set_index(["image", "class"])["status"]
    assert status["2.jpg", "a"] == "failed: RuntimeError: out of memory"
    assert status["1.jpg", "a"] == "failed: the count is nan"
    assert status["1.jpg", "b"] == "failed: the count is inf"
    assert status["1.jpg", "c"] == "ok", "a negative count is an answer"
    assert table["count"].isna().sum() == 3 + 3 * 2

    class Skips(stub_counter):
        def count(self, image, prompt, context=None):
            super().count(image, prompt, context)
            return CountResult(float("nan"), status="skipped")

    skips = Skips()
    table = negatives(skips)
    assert len(skips.asked) == 9 and (table["status"] == "skipped").sum() == 9
    again = stub_counter()
    negatives(again)
    assert not again.asked


def test_the_true_class_is_told_only_on_request_and_recorded(
    counting_set, negatives, mosaics_of, tmp_path, stub_counter
):
    counter = stub_counter()
    table = negatives(counter, "some {}", reference=True)
    assert {c["positive_class"] for c in counter.contexts[:3]} == {"some a"}
    assert table["positive_class"].tolist()[:4] == ["some a"] * 3 + ["some b"]
    mosaics = mosaics_of(counter, prompt="some {}", reference=True)
    assert (mosaics["positive_class"] == ["a", "a", "b", "b", "c", "c", "a", "a"]).all()
    assert counter.contexts[-1]["positive_class"] == "some a"
    silent = stub_counter()
    run_negative_test(PromptedCounter(silent), counting_set, tmp_path / "other")
    assert "positive_class" not in silent.contexts[0]


@pytest.mark.parametrize(("y", "expected"), [(14.0, (3, 0)), (15.0, (0, 3))])
def test_mosaics_are_asked_for_the_upper_class(counting_set, mosaics_of, stub_counter, y, expected):
    counter = stub_counter(y=y)  # 2.jpg is the lower of the two images: 31 // 2 = 15 rows each
    table = mosaics_of(counter, draw_pairs(counting_set)[:1])
    assert counter.asked == [("1.jpg above 2.jpg", "a")]
    assert (table.loc[0, "upper"], table.loc[0, "lower"]) == expected


def test_mosaics_resume_cell_by_cell(counting_set, mosaics_of, tmp_path, stub_counter):
    recipes, journal = draw_pairs(counting_set), tmp_path / "mosaics.jsonl"
    mosaics_of(stub_counter(), recipes[:3])
    with journal.open("ab") as torn:
        torn.write(b'{"positive": "2.jpg", "neg')
    counter = stub_counter()
    table = mosaics_of(counter, recipes)
    assert len(counter.asked) == len(recipes) - 3
    assert table["positive"].tolist() == [r.positive for r in recipes]
    assert (table["status"] == "ok").all()
    lines = journal.read_text().splitlines()
    assert len([json.loads(line) for line in lines]) == len(recipes), "the torn line is gone"


def test_what_has_changed_is_asked_again(fsc147, counting_set, negatives, mosaics_of, stub_counter):
    """A file of an image, and true points, by which mosaics are measured tile by tile."""
    recipes = draw_pairs(counting_set)
    negatives(stub_counter())
    mosaics_of(stub_counter(), recipes)
    os.utime(fsc147 / "images_384_VarV2" / "1.jpg", ns=(0, 7))
    counter = stub_counter(lambda prompt, context: 8)
    table = negatives(counter).set_index(["image", "class"])["count"]
    assert counter.asked == [("1.jpg", name) for name in "abc"]
    assert table["1.jpg"].tolist() == [8, 8, 8] and table["2.jpg"].tolist() == [3, 3, 3]
    counter = stub_counter()
    mosaics_of(counter, recipes)
    assert len(counter.asked) == sum("1.jpg" in (r.positive, r.negative) for r in recipes)
    moved = [replace(i, points={i.category: i.points[i.category] + 5}) for i in counting_set.images]
    changed = [moved[0], *counting_set.images[1:]]
    counter = stub_counter()
    table = run_mosaic_test(
        PromptedCounter(counter),
        replace(counting_set, images=tuple(changed)),
        recipes,
        fsc147.parent,
    )
    assert {name.split()[0] for name, _ in counter.asked} == {changed[0].image_id}
    assert len(table) == len(recipes)
    changed[1] = replace(changed[1], size=(768, 1000))  # the frame that its points are in
    framed, counter = replace(counting_set, images=tuple(changed)), stub_counter()
    table = run_mosaic_test(PromptedCounter(counter), framed, recipes, fsc147.parent)
    assert {name.split()[0] for name, _ in counter.asked} == {changed[1].image_id}


def test_an_image_of_another_class_is_asked_about_again(
    counting_set, negatives, mosaics_of, tmp_path, stub_counter
):
    """Mosaics went on with the counts of the class that their upper image had before."""
    recipes = draw_pairs(counting_set)
    mosaics_of(stub_counter(), recipes)
    new = {"a": "z", "b": "b", "c": "c"}
    renamed = [
        replace(r, positive_class=new[r.positive_class], negative_class=new[r.negative_class])
        for r in recipes
    ]
    counter = stub_counter(lambda prompt, context: 8)
    table = mosaics_of(counter, renamed)
    assert [prompt for _, prompt in counter.asked] == ["z"] * 4
    assert table["upper"].tolist() == [8, 8, 3, 3, 3, 3, 8, 8]
    assert table["positive_class"].tolist() == [r.positive_class for r in renamed]
    assert table["negative_class"].tolist() == [r.negative_class for r in renamed]
    negatives(stub_counter(), reference=True)
    first, *others = counting_set.images
    changed = replace(
        counting_set, images=(replace(first, points={"c": first.points["a"]}), *others)
    )
    counter = stub_counter()
    run_negative_test(PromptedCounter(counter, reference=True), changed, tmp_path)
    assert counter.asked == [("1.jpg", name) for name in "abc"]


def test_counts_only_take_no_mosaics_and_an_unknown_class_ends_the_run(
    negatives, mosaics_of, stub_counter
):
    counter = stub_counter()
    counter.capabilities = frozenset({"count"})
    with pytest.raises(InputError, match="stub gives counts only"):
        mosaics_of(counter)

    def unknown(prompt, context):
        raise InputError("no category 'a'")

    with pytest.raises(InputError, match="no category"):
        negatives(stub_counter(unknown))


def test_an_unreadable_image_fails_its_cells_only(fsc147, negatives, mosaics_of, stub_counter):
    (fsc147 / "images_384_VarV2" / "2.jpg").write_bytes(b"nothing")
    table = negatives(stub_counter())
    assert table[table["count"].isna()]["image"].tolist() == ["2.jpg"] * 3
    mosaics = mosaics_of(stub_counter())
    failed = mosaics[mosaics["upper"].isna()]
    assert ((failed["positive"] == "2.jpg") | (failed["negative"] == "2.jpg")).all()
    assert len(failed) == 2 + 3, "2.jpg on top twice, below 1.jpg, 3.jpg and 4.jpg"


def test_density_maps_below_zero(mosaics_of):
    class Density:
        name, capabilities = "density", frozenset({"count", "density"})

        def count(self, image, prompt, context=None):
            return CountResult(1.0, density=np.array([[-2.0], [3.0]]))

    table = mosaics_of(Density())
    assert (table["upper"] == -2).all() and (table["lower"] == 3).all(), "clamped by the measures"


def test_two_models_do_not_share_a_folder():
    check_different_names(["a b", "a-b", "A_b"])
    with pytest.raises(InputError, match="a b, a/b came twice"):
        check_different_names(["a b", "c", "a/b"])


def test_other_settings_do_not_share_a_folder(tmp_path):
    for _ in range(2):
        check_same_run(tmp_path / "run.json", {"counter": "x", "thr": 0.3, "tuple": (1, 2)})
    with pytest.raises(InputError, match=r"thr: 0\.3, now 0\.5"):
        check_same_run(tmp_path / "run.json", {"counter": "x", "thr": 0.5, "tuple": (1, 2)})


VICTIM = """
import sys, time
from pathlib import Path
sys.path[:0] = {tests!r}
from conftest import StubCounter
from autoeval.counting.prompting import PromptedCounter
from autoeval.counting.praco.data import load_fsc147
from autoeval.counting.praco.mosaic_run import draw_pairs, run_mosaic_test

log = open({log!r}, "a")
def answer(prompt, context):
    if log.tell() == 3 * len("answered\\n"):
        print("in the fourth", flush=True)
        time.sleep(600)
    log.write("answered\\n"); log.flush()
    return 3

counting_set = load_fsc147({root!r})
counter = PromptedCounter(StubCounter(answer))
run_mosaic_test(counter, counting_set, draw_pairs(counting_set), Path({folder!r}))
"""


def test_a_kill_loses_at_most_the_cell_in_flight(fsc147, mosaics_of, tmp_path, stub_counter):
    log = tmp_path / "log"
    log.touch()
    tests = [str(Path(__file__).parents[k]) for k in (0, 2)]
    script = VICTIM.format(tests=tests, log=str(log), root=str(fsc147), folder=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "in the fourth\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = (tmp_path / "mosaics.jsonl").read_text().splitlines()
    assert len(log.read_text().split()) == len(kept) == 3
    rest = stub_counter()
    table = mosaics_of(rest)
    assert len(rest.asked) == 8 - 3 and (table["upper"] == 3).all()


def test_a_prompt_may_hold_other_braces():
    asked = []

    def note(image, prompt, context):
        asked.append((prompt, context["positive_class"]))
        return 1

    prompted = PromptedCounter(FunctionCounter(note), 'Count {}: {"count": N}', reference=True)
    request = CountRequest(np.zeros((2, 2, 3), np.uint8), ["cat"], "1.jpg", "dog")
    prompted.count([request])
    assert asked == [('Count cat: {"count": N}', 'Count dog: {"count": N}')]
