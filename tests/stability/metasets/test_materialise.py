import json
import os
from dataclasses import replace

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from autoeval.errors import InputError
from autoeval.io.tasks.seed_set import load_seed_set
from autoeval.runtime.files import write_figure
from autoeval.stability.fitting.materialise import contact_sheet, materialise
from autoeval.stability.metasets.recipe import MetaSetConfig, SampleSet, draw_recipes, own_images

pytestmark = pytest.mark.usefixtures("drawn")

BOXES = [(1, "car", 2, 2, 6, 6), (1, "person", 20, 10, 20, 20, 1), (3, "car", 30, 20, 9, 9)]
SAME = {"car": "car", "person": "person"}


@pytest.fixture
def street(make_coco):
    return load_seed_set("street", *make_coco(BOXES), tuple(SAME), SAME)


@pytest.fixture
def sample_set(street):
    (recipe,) = draw_recipes(
        street, MetaSetConfig(n_sets=1, transforms=("Rotate", "Brightness"), n_transforms=2)
    )
    return SampleSet(street, recipe)


def test_what_is_written_reads_back_the_same(sample_set, tmp_path):
    assert materialise(sample_set, tmp_path / "out") == ()
    ann_file = tmp_path / "out" / "annotations.json"
    coco = COCO(str(ann_file))
    assert len(coco.getImgIds()) == 3
    assert len(coco.getAnnIds()) == sum(len(sample.boxes) for sample in sample_set)
    written = load_seed_set("again", ann_file, tmp_path / "out", tuple(SAME), SAME)
    assert written.warnings == ()
    again = SampleSet(written, own_images(written))
    for old, new in zip(sample_set, again, strict=True):
        assert old.image_id == new.image_id
        np.testing.assert_array_equal(old.image, new.image)
        np.testing.assert_allclose(old.boxes, new.boxes, atol=1e-9)
        assert old.labels.tolist() == new.labels.tolist()
        assert old.iscrowd.tolist() == new.iscrowd.tolist()


def test_ids_may_be_longer_than_names_of_files(street, tmp_path):
    """Each Japanese sign takes nine characters of a quoted name, of which file systems take 255."""
    folder = "交差点の監視カメラ/二〇二四年一月の画像/" * 2
    images = tuple(replace(image, image_id=f"{folder}{k}") for k, image in enumerate(street.images))
    named = replace(street, images=images)
    materialise(SampleSet(named, own_images(named)), tmp_path / "out")
    written = load_seed_set("b", tmp_path / "out" / "annotations.json", tmp_path / "out", ["car"])
    assert [image.image_id for image in written.images] == [image.image_id for image in images]
    assert len({image.path for image in written.images}) == len(images)


@pytest.mark.parametrize(
    ("ids", "written"),
    [(("7", "9", "10"), [7, 9, 10]), (("7", "07", "gate"), ["7", "07", "gate"])],
)
def test_ids_are_of_one_kind_as_pycocotools_sorts_them(street, tmp_path, ids, written):
    images = tuple(
        replace(image, image_id=name) for image, name in zip(street.images, ids, strict=True)
    )
    named = replace(street, images=images)
    materialise(SampleSet(named, own_images(named)), tmp_path)
    ann_file = tmp_path / "annotations.json"
    truth = COCO(str(ann_file))
    evaluation = COCOeval(truth, COCO(str(ann_file)), "bbox")
    assert evaluation.params.imgIds == sorted(written)
    assert [image["id"] for image in json.loads(ann_file.read_text())["images"]] == written


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_interrupted_run_goes_on(sample_set, tmp_path):
    materialise(sample_set, tmp_path / "whole")
    expected = content(tmp_path / "whole")
    (tmp_path / "part").mkdir()
    # The image was written, and its file has changed before the command is given again.
    (tmp_path / "part" / "1.png").write_bytes(expected["3.png"])
    materialise(sample_set, tmp_path / "part")
    assert content(tmp_path / "part") == expected
    (tmp_path / "part" / "2.png").unlink()  # annotations are there: nothing is done again
    materialise(sample_set, tmp_path / "part")
    assert "2.png" not in content(tmp_path / "part")


def test_a_changed_seed_set_is_made_again(street, sample_set, tmp_path):
    """With the same recipe: other words of categories, then other pixels under the same size."""
    materialise(sample_set, tmp_path / "out")
    renamed = replace(street, categories=("vehicle", "person"))
    materialise(SampleSet(renamed, sample_set.recipe), tmp_path / "out")
    made = content(tmp_path / "out")
    document = json.loads(made["annotations.json"])
    assert [category["name"] for category in document["categories"]] == ["vehicle", "person"]
    path = street.images[0].path
    path.write_bytes(street.images[1].path.read_bytes())
    os.utime(path, ns=(7, 7))
    materialise(SampleSet(renamed, sample_set.recipe), tmp_path / "out")
    again = content(tmp_path / "out")
    assert again["1.png"] != made["1.png"] and again["3.png"] == made["3.png"]


def test_unreadable_images_are_left_out_and_named_each_time_and_one_must_be_left(street, tmp_path):
    street.images[1].path.write_bytes(b"no image")
    sample_set = SampleSet(street, own_images(street))
    for _ in range(2):
        (warning,) = materialise(sample_set, tmp_path)
        assert "2.png: not an image" in warning
    document = json.loads((tmp_path / "annotations.json").read_text())
    assert [image["id"] for image in document["images"]] == [1, 3]
    for record in street.images:
        record.path.write_bytes(b"")
    with pytest.raises(InputError, match=r"No image of out can be read.*1\.png.*empty"):
        materialise(SampleSet(street, own_images(street)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_contact_sheet_shows_every_seed_set_its_recipes_and_unreadable_images(street, tmp_path):
    recipes = draw_recipes(street, MetaSetConfig(n_sets=3))
    figure = contact_sheet([street, street], [recipes, recipes], n_columns=2)
    titles = [axis.get_title() for axis in figure.axes]
    assert len(titles) == 2 * 3
    assert titles[0] == "street\n3 images"
    assert titles[1] == "\n".join(map(str, recipes[0].steps))
    picture = figure.axes[0].images[0].get_array()
    assert (picture == np.array([255, 220, 0])).all(-1).sum() > 50  # the outline of a box
    write_figure(tmp_path / "sheet.png", figure)
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")
    street.images[0].path.write_bytes(b"")
    figure = contact_sheet([street], [recipes])
    assert figure.axes[0].texts[0].get_text() == "unreadable:\n1.png"
