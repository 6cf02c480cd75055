"""Predictions and labels in memory give what the same boxes give from a file."""

from __future__ import annotations

import json
import math
import unicodedata
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import autoeval
from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.estimation.given import given_boxes
from autoeval.io.coco import read_coco
from autoeval.io.image_lists import images_in_memory
from autoeval.io.in_memory import labels_in_memory
from autoeval.io.labels.content import labelled_boxes
from autoeval.io.predictions import read_predictions
from tests.commands.predicted_world import write_world

WORDS = ("person", "car", "bus")
NUMBERS = {str(k): word for k, word in enumerate(WORDS)}
IMAGES = tuple(LabelledImage(str(k + 5), f"street/{k:03}.jpg", (100, 200)) for k in range(6))


def found_on(k):
    """Boxes xyxy, scores and classes on one image; one image has none."""
    n = 0 if k == 3 else 4
    rng = np.random.default_rng(k)
    corners = rng.uniform(0, 40, (n, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(5, 50, (n, 2))], axis=1)
    return boxes, rng.uniform(0.1, 0.9, n), rng.integers(0, 3, n)


def rows():
    for k, image in enumerate(IMAGES):
        for (left, top, right, bottom), score, label in zip(*found_on(k), strict=True):
            bbox = [left, top, right - left, bottom - top]
            yield {
                "image_id": int(image.image_id),
                "category_id": label,
                "bbox": bbox,
                "score": score,
            }


def as_rows():
    return list(rows())  # with the numbers of NumPy


def as_frame():
    table = pd.DataFrame(rows())
    sides = np.stack(table.pop("bbox").to_list())
    return table.assign(**dict(zip("xywh", sides.T, strict=True)))


def as_frame_of_lists():
    return pd.DataFrame(rows())


def as_arrow():
    return pa.Table.from_pandas(as_frame())


def as_document():
    entries = [{"id": int(i.image_id), "file_name": i.file_name} for i in IMAGES]
    categories = [{"id": k, "name": word} for k, word in enumerate(WORDS)]
    return {"images": entries, "categories": categories, "annotations": as_rows()}


def as_coco():
    """As `pycocotools.COCO.loadRes` returns it."""
    return SimpleNamespace(dataset=as_document(), loadRes=None)


class Tensor:
    """A tensor that only `cpu` turns into an array."""

    def __init__(self, values):
        self.values = values

    def detach(self):
        return self

    def cpu(self):
        return self.values

    def __array__(self, *args, **kwargs):
        raise TypeError("can't convert a tensor of another device")


def as_supervision():
    for k in range(len(IMAGES)):
        boxes, scores, labels = found_on(k)
        words = np.array([WORDS[label] for label in labels])
        yield SimpleNamespace(
            xyxy=boxes, confidence=scores, class_id=labels, data={"class_name": words} if k else {}
        )


def as_torchvision():
    for k in range(len(IMAGES)):
        yield dict(zip(("boxes", "scores", "labels"), map(Tensor, found_on(k)), strict=True))


def as_transformers_of_words():
    """As `post_process_grounded_object_detection` gives them."""
    for k in range(len(IMAGES)):
        boxes, scores, labels = found_on(k)
        words = [WORDS[label] for label in labels]
        yield {"boxes": Tensor(boxes), "scores": Tensor(scores), "labels": words}


def as_pipeline():
    """As `pipeline("object-detection")` of transformers returns a list of images."""
    corners = ("xmin", "ymin", "xmax", "ymax")
    for k in range(len(IMAGES)):
        yield [
            {"score": score, "label": WORDS[label], "box": dict(zip(corners, box, strict=True))}
            for box, score, label in zip(*found_on(k), strict=True)
        ]


def as_pipeline_by_name():
    return dict(zip((image.file_name for image in IMAGES), as_pipeline(), strict=True))


def as_ultralytics(name="/data/new/{:03}.jpg"):
    for k, image in enumerate(IMAGES):
        boxes = dict(zip(("xyxy", "conf", "cls"), map(Tensor, found_on(k)), strict=True))
        yield SimpleNamespace(
            boxes=SimpleNamespace(**boxes),
            names=dict(enumerate(WORDS)),
            path=name.format(k),
            orig_shape=image.size,
        )


def as_ultralytics_of_arrays():
    return as_ultralytics("image{}.jpg")


def as_supervision_by_name():
    return dict(zip((image.file_name for image in IMAGES), as_supervision(), strict=True))


def as_torchvision_by_name():
    return dict(zip((image.file_name for image in IMAGES), as_torchvision(), strict=True))


def as_torchvision_by_number():
    """As `evaluate` of torchvision's references gathers them."""
    return dict(zip((int(image.image_id) for image in IMAGES), as_torchvision(), strict=True))


def as_mmdetection_dump():
    """As `pickle.load` gives the file of `tools/test.py --out`."""
    for k, image in enumerate(IMAGES):
        found = dict(zip(("bboxes", "scores", "labels"), map(Tensor, found_on(k)), strict=True))
        path = f"/data/{image.file_name}"
        about = {"img_id": int(image.image_id), "img_path": path, "ori_shape": image.size}
        yield {**about, "pred_instances": found}


def as_mmdetection():
    for item in as_mmdetection_dump():
        instances = SimpleNamespace(**item["pred_instances"])
        yield SimpleNamespace(**{**item, "pred_instances": instances})


FORMS = {
    form.__name__[3:]: form
    for form in (
        *(as_rows, as_frame, as_frame_of_lists, as_arrow, as_document, as_coco, as_supervision),
        *(as_torchvision, as_transformers_of_words, as_pipeline, as_pipeline_by_name),
        *(as_ultralytics, as_ultralytics_of_arrays),
        *(as_supervision_by_name, as_torchvision_by_name, as_torchvision_by_number),
        *(as_mmdetection_dump, as_mmdetection),
    )
}


def made(form):
    given = FORMS[form]()
    return (
        given
        if hasattr(given, "columns") or hasattr(given, "dataset") or isinstance(given, dict)
        else list(given)
    )


@pytest.mark.parametrize("form", FORMS)
def test_boxes_are_those_of_a_file(tmp_path, form):
    (tmp_path / "rows.json").write_text(json.dumps(as_rows(), default=lambda value: value.item()))
    wanted = read_predictions(tmp_path / "rows.json", images=IMAGES, numbers=NUMBERS)
    given = made(form)
    read = read_predictions(given, images=IMAGES, numbers=NUMBERS)
    assert read.images == IMAGES and not read.uncovered
    np.testing.assert_array_equal(read.image, wanted.image)
    np.testing.assert_allclose(read.boxes, wanted.boxes, atol=1e-9)
    np.testing.assert_allclose(read.scores, wanted.scores, atol=1e-12)
    words, wanted_words = ([b.categories[k] for k in b.label] for b in (read, wanted))
    assert words == wanted_words
    assert isinstance(given_boxes(given), autoeval.Predictions)


def test_results_of_a_pipeline_are_also_read_as_json(tmp_path):
    """By the file name of each image; one has no box, and counts as such without a list."""
    path = tmp_path / "found.json"
    path.write_text(json.dumps(as_pipeline_by_name(), default=lambda value: value.item()))
    for read in (read_predictions(path), read_predictions(path, images=IMAGES)):
        assert [image.file_name for image in read.images] == [image.file_name for image in IMAGES]
        np.testing.assert_array_equal(np.bincount(read.image), [4, 4, 4, 0, 4, 4])
        np.testing.assert_allclose(read.boxes[read.image == 0], found_on(0)[0])
        words = [WORDS[label] for label in found_on(0)[2]]
        assert [read.categories[k] for k in read.label[read.image == 0]] == words


def test_a_pipeline_that_found_nothing_in_any_image_is_read(tmp_path):
    """As of a night; a document without a box is that of COCO, whose fields are no images."""
    nothing = {image.file_name: [] for image in IMAGES}
    (tmp_path / "night.json").write_text(json.dumps(nothing))
    for given in (nothing, tmp_path / "night.json"):
        read = read_predictions(given, words=WORDS)
        assert len(read) == 0 and [i.file_name for i in read.images] == [*nothing]
    (tmp_path / "coco.json").write_text(json.dumps({"images": [], "annotations": []}))
    assert len(read_predictions(tmp_path / "coco.json", images=IMAGES, words=WORDS)) == 0
    (tmp_path / "fields.json").write_text(json.dumps({"images": [], "boxes": []}))
    with pytest.raises(InputError, match="annotations"):
        read_predictions(tmp_path / "fields.json", images=IMAGES)


def test_a_box_of_a_pipeline_that_lacks_a_value_is_left_out(tmp_path):
    """An edge of null ended the reading of a file, and a label of None was the word "None"."""
    found = json.loads(json.dumps(as_pipeline_by_name(), default=lambda value: value.item()))
    wanted = read_predictions(found, numbers=NUMBERS)
    box = found[IMAGES[0].file_name][0]
    for one in found[IMAGES[1].file_name]:  # text is a number
        one["box"] = {corner: str(value) for corner, value in one["box"].items()}
    found[IMAGES[0].file_name] += [
        {**box, "label": None},
        {**box, "score": None},
        {**box, "box": {**box["box"], "xmin": None}},
    ]
    (tmp_path / "found.json").write_text(json.dumps(found))
    for given in (found, tmp_path / "found.json"):
        read = read_predictions(given, numbers=NUMBERS)
        assert [notice.code for notice in read.left_out] == 3 * ["entries-malformed"]
        assert read.categories == wanted.categories
        np.testing.assert_allclose(read.boxes, wanted.boxes, atol=1e-9)


@pytest.mark.parametrize("form", ["supervision", "torchvision", "ultralytics", "mmdetection"])
def test_lists_without_images_are_all_images(form):
    read = read_predictions(made(form), numbers=NUMBERS)
    assert len(read.images) == len(IMAGES) and len(read) == 20  # one image has no box
    if form == "ultralytics":
        assert read.images[2] == LabelledImage("/data/new/002.jpg", "/data/new/002.jpg", (100, 200))


def test_images_that_have_one_id_are_called_by_their_names():
    """`inference_detector` of MMDetection numbers every image 0: a plan had one id for all."""
    items = [{**item, "img_id": 0} for item in as_mmdetection_dump()]
    images = read_predictions(items, numbers=NUMBERS).images
    assert [image.image_id for image in images] == [f"/data/{image.file_name}" for image in IMAGES]


def test_items_that_name_no_image_are_one_an_image():
    short = made("supervision")[:-1]
    with pytest.raises(InputError, match="has 5 items, one an image, and there are 6 images"):
        read_predictions(short, images=IMAGES, numbers=NUMBERS)
    assert read_predictions(made("ultralytics")[:-1], images=IMAGES).uncovered == (5,)
    read = read_predictions(made("torchvision"), images=IMAGES, numbers=NUMBERS)
    assert [notice.code for notice in read.left_out] == ["images-by-place"]


def test_items_in_another_order_are_known_by_their_sizes():
    """Items of arrays are placed by their order, and boxes were those of images of other sizes."""
    sizes = [(100, 200), (100, 200), (100, 200), (100, 200), (300, 400), (500, 600)]
    images = [replace(image, size=size) for image, size in zip(IMAGES, sizes, strict=True)]

    def read(order):
        items = [made("ultralytics_of_arrays")[k] for k in order]
        for item, k in zip(items, order, strict=True):
            item.orig_shape = sizes[k]
        return read_predictions(items, images=images, numbers=NUMBERS)

    in_order = read(range(6))
    assert [notice.code for notice in in_order.left_out] == ["images-by-place"]
    assert in_order.images == tuple(images)
    exchanged = read([0, 1, 2, 3, 5, 4])
    notices = {notice.code: notice for notice in exchanged.left_out}
    assert notices["boxes-of-other-size"].severity == "warning"
    with pytest.raises(InputError, match="other sizes than the list of images: 4 of 6 differ"):
        read([4, 5, 2, 3, 0, 1])


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("supervision", ["car", "bus"]),
        ("mmdetection", ["car", "bus"]),
        ("torchvision", ["person", "car"]),
    ],
)
def test_numbers_without_words_count_as_their_framework_does(form, words):
    """The labels count from 1, as torchvision does; MMDetection and supervision count from 0."""
    boxes, scores = np.array([[1.0, 2, 30, 40], [5, 6, 70, 80]]), np.array([0.9, 0.8])
    labels = np.array([1, 2])
    item = {
        "supervision": SimpleNamespace(xyxy=boxes, confidence=scores, class_id=labels),
        "mmdetection": {"pred_instances": {"bboxes": boxes, "scores": scores, "labels": labels}},
        "torchvision": {"boxes": boxes, "scores": scores, "labels": labels},
    }[form]
    from_1 = {str(k): word for k, word in enumerate(WORDS, 1)}
    read = read_predictions([item], images=IMAGES[:1], numbers=from_1)
    assert [read.categories[k] for k in read.label] == words


def test_torchvision_may_name_its_images():
    items = [
        {**item, "image_id": np.int64(image.image_id)}
        for item, image in zip(made("torchvision"), IMAGES, strict=True)
    ][::-1]
    by_number = {item["image_id"]: item for item in items}
    for given in (items, by_number, dict(reversed(as_torchvision_by_name().items()))):
        read = read_predictions(given, images=IMAGES, numbers=NUMBERS)
        np.testing.assert_array_equal(np.bincount(read.image), [4, 4, 4, 0, 4, 4])
        np.testing.assert_allclose(read.boxes[read.image == 0], found_on(0)[0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "Expected predictions as a path; .*a DataFrame .*but got int. A detector"),
        ({"a.jpg": 3}, "but got dict with a.jpg"),
        ([3.5], "but got list of float"),
        (np.zeros((3, 6)), "but got ndarray"),
    ],
)
def test_other_objects_are_named(given, message):
    with pytest.raises(InputError, match=message):
        read_predictions(given_boxes(given).path, images=IMAGES, numbers=NUMBERS)


OF_OTHERS = {  # what a package calls the sides of boxes, scores and numbers of categories
    "supervision.CSVSink": ("x_min y_min x_max y_max", "confidence", "class_id"),
    "YOLOv5 results.pandas()": ("xmin ymin xmax ymax", "confidence", "class"),
    "torchvision": ("x1 y1 x2 y2", "score", "category_id"),
}


@pytest.mark.parametrize("package", OF_OTHERS)
def test_columns_of_other_packages(package, tmp_path):
    sides, score, number = OF_OTHERS[package]
    table = pa.table(
        {
            "file_name": [IMAGES[0].file_name, IMAGES[1].file_name],
            **dict(zip(sides.split(), ([10.0, 1], [20.0, 2], [40.0, 4], [60.0, 9]), strict=True)),
            score: [0.5, 0.9],
            number: [1, 2],
        }
    )
    pq.write_table(table, tmp_path / "boxes.parquet")
    for given in (table, table.to_pandas(), tmp_path / "boxes.parquet"):
        read = read_predictions(given, images=IMAGES, numbers=NUMBERS)
        np.testing.assert_array_equal(read.boxes, [[10, 20, 40, 60], [1, 2, 4, 9]])
        assert read.image.tolist() == [0, 1] and read.scores.tolist() == [0.5, 0.9]
        assert [read.categories[k] for k in read.label] == [NUMBERS["1"], NUMBERS["2"]]


def test_a_table_of_labels_with_corners_and_words():
    """As tables of labels often are: filename, width, height, class, xmin, ymin, xmax, ymax."""
    table = pa.table(
        {
            "filename": ["a.jpg", "a.jpg", "b.jpg"],
            "width": [200, 200, 300],
            "height": [100, 100, 50],
            "class": ["car", "bus", None],
            **dict(zip(("xmin", "ymin"), ([10.0, 1, None], [20.0, 2, None]), strict=True)),
            **dict(zip(("xmax", "ymax"), ([40.0, 4, None], [60.0, 9, None]), strict=True)),
        }
    )
    labels = labels_in_memory(table)
    assert [(box.image_id, box.category, *box.xywh) for box in labels.boxes] == [
        ("a.jpg", "car", 10, 20, 30, 40),
        ("a.jpg", "bus", 1, 2, 3, 7),
    ]
    assert [image.size for image in labels.images] == [(100, 200), (50, 300)]


def test_items_whose_parts_do_not_fit():
    item = {"boxes": np.zeros((2, 4)), "scores": np.zeros(3), "labels": np.zeros(3)}
    with pytest.raises(InputError, match=r"Item 0 of the list .* expected boxes of shape \(3, 4\)"):
        read_predictions([item], numbers=NUMBERS)


def labels_frame():
    """One row an object, and one without a category and a box for the image that holds none."""
    table = as_frame().drop(columns="score").assign(category=lambda t: t["category_id"].map(str))
    table["category"] = [WORDS[k] for k in table["category_id"]]
    images = pd.DataFrame(
        {
            "image_id": [int(image.image_id) for image in IMAGES],
            "file_name": [image.file_name for image in IMAGES],
            "height": 100,
            "width": 200,
        }
    )
    return images.merge(table, "left")  # numbers become floats


def labels_dataset():
    """As `supervision.DetectionDataset`, without the sizes of images."""
    annotations = {
        image.file_name: SimpleNamespace(xyxy=found_on(k)[0], class_id=found_on(k)[2], data={})
        for k, image in enumerate(IMAGES)
    }
    return SimpleNamespace(classes=list(WORDS), annotations=annotations)


def labels_by_name():
    of_images = labels_dataset().annotations
    for item in of_images.values():
        item.data = {"class_name": np.array([WORDS[k] for k in item.class_id])}
    return of_images


def document_with_sizes():
    """Labels: boxes without scores."""
    document = as_document()
    for entry in document["images"]:
        entry |= {"height": 100, "width": 200}
    for entry in document["annotations"]:
        del entry["score"]
    return document


LABELS = {
    "document": document_with_sizes,
    "coco": lambda: SimpleNamespace(dataset=document_with_sizes()),
    "frame": labels_frame,
    "frame of lists": lambda: labels_frame().assign(
        bbox=lambda t: [None if np.isnan(b).any() else list(b) for b in t[[*"xywh"]].to_numpy()]
    )[["image_id", "file_name", "height", "width", "category", "bbox"]],
    "arrow": lambda: pa.Table.from_pandas(labels_frame()),
    "dataset": labels_dataset,
    "detections by name": labels_by_name,
}


@pytest.mark.parametrize("form", LABELS)
def test_labels_in_memory_are_those_of_a_file(tmp_path, form):
    text = json.dumps(document_with_sizes(), default=lambda value: value.item())
    (tmp_path / "labels.json").write_text(text)
    wanted = labelled_boxes(read_coco(tmp_path / "labels.json"), WORDS)
    labels = labels_in_memory(LABELS[form]())
    read = labelled_boxes(labels, WORDS)
    assert [i.file_name for i in read.images] == [i.file_name for i in IMAGES]
    if form not in ("dataset", "detections by name"):
        assert read.images == IMAGES
    np.testing.assert_array_equal(read.image, wanted.image)
    np.testing.assert_array_equal(read.label, wanted.label)
    np.testing.assert_allclose(read.boxes, wanted.boxes, atol=1e-9)
    assert not labels.warnings


def detections_with_confidence():
    detections = labels_by_name()
    for k, image in enumerate(IMAGES):
        detections[image.file_name].confidence = found_on(k)[1]
    return detections


@pytest.mark.parametrize("form", [as_document, as_frame, as_arrow, detections_with_confidence])
def test_labels_with_scores_are_warned_of(form):
    """Predictions that are taken for labels: the boxes of the same file were all right."""
    assert [warning.code for warning in labels_in_memory(form()).warnings] == ["labels-with-scores"]


@pytest.mark.parametrize("column", ["file_name", "category"])
def test_one_number_of_two_names_is_refused(column):
    """As where tables of two sites, or of two lists of categories, were joined."""
    table = labels_frame().dropna()
    other = table.iloc[:1].assign(**{column: "another"})
    with pytest.raises(InputError, match=r"is .* and another"):
        labels_in_memory(pd.concat([table, other]))


def test_one_class_of_two_names_is_refused():
    named = labels_by_name()
    named[IMAGES[0].file_name].data["class_name"][:] = "van"
    with pytest.raises(InputError, match="is van and"):
        labels_in_memory(named)


@pytest.mark.parametrize("form", LABELS)
def test_only_what_lists_its_categories_says_which_were_looked_for(form):
    listing = labels_in_memory(LABELS[form]()).lists_categories
    assert listing == (form in ("document", "coco", "dataset"))


def test_labels_that_were_read_stay_as_they_are(tmp_path):
    document = as_document()
    read = read_coco(document)
    assert labels_in_memory(read) is read
    assert images_in_memory(document) == read.images and images_in_memory([1]) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1], r"Expected labels as a path .* but got list of int"),
        (["1.json", "2.json"], r"but got list of str.* go into one"),
        ({}, r"Expected labels as a path .* but got dict"),
        (np.zeros(3, [("image_id", int), ("x", float)]), r"a DataFrame .* but got ndarray"),
        (pd.DataFrame({"image": [1], "x": [2]}), r"has the columns image, x. Expected labels"),
        ({"a.jpg": SimpleNamespace(xyxy=np.zeros((1, 4)), class_id=None)}, "have no class_id"),
    ],
)
def test_other_labels_are_named(given, message):
    with pytest.raises(InputError, match=message):
        labels_in_memory(given)


def test_labels_as_no_numbers_are_those_that_the_text_beside_them_says():
    """As transformers gives them from version 5 on."""
    items = [{**item, "text_labels": item["labels"]} for item in as_transformers_of_words()]
    read = read_predictions([{**item, "labels": None} for item in items], images=IMAGES)
    wanted = read_predictions(items, images=IMAGES)
    assert [read.categories[k] for k in read.label] == [wanted.categories[k] for k in wanted.label]


def test_two_columns_of_one_name_are_refused():
    frame = as_frame()
    with pytest.raises(InputError, match="two columns of one name"):
        read_predictions(pd.concat([frame, frame[["score"]]], axis=1), images=IMAGES)


@pytest.mark.parametrize(
    "changed, named",
    [({"scores": ["high"]}, "could not convert"), ({"image_id": [7]}, "expected image_id")],
)
def test_an_item_with_a_score_or_an_id_that_is_none_is_refused(changed, named):
    item = {"boxes": [[1.0, 2.0, 30.0, 40.0]], "scores": [0.5], "labels": ["car"], "image_id": 7}
    with pytest.raises(InputError, match=f"Item 0 .* cannot be read: {named}"):
        read_predictions([{**item, **changed}], images=IMAGES)


@pytest.mark.parametrize(
    "column, value", [("image_id", 10**30), ("category_id", {"id": 1}), ("category_id", [1])]
)
def test_a_column_that_is_neither_numbers_nor_texts_is_refused(column, value):
    """It ended in an error of Arrow or of Python itself."""
    frame = as_frame().astype({column: object})
    frame[column] = [value] * len(frame)
    with pytest.raises(InputError):
        read_predictions(frame, images=IMAGES)


@pytest.mark.parametrize("column", ["iscrowd", "is_crowd", "difficult", "ignore", "IsGroupOf"])
def test_a_table_of_labels_says_what_is_ignored(column):
    """Under the names of COCO, torchvision's references, Pascal VOC and Open Images."""
    table = labels_frame().dropna(subset=["category"])
    table[column] = [1, *[0] * (len(table) - 2), -1]  # -1 is not known in Open Images
    read = labels_in_memory(table)
    assert read.boxes.iscrowd.tolist() == [True, *[False] * (len(table) - 1)]


@pytest.mark.parametrize(
    ("first", "second"),
    [("a/1.jpg", "./a/1.jpg"), ("a/1.jpg", "a\\1.jpg"), ("é.jpg", "e\u0301.jpg")],
)
def test_two_forms_of_one_name_are_one_image_without_a_list(first, second):
    row = {"category": "car", "bbox": [1, 2, 30, 40], "score": 0.5}
    rows = [{**row, "file_name": name} for name in (first, second, "b.jpg")]
    read = read_predictions(rows)
    assert [image.file_name for image in read.images] == [first, "b.jpg"]
    assert read.image.tolist() == [0, 0, 1]


@pytest.mark.parametrize("field", ["file_name", "image_path"])
def test_items_that_name_their_image_may_stand_in_any_order(field):
    """The name is what users add to torchvision's dicts; as items in order they were of others."""
    items = [
        {**item, field: f"/data/{image.file_name}"}
        for item, image in zip(as_torchvision(), IMAGES, strict=True)
    ]
    read = read_predictions(items[::-1], images=IMAGES, numbers=NUMBERS)
    for k in range(len(IMAGES)):
        boxes, scores, _ = found_on(k)
        np.testing.assert_allclose(read.boxes[read.image == k], boxes)
        np.testing.assert_allclose(read.scores[read.image == k], scores)


def test_a_file_that_is_called_as_ultralytics_calls_arrays_is_known_by_its_path():
    """Results of files image1.jpg, image2.jpg were taken in the order of the images."""
    images = [replace(image, file_name=f"image{k}.jpg") for k, image in enumerate(IMAGES)]
    items = list(as_ultralytics("/data/new/image{}.jpg"))
    read = read_predictions(items[::-1], images=images)
    assert read.left_out == ()
    for k in range(len(images)):
        boxes, _, _ = found_on(k)
        np.testing.assert_allclose(read.boxes[read.image == k], boxes)
    assert read_predictions(items[:-1], images=images).uncovered == (5,)


def test_boxes_whose_columns_are_in_rows_are_refused():
    item = {"boxes": np.array([[0, 50], [10, 60], [40, 90], [70, 100]]), "scores": [0.9, 0.8]}
    item |= {"labels": ["car", "car"], "file_name": "0.jpg"}
    with pytest.raises(InputError, match=r"expected boxes of shape \(2, 4\).* got \(4, 2\)"):
        read_predictions([item])


def test_items_with_names_among_others_without_are_in_the_order_of_the_images():
    """Images of Pillow lose their name by `convert`; the names of all others did not count."""
    images = [replace(image, file_name=f"{k:03}.jpg") for k, image in enumerate(IMAGES)]
    items = list(as_ultralytics())
    items[1].path = "image0.jpg"
    read = read_predictions(items, images=images)
    np.testing.assert_allclose(read.boxes[read.image == 4], found_on(4)[0])
    with pytest.raises(InputError, match=r"Item 0 of .* is of /data/new/005\.jpg, and image 0 is"):
        read_predictions(items[::-1], images=images)


@pytest.mark.parametrize("path", ["/data/yard.mp4", "/data/new/000.jpg"])
@pytest.mark.parametrize("images", [None, IMAGES])
def test_several_items_of_one_image_are_refused(path, images):
    """Ultralytics calls every frame of a video by the path of the video."""
    items = [SimpleNamespace(**{**vars(item), "path": path}) for item in made("ultralytics")]
    with pytest.raises(InputError, match=f"several items of one image: {path}"):
        read_predictions(items, images=images)


MODEL_NAMES = {
    "ultralytics": dict(enumerate(WORDS)),
    "transformers": {**dict(enumerate(WORDS)), 5: "N/A"},
    "numpy": {np.int64(k): word for k, word in enumerate(WORDS)},
    "list": list(WORDS),
}


@pytest.mark.parametrize("form", MODEL_NAMES)
def test_names_of_a_model_have_integers_for_numbers(form):
    wanted = read_predictions(as_rows(), images=IMAGES, numbers=NUMBERS)
    names = MODEL_NAMES[form]
    by_names = autoeval.Predictions(as_rows(), names=names)
    site = by_names.read(IMAGES, where="the list", numbers={"1": "cat", "2": "dog", "3": "cow"})
    for read in (read_predictions(as_rows(), images=IMAGES, numbers=names), site.boxes):
        words, wanted_words = ([b.categories[k] for k in b.label] for b in (read, wanted))
        assert words == wanted_words and len(words) == 20


@pytest.mark.parametrize("sides", [{"bbox": [[1, 2, 3, 4.0]] * 3}, dict.fromkeys("xywh", 4.0)])
def test_a_box_without_a_category_in_a_table_of_labels_is_left_out(sides):
    table = pd.DataFrame({"file_name": ["a", "b", "c"], "category": ["car", None, "car"], **sides})
    labels = labels_in_memory(table)
    assert [box.image_id for box in labels.boxes] == ["a", "c"] and len(labels.images) == 3


def test_what_is_no_number_is_absent_as_in_tables():
    """Rows of pandas have NaN where a table has nothing, also beside a box or a word."""
    rows = [{**row, "file_name": math.nan, "category": math.nan} for row in as_rows()]
    words = [
        {**row, "category": NUMBERS[str(row["category_id"])], "category_id": math.nan}
        for row in as_rows()
    ]
    for given in (rows, words):
        read = read_predictions(given, images=IMAGES, numbers=NUMBERS)
        assert len(read) == 20 and {read.categories[k] for k in read.label} <= {*WORDS}
        assert not read.left_out and not read.warnings


def test_one_row_without_a_box_leaves_the_others_whatever_their_sequence():
    rows = [{**row, "bbox": tuple(row["bbox"])} for row in as_rows()]
    rows[3]["bbox"] = math.nan
    document = {"annotations": [*rows, 7], "images": [], "categories": []}
    for given, n_bad in ((rows, 1), (document, 2)):
        read = read_predictions(given, images=IMAGES, numbers=NUMBERS)
        assert len(read) == 19
        lost = [notice for notice in read.left_out if notice.code == "entries-malformed"]
        assert len(lost) == n_bad


def test_a_file_that_several_images_have_is_said_wherever_images_are_listed(tmp_path):
    """Its second entry counts as an image of its own, in which nothing is labelled or found."""
    labels, boxes = write_world(tmp_path, "a", n_images=40, n_categories=2, seed=0)
    document, rows = (json.loads(path.read_text()) for path in (labels, boxes))
    first = document["images"][0]
    twice = {**document, "images": [*document["images"], {**first, "id": 999}]}
    once, of_twice = autoeval.fit(document, rows), autoeval.fit(twice, rows)
    estimates = [once.predict(rows, images=images) for images in (document, twice)]
    estimates.append(once.predict({**twice, "annotations": rows}))
    told = [[*e.warnings, *e.site.left_out] for e in estimates]
    told += [[*f.looks_.warnings, *f.sites_.read()[0].left_out] for f in (once, of_twice)]
    codes = [[notice.code for notice in notices] for notices in told]
    assert ["images-listed-twice" in c for c in codes] == [False, True, True, False, True]
    assert "have: 1 (000000.jpg)" in str(told[1])


def test_a_category_in_another_form_of_unicode_is_the_same():
    """As macOS writes names, with the marks of letters apart."""
    composed, apart = (unicodedata.normalize(form, "Fußgänger") for form in ("NFC", "NFD"))
    assert composed != apart
    rows = [{**row, "category": apart if row["category_id"] else "car"} for row in as_rows()]
    read = read_predictions(rows, images=IMAGES, words=[composed, "car"])
    assert {read.categories[k] for k in read.label} == {composed, "car"}
    assert [notice.code for notice in read.left_out] == ["words-spelt-otherwise"]


def test_words_of_transformers_go_before_the_numbers_of_what_was_asked_for():
    """OWL-ViT numbers its queries, whatever their order, beside their words."""
    asked = ("bus", "person", "car")
    items = []
    for k, item in enumerate(made("torchvision")):
        words = [WORDS[label] for label in found_on(k)[2]]
        labels = np.array([asked.index(word) for word in words])
        items.append({**item, "labels": labels, "text_labels": words})
    wanted = read_predictions(as_rows(), images=IMAGES, numbers=NUMBERS)
    read = read_predictions(items, images=IMAGES, numbers=NUMBERS)
    words, wanted_words = ([b.categories[k] for k in b.label] for b in (read, wanted))
    assert words == wanted_words and not read.warnings
    items[0]["text_labels"] = ["car"]
    with pytest.raises(InputError, match=r"Item 0 .* expected a word for each of 4 boxes, got 1"):
        read_predictions(items, images=IMAGES, numbers=NUMBERS)


def test_a_labelled_box_without_a_category_is_left_out_and_counted():
    """It was of a category that is called None."""
    columns = {"image_id": [1, 1, 2], "category": ["car", None, "bus"]}
    table = pa.table({**columns, **{side: [9.0, 9, 9] for side in "xywh"}})
    labels = labels_in_memory(table)
    assert labels.categories == ("car", "bus") and len(labels.boxes) == 2
    assert [notice.code for notice in labels.warnings] == ["entries-malformed"] * 2
    document = {"images": [{"id": 1}], "categories": [{"id": k, "name": "car"} for k in (1, None)]}
    assert read_coco(document).categories == ("car",)


@pytest.mark.parametrize("form", [labels_frame, labels_by_name])
def test_labelled_categories_are_in_the_order_of_their_numbers(form):
    """They came in the order of objects, so that the class 0 of a detector was the first object."""
    labels = labels_in_memory(form())
    assert labels.numbers == ("0", "1", "2") and labels.categories == WORDS


@pytest.mark.parametrize(
    ("columns", "names"), [([], WORDS), (["category"], ("0", "1", "2")), (["category_id"], WORDS)]
)
def test_a_table_names_and_numbers_categories_by_what_it_has(columns, names):
    """By a row without a number pandas makes floats, and the category 2 was called 2.0."""
    labels = labels_in_memory(labels_frame().drop(columns=columns))
    assert sorted(labels.categories) == sorted(names)
    assert labels.numbers == (() if columns == ["category_id"] else ("0", "1", "2"))


def test_words_of_items_without_numbers_have_none():
    """A fit remembered -1 as the number of the last word, and counted it among the places."""
    read = read_predictions(list(as_transformers_of_words()), images=IMAGES, numbers=NUMBERS)
    assert not read.numbers and not read.numbering.used
