"""Samples made by hand after the published descriptions; images are 40 x 20 pixels."""

import json

import pytest

from autoeval.errors import InputError
from autoeval.io.coco import coco_document
from autoeval.io.labels.any_format import load_labels
from autoeval.io.labels.content import ANY

IMAGE = None


def boxes_of(labels):
    return [(b.image_id, b.category, b.xywh, b.iscrowd) for b in labels.boxes]


def bdd(*labels, name="a.jpg"):
    return {"name": name, "attributes": {"weather": "rainy"}, "labels": list(labels)}


BDD_CAR = {"category": "car", "box2d": {"x1": 0, "y1": 0, "x2": 5, "y2": 5}}
ENDLESS = {"x1": float("inf"), "y1": 0, "x2": 5, "y2": 5}


def test_bdd100k(write):
    car = {"id": "1", "category": "car", "box2d": {"x1": 1.5, "y1": 2, "x2": 11.5, "y2": 6}}
    crowd = {**car, "category": "rider", "attributes": {"crowd": True}}
    lane = {"category": "lane", "poly2d": [{"vertices": [[1, 2]]}]}
    empty = {"name": "b.jpg", "labels": None}
    content = json.dumps([bdd(car, crowd, lane), empty])
    images = {f"images/100k/val/{name}.jpg": IMAGE for name in "abc"}
    folder = write({**images, "labels/det_20/det_val.json": content})
    labels = load_labels(folder / "labels" / "det_20" / "det_val.json", layout="bdd100k")
    assert boxes_of(labels) == [
        ("a.jpg", "car", (1.5, 2, 10, 4), False),
        ("a.jpg", "rider", (1.5, 2, 10, 4), True),
    ]
    assert [image.size for image in labels.images] == [(20, 40)] * 2
    assert labels.unlabelled == ("c.jpg",) and labels.warnings == ()


@pytest.mark.parametrize(
    ("word", "category", "ignored"),
    [
        ("motor", "motorcycle", False),  # the words of 2018
        ("bike", "bicycle", False),
        ("person", "pedestrian", False),
        ("other vehicle", "car", True),  # ignored by the authors' evaluation
        ("trailer", "truck", True),
        ("other person", "pedestrian", True),
    ],
)
def test_words_of_both_releases_of_bdd100k(write, word, category, ignored):
    content = json.dumps([bdd({**BDD_CAR, "category": word})])
    folder = write({"images/100k/val/a.jpg": IMAGE, "labels/det_val.json": content})
    labels = load_labels(folder / "labels" / "det_val.json", layout="bdd100k")
    assert boxes_of(labels) == [("a.jpg", category, (0, 0, 5, 5), ignored)]
    assert {"bus", "truck"} <= set(labels.categories)  # though none is in these images


def cityscapes(*objects):
    return json.dumps({"imgHeight": 20, "imgWidth": 40, "objects": list(objects)})


def test_cityscapes(write):
    car = {"label": "car", "polygon": [[3, 4], [13, 5], [8, 15]]}
    group = {"label": "persongroup", "polygon": [[0, 0], [4, 0], [4, 4]]}
    road = {"label": "road", "polygon": [[0, 0], [40, 0], [40, 20]]}
    gone = {**car, "deleted": 1}
    folder = write(
        {"leftImg8bit/val/ulm/ulm_000_leftImg8bit.png": IMAGE}
        | {"gtFine/val/ulm/ulm_000_gtFine_polygons.json": cityscapes(car, group, road, gone)}
        | {"gtFine/val/bonn/bonn_000_gtFine_polygons.json": cityscapes()}
    )
    labels = load_labels(folder, layout="cityscapes")
    name = "ulm/ulm_000_leftImg8bit.png"
    found = [("car", (3, 4, 10, 11), False), ("person", (0, 0, 4, 4), True)]
    assert boxes_of(labels) == [(name, *box) for box in found]
    (warning,) = labels.warnings
    assert warning.startswith("labelled images missing in") and "bonn_000_leftImg8bit" in warning
    assert {"person", "rider", "car", "bus"} < set(labels.categories)


def kitti(kind, *box):
    return " ".join(map(str, [kind, 0.0, 0, -1.57, *box, 1.5, 1.6, 3.7, 1, 2, 30, -1.5]))


def test_kitti(write):
    # Editors of Windows write a mark in front, which is no part of the first word.
    text = "\ufeff" + "\n".join([kitti("Car", 1, 2, 11, 8), kitti("DontCare", 20, 0, 30, 5)])
    folder = write({"training/image_2/000001.png": IMAGE, "training/label_2/000001.txt": text})
    for path in (folder, folder / "training", folder / "training" / "label_2"):
        labels = load_labels(path, layout="kitti")
        found = [("Car", (1, 2, 10, 6), False), (ANY, (20, 0, 10, 5), True)]
        assert boxes_of(labels) == [("000001.png", *box) for box in found]
    assert ANY not in labels.categories
    written = coco_document(labels)["annotations"]
    # The area is written once for each of the eight categories.
    assert len(written) == 1 + 8 and sum(entry["iscrowd"] for entry in written) == 8


@pytest.mark.parametrize("score", ["", " 1.0"])
def test_words_with_spaces_in_kitti(write, score):
    text = kitti("traffic light", 1, 2, 11, 8) + score
    folder = write({"image_2/1.png": IMAGE, "label_2/1.txt": text})
    labels = load_labels(folder, layout="kitti")
    assert boxes_of(labels) == [("1.png", "traffic light", (1, 2, 10, 6), False)]


def test_kitti_of_other_programs_has_images_in_subfolders_and_of_other_kinds(write):
    names = ("gate 1/a.jpg", "gate 2/a.jpg", "b.c.png")
    texts = {name.rpartition(".")[0]: kitti("Car", k, 2, k + 10, 8) for k, name in enumerate(names)}
    folder = write(
        {f"image_2/{name}": IMAGE for name in names}
        | {f"label_2/{stem}.txt": text for stem, text in texts.items()}
    )
    labels = load_labels(folder, layout="kitti")
    left_edges = {name: box[0] for name, _, box, _ in boxes_of(labels)}
    assert left_edges == {name: k for k, name in enumerate(names)}
    assert not labels.unlabelled and not labels.warnings


def test_exdark(write):
    text = "% bbGt version=3\nCar 1 2 10 6 0 0 0 0 0 0 0\nPeople 5 5 2 3 0 0 0 0 0 0 0\n"
    folder = write(
        {"ExDark/Car/2015_1.jpg": IMAGE, "ExDark/Cup/2015_1.png": IMAGE}
        | {"Annno/Car/2015_1.JPG.txt": text, "Annno/Cup/2015_1.png.txt": "% bbGt version=3\n"}
    )
    labels = load_labels(folder / "Annno", layout="exdark")
    assert boxes_of(labels) == [
        ("Car/2015_1.jpg", "Car", (1, 2, 10, 6), False),
        ("Car/2015_1.jpg", "People", (5, 5, 2, 3), False),
    ]
    assert len(labels.images) == 2


DETRAC = """<sequence name="MVI_1"><sequence_attribute camera_state="unstable"/>
<ignored_region><box left="30" top="0" width="10" height="5"/></ignored_region>
{frames}</sequence>"""
TARGET = """<frame density="1" num="{}"><target_list><target id="1">
<box left="1.5" top="2" width="10" height="6"/><attribute vehicle_type="van" speed="6.8"/>
</target></target_list></frame>"""


@pytest.fixture
def detrac(write):
    frames = DETRAC.format(frames=TARGET.format(1) + TARGET.format(3))
    folder = write(
        {f"Insight-MVT_Annotation_Train/MVI_1/img0000{k}.jpg": IMAGE for k in (1, 2, 3, 4)}
        | {"Insight-MVT_Annotation_Train/MVI_2/img00001.jpg": IMAGE}
        | {"DETRAC-Train-Annotations-XML/MVI_1.xml": frames}
    )
    return folder / "DETRAC-Train-Annotations-XML"


def test_ua_detrac(detrac):
    labels = load_labels(detrac, layout="ua_detrac")
    assert boxes_of(labels)[:2] == [
        ("MVI_1/img00001.jpg", "van", (1.5, 2, 10, 6), False),
        ("MVI_1/img00001.jpg", ANY, (30, 0, 10, 5), True),
    ]
    names = ["MVI_1/img00001.jpg", "MVI_1/img00003.jpg"]
    assert [image.image_id for image in labels.images] == names
    assert labels.unlabelled[0] == "MVI_1/img00002.jpg" and len(labels.unlabelled) == 3


def test_options_of_ua_detrac(detrac):
    empty = load_labels(detrac, layout="ua_detrac", unlisted="empty")
    assert len(empty.images) == 4 and empty.unlabelled == ("MVI_2/img00001.jpg",)
    areas = [box.image_id for box in empty.boxes if box.category == ANY]
    assert sorted(areas) == sorted(image.image_id for image in empty.images)
    every = load_labels(detrac, layout="ua_detrac", every="3", unlisted="empty")
    assert [i.image_id[-6:-4] for i in every.images] == ["01", "04"]
    with pytest.raises(InputError, match="`every` to be a number from 1 but got 0"):
        load_labels(detrac, layout="ua_detrac", every=0)
    with pytest.raises(InputError, match="one of unlabelled, empty"):
        load_labels(detrac, layout="ua_detrac", unlisted="maybe")


def test_a_frame_that_cannot_be_read_does_not_become_empty(detrac):
    (file,) = detrac.glob("*.xml")
    frames = TARGET.format(1) + TARGET.format(3).replace('width="10"', 'width="x"')
    file.write_text(DETRAC.format(frames=frames))
    labels = load_labels(detrac, layout="ua_detrac", unlisted="empty")
    assert [image.image_id[-6:-4] for image in labels.images] == ["01", "02", "04"]
    assert labels.unlabelled == ("MVI_1/img00003.jpg", "MVI_2/img00001.jpg")


@pytest.mark.parametrize("comma", [",", ", "])  # the blank was part of the word
def test_self_driving_cars(write, comma):
    rows = "frame,xmin,xmax,ymin,ymax,class_id\na.jpg,1,11,2,8,1\na.jpg,0,4,0,4,3\nb.jpg,1,2,1,2,2"
    rows = rows.replace(",", comma)
    folder = write({f"images/{name}.jpg": IMAGE for name in "abc"} | {"labels_train.csv": rows})
    labels = load_labels(folder / "labels_train.csv", layout="box_csv")
    expected = [
        ("a.jpg", "car", (1, 2, 10, 6), False),
        ("a.jpg", "pedestrian", (0, 0, 4, 4), False),
        ("b.jpg", "truck", (1, 1, 1, 1), False),
    ]
    assert boxes_of(labels) == expected and labels.unlabelled == ("c.jpg",)
    # A half-downloaded set keeps its categories: a task that asks for trucks is not refused.
    (folder / "images/b.jpg").unlink()
    half = load_labels(folder / "labels_train.csv", layout="box_csv")
    assert boxes_of(half) == expected[:2] and half.categories == labels.categories
    assert "labelled images missing" in half.warnings[0]


@pytest.mark.parametrize("column", ["class", "class_id"])
def test_class_numbers_of_other_files_are_no_numbers_of_self_driving_cars(write, column):
    rows = f"filename,{column},xmin,ymin,xmax,ymax\na.jpg,1,1,2,11,8"
    folder = write({"export/a.jpg": IMAGE, "export/boxes.csv": rows})
    labels = load_labels(folder / "export" / "boxes.csv", layout="box_csv")
    assert boxes_of(labels) == [("a.jpg", "1", (1, 2, 10, 6), False)]


def test_udacity(write):
    rows = "filename,width,height,class,xmin,ymin,xmax,ymax\na.jpg,40,20,trafficLight-Red,1,2,11,8"
    folder = write({"export/a.jpg": IMAGE, "export/_annotations.csv": rows})
    labels = load_labels(folder / "export" / "_annotations.csv", layout="box_csv")
    assert boxes_of(labels) == [("a.jpg", "trafficLight-Red", (1, 2, 10, 6), False)]


@pytest.mark.parametrize(
    ("scale", "message"), [(0.02, r"all labelled boxes lie in \[0, 1\]"), (4, "reach out of")]
)
def test_boxes_in_other_pixels_are_refused_as_in_coco(write, scale, message):
    """Shares of the image, and pixels of a larger one, of twenty boxes or more."""
    corners = [(scale * (5 + k), scale * 8, scale * (15 + k), scale * 14) for k in range(20)]
    rows = ["filename,class,xmin,ymin,xmax,ymax"]
    rows += [",".join(map(str, ("a.jpg", "car", *box))) for box in corners]
    folder = write({"images/a.jpg": IMAGE, "boxes.csv": "\n".join(rows)})
    with pytest.raises(InputError, match=message):
        load_labels(folder / "boxes.csv", layout="box_csv")


def test_boxes_in_shares_among_pixels_are_warned_of(write):
    text = "filename,class,xmin,ymin,xmax,ymax\nb.jpg,car,.2,.2,.4,.6" + "\na.jpg,car,5,5,9,9" * 19
    folder = write({"images/a.jpg": IMAGE, "images/b.jpg": IMAGE, "boxes.csv": text})
    labels = load_labels(folder / "boxes.csv", layout="box_csv")
    assert [warning.code for warning in labels.warnings] == ["boxes-in-shares"]
    assert "(b.jpg)" in labels.warnings[0]


@pytest.mark.parametrize(
    ("layout", "path", "content", "message"),
    [
        ("bdd100k", "a.json", [{"labels": []}], "frame 0: not as BDD100K publishes .* .no field"),
        ("bdd100k", "a.json", [bdd({"category": "car", "box2d": {"x1": "a"}})], "not as BDD100K"),
        ("bdd100k", "a.json", 3, "not as BDD100K"),
        ("bdd100k", "a.json", [bdd({**BDD_CAR, "category": ["car"]})], r"no box: \['car'\]"),
        ("bdd100k", "a.json", [bdd({**BDD_CAR, "box2d": ENDLESS})], r"no box: 'car' at \(inf, 0"),
        ("crowdhuman", "a.odgt", "[" * 100_000, "line 1: not as CrowdHuman"),
        ("bdd100k", "a.json", [bdd(name="x.jpg")], "x.jpg; none of them is in .*half-downloaded"),
        ("kitti", "a.txt", "Car 1 2", r"a\.txt: not as KITTI publishes it"),
        ("exdark", "a.png.txt", "Car 1 2 x 4", "not as ExDark"),
        ("ua_detrac", "a.xml", "<sequence><frame/></sequence>", "no field 'num'"),
        ("box_csv", "a.csv", "frame,xmin\n", "expected a column class or class_id"),
        ("box_csv", "a.csv", "frame,class,xmin\na.jpg,car,1", "line 2: not as CSV of boxes"),
        ("box_csv", "a.csv", "frame,class,xmin,ymin,xmax,ymax\na.jpg,,1,2,3,4", "line 2: .*no box"),
        ("cityscapes", "gtFine/val/a.json", {}, "No label files .*_gtFine_polygons.json"),
    ],
)
def test_what_is_not_as_published_is_named(write, layout, path, content, message):
    text = content if isinstance(content, str) else json.dumps(content)
    folder = write({path: text, "img/a.jpg": IMAGE})
    is_file = path in ("a.json", "a.csv", "a.odgt")
    with pytest.raises(InputError, match=message):
        load_labels(folder / path if is_file else folder, folder / "img", layout=layout)


def test_no_images(write):
    folder = write({"label_2/1.txt": kitti("Car", 1, 2, 3, 4)})
    with pytest.raises(InputError, match=r"Where are the images of .*image_2; name their folder"):
        load_labels(folder, layout="kitti")
    with pytest.raises(InputError, match="No image folder"):
        load_labels(folder, folder / "typo", layout="kitti")
