"""Environments on disk: valid COCO, resumable, the same whatever the way there."""

import json
import re
from pathlib import Path

import cv2
import numpy as np
import pytest
from pycocotools.coco import COCO

from autoeval.io.tasks.seed_set import load_seed_set
from autoeval.roadworld import dataset, make_picture, write_environment
from autoeval.roadworld.environments_task import render_environments


def contents(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def street(tmp_path_factory):
    return write_environment(tmp_path_factory.mktemp("world"), "day_street", 4, seed=9)


def test_annotations_are_those_of_the_pictures(street):
    coco = COCO(street / "annotations.json")
    assert [category["name"] for category in coco.loadCats(coco.getCatIds())] == ["vehicle"]
    assert len(coco.imgs) == 4
    for index, image in coco.imgs.items():
        picture = make_picture("day_street", index, seed=9)
        rows = coco.loadAnns(coco.getAnnIds(index))
        boxes = np.array([row["bbox"] for row in rows]).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        assert boxes == pytest.approx(picture.boxes, abs=0.02)
        assert all(
            row["area"] == pytest.approx(row["bbox"][2] * row["bbox"][3], abs=0.01) for row in rows
        )
        stored = cv2.imread(str(street / "images" / image["file_name"]))
        assert stored.shape == (image["height"], image["width"], 3)
        assert np.abs(stored.astype(int) - picture.image).mean() < 3  # JPEG
    files = (street / "annotations.json", street / "images")
    assert load_seed_set("day_street", *files, ["vehicle"]).warnings == ()


def test_more_images_keep_the_first(street, tmp_path):
    write_environment(tmp_path, "day_street", 2, seed=9)
    write_environment(tmp_path, "day_street", 4, seed=9)
    assert contents(tmp_path / "day_street") == contents(street)


def test_fewer_images_are_all_that_a_folder_holds(tmp_path):
    """Images of more, of another seed, would be estimated beside those of the labels."""
    render_environments(tmp_path, 3, seed=1, names=["fog"])
    (tmp_path / "fog/images/mine.jpg").touch()
    render_environments(tmp_path, 2, seed=0, names=["fog"])
    names = sorted(path.name for path in (tmp_path / "fog" / "images").iterdir())
    assert names == ["00000.jpg", "00001.jpg", "mine.jpg"]


def test_an_interrupted_run_goes_on(street, tmp_path, monkeypatch):
    made = []

    def falter(name, index, *, seed):
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(index)
        return make_picture(name, index, seed=seed)

    monkeypatch.setattr(dataset, "make_picture", falter)
    with pytest.raises(KeyboardInterrupt):
        write_environment(tmp_path, "day_street", 4, seed=9)
    journal = tmp_path / "day_street" / "annotations.partial.jsonl"
    with journal.open("a") as lines:
        lines.write('{"made": {"envi')  # the kill came in the middle of a line
    made.clear()
    write_environment(tmp_path, "day_street", 4, seed=9)
    assert made == [2, 3]
    assert contents(tmp_path / "day_street") == contents(street)


def test_images_of_another_seed_that_was_stopped_are_not_kept(street, tmp_path, monkeypatch):
    """Half of the files are of the other seed: its labels are not those of the first."""
    write_environment(tmp_path, "day_street", 4, seed=9)

    def falter(name, index, *, seed):
        if index == 2:
            raise KeyboardInterrupt
        return make_picture(name, index, seed=seed)

    with monkeypatch.context() as faltering:
        faltering.setattr(dataset, "make_picture", falter)
        with pytest.raises(KeyboardInterrupt):
            write_environment(tmp_path, "day_street", 4, seed=1)
    write_environment(tmp_path, "day_street", 4, seed=9)
    assert contents(tmp_path / "day_street") == contents(street)


def test_nothing_is_rendered_twice(street, monkeypatch):
    monkeypatch.setattr(dataset, "make_picture", None)
    before = contents(street)
    write_environment(street.parent, "day_street", 4, seed=9)
    assert contents(street) == before


@pytest.mark.parametrize("what", ["seed", "renderer"])
def test_images_of_another_seed_or_renderer_are_not_reused(what, tmp_path, monkeypatch):
    write_environment(tmp_path, "fog", 1, seed=0)
    first = contents(tmp_path / "fog")
    if what == "renderer":
        monkeypatch.setattr(dataset, "renderer_digest", lambda: "another")
        monkeypatch.setattr(
            dataset, "make_picture", lambda name, index, *, seed: make_picture(name, 7, seed=seed)
        )
    write_environment(tmp_path, "fog", 1, seed=1 if what == "seed" else 0)
    second = contents(tmp_path / "fog")
    assert first["images/00000.jpg"] != second["images/00000.jpg"]
    infos = [json.loads(of["annotations.json"])["info"] for of in (first, second)]
    assert infos[0] != infos[1]


def test_the_hash_of_the_renderer_is_of_the_modules_that_draw():
    folder, drawing, left = Path(dataset.__file__).parent, set(), {"dataset"}
    while left:
        name = left.pop()
        drawing.add(name)
        source = (folder / f"{name}.py").read_text()
        imported = re.findall(r"from autoeval\.roadworld\.(\w+) import", source)
        imported += re.findall(r"from autoeval\.roadworld import (\w+)", source)
        left |= {*imported} - drawing
    assert {path.stem for path in folder.glob("*.py")} - dataset.NO_PIXELS == drawing
