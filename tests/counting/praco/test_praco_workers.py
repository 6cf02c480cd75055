"""Counters asked by several threads and in batches: the same answers, and no two at once."""

from __future__ import annotations

import json
import random
import threading

import numpy as np
import pytest
from counting_files import edit_json

from autoeval.counting.counters import CountResult
from autoeval.counting.counters.adapters import TextCounter
from autoeval.counting.praco.data import load_fsc147, single_class
from autoeval.counting.praco.mosaic_run import (
    draw_pairs,
    read_pairs,
    run_mosaic_test,
    run_negative_test,
    write_pairs,
)
from autoeval.counting.prompting import CountRequest, CutOffAnswer, PromptedCounter
from autoeval.errors import InputError


class Careful:
    """Counts letters of the prompt and rows of the image; notices when two ask at once."""

    name, capabilities = "careful", frozenset({"count", "points"})

    def __init__(self):
        self.at_once, self.most, self.lock = 0, 0, threading.Lock()

    def count(self, image, prompt, context=None):
        with self.lock:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        points = np.zeros((len(prompt) + len(image) % 5, 2))
        with self.lock:
            self.at_once -= 1
        return CountResult(float(len(points)), points=points, context=context or {})


class Batched(Careful):
    """Takes several images, and keeps how many; fails on any batch with the image `bad`."""

    def __init__(self, bad=None):
        super().__init__()
        self.bad, self.sizes = bad, []

    def count_batch(self, images, prompts, contexts):
        self.sizes.append(len(images))
        if self.bad in [context["image_id"] for context in contexts]:
            raise RuntimeError("out of memory")
        return [
            [self.count(image, prompt, context) for prompt in of_image]
            for image, of_image, context in zip(images, prompts, contexts, strict=True)
        ]


def tables(fsc147, folder, prompted):
    counting_set = load_fsc147(fsc147)
    negative = run_negative_test(prompted, counting_set, folder)
    return negative, run_mosaic_test(prompted, counting_set, draw_pairs(counting_set), folder)


@pytest.mark.parametrize(("workers", "batch_size"), [(4, 8), (3, 2), (1, 3)])
@pytest.mark.parametrize("make", [Careful, Batched])
def test_tables_do_not_depend_on_workers_and_batches(fsc147, tmp_path, make, workers, batch_size):
    expected = tables(fsc147, tmp_path / "one", PromptedCounter(Careful(), batch_size=1))
    counter = make()
    prompted = PromptedCounter(counter, workers=workers, batch_size=batch_size)
    for found, alone in zip(tables(fsc147, tmp_path / "all", prompted), expected, strict=True):
        assert found.equals(alone)
    assert counter.most == 1, "it does not say that it is concurrent"
    if make is Batched:
        # Four images, then a mosaic of each with either of the other two classes.
        assert max(counter.sizes) == min(batch_size, 8)
    # What is kept is not asked again, whatever the number of workers.
    silent = Careful()
    tables(fsc147, tmp_path / "all", PromptedCounter(silent, workers=2))
    assert silent.most == 0


def test_a_batch_that_fails_is_asked_one_by_one():
    class Failing(Batched):
        def count(self, image, prompt, context=None):
            if context["image_id"] == self.bad:
                raise RuntimeError("too large")
            return super().count(image, prompt, context)

    image = np.zeros((4, 4, 3), np.uint8)
    requests = [CountRequest(image, ["car", "bicycle"], name, "car") for name in "abc"]
    answers = PromptedCounter(Failing(bad="b")).count(requests)
    assert [[r.count for r in found] for found in (answers[0], answers[2])] == [[7, 11]] * 2
    assert {r.status for r in answers[1]} == {"failed: RuntimeError: too large"}


def test_a_wrong_number_of_answers_is_named():
    class Short(Careful):
        def count_batch(self, images, prompts, contexts):
            return [[CountResult(1.0)]] * len(images)

    image = np.zeros((4, 4, 3), np.uint8)
    with pytest.raises(InputError, match="1 results for 2 prompts"):
        PromptedCounter(Short()).count([CountRequest(image, ["a", "b"], "x", "a")] * 2)


def test_concurrent_counters_are_asked_at_once():
    meeting = threading.Barrier(2, timeout=20)

    def ask(image, prompt):
        meeting.wait()
        return "4"

    ask.concurrent = True
    prompted = PromptedCounter(TextCounter(ask), workers=2)
    image = np.zeros((4, 4, 3), np.uint8)

    def work(names):
        return prompted.count([CountRequest(image, ["car"], names[0], "car")])[0][0].count

    assert list(prompted.parts(work, ["a", "b"])) == [4.0, 4.0]


SPLIT = ["1.jpg", "2.jpg", "3.jpg", "4.jpg"]


def by_the_authors_rule(class_file, classes, split):
    """`random.choice` among all lines of the class file with the class, image by image."""
    class_of = dict(line.split("\t") for line in class_file.read_text().splitlines())
    random.seed(123)
    return [
        (name, random.choice([key for key, value in class_of.items() if value == wanted]))
        for name in split
        for wanted in classes
        if wanted != class_of[name]
    ]


@pytest.fixture
def crowded(fsc147):
    """The class file holds, for every class of the split, images of no split."""
    class_file = fsc147 / "ImageClasses_FSC147.txt"
    unknown = [f"{90 + k}.jpg\t{'abc'[k % 3]}\n" for k in range(9)]
    elsewhere = "80.jpg\tnot of this split\n"
    class_file.write_text("".join(unknown[:4]) + class_file.read_text() + elsewhere)
    with class_file.open("a") as stream:
        stream.writelines(unknown[4:])
    return fsc147


def test_images_of_no_split_are_drawn_and_an_incomplete_one_moves_no_other_draw(crowded):
    expected = by_the_authors_rule(crowded / "ImageClasses_FSC147.txt", "abc", SPLIT)
    recipes = draw_pairs(single_class(load_fsc147(crowded)))
    assert [(r.positive, r.negative) for r in recipes] == expected
    assert {name for _, name in expected} - set(SPLIT), "some are of no split"
    edit_json(crowded / "annotation_FSC147_384.json", lambda points: points.pop("2.jpg"))
    recipes = draw_pairs(single_class(load_fsc147(crowded)))
    assert [(r.positive, r.negative) for r in recipes] == [p for p in expected if p[0] != "2.jpg"]


def test_pairs_with_strangers_are_kept_and_read(crowded, tmp_path):
    counting_set = load_fsc147(crowded)
    recipes = draw_pairs(counting_set, layout="paper")
    write_pairs(tmp_path / "pairs.csv", recipes)
    assert read_pairs(tmp_path / "pairs.csv", counting_set) == recipes
    (tmp_path / "pairs.csv").write_text(
        "positive,positive_class,negative,negative_class,layout\n1.jpg,a,91.jpg,c,released\n"
    )
    with pytest.raises(InputError, match=r"of another class: 91\.jpg"):
        read_pairs(tmp_path / "pairs.csv", counting_set)


def test_a_stranger_is_stacked_like_any_other_image(crowded, tmp_path, stub_counter):
    source = (crowded / "images_384_VarV2" / "3.jpg").read_bytes()
    for k in range(9):
        (crowded / "images_384_VarV2" / f"{90 + k}.jpg").write_bytes(source)
    counting_set = load_fsc147(crowded)
    recipes = draw_pairs(counting_set)
    table = run_mosaic_test(PromptedCounter(stub_counter()), counting_set, recipes, tmp_path)
    assert (table["status"] == "ok").all()
    assert [image.image_id for image in counting_set.images] == SPLIT, "unknown are not measured"


def test_no_image_file_is_needed_for_predictions(fsc147):
    for file in (fsc147 / "images_384_VarV2").iterdir():
        file.unlink()
    (fsc147 / "images_384_VarV2").rmdir()
    with pytest.raises(InputError, match="No image folder"):
        load_fsc147(fsc147)
    found = load_fsc147(fsc147, need_images=False)
    assert [image.image_id for image in found.images] == SPLIT and not found.warnings


def test_answers_in_words_are_kept_and_read_again_without_asking(fsc147, tmp_path):
    asked = []

    def ask(image, prompt):
        asked.append(prompt)
        return "There are twenty-one." if prompt == "a" else CutOffAnswer("Row 1 has 4, row 2")

    prompted = PromptedCounter(TextCounter(ask))
    counting_set = single_class(load_fsc147(fsc147))
    table = run_negative_test(prompted, counting_set, tmp_path)
    assert set(table["status"]) == {"ok", "skipped"} and len(asked) == 12
    journal = tmp_path / "negative.jsonl"
    cells = [json.loads(line) for line in journal.read_text().splitlines()]
    assert {cell["text"] for cell in cells} == {"There are twenty-one.", "Row 1 has 4, row 2"}
    # As an earlier version read it: the number in words was 20.
    old = [{**cell, "count": 20.0 if cell["count"] else None} for cell in cells]
    journal.write_text("".join(json.dumps(cell) + "\n" for cell in old))
    again = run_negative_test(prompted, counting_set, tmp_path)
    assert len(asked) == 12 and again["count"].dropna().unique().tolist() == [21]
    assert again["status"].tolist() == table["status"].tolist()
