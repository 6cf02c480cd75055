"""Mosaics draw from the whole class file, images of no split included."""

import json
import random

import pytest

from autoeval.counting.praco.data import single_class
from autoeval.counting.praco.mosaic_run import draw_pairs, read_pairs, run_mosaic_test, write_pairs
from autoeval.counting.praco.published_sets import load_fsc147
from autoeval.errors import InputError

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
    strangers = [f"{90 + k}.jpg\t{'abc'[k % 3]}\n" for k in range(9)]
    elsewhere = "80.jpg\tnot of this split\n"
    class_file.write_text("".join(strangers[:4]) + class_file.read_text() + elsewhere)
    with class_file.open("a") as stream:
        stream.writelines(strangers[4:])
    return fsc147


def test_images_of_no_split_are_drawn(crowded):
    expected = by_the_authors_rule(crowded / "ImageClasses_FSC147.txt", "abc", SPLIT)
    recipes = draw_pairs(single_class(load_fsc147(crowded)))
    assert [(r.positive, r.negative) for r in recipes] == expected
    assert {name for _, name in expected} - set(SPLIT), "some are of no split"


def test_an_incomplete_image_moves_no_other_draw(crowded):
    expected = by_the_authors_rule(crowded / "ImageClasses_FSC147.txt", "abc", SPLIT)
    annotation = json.loads((crowded / "annotation_FSC147_384.json").read_text())
    del annotation["2.jpg"]
    (crowded / "annotation_FSC147_384.json").write_text(json.dumps(annotation))
    recipes = draw_pairs(single_class(load_fsc147(crowded)))
    assert [(r.positive, r.negative) for r in recipes] == [p for p in expected if p[0] != "2.jpg"]


def test_pairs_with_strangers_are_kept_and_read(crowded, tmp_path):
    counting_set = load_fsc147(crowded)
    recipes = draw_pairs(counting_set)
    write_pairs(tmp_path / "pairs.csv", recipes)
    assert read_pairs(tmp_path / "pairs.csv", counting_set) == recipes
    (tmp_path / "pairs.csv").write_text(
        "positive,positive_class,negative,negative_class,layout\n1.jpg,a,91.jpg,c,released\n"
    )
    with pytest.raises(InputError, match=r"of another class: 91\.jpg"):
        read_pairs(tmp_path / "pairs.csv", counting_set)


def test_a_stranger_is_stacked_like_any_other_image(crowded, tmp_path, stub_counter):
    from autoeval.counting.journal import CellJournal
    from autoeval.counting.praco.mosaic_run import KEY
    from autoeval.counting.prompting import PromptedCounter

    source = (crowded / "images_384_VarV2" / "3.jpg").read_bytes()
    for k in range(9):
        (crowded / "images_384_VarV2" / f"{90 + k}.jpg").write_bytes(source)
    counting_set = load_fsc147(crowded)
    recipes = draw_pairs(counting_set)
    journal = CellJournal(tmp_path / "m.jsonl", KEY)
    table = run_mosaic_test(PromptedCounter(stub_counter()), counting_set, recipes, journal)
    assert (table["status"] == "ok").all()
    assert [image.image_id for image in counting_set.images] == SPLIT, "strangers are not measured"


def test_no_image_file_is_needed_for_predictions(fsc147):
    for file in (fsc147 / "images_384_VarV2").iterdir():
        file.unlink()
    (fsc147 / "images_384_VarV2").rmdir()
    with pytest.raises(InputError, match="No image folder"):
        load_fsc147(fsc147)
    found = load_fsc147(fsc147, need_images=False)
    assert [image.image_id for image in found.images] == SPLIT and not found.problems
