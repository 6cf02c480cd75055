import json
import os
import zipfile
from pathlib import Path

import pytest

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.coco import read_coco, write_coco
from autoeval.io.find_images import find_images
from autoeval.io.image_identity import split_of
from autoeval.io.labels.any_format import NAMES, label_format, load_labels
from autoeval.io.labels.content import BoxColumns, LabelledBox, LabelSet, of_images
from autoeval.io.predictions import read_predictions

IMAGE = None
COCO = json.dumps(
    {
        "images": [{"id": 7, "file_name": "a.png", "height": 20, "width": 40}],
        "annotations": [{"id": 1, "image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4]}],
        "categories": [{"id": 1, "name": "car"}],
    }
)
VOC = "<annotation><object><name>car</name><bndbox><xmin>1</xmin><ymin>1</ymin>"
VOC += "<xmax>4</xmax><ymax>4</ymax></bndbox></object></annotation>"
YOLO = "0 0.5 0.5 0.5 0.5"


@pytest.mark.parametrize(
    ("file", "images"),
    [
        ("annotations/instances_default.json", "images/a.png"),  # CVAT
        ("annotations/instances_default.json", "images/default/a.png"),  # CVAT, datumaro
        ("annotations/instances_val2017.json", "val2017/a.png"),  # COCO
        ("labels.json", "data/a.png"),  # FiftyOne
        ("result.json", "images/a.png"),  # Label Studio
        ("train/_annotations.coco.json", "train/a.png"),  # Roboflow
    ],
)
def test_coco_exports_are_found_with_their_images(write, file, images):
    folder = write({file: COCO, images: IMAGE, "notes.json": '{"info": 1}'})
    path = folder / "train" if file.startswith("train") else folder
    labels = load_labels(path)
    assert (labels.img_dir / labels.images[0].file_name).is_file()
    assert [(box.category, box.xywh) for box in labels.boxes] == [("car", (1, 2, 3, 4))]
    (image,) = find_images(folder / file).images  # a detector is run on the same ones
    assert image.path == (folder / images).resolve() and image.path.is_file()


def test_a_first_image_that_is_not_there_hides_none_of_the_others(write):
    document = json.loads(COCO)
    document["images"] = [{"id": 6, "file_name": "gone.png"}, {"id": 7, "file_name": "a.png"}]
    labels = write(
        {"annotations/instances_val.json": json.dumps(document), "images/val/a.png": IMAGE}
    )
    read = load_labels(labels)
    assert read.img_dir == labels / "images" / "val"
    assert [image.size is None for image in read.images] == [True, False]
    found = find_images(labels / "annotations/instances_val.json").images
    assert [image.path.is_file() for image in found] == [False, True]


def test_of_a_file_for_each_kind_of_label_that_of_boxes_is_read(write):
    kinds = ("image_info", "captions", "stuff")
    others = {f"annotations/{kind}_default.json": COCO for kind in kinds}
    boxes = COCO.replace("car", "bus")
    folder = write({**others, "annotations/instances_default.json": boxes, "a.png": IMAGE})
    assert load_labels(folder).path.name == "instances_default.json"
    write({"annotations/instances_val.json": boxes})
    named = "several COCO files.*captions_default.json, .*instances_default.json, .*instances_val"
    with pytest.raises(InputError, match=named):
        load_labels(folder)


@pytest.mark.parametrize("read", [load_labels, read_predictions, find_images])
def test_an_archive_is_to_be_unpacked(tmp_path, read):
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("annotations/instances_default.json", COCO)
    with pytest.raises(InputError, match=r"zip archive of 1 files \(annotations/inst.*: unpack it"):
        read(tmp_path / "export.zip")


@pytest.mark.parametrize(
    "name",
    [
        *("/data/upload/3/a1b2c3d4-a.png", "../../media/upload/3/a1b2c3d4-a.png"),
        *("images/a1b2c3d4__a.png", "/data/local-files/?d=site%2Fa.png"),
    ],
)
def test_label_studio_gives_files_other_names(write, name):
    folder = write({"result.json": COCO.replace("a.png", name), "site/a.png": IMAGE})
    labels = load_labels(folder / "result.json", folder / "site")
    assert labels.images[0].file_name == "a.png"
    assert len(labels.boxes) == 1


def test_label_studio_names_files_with_their_folder(write):
    content = COCO.replace("a.png", "images/a.png")
    folder = write({"result.json": content, "images/a.png": IMAGE})
    assert load_labels(folder).img_dir == folder


@pytest.mark.parametrize("folders", [("cam1", "cam2"), ("val", "train")])
def test_images_that_are_not_there_are_none_of_another_folder(write, folders):
    """The labels of cam2/0.png were those of cam1/0.png, which counted twice."""
    files = [f"{folder}/{k}.png" for folder in folders for k in range(2)]
    document = json.loads(COCO)
    document["images"] = [
        {"id": k, "file_name": name, "height": 20, "width": 40} for k, name in enumerate(files)
    ]
    document["annotations"] = []
    there = {f"images/{name}": IMAGE for name in files[:2]}
    labels = load_labels(write({"labels.json": json.dumps(document), **there}))
    assert [image.file_name for image in labels.images] == files


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"notes.md": "hello"}, "look like no known format"),
        ({"a.txt": YOLO, "a.xml": VOC}, "look like yolo and voc"),
        (
            {"train/_annotations.coco.json": COCO, "valid/_annotations.coco.json": COCO},
            "give one of .*train, .*valid",
        ),
        ({"a.json": COCO, "b.json": COCO}, "several COCO files: name one of a.json, b.json"),
    ],
)
def test_what_cannot_be_told_is_asked(write, files, message):
    with pytest.raises(InputError, match=message):
        load_labels(write({"a.png": IMAGE, **files}))


@pytest.mark.parametrize(
    ("files", "xywh"),
    [
        ({"labels/A.TXT": YOLO, "images/A.png": IMAGE}, (10, 5, 20, 10)),
        ({"x/config.xml": "<View/>", "x/y/a.xml": VOC, "x/y/a.png": IMAGE}, (0, 0, 4, 4)),
    ],
)
def test_what_can_be_read_is_recognised(write, files, xywh):
    assert load_labels(write(files)).boxes[0].xywh == xywh


def test_a_format_can_be_named(write):
    folder = write({"a.png": IMAGE, "a.txt": YOLO, "a.xml": VOC})
    assert load_labels(folder, layout="voc").boxes[0].xywh == (0, 0, 4, 4)
    assert load_labels(folder, layout="yolo").boxes[0].xywh == (10, 5, 20, 10)
    with pytest.raises(InputError, match=r"one of coco, yolo, voc, .* but got 'pascal'"):
        load_labels(folder, layout="pascal")
    with pytest.raises(InputError, match=r"No labels .*typo"):
        load_labels(folder / "typo")
    os.mkfifo(folder / "pipe")
    with pytest.raises(InputError, match="is a pipe"):
        load_labels(folder / "pipe")


@pytest.mark.parametrize("layout", ["yolo", "voc"])
def test_coco_written_from_another_format_says_the_same(write, tmp_path, layout):
    names = ("a.png", "b.png", "c.png")
    texts = {"a.txt": YOLO, "a.xml": VOC, "b.txt": "", "b.xml": VOC}
    labels = load_labels(write({**dict.fromkeys(names), **texts}), layout=layout)
    write_coco(labels, tmp_path / "out.json")
    again = read_coco(tmp_path / "out.json")
    assert [image.file_name for image in again.images] == ["a.png", "b.png"]
    assert [image.size for image in again.images] == [(20, 40)] * 2
    assert again.categories == labels.categories
    assert [box.xywh for box in again.boxes] == [box.xywh for box in labels.boxes]


def test_ids_that_are_numbers_stay(write, tmp_path):
    write_coco(load_labels(write({"a.json": COCO, "a.png": IMAGE}) / "a.json"), tmp_path / "b.json")
    assert read_coco(tmp_path / "b.json").images[0].image_id == "7"


def test_numbers_of_categories_stay(tmp_path):
    """Predictions of these labels have them: 35 had no word any more, and 2 was another one."""
    document = {
        "images": [{"id": 1, "file_name": "a.jpg", "height": 20, "width": 40}],
        "categories": [{"id": 35, "name": "car"}, {"id": 2, "name": "bus"}],
        "annotations": [{"image_id": 1, "category_id": 35, "bbox": [1, 2, 3, 4]}],
    }
    write_coco(read_coco(document), tmp_path / "out.json")
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["categories"] == document["categories"]
    assert [entry["category_id"] for entry in written["annotations"]] == [35]


@pytest.mark.parametrize(("used", "numbers"), [(1, ("1", "2")), (0, ("0", "1", "2"))])
def test_the_group_that_roboflow_lists_is_no_category_unless_a_box_is_of_it(
    tmp_path, used, numbers
):
    """A detector's class 0 is the car, and 1 the truck, of which no label would be at its place."""
    words = ("vehicles", "car", "truck")
    above = ("none", "vehicles", "vehicles")
    categories = [
        {"id": k, "name": word, "supercategory": group}
        for k, (word, group) in enumerate(zip(words, above, strict=True))
    ]
    document = {
        "images": [{"id": 1, "file_name": "a.jpg", "height": 20, "width": 40}],
        "categories": categories,
        "annotations": [{"image_id": 1, "category_id": used, "bbox": [1, 2, 3, 4]}],
    }
    labels = read_coco(document)
    assert labels.numbers == numbers
    assert labels.categories == words[-len(numbers) :]
    left_out = [notice.code for notice in labels.warnings if notice.code == "category-group"]
    assert left_out == (["category-group"] if used else [])
    assert [box.category for box in labels.boxes] == [words[used]]
    (tmp_path / "boxes").mkdir()
    (tmp_path / "boxes" / "a.txt").write_text("0 0.5 0.5 0.5 0.5 0.9\n1 0.5 0.5 0.2 0.2 0.8\n")
    named = dict(zip(labels.numbers, labels.categories, strict=True))
    boxes = read_predictions(tmp_path / "boxes", images=labels.images, numbers=named)
    assert [boxes.categories[k] for k in boxes.label] == [*labels.categories[:2]]


def test_what_nobody_looked_for_stays_so(tmp_path):
    """Of LVIS: boxes of a dog are ignored in image 7, and wrong in image 8."""
    document = json.loads(COCO)
    document["categories"] += [{"id": 5, "name": "dog"}, {"id": 6, "name": "cat"}]
    document["images"] = [
        {**document["images"][0], "id": 7, "neg_category_ids": []},
        {**document["images"][0], "id": 8, "file_name": "b.png", "neg_category_ids": [5]},
    ]
    labels = read_coco(document)
    write_coco(labels, tmp_path / "out.json")
    again = read_coco(tmp_path / "out.json")
    assert again.checked == labels.checked == {"7": {"car"}, "8": {"dog"}}


@pytest.mark.parametrize("field", ["neg_category_ids", "not_exhaustive_category_ids"])
def test_categories_of_an_image_that_are_no_list_are_refused(field):
    document = json.loads(COCO)
    document["images"] = [{**document["images"][0], "neg_category_ids": [], field: 5}]
    with pytest.raises(InputError, match=f"expected '{field}'"):
        read_coco(document)


def test_ids_that_are_one_number_stay_texts(tmp_path):
    """007 is another image than 7: with one id the file could not be read again."""
    images = tuple(LabelledImage(name, f"{name}.jpg", (4, 4)) for name in ("007", "7"))
    box = BoxColumns.of([LabelledBox("7", "car", (1.0, 1.0, 2.0, 2.0))])
    write_coco(LabelSet(tmp_path, images, ("car",), box), tmp_path / "c.json")
    again = read_coco(tmp_path / "c.json")
    assert [image.image_id for image in again.images] == ["007", "7"]
    assert again.boxes[0].image_id == "7"


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("images/train/1.jpg", "train"),
        ("val/images/1.jpg", "val"),
        ("Valid/1.jpg", "Valid"),
        ("val2017/1.jpg", "val2017"),
        ("images\\test\\1.jpg", "test"),
        ("images/1.jpg", ""),
        ("images/val.jpg", ""),  # a file of that name is no folder
        ("training_day/1.jpg", ""),
    ],
)
def test_split_of_an_image(name, split):
    assert split_of(LabelledImage("1", name, None)) == split


def test_labels_of_some_images():
    images = tuple(LabelledImage(name, name, None) for name in ("train/1.jpg", "val/1.jpg"))
    boxes = [LabelledBox(image.image_id, "car", (0, 0, 1, 1)) for image in images]
    whole = LabelSet(Path("data.yaml"), images, ("car",), BoxColumns.of(boxes))
    part = of_images(whole, images[1:])
    assert part.images == images[1:] and list(part.boxes) == boxes[1:]
    assert part.categories == whole.categories


@pytest.mark.parametrize("name", NAMES)
def test_each_format_is_found_by_its_name(name):
    """The layouts of published data sets are named by module and constant alone."""
    assert label_format(name).name == name


def test_the_folder_of_images_beside_that_of_labels_is_named(tmp_path):
    """As data sets of Ultralytics lie: images/val and labels/val."""
    for kind in ("images", "labels"):
        (tmp_path / kind / "val").mkdir(parents=True)
    (tmp_path / "images/val/1.jpg").write_bytes(b"")
    (tmp_path / "labels/val/1.txt").write_text("0 .5 .5 .2 .2\n")
    with pytest.raises(InputError, match=r"labels seem to lie in .*labels/val"):
        load_labels(tmp_path / "images/val")
