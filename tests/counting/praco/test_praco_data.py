"""Reading FSC-147's layout and COCO files, and what is excluded from them."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from counting_files import edit_json, write_boxes

from autoeval.counting.praco.data import (
    NOT_ASKED,
    CocoPart,
    CountedImage,
    CountingSet,
    load_coco_classes,
    load_counting_set,
    load_fsc147,
    load_mucca,
    read_exclusions,
    single_class,
)
from autoeval.counting.praco.plus_plus import with_objects
from autoeval.counting.true_counts import ANNOTATIONS, read_truth
from autoeval.errors import InputError


def test_fsc147_with_and_without_the_order_of_classes(fsc147):
    counting_set = load_fsc147(fsc147, "test")
    assert [image.image_id for image in counting_set.images] == ["1.jpg", "2.jpg", "3.jpg", "4.jpg"]
    assert counting_set.classes == ("a", "b", "c")
    assert list(counting_set.pool.lower) == ["3.jpg", "1.jpg", "2.jpg", "4.jpg"], (
        "as in the class file"
    )
    assert counting_set.truth()["count"].tolist() == [10, 4, 5, 2]
    assert counting_set.truth()["category"].tolist() == ["a", "b", "c", "a"]
    assert counting_set.images[1].points["b"][3].tolist() == [3.5, 1.0]
    assert counting_set.warnings == ()
    (fsc147 / "Split_Classes_FSC147.json").unlink()
    assert load_fsc147(fsc147, "test").classes == ("c", "a", "b")


def test_the_frame_of_points_is_384_high_whatever_the_size_of_the_files(fsc147):
    """An original of 768 x 1000 is halved: its points are in 384 x 500."""
    stated = {"H": 768, "W": 1000, "ratio_h": 0.5, "ratio_w": 0.5}
    path = fsc147 / "annotation_FSC147_384.json"
    edit_json(path, lambda points: points["1.jpg"].update(stated))
    (fsc147 / "images_384_VarV2").rename(fsc147 / "images")
    first, second = load_fsc147(fsc147, "test").images[:2]
    assert first.size == (384, 500) and first.path.parent.name == "images"
    assert second.size is None, "no size is stated: that of the file"


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_annotations_of_any_name_are_the_same_for_all_commands(fsc147, name):
    path = fsc147 / "annotation_FSC147_384.json"
    edit_json(path, lambda points: points["1.jpg"].update({"H": 768, "W": 1000}))
    path.rename(fsc147 / name)
    truth, image = read_truth(fsc147), load_fsc147(fsc147, "test").images[0]
    assert truth.images["1.jpg"].size == image.size == (384, 500)
    assert truth.counts["1.jpg"] == image.count == 10


def test_incomplete_images_are_named(fsc147):
    (fsc147 / "images_384_VarV2" / "2.jpg").unlink()
    edit_json(fsc147 / "annotation_FSC147_384.json", lambda points: points.pop("3.jpg"))
    counting_set = load_fsc147(fsc147, "test")
    assert [image.image_id for image in counting_set.images] == ["1.jpg", "4.jpg"]
    assert counting_set.warnings[0] == "images of the split without annotation: 1 (3.jpg)"
    assert counting_set.warnings[1].endswith("images_384_VarV2: 1 (2.jpg)")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("Train_Test_Val_FSC_147.json", '{"train": []}', "has no split 'test': it has train"),
        ("Train_Test_Val_FSC_147.json", '{"test": ["1.jpg", "1.jpg"]}', "more than once"),
        ("Train_Test_Val_FSC_147.json", '{"test": ["9.jpg"]}', "No image of the split is complete"),
        ("ImageClasses_FSC147.txt", "1.jpg a\n", "not so: lines 1"),
        ("ImageClasses_FSC147.txt", "", "the file is empty"),
        ("annotation_FSC147_384.json", '{"1.jpg": {}}', "no field 'points'"),
        ("annotation_FSC147_384.json", "{", "is not a JSON file"),
        ("Split_Classes_FSC147.json", '{"test": ["a", "b"]}', "does not list for it: c"),
    ],
)
def test_malformed_files(fsc147, name, content, message):
    (fsc147 / name).write_text(content)
    with pytest.raises(InputError, match=message):
        load_fsc147(fsc147, "test")


@pytest.mark.parametrize("name", ["Train_Test_Val_FSC_147.json", "ImageClasses_FSC147.txt"])
def test_missing_files(fsc147, name):
    (fsc147 / name).unlink()
    with pytest.raises(InputError, match=name):
        load_fsc147(fsc147, "test")


def test_an_image_of_two_classes_is_refused_and_odd_points_are_named(fsc147):
    path = fsc147 / "ImageClasses_FSC147.txt"
    lines = path.read_text()
    path.write_text(f"{lines}1.jpg\ta\n")  # the same again says nothing new
    assert load_fsc147(fsc147).warnings == ()
    path.write_text(f"{lines}1.jpg\tb\n")
    with pytest.raises(InputError, match=r"1 images two classes \(1\.jpg; 1\.jpg: a and b\)"):
        load_fsc147(fsc147)
    path.write_text(lines)
    annotation = fsc147 / "annotation_FSC147_384.json"
    edit_json(annotation, lambda points: points["1.jpg"]["points"].append([0.5, 1.0]))
    assert load_fsc147(fsc147).warnings == ("1 true points are given twice, in 1 images: 1.jpg",)


def test_a_byte_order_mark_is_no_part_of_the_first_name(fsc147, tmp_path):
    path = fsc147 / "ImageClasses_FSC147.txt"
    path.write_text(path.read_text(), encoding="utf-8-sig")
    assert len(load_fsc147(fsc147).images) == 4
    (tmp_path / "multi.txt").write_text("1.jpg\n2.jpg\n", encoding="utf-8-sig")
    assert read_exclusions(tmp_path / "multi.txt") == ["1.jpg", "2.jpg"]


def test_a_name_of_several_images_excludes_none_and_is_named():
    points = {"a": np.zeros((1, 2))}
    images = tuple(CountedImage(n, Path(n), points) for n in ("x/1.jpg", "y/1.jpg", "y/2.jpg"))
    counting_set = CountingSet("all", ("a", "b"), images).exclude(["1", "2"])
    assert set(counting_set.excluded) == {"y/2.jpg"}
    assert counting_set.warnings == ("names of several images, of which none was excluded: 1 (1)",)
    assert set(counting_set.exclude(["x/1.jpg"]).excluded) == {"y/2.jpg", "x/1.jpg"}


def test_exclusion_lists_and_images_without_objects(fsc147, tmp_path):
    listed = tmp_path / "multi.txt"
    listed.write_text("# several classes\n2\n4.jpg  # seen\n\n99\n")
    counting_set = single_class(load_fsc147(fsc147)).exclude(read_exclusions(listed))
    assert [image.image_id for image in counting_set.kept] == ["1.jpg", "3.jpg"]
    assert set(counting_set.excluded) == {"2.jpg", "4.jpg"}
    assert counting_set.warnings == ("excluded images that the set does not have: 1 (99)",)
    listed.write_text("3#1.jpg # another image, not 3.jpg\n")
    assert read_exclusions(listed) == ["3#1.jpg"]
    with pytest.raises(InputError, match="Cannot read the exclusion list"):
        read_exclusions(tmp_path / "none.txt")
    path = fsc147 / "annotation_FSC147_384.json"
    edit_json(path, lambda points: points["3.jpg"].update(points=[]))
    counting_set = single_class(load_fsc147(fsc147))
    assert counting_set.excluded == {"3.jpg": "no object: its true count is 0"}
    assert "3.jpg" not in counting_set.truth().index


def write_coco(folder, boxes):
    """`boxes`: (file name, category, xywh, crowd)."""
    (folder / "images").mkdir(parents=True)
    names = ["one.png", "two.png", "both.png", "none.png"]
    for name in names:
        cv2.imwrite(str(folder / "images" / name), np.zeros((20, 30, 3), np.uint8))
    categories = ["car", "bus", "dog"]
    path = write_boxes(folder / "annotations.json", names, categories, boxes, size=(20, 30))
    return CocoPart(path, folder / "images", "part")


BOXES = [
    ("one.png", "car", [0, 0, 10, 4], 0),
    ("one.png", "bus", [10, 10, 2, 2], 0),
    ("two.png", "dog", [1, 1, 1, 1], 0),
    ("both.png", "dog", [1, 1, 1, 1], 0),
    ("both.png", "car", [1, 1, 1, 1], 0),
]


def test_coco_images_of_one_class(tmp_path):
    part = write_coco(tmp_path, BOXES)
    mapping = {"car": "vehicle", "bus": "vehicle", "dog": "dog"}
    part = CocoPart(part.ann_file, part.img_dir, "part", mapping)
    counting_set = load_coco_classes([part], name="mine", prompt_only=["zebra"])
    assert counting_set.classes == ("vehicle", "dog", "zebra")
    assert counting_set.class_counts().to_numpy().tolist() == [
        [2, 0, 0],
        [0, 1, 0],
        [1, 1, 0],
        [0, 0, 0],
    ]
    single = single_class(counting_set)
    assert [image.image_id for image in single.kept] == ["part/one.png", "part/two.png"]
    assert single.images[0].points["vehicle"].tolist() == [[5, 2], [11, 11]]
    assert single.warnings == (
        "images of several classes, left out: 1 (part/both.png)",
        "images without objects, left out: 1 (part/none.png)",
    )
    part = CocoPart(part.ann_file, part.img_dir, "", {"car": "vehicle", "dog": "dog"})
    single = single_class(load_coco_classes([part]))
    assert [image.image_id for image in single.kept] == ["two.png"], "one.png holds a bus, too"


def test_an_image_of_a_class_that_nobody_asks_for_is_not_measured(tmp_path):
    part = write_coco(
        tmp_path, [("one.png", "car", [0, 0, 9, 4]), ("two.png", "bus", [0, 0, 9, 4])]
    )
    part = CocoPart(part.ann_file, part.img_dir, mapping={"car": "car", "dog": "dog"})
    counting_set = load_coco_classes([part])
    for chosen in (single_class(counting_set), with_objects(counting_set)):
        assert [image.image_id for image in chosen.kept] == ["one.png"]
        assert chosen.excluded["two.png"] == NOT_ASKED


def test_a_crowd_a_missing_image_and_wrong_options_are_named(tmp_path):
    part = write_coco(tmp_path, [*BOXES, ("two.png", "dog", [1, 1, 1, 1], 1)])
    (tmp_path / "images" / "one.png").unlink()
    counting_set = load_coco_classes([part])
    assert [image.image_id for image in counting_set.images] == ["part/both.png", "part/none.png"]
    assert "left out: 1 (one.png)" in counting_set.warnings[0]
    assert counting_set.warnings[1] == "images with a crowd box, left out: 1 (two.png)"
    with pytest.raises(InputError, match="names cat, but the file has car, bus, dog"):
        load_coco_classes([CocoPart(part.ann_file, part.img_dir, "", {"cat": "cat"})])
    with pytest.raises(InputError, match=r"has no images x\.png"):
        load_coco_classes([CocoPart(part.ann_file, part.img_dir, keep=["x.png"])])
    only_dogs = CocoPart(part.ann_file, part.img_dir, keep=["none.png"])
    with pytest.raises(InputError, match="needs images of one class each"):
        single_class(load_coco_classes([only_dogs]))


def test_images_of_two_parts_that_have_one_name_are_refused(tmp_path):
    write_boxes(tmp_path / "x.json", ["1.jpg"], ["a", "b"], [("1.jpg", "a", [0, 0, 2, 2])])
    write_boxes(tmp_path / "y.json", ["1.jpg"], ["a", "b"], [("1.jpg", "b", [0, 0, 2, 2])])
    parts = [CocoPart(tmp_path / name, tmp_path) for name in ("x.json", "y.json")]
    with pytest.raises(InputError, match=r"1 images of .* \(1\.jpg\)"):
        load_coco_classes(parts, need_images=False)
    parts = [CocoPart(tmp_path / f"{n}.json", tmp_path, name=n) for n in "xy"]
    images = load_coco_classes(parts, need_images=False).images
    assert [(im.image_id, im.category) for im in images] == [("x/1.jpg", "a"), ("y/1.jpg", "b")]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("prompt_onli = ['horse']; parts = []", "prompt_onli"),
        ("parts = [dict(ann_file='a.json', img_dir='.', keeps=['1.jpg'])]", "keeps"),
    ],
)
def test_keys_of_a_config_that_nothing_reads_are_refused(tmp_path, text, key):
    (tmp_path / "set.py").write_text(f"name = 'x'; {text}")
    with pytest.raises(InputError, match=f"has '{key}', .*did you mean '{key[:-1]}"):
        load_counting_set(tmp_path / "set.py", data_root=tmp_path)


def test_the_shipped_config_of_photographs(shared):
    """51 pictures of vehicles, 76 of people, and ten classes that are in none."""
    config = Path(__file__).resolve().parents[3] / "configs/counting/praco/vehicle_person.py"
    counting_set = single_class(load_counting_set(config, data_root=shared / "real"))
    assert counting_set.warnings == () and not counting_set.excluded
    assert counting_set.truth()["category"].value_counts().to_dict() == {
        "person": 76,
        "vehicle": 51,
    }
    assert len(counting_set.classes) == 12 and counting_set.classes[:2] == ("vehicle", "person")


COUNTS = {
    "mcac_1.jpg": {"plates": 1, "bowls": 2, "cups": 0},
    "mcac_2.jpg": {"plates": 1, "bowls": 0, "cups": 1},
}
POINTS = {
    "mcac_1.jpg": {
        "H": 699,
        "W": 894,
        "points": [[215.4, 234.7], [172.2, 365.8], [464.1, 309.6]],
        "classes": [0, 1, 1],
    },
    "mcac_2.jpg": {"H": 575, "W": 626, "points": [[208.5, 64.4], [200, 100]], "classes": [2, 0]},
}


@pytest.fixture
def mucca(tmp_path):
    write(tmp_path, "multiclass_class_counts_per_image.json", COUNTS)
    write(tmp_path, "annotations.json", POINTS)
    return tmp_path


def write(root, name, content):
    (root / name).write_text(json.dumps(content))


def test_released_files(mucca):
    counting_set = load_counting_set(mucca, need_images=False)
    assert counting_set.classes == ("plates", "bowls", "cups") and counting_set.name == "test"
    assert counting_set.class_counts().to_numpy().tolist() == [[1, 2, 0], [1, 0, 1]]
    first = counting_set.images[0]
    assert first.points["bowls"].tolist() == [[172.2, 365.8], [464.1, 309.6]]
    assert first.size == (384, 491), "384 x 894 / 699 pixels wide"
    with pytest.raises(InputError, match="2 no file in images/"):
        load_counting_set(mucca)


def test_split_and_class_files_where_they_are(mucca):
    every = load_mucca(mucca, need_images=False)
    for name in ("images", "classes"):
        write(mucca, f"multiclass_split_{name}.json", {"test": []})
    counting_set = load_mucca(mucca, need_images=False)
    assert (
        counting_set.classes == every.classes and len(counting_set.images) == len(every.images) == 2
    )
    write(mucca, "multiclass_split_images.json", {"test": ["mcac_2.jpg"]})
    write(mucca, "multiclass_split_classes.json", {"test": ["cups", "plates", "bowls"]})
    write(mucca, "class_mapping.json", {"0": "cups", "1": "bowls", "2": "plates"})
    counting_set = load_mucca(mucca, need_images=False)
    assert [image.image_id for image in counting_set.images] == ["mcac_2.jpg"]
    assert counting_set.classes == ("cups", "plates", "bowls")
    assert counting_set.images[0].points["plates"].tolist() == [[208.5, 64.4]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": [0, 1]}, "3 points and 2 classes"),
        ({"classes": [0, 1, 9]}, "mcac_1.jpg is malformed: KeyError"),
        ({"classes": [0, 0, 1]}, "says {'plates': 1, 'bowls': 2} for mcac_1.jpg, but"),
        ({"H": 0}, "ZeroDivisionError"),
    ],
)
def test_contradictions_are_told(mucca, change, message):
    points = {**POINTS, "mcac_1.jpg": {**POINTS["mcac_1.jpg"], **change}}
    write(mucca, "annotations.json", points)
    with pytest.raises(InputError, match=message):
        load_mucca(mucca, need_images=False)


def test_released_files_in_part(mucca):
    write(mucca, "annotations.json", {"mcac_1.jpg": POINTS["mcac_1.jpg"]})
    assert load_mucca(mucca, need_images=False).warnings == (
        "images without points or counts: 1 (mcac_2.jpg)",
    )
    from autoeval.counting.praco.plus_plus import tiles_on_file

    folder = mucca / "density_maps"
    folder.mkdir()
    np.save(folder / "mcac_1_bowls.npy", np.zeros(5))
    with pytest.raises(InputError, match=r"expected a map \(H, W\) of numbers, got \(5,\)"):
        tiles_on_file(folder, load_mucca(mucca, need_images=False), 1)
