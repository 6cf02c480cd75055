"""Files as programs write them: each is read rightly, or refused with what was expected.

The boxes are those of `ROWS`: of image k, from 10 k to 10 k + 30 and from 20 to 60 pixels.
"""

import json
import unicodedata
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.image_lists import read_image_list
from autoeval.io.labels.any_format import load_labels
from autoeval.io.predictions import read_predictions

NAMES = [f"a/b c ü{k}.jpg" for k in (1, 2, 3)]
IMAGES = tuple(LabelledImage(str(k), name, (480, 640)) for k, name in enumerate(NAMES, 1))
ROWS = [
    {"image_id": k, "category_id": 1 + k % 2, "bbox": [10.0 * k, 20.0, 30.0, 40.0], "score": k / 10}
    for k in (1, 2, 3)
]
BOXES = [[10.0, 20.0, 40.0, 60.0], [20.0, 20.0, 50.0, 60.0], [30.0, 20.0, 60.0, 60.0]]
NUMBERS = {"1": "car", "2": "bus"}


def as_written(change=None, *, rows=ROWS):
    return json.dumps([change(dict(row)) if change else row for row in rows])


def named(form):
    """Rows with file names of some form in the place of ids."""

    def change(row):
        k = row.pop("image_id")
        return {**row, "file_name": form(NAMES[k - 1])}

    return as_written(change)


WINDOWS = named(lambda name: "C:\\data\\" + name.replace("/", "\\"))
READ = {
    "byte order mark": "\ufeff" + as_written(),
    "lines with a byte order mark": "\ufeff" + "\r\n".join(map(json.dumps, ROWS)),
    "indented, CRLF": json.dumps(ROWS, indent=2).replace("\n", "\r\n"),
    "paths of Windows": WINDOWS,
    "leading ./": named(lambda name: f"./{name}"),
    "percent-encoded": named(lambda name: name.replace(" ", "%20").replace("ü", "%C3%BC")),
    "decomposed": named(lambda name: unicodedata.normalize("NFD", name)),
    "ids as text": as_written(lambda row: {**row, "image_id": str(row["image_id"])}),
    "ids as floats": as_written(lambda row: {**row, "image_id": float(row["image_id"])}),
    "padded ids": as_written(lambda row: {**row, "image_id": f"{row['image_id']:06}"}),
    "categories as text": as_written(lambda row: {**row, "category_id": str(row["category_id"])}),
    "categories from 0": as_written(lambda row: {**row, "category_id": row["category_id"] - 1}),
    "sides as text": as_written(lambda row: {**row, "bbox": [str(v) for v in row["bbox"]]}),
    "scores as text": as_written(lambda row: {**row, "score": str(row["score"])}),
    "other fields": as_written(lambda row: {**row, "area": 1200, "id": 7, "segmentation": []}),
}


def check(read):
    assert [read.images[k].image_id for k in read.image] == ["1", "2", "3"]
    np.testing.assert_allclose(read.boxes, BOXES)
    np.testing.assert_allclose(read.scores, [0.1, 0.2, 0.3])
    assert [read.categories[k] for k in read.label] == ["bus", "car", "bus"]


@pytest.mark.parametrize("form", READ)
def test_results_that_are_read(form, tmp_path):
    path = tmp_path / ("p.jsonl" if "lines" in form else "p.json")
    path.write_bytes(READ[form].encode())
    check(read_predictions(path, images=IMAGES, numbers=NUMBERS))


def column(values, kind=None):
    return pa.array(values, kind)


TABLES = {
    "dictionaries": {"file_name": column(NAMES).dictionary_encode()},
    "large strings": {"file_name": column(NAMES, pa.large_string())},
    "bytes": {"file_name": column([name.encode() for name in NAMES])},
    "whole floats": {"image_id": column([1.0, 2.0, 3.0])},
    "unsigned": {"image_id": column([1, 2, 3], pa.uint64())},
    "lists of four": {
        "image_id": column([1, 2, 3]),
        "bbox": column([row["bbox"] for row in ROWS], pa.list_(pa.float32(), 4)),
    },
    "half precision": {
        "image_id": column([1, 2, 3]),
        **{
            side: column(np.array([row["bbox"][k] for row in ROWS], np.float16))
            for k, side in enumerate("xywh")
        },
    },
    "decimals": {
        "image_id": column([1, 2, 3]),
        "score": column([Decimal("0.1"), Decimal("0.2"), Decimal("0.3")]),
    },
}


@pytest.mark.parametrize("form", TABLES)
def test_tables_that_are_read(form, tmp_path):
    columns = {
        "category_id": column([2, 1, 2]),
        "score": column([0.1, 0.2, 0.3]),
        **TABLES[form],
    }
    if "x" not in columns:
        columns.setdefault("bbox", column([row["bbox"] for row in ROWS]))
    pq.write_table(pa.table(columns), tmp_path / "p.parquet")
    check(read_predictions(tmp_path / "p.parquet", images=IMAGES, numbers=NUMBERS))


MANY = [{**ROWS[k % 3], "bbox": [0.1 + k / 99, 0.2, 0.3, 0.4]} for k in range(30)]
REFUSED = {
    "p.json": {
        "divide percentages by 100": as_written(lambda row: {**row, "score": 100 * row["score"]}),
        "multiply them by the width": as_written(rows=MANY),
        "the first has image_id, category_id, bbox, confidence": as_written(
            lambda row: {**row, "confidence": row.pop("score")}
        ).replace('"score"', '"confidence"'),
        "it has results": json.dumps({"results": ROWS}),
        "ids must be unique, these are not: 1 is car, 1 is bus": json.dumps(
            {
                "annotations": ROWS,
                "categories": [{"id": 1, "name": "car"}, {"id": 1, "name": "bus"}],
            }
        ),
    },
    "p.csv": {"sep=';', decimal=','": "image_id;category_id;x;y;w;h;score\n1;1;1,5;2;3;4;0,5\n"},
}


@pytest.mark.parametrize(
    ("name", "message"), [(name, message) for name in REFUSED for message in REFUSED[name]]
)
def test_results_that_are_refused(name, message, tmp_path):
    (tmp_path / name).write_text(REFUSED[name][message])
    with pytest.raises(InputError) as error:
        read_predictions(tmp_path / name, images=IMAGES, numbers=NUMBERS)
    assert message in str(error.value)


def test_shares_with_the_centre_in_front_are_refused():
    images = [LabelledImage(str(k), name, (480, 640)) for k, name in enumerate(NAMES, 1)]
    with pytest.raises(InputError, match="multiply them by the width"):
        read_predictions(CENTRES, images=images, numbers=NUMBERS)


def labels(**change):
    return {
        "images": [
            {"id": k, "file_name": name, "height": 480, "width": 640}
            for k, name in enumerate(NAMES, 1)
        ],
        "annotations": [{**row, "id": k} for k, row in enumerate(ROWS)],
        "categories": [{"id": 1, "name": "car"}, {"id": 2, "name": "bus"}],
        **change,
    }


# The centre in front, as in YOLO: read as left and top edge a box ends beyond 1.
CENTRES = [{**ROWS[k % 3], "bbox": [0.2 + k / 50, 0.9, 0.3, 0.2]} for k in range(30)]
CORNERS = [{**ROWS[k % 3], "bbox": [450 + k, 300 + k, 550 + k, 420 + k]} for k in range(30)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"annotations": MANY}, "multiply them by the width"),
        ({"annotations": CENTRES}, "multiply them by the width"),
        ({"annotations": CORNERS}, "100% of the labelled boxes reach out of their images"),
        ({"categories": ["car", "bus"]}, "expected an object, got 'car'"),
        ({"categories": {"1": "car"}}, "to be a list of objects, got dict"),
        (
            {"categories": [{"id": 1, "name": "car"}, {"id": "1", "name": "bus"}]},
            "category ids must be unique",
        ),
    ],
)
def test_labels_that_are_refused(change, message):
    with pytest.raises(InputError) as error:
        read_coco(labels(**change))
    assert message in str(error.value)


def test_labels_of_another_encoding_are_refused(tmp_path):
    text = json.dumps(labels(), ensure_ascii=False)
    (tmp_path / "a.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match="in UTF-8"):
        read_coco(tmp_path / "a.json")
    (tmp_path / "a.json").write_bytes(text.encode("utf-8-sig"))
    assert [box.xywh for box in read_coco(tmp_path / "a.json").boxes] == [
        tuple(row["bbox"]) for row in ROWS
    ]


VOC = """<annotation xmlns="http://example.org/voc"><size><width>64</width><height>48</height></size>
<object><name>car</name><bndbox><xmin>11</xmin><ymin>6</ymin><xmax>20</xmax><ymax>25</ymax></bndbox>
</object></annotation>"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "images").mkdir()
    Image.new("RGB", (64, 48)).save(tmp_path / "images/a.jpg")
    return tmp_path


def test_voc_with_a_namespace(folder):
    (folder / "Annotations").mkdir()
    (folder / "Annotations/a.xml").write_text(VOC)
    (box,) = load_labels(folder).boxes
    assert (box.category, box.xywh) == ("car", (10, 5, 10, 20))  # pixels 11 to 20 and 6 to 25


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 0.5 0.5 0.2 0.4 0.9", "a sixth is the score of a prediction"),
        ("0,0.5,0.5,0.2,0.4", "with spaces between them, got '0,0.5,0.5,0.2,0.4'"),
        ("0 0,5 0,5 0,2 0,4", "with spaces between them, got '0 0,5 0,5 0,2 0,4'"),
        ("0 32 24 10 10", "shares of the image between 0 and 1, got 32"),
    ],
)
def test_lines_of_yolo_that_are_refused(folder, line, message):
    (folder / "labels").mkdir()
    (folder / "labels/a.txt").write_text(f"{line}\n")
    with pytest.raises(InputError) as error:
        load_labels(folder)
    assert "a.txt, line 1: expected" in str(error.value) and message in str(error.value)


def test_names_of_classes_may_lie_beside_the_labels(folder):
    (folder / "labels").mkdir()
    (folder / "labels/a.txt").write_bytes(b"1 0.5 0.5 0.25 0.5\r\n")
    (folder / "labels/classes.txt").write_bytes(b"\xef\xbb\xbfcar\r\nbus\r\n")
    (box,) = load_labels(folder).boxes
    assert (box.category, box.xywh) == ("bus", (24, 12, 16, 24))


def test_lists_of_names(tmp_path):
    path = tmp_path / "list.txt"
    path.write_bytes(b'\xef\xbb\xbf"a/1.jpg"\r\n"a/2.jpg"\r\n')  # as Windows copies paths
    assert [image.file_name for image in read_image_list(path)] == ["a/1.jpg", "a/2.jpg"]
    path.write_text("a/1.jpg\n./a/1.jpg\n")
    with pytest.raises(InputError, match="twice"):
        read_image_list(path)
    path.write_text("file_name,width,height\na/1.jpg,640,480\n")
    for name in ("data.yaml", "DATA.YAML"):
        data = tmp_path / name
        data.write_text("path: .\nval: images/val\nnames: [car]\n")
        with pytest.raises(InputError, match="describes a data set"):
            read_image_list(data)
    with pytest.raises(InputError, match="is a table"):
        read_image_list(path)
    for indent in (None, 1):
        path.write_text(json.dumps({"images": [{"id": 1, "file_name": "a/1.jpg"}]}, indent=indent))
        with pytest.raises(InputError, match=r"holds JSON, .*does not end in \.json"):
            read_image_list(path)
    path.write_text("[1] a.jpg\n{7}.jpg\n")
    assert [image.file_name for image in read_image_list(path)] == ["[1] a.jpg", "{7}.jpg"]
