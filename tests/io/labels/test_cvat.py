"""Labels as other programs write them: CVAT in the layouts of its manual, and globox.

CVAT's (docs.cvat.ai, "Export formats") are made by hand: the same three images, of which the first
holds nothing. globox 2.9.0 wrote its files (`save_yolo_v5`, `save_pascal_voc`).
"""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from autoeval.errors import InputError
from autoeval.io.labels.any_format import load_labels

# Images are 40 x 20 pixels. Left, top, width and height.
BOXES = {"a": [], "b": [("car", 4, 2, 20, 10), ("bus", 30, 4, 8, 12)], "c": [("car", 0, 0, 10, 5)]}
WORDS = ["car", "bus"]
COCO = {
    "licenses": [{"name": "", "id": 0, "url": ""}],
    "info": {"contributor": "", "date_created": "", "description": "", "url": "", "year": ""},
    "categories": [{"id": k, "name": word, "supercategory": ""} for k, word in enumerate(WORDS, 1)],
    "images": [
        {"id": k, "width": 40, "height": 20, "file_name": f"{name}.png", "license": 0}
        | {"flickr_url": "", "coco_url": "", "date_captured": 0}
        for k, name in enumerate(BOXES, 1)
    ],
    "annotations": [
        {"id": 10 * image + k, "image_id": image, "category_id": WORDS.index(word) + 1}
        | {"segmentation": [], "area": box[2] * box[3], "bbox": box, "iscrowd": 0}
        | {"attributes": {"occluded": False, "rotation": 0.0}}
        for image, boxes in enumerate(BOXES.values(), 1)
        for k, (word, *box) in enumerate(boxes)
    ],
}


def yolo_lines(boxes):
    shares = [
        (word, (x + w / 2) / 40, (y + h / 2) / 20, w / 40, h / 20) for word, x, y, w, h in boxes
    ]
    lines = [" ".join([str(WORDS.index(word)), *(f"{n:.6f}" for n in of)]) for word, *of in shares]
    return "\n".join(lines)


def voc_file(name, boxes):
    """Pixels count from 0 in what CVAT writes; a box begins at 0 in image c."""
    objects = "".join(
        f"<object><name>{word}</name><truncated>0</truncated><occluded>0</occluded>"
        f"<difficult>0</difficult><bndbox><xmin>{x:.2f}</xmin><ymin>{y:.2f}</ymin>"
        f"<xmax>{x + w:.2f}</xmax><ymax>{y + h:.2f}</ymax></bndbox></object>"
        for word, x, y, w, h in boxes
    )
    return (
        f"<annotation><folder></folder><filename>{name}.png</filename><source/><size><width>40"
        f"</width><height>20</height><depth></depth></size><segmented>0</segmented>{objects}"
        "</annotation>"
    )


def cvat_image(k, name, boxes):
    inside = "".join(
        f'<box label="{word}" source="manual" occluded="0" xtl="{x}" ytl="{y}" xbr="{x + w}" '
        f'ybr="{y + h}" z_order="0"></box>'
        for word, x, y, w, h in boxes
    )
    return f'<image id="{k}" name="{name}.png" width="40" height="20">{inside}</image>'


IMAGES = {
    "COCO 1.0": "images/default/{}.png",
    "YOLO 1.1": "obj_train_data/{}.png",
    "Ultralytics YOLO Detection 1.0": "images/train/{}.png",
    "PASCAL VOC 1.1": "JPEGImages/{}.png",
    "CVAT for images 1.1": "images/{}.png",
}
FILES = {
    "COCO 1.0": {"annotations/instances_default.json": json.dumps(COCO)},
    "YOLO 1.1": {
        "obj.data": "classes = 2\nnames = data/obj.names\ntrain = data/train.txt\nbackup = backup/",
        "obj.names": "\n".join(WORDS),
        "train.txt": "\n".join(f"data/obj_train_data/{name}.png" for name in BOXES),
        **{f"obj_train_data/{name}.txt": yolo_lines(boxes) for name, boxes in BOXES.items()},
    },
    "Ultralytics YOLO Detection 1.0": {
        "data.yaml": "names:\n  0: car\n  1: bus\npath: .\ntrain: train.txt\n",
        "train.txt": "\n".join(f"data/images/train/{name}.png" for name in BOXES),
        **{f"labels/train/{name}.txt": yolo_lines(boxes) for name, boxes in BOXES.items()},
    },
    "PASCAL VOC 1.1": {
        "labelmap.txt": "# label:color_rgb:parts:actions\ncar:1,2,3::\nbus:4,5,6::",
        "ImageSets/Main/default.txt": "\n".join(BOXES),
        **{f"Annotations/{name}.xml": voc_file(name, boxes) for name, boxes in BOXES.items()},
    },
    "CVAT for images 1.1": {
        "annotations.xml": "<annotations><version>1.1</version><meta/>"
        + "".join(cvat_image(k, *of) for k, of in enumerate(BOXES.items()))
        + "</annotations>"
    },
}


def export(write, layout):
    images = {IMAGES[layout].format(name): None for name in BOXES}
    return write({**FILES[layout], **images})


@pytest.mark.parametrize("layout", [name for name in FILES if not name.startswith("CVAT")])
def test_an_export_is_read_from_its_root(write, layout):
    labels = load_labels(export(write, layout))
    names = {image.image_id: image.file_name.rpartition("/")[2][0] for image in labels.images}
    assert sorted(names.values()) == ["a", "b", "c"] and labels.unlabelled == ()
    assert all((labels.img_dir / image.file_name).is_file() for image in labels.images)
    assert set(labels.categories) == set(WORDS)
    read = sorted((names[box.image_id], box.category, *box.xywh) for box in labels.boxes)
    expected = sorted((name, *box) for name, boxes in BOXES.items() for box in boxes)
    assert [row[:2] for row in read] == [row[:2] for row in expected]
    for row, true in zip(read, expected, strict=True):
        assert row[2:] == pytest.approx(true[2:], abs=1e-4)


def turned_in_coco(degrees, **more):
    content = json.loads(json.dumps(COCO))
    content["annotations"] = content["annotations"][:1]
    entry = content["annotations"][0] | {"bbox": [10, 5, 12, 6]} | more
    entry["attributes"] = {"occluded": False, "rotation": degrees}
    return content | {"annotations": [entry]}


# A box of 12 x 6 about (16, 8): by a quarter turn 6 x 12, by 45 degrees 18 / sqrt(2) on each side.
TURNED = [(0.0, (10, 5, 12, 6)), (90.0, (13, 2, 6, 12)), (315.0, (9.636039, 1.636039, 12.727922))]


@pytest.mark.parametrize(("degrees", "xywh"), TURNED)
def test_a_box_that_was_turned_is_the_box_around_it(write, degrees, xywh):
    xywh = (*xywh, xywh[-1])[:4]
    images = {IMAGES["COCO 1.0"].format(name): None for name in BOXES}
    file = {"annotations/instances_default.json": json.dumps(turned_in_coco(degrees))}
    of_coco = load_labels(write({**file, **images}))
    thing = voc_file("b", [("car", 10, 5, 12, 6)]).replace(
        "</object>",
        "<attributes><attribute><name>rotation</name>"
        f"<value>{degrees}</value></attribute></attributes></object>"
        "<object><name>bus</name><bndbox><xmin>0</xmin><ymin>0</ymin><xmax>5</xmax><ymax>5</ymax>"
        "</bndbox></object>",  # pixels count from 0
    )
    of_voc = load_labels(
        write({"voc/Annotations/b.xml": thing, "voc/JPEGImages/b.png": None}) / "voc"
    )
    for labels in (of_coco, of_voc):
        assert labels.boxes[0].xywh == pytest.approx(xywh, abs=1e-5)
        codes = [warning.code for warning in labels.warnings]
        assert ("boxes-around-shapes" in codes) == (degrees != 0)


def test_the_box_of_a_polygon_is_not_turned_again(write):
    polygon = {"segmentation": [[10, 5, 22, 5, 22, 11, 10, 11]]}
    content = json.dumps(turned_in_coco(90.0, **polygon))
    labels = load_labels(write({"a.json": content}) / "a.json")
    assert [box.xywh for box in labels.boxes] == [(10, 5, 12, 6)]


def test_the_format_of_cvat_itself_is_answered_with_what_to_export(write):
    with pytest.raises(InputError, match=r"no known format.*From CVAT .* export COCO or YOLO"):
        load_labels(export(write, "CVAT for images 1.1"))


def test_the_archive_that_cvat_gives_is_answered_with_unpack(write, tmp_path):
    folder = export(write, "COCO 1.0")
    with zipfile.ZipFile(tmp_path / "task.zip", "w") as archive:
        archive.write(folder / "annotations/instances_default.json", "annotations/a.json")
    with pytest.raises(InputError, match=r"task\.zip is a zip archive of 1 files .*: unpack it"):
        load_labels(tmp_path / "task.zip")


WRITTEN = Path(__file__).parent / "written_by_globox"
# As xyxy, pixels; images are 40 x 20, 60 x 30 and 40 x 20.
GLOBOX = [
    ("a.png", "car", 15, 5, 25, 15),
    ("a.png", "person", 0, 0, 8, 8),
    ("b.png", "car", 10.5, 3.25, 60, 30),
]


@pytest.mark.parametrize("layout", ["yolo", "voc"])
def test_reads_what_globox_wrote(write, tmp_path, layout):
    write({"a.png": None, "c.png": None, "classes.txt": "car\nperson"})
    write({"b.png": None}, size=(30, 60))
    shutil.copytree(WRITTEN / layout, tmp_path, dirs_exist_ok=True)
    labels = load_labels(tmp_path, layout=layout)
    assert [image.size for image in labels.images] == [(20, 40), (30, 60), (20, 40)]
    found = [
        (box.image_id, box.category, x, y, x + w, y + h)
        for box in labels.boxes
        for x, y, w, h in [box.xywh]
    ]
    for (*words, x1, y1, x2, y2), expected in zip(found, GLOBOX, strict=True):
        assert words == list(expected[:2])
        assert (x1, y1, x2, y2) == pytest.approx(expected[2:], abs=1e-12)
