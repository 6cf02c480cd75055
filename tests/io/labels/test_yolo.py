import json
import re

import numpy as np
import pytest

from autoeval.errors import InputError
from autoeval.io.image_identity import Named, match_images, split_of
from autoeval.io.image_lists import image_path
from autoeval.io.labels.any_format import load_labels
from autoeval.io.labels.content import held_out_of_training
from autoeval.io.predictions import read_predictions

IMAGE = None
A = "images/a.png"
BOX = "0 0.5 0.5 0.25 0.5\n"  # in 40 x 20: 10 wide, 10 high, centre (20, 10)
NAMES = "names: [car, person]\n"


def boxes_of(labels):
    return [(box.image_id, box.category, *box.xywh) for box in labels.boxes]


def test_boxes_are_shares_of_the_image(write):
    text = BOX + "1 0.1 0.2 0.2 0.4"
    labels = load_labels(write({A: IMAGE, "labels/a.txt": text, "data.yaml": NAMES}))
    assert labels.categories == ("car", "person") and labels.warnings == ()
    assert labels.lists_categories
    assert boxes_of(labels) == [
        ("images/a.png", "car", 15, 5, 10, 10),
        ("images/a.png", "person", 0, 0, 8, 8),
    ]
    (image,) = labels.images
    assert image.size == (20, 40) and (labels.img_dir / image.file_name).is_file()


def test_a_missing_file_is_unlabelled_and_an_empty_one_holds_no_object(write):
    images = {f"images/{name}.png": IMAGE for name in "abc"}
    labels = load_labels(write({**images, "labels/a.txt": BOX, "labels/b.txt": ""}) / "labels")
    assert [image.image_id for image in labels.images] == ["a.png", "b.png"]
    assert labels.unlabelled == ("c.png",) and len(labels.boxes) == 1


@pytest.mark.parametrize(
    ("images", "texts", "path", "img_dir"),
    [
        ("images/val/a.png", "labels/val/a.txt", "labels/val", None),  # Ultralytics
        ("train/images/a.png", "train/labels/a.txt", ".", None),  # Roboflow
        ("obj_train_data/a.png", "obj_train_data/a.txt", ".", None),  # CVAT "YOLO 1.1"
        ("images/a.png", "labels/a.txt", ".", None),  # Label Studio
        ("images/a.png", "export/labels/a1b2c3d4-a.txt", "export", "images"),  # its labels alone
        ("images/a b.png", "export/labels/a1b2c3d4-a_b.txt", "export", "images"),
        ("photos/x/a.png", "words/x/a.txt", "words", "photos"),
        ("images/x/a.png", "images/labels/x/a.txt", "images/labels", "images"),
    ],
)
def test_finds_the_label_of_an_image_in_the_usual_layouts(write, images, texts, path, img_dir):
    folder = write({images: IMAGE, texts: BOX, "data.yaml": NAMES})
    labels = load_labels(folder / path, img_dir and folder / img_dir)
    assert len(labels.images) == 1 and not labels.unlabelled
    assert [box.category for box in labels.boxes] == ["car"]


@pytest.mark.parametrize("folders", [("cam1", "cam2"), ("val", "train")])
def test_a_label_file_of_another_folder_is_of_none_of_its_images(write, folders):
    """1.png has no labels yet, and the labels of 1.png in the other folder were its own."""
    here, there = folders
    images = {f"images/{here}/{k}.png": IMAGE for k in range(2)}
    texts = {f"labels/{name}.txt": BOX for name in (f"{here}/0", f"{there}/0", f"{there}/1")}
    labels = load_labels(write({**images, **texts, "data.yaml": NAMES}) / "labels")
    assert [image.image_id for image in labels.images] == [f"{here}/0.png"]
    assert labels.unlabelled == (f"{here}/1.png",)


def test_an_image_that_was_uploaded_twice_is_not_taken_for_either(write):
    texts = {"labels/a1b2c3d4-a.txt": BOX, "labels/00000000-a.txt": "", "labels/b.txt": BOX}
    folder = write({"images/a.png": IMAGE, "images/b.png": IMAGE, **texts, "classes.txt": "car"})
    labels = load_labels(folder)
    assert [image.image_id for image in labels.images] == ["images/b.png"]
    assert labels.unlabelled == ("images/a.png",)
    assert "label files without an image: 2" in labels.warnings[0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.yaml", "names: [car]"),
        ("data.yaml", "names:\n  0: car"),
        ("DATA.YAML", "names: [car]"),
        ("data.Yml", "names: [car]"),
        ("classes.txt", "car\nperson\n"),
        ("obj.names", "car\n"),
        ("labels/names.txt", "car\n"),
    ],
)
def test_names_of_the_classes(write, name, content):
    folder = write({"images/a.png": IMAGE, "labels/a.txt": BOX, name: content})
    labels = load_labels(folder / "labels")
    assert labels.boxes[0].category == "car" and labels.warnings == ()
    if name.startswith(("data", "DATA")):
        assert load_labels(folder / name).boxes[0].category == "car"


@pytest.mark.parametrize(
    ("encoding", "word"),
    [("latin-1", "cami\N{REPLACEMENT CHARACTER}n"), ("utf-16", "camión")],
)
def test_names_in_another_encoding_are_those_that_predictions_beside_such_a_list_have(
    write, encoding, word
):
    """UTF-16 is what PowerShell writes."""
    folder = write({A: IMAGE, "labels/a.txt": BOX, "found/a.txt": f"{BOX.strip()} .9"})
    for place in ("labels", "found"):
        (folder / place / "classes.txt").write_bytes("camión\r\ncar\r\n".encode(encoding))
    words = load_labels(folder / "labels").categories
    assert words == (word, "car")
    found = read_predictions(folder / "found", images=load_labels(folder / "labels").images)
    assert found.categories == words


def test_an_empty_line_is_a_class_without_a_name(write):
    """As LabelImg counts them: the line behind it is class 2."""
    text = "0 .5 .5 .1 .1\n2 .5 .5 .2 .2\n"
    labels = load_labels(write({A: IMAGE, "labels/a.txt": text, "classes.txt": "car\n\nbus\ntaxi"}))
    assert [box.category for box in labels.boxes] == ["car", "bus"]
    assert labels.categories == ("car", "bus", "taxi") and labels.numbers == ("0", "2", "3")
    assert labels.warnings == ()


def test_yaml_files_with_other_names_are_asked_for(write):
    """Beside the folders of two data sets, or of one that was exported twice."""
    files = {"a/images/a.png": IMAGE, "a/labels/a.txt": BOX, "a.yaml": "names: [car]"}
    folder = write({**files, "copy.yaml": "names: {0: car}"})
    assert load_labels(folder / "a/labels").categories == ("car",)
    (folder / "b.yaml").write_text("names: [cat]")
    with pytest.raises(InputError, match=r"a\.yaml \(car\), b\.yaml \(cat\)"):
        load_labels(folder / "a/labels")


def test_classes_by_number_without_names_say_so(write):
    text = BOX + "11 0.5 0.5 0.1 0.1\n2 0 0 0 0"
    labels = load_labels(write({A: IMAGE, "labels/a.txt": text}) / "labels")
    assert labels.categories == labels.numbers == ("0", "2", "11")
    assert not labels.lists_categories
    assert "categories are named by their numbers" in labels.warnings[0]


def test_polygons_and_rotated_boxes_become_the_boxes_around_them(write):
    triangle, rotated = "0 0.5 0 1 1 0.25 1\n", "0 0.5 0.1 0.75 0.5 0.5 0.9 0.25 0.5\n"
    labels = load_labels(write({A: IMAGE, "labels/a.txt": triangle + rotated, "data.yaml": NAMES}))
    assert [box.xywh for box in labels.boxes] == [(10, 0, 30, 20), (10, 2, 20, 16)]
    assert labels.warnings == ("polygons or rotated boxes, read as the boxes around them: 2",)


def test_keypoints_behind_a_box_are_not_a_polygon(write):
    text, names = BOX.strip() + " 0 0 1 1", NAMES + "kpt_shape: [2, 2]\n"
    folder = write({A: IMAGE, "labels/a.txt": text, "data.yaml": names})
    assert [box.xywh for box in load_labels(folder).boxes] == [(15, 5, 10, 10)]


def lines_of(make, n=40):
    rng = np.random.default_rng(0)
    return "\n".join("0 " + " ".join(f"{x:.5f}" for x in make(rng)) for _ in range(n))


def keypoints(rng):
    centre, sides = rng.uniform(0.3, 0.7, 2), rng.uniform(0.05, 0.4, 2)
    points = centre + sides * rng.uniform(-0.5, 0.5, (12, 2))
    points[rng.random(12) < 0.2] = 0  # not labelled
    return [*centre, *sides, *points.ravel()]


def polygon(rng):
    """Of 14 corners each, about a centre anywhere: often within what their first two make a box."""
    radius, angles = rng.uniform(0.02, 0.2), np.arange(14) * 2 * np.pi / 14
    centre = rng.uniform(0.2, 0.8, 2)
    return (centre + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)).ravel()


def test_keypoints_that_no_file_tells_of_are_refused_and_polygons_are_not(write):
    folder = write({A: IMAGE, "labels/a.txt": lines_of(keypoints), "labels/classes.txt": "car"})
    with pytest.raises(InputError, match=r"12 points behind a box.*kpt_shape: \[12, 2\]"):
        load_labels(folder)
    folder = write({A: IMAGE, "labels/a.txt": lines_of(polygon), "labels/classes.txt": "car"})
    assert len(load_labels(folder).boxes) == 40


def test_shares_are_of_the_photograph_as_it_is_shown(write, upright_photo):
    folder = write({"labels/a.txt": BOX, "data.yaml": NAMES})
    upright_photo("images/a.jpg")
    labels = load_labels(folder)
    assert labels.images[0].size == (40, 20)
    assert labels.boxes[0].xywh == (7.5, 10, 5, 20)


def test_what_belongs_to_nothing_is_named(write):
    folder = write(
        {"images/a.png": IMAGE, "images/a.jpg": IMAGE, "labels/a.txt": BOX, "labels/b.txt": BOX}
        | {"labels/classes.txt": "car", "images/bad.png": IMAGE, "labels/bad.txt": BOX}
    )
    (folder / "images/bad.png").write_bytes(b"no image")
    labels = load_labels(folder / "labels")
    assert [image.file_name for image in labels.images] == ["a.jpg", "a.png"]
    assert labels.warnings == (
        "label files of more than one image: 1 (a.txt)",
        "label files without an image: 1 (b.txt)",
        "labelled images whose size cannot be read, left out: 1 (bad.png)",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 0.5 0.5 0.2", "expected 'class x_centre"),
        ("0 0.5 0.5 0.2 0.2 0.9", "sixth is the score of a prediction"),
        ("0 20 10 10 10", "shares of the image between 0 and 1, got 20"),
        ("0 nan 0.5 0.2 0.2", "shares of the image"),
        ("0 x 0.5 0.2 0.2", "expected .class x_centre.* got .0 x 0.5 0.2 0.2"),
        ("7 0.5 0.5 0.2 0.2", "class 7 is none of 0, 1"),
        ("0.5 0.5 0.5 0.2 0.2", "class 0.5 is none of"),
        ("inf 0.5 0.5 0.2 0.2", "cannot convert float infinity"),
    ],
)
def test_malformed_lines_are_named(write, line, message):
    """One of two is left out; two of three are most."""
    folder = write({"images/a.png": IMAGE, "labels/a.txt": BOX + line, "data.yaml": NAMES})
    labels = load_labels(folder)
    assert len(labels.boxes) == 1 and len(labels.warnings) == 1
    assert re.search(f"labels left out: 1 of 2 .*a.txt, line 2: .*{message}", *labels.warnings)
    (folder / "labels/a.txt").write_text(f"{BOX}{line}\n{line}")
    with pytest.raises(InputError, match=message) as caught:
        load_labels(folder, layout="yolo")
    assert "a.txt, line 2" in str(caught.value) and "2 of 3 lines" in str(caught.value)


def test_a_label_file_that_is_no_text_leaves_out_its_image(write):
    files = {f"images/{name}.png": IMAGE for name in "abc"}
    files |= {f"labels/{name}.txt": BOX for name in "abc"}
    folder = write({**files, "data.yaml": NAMES})
    (folder / "labels/b.txt").write_bytes(b"\xff\xfe")
    labels = load_labels(folder)
    assert [image.image_id for image in labels.images] == ["images/a.png", "images/c.png"]
    (warning,) = labels.warnings
    assert "label files left out: 1 of 3" in warning and "b.txt is not a text file" in warning


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"labels/a.txt": BOX, "data.yaml": "names: 3"}, "expected `names` as a list"),
        ({"labels/a.txt": BOX, "data.yaml": "names: [[car]]"}, "expected `names` as a list"),
        ({"labels/a.txt": BOX, "data.yaml": "names: {car: 1}"}, "expected `names` as a list"),
        ({"labels/a.txt": BOX, "data.yaml": "names: ["}, "is not a YAML file"),
        ({"labels/b.txt": BOX}, r"None of the 1 images .*a\.png.* has a label file"),
    ],
)
def test_malformed_folders(write, files, message):
    folder = write({"images/a.png": IMAGE, **files})
    with pytest.raises(InputError, match=message):
        load_labels(folder)


def test_labels_without_images_ask_for_them(write):
    with pytest.raises(InputError, match="Where are the images of"):
        load_labels(write({"labels/a.txt": BOX}) / "labels")


LAYOUTS = {
    # folders, as of COCO in Ultralytics
    "folders": (
        "images/train2017/{}",
        "images/val2017/{}",
        "",
        "images/train2017",
        "images/val2017",
    ),
    # Roboflow
    "roboflow": ("train/images/{}", "valid/images/{}", "", "../train/images", "../valid/images"),
    # names of folders that say nothing, and a root elsewhere
    "elsewhere": ("sets/x/images/{}", "sets/y/images/{}", "sets", "x/images", ["y/images"]),
    # lists of images that are in one folder
    "lists": ("images/t{}", "images/v{}", "", "train.txt", "val.txt"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_splits_of_a_data_yaml(write, layout):
    train, val, root, *paths = LAYOUTS[layout]
    files = {train.format(f"{n}.png"): IMAGE for n in (1, 2)}
    files |= {val.format(f"{n}.png"): IMAGE for n in (1, 2, 3)}
    texts = {name.replace("images", "labels").replace("png", "txt"): BOX for name in files}
    texts |= {"extra/images/1.png": IMAGE, "extra/labels/1.txt": BOX}  # in no split
    lists = {
        "train.txt": "./images/t1.png\nimages/t2.png\n",
        "val.txt": "images/v1.png\nimages/v2.png\nimages/v3.png\n",
    }
    yaml = NAMES + f"path: {root or '.'}\ntrain: {paths[0]}\nval: {json.dumps(paths[1])}\n"
    folder = write({**files, **texts, **(lists if layout == "lists" else {}), "data.yaml": yaml})
    labels = load_labels(folder / "data.yaml")
    assert sorted(image.file_name for image in labels.images) == sorted(files)
    assert all((labels.img_dir / image.file_name).is_file() for image in labels.images)
    splits = {image.file_name: split_of(image) for image in labels.images}
    expected = {name: "train" if name.startswith(train[:-2]) else "val" for name in files}
    assert splits == expected and len(labels.boxes) == 5


def test_what_a_detector_was_trained_on_is_held_out(write):
    """Images of ``train`` are left out where there are others of a split, and named."""
    files = {"train/images/1.png": IMAGE, "valid/images/2.png": IMAGE, "test/images/3.png": IMAGE}
    texts = {name.replace("images", "labels").replace("png", "txt"): BOX for name in files}
    folder = write({**files, **texts})
    entries = {"train": "train/images", "val": "valid/images", "test": "test/images"}
    entries["validation"] = entries["val"]  # which Ultralytics takes for it

    def held_out(*splits):
        lines = "".join(f"{split}: {entries[split]}\n" for split in splits)
        (folder / "data.yaml").write_text(NAMES + lines)
        labels = held_out_of_training(load_labels(folder / "data.yaml"))
        codes = [warning.code for warning in labels.warnings]
        return [image.file_name[-5] for image in labels.images], codes

    assert held_out("train", "val", "test") == (["2", "3"], ["splits-left-out"])
    assert held_out("train", "validation") == (["2"], ["splits-left-out"])
    assert held_out("val", "test") == (["2", "3"], [])
    assert held_out("train") == (["1"], [])


def test_a_folder_that_a_data_yaml_names_may_be_a_link(write):
    folder = write({"disk/images/a.png": IMAGE, "disk/labels/a.txt": BOX, "x/data.yaml": NAMES})
    for name in ("images", "labels"):
        (folder / "x" / name).symlink_to(folder / "disk" / name)
    path = folder / "x/data.yaml"
    path.write_text(f"{NAMES}val: images\n")
    labels = load_labels(path)
    (image,) = labels.images
    assert image_path(labels.img_dir, image.file_name).is_file() and len(labels.boxes) == 1


def test_an_image_in_two_splits_of_a_data_yaml_is_placed_by_the_others(write):
    """Names repeat; those of the predictions that are in val alone say which split it is."""
    files = {f"{place}/images/{n}.png": IMAGE for place in "xy" for n in (1, 2)}
    files["y/images/3.png"] = IMAGE
    texts = {name.replace("images", "labels").replace("png", "txt"): BOX for name in files}
    folder = write({**files, **texts, "data.yaml": f"{NAMES}train: x/images\nval: y/images\n"})
    images = load_labels(folder / "data.yaml").images
    matches = match_images([Named(None, f"{n}.png") for n in (1, 2, 3)], images)
    assert [images[k].file_name for k in matches.index] == [f"y/images/{n}.png" for n in (1, 2, 3)]


@pytest.mark.parametrize("root", ["images/", "", "/data/images/"])
def test_a_folder_test_that_a_data_yaml_calls_val_is_both(write, root):
    """As where somebody evaluates on test; equal names were images of other splits."""
    places = ("train", "test")
    files = {f"images/{place}/{n}.png": IMAGE for place in places for n in (1, 2)}
    texts = {f"labels/{place}/{n}.txt": BOX for place in places for n in (1, 2)}
    yaml = f"{NAMES}train: images/train\nval: images/test\n"
    images = load_labels(write({**files, **texts, "data.yaml": yaml}) / "data.yaml").images
    for folder in ("test", "train"):
        found = [Named(None, f"{root}{folder}/{n}.png") for n in (2, 1)]
        placed = [images[k].file_name for k in match_images(found, images).index]
        assert placed == [f"images/{folder}/{n}.png" for n in (2, 1)]


def test_lists_that_were_written_on_windows_are_read(write):
    """With a mark in front, its ends of lines and its separators; no image is lost."""
    files = {f"images/{name}.png": IMAGE for name in "abc"}
    texts = {f"labels/{name}.txt": BOX for name in "abc"}
    folder = write({**files, **texts, "data.yaml": f"{NAMES}train: train.txt\nval: val.txt\n"})
    (folder / "train.txt").write_bytes(b"\xef\xbb\xbfimages/a.png\r\n")
    (folder / "val.txt").write_bytes(b"\xef\xbb\xbf.\\images\\b.png\r\nimages\\c.png\r\n")
    labels = load_labels(folder / "data.yaml")
    splits = {image.file_name: split_of(image) for image in labels.images}
    assert splits == {"images/a.png": "train", "images/b.png": "val", "images/c.png": "val"}
    assert not labels.warnings


@pytest.mark.parametrize("up", ["../", "..\\"])
def test_paths_of_roboflow_lead_to_the_folders_beside_a_data_yaml(write, up):
    places = ("train", "val")
    files = {f"{place}/images/1.png": IMAGE for place in places}
    texts = {f"{place}/labels/1.txt": BOX for place in places}
    yaml = "".join(f"{place}: {up}{place}{up[2:]}images\n" for place in places)
    labels = load_labels(write({**files, **texts, "data.yaml": NAMES + yaml}) / "data.yaml")
    assert [split_of(image) for image in labels.images] == ["train", "val"]
    assert not labels.warnings


def test_a_data_yaml_of_which_no_path_is_there_is_a_warning(write):
    """The images beside it are read, of which nobody knows the split."""
    lists = {"train.txt": "/home/b/images/a.png\n", "val.txt": "/home/b/images/b.png\n"}
    files = {f"images/{name}.png": IMAGE for name in "ab"}
    texts = {f"labels/{name}.txt": BOX for name in "ab"}
    yaml = f"{NAMES}train: train.txt\nval: val.txt\n"
    labels = load_labels(write({**files, **texts, **lists, "data.yaml": yaml}) / "data.yaml")
    assert len(labels.images) == 2 and not any(map(split_of, labels.images))
    (warning,) = labels.warnings
    assert (warning.code, warning.severity) == ("split-paths-missing", "warning")


def test_what_a_data_yaml_names_and_is_not_there_is_said(write):
    """A folder of test, and of a list of val the second image; a.png and a.jpg share a file."""
    files = {f"images/{name}": IMAGE for name in ("a.png", "a.jpg", "b.png")}
    texts = {"labels/a.txt": BOX, "labels/b.txt": BOX, "val.txt": "images/b.png\nimages/c.png\n"}
    yaml = f"{NAMES}train: images\nval: val.txt\ntest: nowhere\n"
    labels = load_labels(write({**files, **texts, "data.yaml": yaml}) / "data.yaml")
    assert len(labels.images) == 3
    codes = {warning.code: str(warning) for warning in labels.warnings}
    assert set(codes) == {"split-paths-missing", "label-files-shared"}
    assert "2 (images/c.png, nowhere)" in codes["split-paths-missing"]
    assert "1 (labels/a.txt)" in codes["label-files-shared"]


def test_a_data_yaml_without_any_labelled_image_is_named(write):
    folder = write({"new/a.png": IMAGE, "data.yaml": f"{NAMES}path: /absent\nval: images\n"})
    with pytest.raises(InputError, match=r"where .*data\.yaml names train, val or test"):
        load_labels(folder / "data.yaml")


def test_a_data_yaml_whose_paths_are_not_there_is_read_by_its_folder(write):
    files = {A: IMAGE, "labels/a.txt": BOX, "data.yaml": f"{NAMES}train: /absent\nval: absent\n"}
    assert [image.file_name for image in load_labels(write(files) / "data.yaml").images] == [A]
