"""One bad item among three, in every format: left out, counted and named; most of them: refused."""

import json

import numpy as np
import pytest
from scipy.io import savemat

from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.find_images import find_images
from autoeval.io.image_lists import read_image_list
from autoeval.io.labels.any_format import load_labels
from autoeval.io.labels.content import labelled_boxes
from autoeval.io.predictions import read_predictions
from autoeval.runtime.files import BadItems

BAD = "x"  # in the place of a number
BDD = '[{{"name": "1.png"}}, {{"name": "2.png"}}, {{"name": "3.png", "labels": [{}]}}]'
VBB = '{"set06": {"V": {"nFrame": 3, "frames": {"1": [{"lbl": "person", "pos": [1, 2, "x", 4]}]}}}}'
DETRAC = "".join(f'<frame num="{n}"></frame>' for n in (1, 2, BAD))
ODGT = '{{"ID": "{}", "gtboxes": []}}\n'
VOC = "<annotation><size><width>40</width><height>20</height></size>{}</annotation>"
PERSON = {"label": "pedestrian", "bbox": [1, 2, 3, 4], "bboxVis": [1, 2, 3, 4]}


def of_each(path, sound, bad):
    """Label files of images 1, 2 and 3, of which the last one is bad."""
    return {path.format(n): bad if n == 3 else sound for n in (1, 2, 3)}


def frame(**more):
    return json.dumps({"imgHeight": 20, "imgWidth": 40, "imageheight": 20, "imagewidth": 40} | more)


CASES = {
    "voc": (of_each("Annotations/{}.xml", VOC.format(""), "<annotation>"), "", "JPEGImages/{}.png"),
    "yolo": (of_each("labels/{}.txt", "0 .5 .5 .1 .1", "0 .5 .5 x .1"), "labels", "images/{}.png"),
    "kitti": (of_each("label_2/{}.txt", "", "Car 1 2 x"), "", "image_2/{}.png"),
    "exdark": (of_each("Annno/{}.png.txt", "", "Car 1 2 x 4"), "Annno", "ExDark/{}.png"),
    "bdd100k": ({"val.json": BDD.format('{"box2d": {"x1": "a"}}')}, "val.json", "img/{}.png"),
    "caltech": ({"a.json": VBB}, "a.json", "img/set06_V_{}.png"),
    "crowdhuman": ({"a.odgt": ODGT.format(1) + ODGT.format(2) + "{"}, "a.odgt", "Images/{}.jpg"),
    "box_csv": (
        {"a.csv": "frame,class,xmin,ymin,xmax,ymax\n1.png,a,1,2,3,4\n2.png,a,1,2,3,4\n3.png,a,x"},
        "a.csv",
        "images/{}.png",
    ),
    "ua_detrac": (
        {"Train/V.xml": f'<sequence name="V">{DETRAC}</sequence>'},
        "Train",
        "Insight-MVT_Annotation_Train/V/img0000{}.jpg",
    ),
    "cityscapes": (
        of_each("gtFine/val/{}_gtFine_polygons.json", frame(objects=[]), frame()),
        "",
        "leftImg8bit/val/{}_leftImg8bit.png",
    ),
    "eurocity": (
        of_each("labels/val/{}.json", frame(children=[]), frame(children=[{"identity": "rider"}])),
        "",
        "img/val/{}.png",
    ),
    "citypersons": (
        of_each(
            "gtBboxCityPersons/val/{}_gtBboxCityPersons.json",
            frame(objects=[PERSON]),
            frame(objects=[PERSON, {**PERSON, "bbox": [1, 2, float("inf"), 4]}]),
        ),
        "",
        "leftImg8bit/val/{}_leftImg8bit.png",
    ),
}


@pytest.mark.parametrize("layout", CASES)
def test_one_of_three(write, layout):
    files, labels, image = CASES[layout]
    first = 0 if layout == "caltech" else 1
    folder = write({**files, **{image.format(n): None for n in range(first, first + 3)}})
    options = {"every": 1, "sets": "set06"} if layout == "caltech" else {}
    img_dir = folder / "img" if image.startswith("img/{") or layout == "caltech" else None
    found = load_labels(folder / labels, img_dir, layout=layout, **options)
    (warning,) = [text for text in found.warnings if "left out: 1 of 3" in text]
    assert warning.startswith(("label files", "lines", "frames", "images"))
    assert len(found.images) == (3 if layout == "yolo" else 2)


def test_an_image_of_a_mat_file(write):
    folder = write({f"leftImg8bit/val/ulm/{n}.png": None for n in (1, 2, 3)})
    cells = np.empty((1, 3), object)
    for k in range(3):
        numbers = np.array([[9 if k == 2 else 1, *[1] * 9]], np.int32)  # there is no class 9
        cells[0, k] = {"cityname": "ulm", "im_name": f"{k + 1}.png", "bbs": numbers}
    savemat(folder / "anno_val.mat", {"anno_val_aligned": cells})
    labels = load_labels(folder / "anno_val.mat", layout="citypersons")
    assert len(labels.images) == 2 and "images left out: 1 of 3" in labels.warnings[0]


COCO = {
    "images": [{"id": n, "file_name": f"{n}.png", "height": 20, "width": 40} for n in (1, 2, 3)],
    "categories": [{"id": n, "name": word} for n, word in enumerate(("car", "bus", "van"), 1)],
    "annotations": [
        {"id": n, "image_id": n, "category_id": n, "bbox": [1, 2, 3, 4]} for n in (1, 2, 3)
    ],
}


def coco_with(tmp_path, key, n=1, **change):
    """A file whose last `n` entries of a list are changed."""
    document = json.loads(json.dumps(COCO))
    for entry in document[key][-n:]:
        entry.update(change)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("key", "change", "n_boxes"),
    [
        ("annotations", {"bbox": [1e308, 2, 3]}, 2),
        ("annotations", {"bbox": "1234"}, 3),  # four digits are four numbers
        ("annotations", {"bbox": None}, 2),
        ("annotations", {"bbox": [1, 2, float("nan"), 4]}, 2),
        ("annotations", {"category_id": [1]}, 2),
        ("annotations", {"category_id": {"a": 1}}, 2),
        ("annotations", {"category_id": 99}, 2),
        ("annotations", {"image_id": {"a": 1}}, 2),
        ("annotations", {"image_id": 99}, 2),
        ("categories", {"id": [3]}, 2),
        ("images", {"id": None, "file_name": None}, 2),
    ],
)
def test_one_entry_of_a_coco_file(tmp_path, key, change, n_boxes):
    labels = read_coco(coco_with(tmp_path, key, **change))
    assert len(labels.boxes) == n_boxes
    assert len(labels.images) == (2 if key == "images" else 3)
    if n_boxes == 2:
        assert f"{key} left out: 1 of 3 ({key}[2] is malformed: " in labels.warnings[0]
        with pytest.raises(InputError, match=rf"{key}\[1\] is malformed.*2 of 3"):
            read_coco(coco_with(tmp_path, key, 2, **change))


def test_lists_of_images_name_what_they_lack(tmp_path, write):
    write({f"{n}.png": None for n in (1, 2, 3)})
    path = coco_with(tmp_path, "images", id=None, file_name="")
    assert find_images(path).skipped == (read_coco(path).warnings[0],)
    warnings = []
    assert len(read_image_list(path, warnings)) == 2 and "images[2]" in warnings[0]
    with pytest.raises(InputError, match=r"images\[2\] is malformed"):
        read_image_list(path)  # where nothing could be said
    document = json.loads(path.read_text())
    boxes = [{**box, "score": 0.5} for box in document["annotations"]]
    path.write_text(json.dumps({**document, "annotations": boxes}))
    assert "images left out: 1 of 3 (images[2]" in " ".join(read_predictions(path).left_out)


@pytest.mark.parametrize("side", [0, -1, None, "tall", 1e308, float("nan"), [4], float("inf")])
@pytest.mark.parametrize("n", [1, 3])  # on some images, and on all
def test_a_size_that_is_none_costs_the_size_and_no_image(tmp_path, side, n):
    labels = read_coco(coco_with(tmp_path, "images", n, height=side, width=side))
    assert (len(labels.images), len(labels.boxes), labels.warnings) == (3, 3, ())
    assert [image.size for image in labels.images] == [(20, 40)] * (3 - n) + [None] * n


def test_sizes_that_passed_through_a_table(tmp_path):
    labels = read_coco(coco_with(tmp_path, "images", height=20.0, width="40"))
    assert labels.images[-1].size == (20, 40)


POLYGON = [[4, 2, 8, 2, 8, 9], [1, 5, 3, 7, 2, 8]]


@pytest.mark.parametrize("bbox", [None, []])
def test_the_box_of_a_polygon(tmp_path, bbox):
    labels = read_coco(coco_with(tmp_path, "annotations", bbox=bbox, segmentation=POLYGON))
    assert labels.boxes[-1].xywh == (1, 2, 7, 7) and labels.warnings == ()
    flat = coco_with(tmp_path, "annotations", bbox=bbox, segmentation=POLYGON[0])
    assert read_coco(flat).boxes[-1].xywh == (4, 2, 4, 7)


def test_a_box_goes_before_its_polygon(tmp_path):
    assert read_coco(coco_with(tmp_path, "annotations", segmentation=POLYGON)).warnings == ()
    boxes = read_coco(coco_with(tmp_path, "annotations", segmentation=POLYGON)).boxes
    assert boxes[-1].xywh == (1, 2, 3, 4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("compressed", [True, False])
def test_the_box_of_a_mask_is_that_of_pycocotools(tmp_path, seed, compressed):
    mask = pytest.importorskip("pycocotools.mask")
    rng = np.random.default_rng(seed)
    pixels = np.zeros((40, 30), np.uint8, order="F")
    pixels[5:30, 10:22] = rng.random((25, 12)) < [0.002, 0.05, 0.9][seed]
    pixels[12, 15] = 1
    runs = mask.encode(pixels)
    expected = tuple(mask.toBbox(runs))
    flat = np.flatnonzero(np.diff(pixels.ravel(order="F"), prepend=0)).tolist()
    counts = np.diff([0, *flat, pixels.size]).tolist()
    segmentation = {"size": [40, 30], "counts": runs["counts"].decode() if compressed else counts}
    path = coco_with(tmp_path, "annotations", bbox=None, segmentation=segmentation)
    assert read_coco(path).boxes[-1].xywh == expected


def test_an_image_of_lvis_is_named_by_its_address(tmp_path):
    url = "http://images.cocodataset.org/val2017/000000397133.jpg"
    image = read_coco(coco_with(tmp_path, "images", coco_url=url, file_name=None)).images[-1]
    assert (image.image_id, image.file_name) == ("3", "val2017/000000397133.jpg")


def test_ids_of_images_that_passed_through_a_table(tmp_path):
    assert len(read_coco(coco_with(tmp_path, "annotations", image_id=3.0)).boxes) == 3
    assert len(read_coco(coco_with(tmp_path, "images", id=3.0)).boxes) == 3


def test_half_are_not_most():
    def read(text):
        bad = BadItems("a", "numbers")
        for k, digit in enumerate(text):
            with bad.item(f"numbers[{k}]"):
                int(digit)
        return bad

    assert len(read("11xx").warnings()) == 1
    bad = read("1xxx")
    with pytest.raises(InputError, match=r"a: first; numbers\[1\].* 3 of 4 numbers"):
        bad.warnings(["first"])


def test_a_crowd_may_be_written_as_text(tmp_path):
    boxes = [
        {"image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 5], "iscrowd": crowd}
        for crowd in ("0", "1", 0, None, True, "perhaps")
    ]
    content = {
        "images": [{"id": 1, "file_name": "a.jpg"}],
        "categories": [{"id": 1, "name": "car"}],
        "annotations": boxes,
    }
    (tmp_path / "a.json").write_text(json.dumps(content))
    labels = read_coco(tmp_path / "a.json")
    assert [box.iscrowd for box in labels.boxes] == [False, True, False, False, True]
    assert "expected iscrowd 0 or 1, got 'perhaps'" in labels.warnings[0]


@pytest.mark.parametrize("n_flat, severity", [(1, "note"), (2, "warning")])
def test_many_boxes_without_area_are_warned_of(n_flat, severity):
    """Of 20 labels one is a twentieth."""
    labels = {"images": [{"id": 1, "file_name": "1.jpg"}], "categories": [{"id": 1, "name": "car"}]}
    sides = [0] * n_flat + [5] * (20 - n_flat)
    labels["annotations"] = [
        {"image_id": 1, "category_id": 1, "bbox": [10 * k, 0, side, 5]}
        for k, side in enumerate(sides)
    ]
    truth = labelled_boxes(read_coco(labels))
    (notice,) = truth.left_out
    assert (len(truth), notice.code, notice.severity) == (
        20 - n_flat,
        "label-boxes-unusable",
        severity,
    )
