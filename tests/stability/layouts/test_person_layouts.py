"""Samples made by hand after the published descriptions; images are 40 x 20 pixels."""

import json

import numpy as np
import pytest
from scipy.io import savemat

from autoeval.errors import InputError
from autoeval.io.labels.any_format import load_labels

IMAGE = None


def boxes_of(labels):
    return [(b.category, b.xywh, b.iscrowd) for b in labels.boxes]


def caltech(label, pos, posv=0):
    return {"lbl": label, "pos": pos, "posv": posv, "occl": 0, "id": 1, "str": 1, "end": 9}


@pytest.fixture
def caltech_file(write):
    objects = [caltech("person", [1, 2, 5, 12], [1, 2, 5, 6]), caltech("people", [9, 0, 9, 9])]
    video = {"nFrame": 65, "frames": {"29": objects, "30": objects, "59": []}}
    content = {"set06": {"V000": video}, "set07": {"V001": {"nFrame": 20, "frames": {}}}}
    names = [f"images/set06_V000_{k}.png" for k in (28, 29, 30, 59)]
    folder = write({"annotations.json": json.dumps(content), **dict.fromkeys(names)})
    return folder / "annotations.json"


def test_caltech(caltech_file):
    labels = load_labels(caltech_file, layout="caltech", sets="set06,set07")
    assert [image.image_id for image in labels.images] == ["set06_V000_29.png", "set06_V000_59.png"]
    assert boxes_of(labels) == [
        ("person", (1, 2, 5, 12), False),
        ("person", (9, 0, 9, 9), True),  # a group
    ]
    assert len(labels.unlabelled) == 2


def test_options_of_caltech(caltech_file):
    options = {"layout": "caltech", "sets": "set06"}
    visible = load_labels(caltech_file, **options, box="visible")
    assert [box.xywh for box in visible.boxes] == [(1, 2, 5, 6), (9, 0, 9, 9)]
    tall = load_labels(caltech_file, **options, min_height="13")
    assert [box.iscrowd for box in tall.boxes] == [True, True]
    with pytest.raises(InputError, match=r"not as Caltech publishes it .no field 'set00'"):
        load_labels(caltech_file, layout="caltech", sets="set00")
    with pytest.raises(InputError, match="`min_height` to be a number from 0 but got 'tall'"):
        load_labels(caltech_file, **options, min_height="tall")
    with pytest.raises(InputError, match="`box` to be one of full, visible but got 'head'"):
        load_labels(caltech_file, **options, box="head")


def test_crowdhuman(write):
    person = {"tag": "person", "fbox": [-1, 2, 9, 14], "vbox": [0, 2, 8, 9], "hbox": [1, 1, 1, 1]}
    ignored = {**person, "extra": {"ignore": 1}}
    mask = {**person, "tag": "mask"}
    lines = [{"ID": "273271,c9db", "gtboxes": [person, ignored, mask]}, {"ID": "b", "gtboxes": []}]
    text = "\n".join([*map(json.dumps, lines), '{"ID": "c"'])
    images = {"Images/273271,c9db.jpg": IMAGE, "Images/b.jpg": IMAGE}
    folder = write({**images, "annotation_val.odgt": text})
    labels = load_labels(folder / "annotation_val.odgt", layout="crowdhuman")
    full = (-1, 2, 9, 14)
    assert boxes_of(labels) == [("person", full, k) for k in (False, True, True)]
    assert len(labels.images) == 2
    (warning,) = labels.warnings
    assert warning.startswith("lines left out: 1 of 3")
    assert "annotation_val.odgt, line 3: not as CrowdHuman publishes it" in warning
    visible = load_labels(folder / "annotation_val.odgt", layout="crowdhuman", box="visible")
    assert visible.boxes[0].xywh == (0, 2, 8, 9)


CITY = "leftImg8bit/val/ulm/ulm_0_leftImg8bit.png"
ROWS = [  # label, x1, y1, w, h, instance, visible x1, y1, w, h
    [1, 1, 2, 5, 12, 24001, 1, 2, 5, 6],
    [3, 8, 2, 5, 9, 24002, 8, 2, 5, 9],
    [0, 20, 0, 9, 9, 0, 20, 0, 9, 9],
    [5, 30, 0, 9, 9, 24000, 30, 0, 9, 9],
]
EXPECTED = [
    ("pedestrian", (1, 2, 5, 12), False),
    ("sitting person", (8, 2, 5, 9), False),
    ("pedestrian", (20, 0, 9, 9), True),
    ("pedestrian", (30, 0, 9, 9), True),
]


def test_citypersons_as_json(write):
    words = {0: "ignore", 1: "pedestrian", 3: "sitting person", 5: "person group"}
    objects = [{"label": words[r[0]], "bbox": r[1:5], "bboxVis": r[6:]} for r in ROWS]
    content = json.dumps({"imgHeight": 20, "imgWidth": 40, "objects": objects})
    folder = write({CITY: IMAGE, "gtBboxCityPersons/val/ulm/ulm_0_gtBboxCityPersons.json": content})
    for path in (folder, folder / "gtBboxCityPersons"):
        assert boxes_of(load_labels(path, layout="citypersons")) == EXPECTED
    visible = load_labels(folder, layout="citypersons", box="visible", min_height=9)
    assert boxes_of(visible)[0] == ("pedestrian", (1, 2, 5, 6), True)


def test_citypersons_as_mat(write):
    folder = write({CITY: IMAGE, "leftImg8bit/val/ulm/ulm_1_leftImg8bit.png": IMAGE})
    cells = np.empty((1, 2), object)
    for k, rows in enumerate((ROWS, ROWS[:1])):
        name = f"ulm_{k}_leftImg8bit.png"
        cells[0, k] = {"cityname": "ulm", "im_name": name, "bbs": np.array(rows, np.int32)}
    savemat(folder / "anno_val.mat", {"anno_val_aligned": cells})
    labels = load_labels(folder / "anno_val.mat", layout="citypersons")
    assert boxes_of(labels) == [*EXPECTED, EXPECTED[0]] and len(labels.images) == 2
    (folder / "bad.mat").write_text("no mat")
    with pytest.raises(InputError, match=r"is not a \.mat file of CityPersons"):
        load_labels(folder / "bad.mat", layout="citypersons")


def test_eurocity(write):
    def child(identity, **more):
        return {"identity": identity, "x0": 1, "y0": 2, "x1": 6, "y1": 14, "tags": [], **more}

    rider = child("rider", children=[child("bicycle")])
    content = {"identity": "frame", "imageheight": 20, "imagewidth": 40}
    groups = [child("person-group-far-away"), child("rider+vehicle-group-far-away")]
    groups += [child("bicycle-group"), child(None)]  # neither is a person
    content["children"] = [child("pedestrian"), rider, *groups]
    content["children"].append(child("pedestrian", tags=["depiction"]))  # on a poster
    folder = write({"img/val/bonn/1.png": IMAGE, "labels/val/bonn/1.json": json.dumps(content)})
    box = (1, 2, 5, 12)
    assert boxes_of(load_labels(folder, layout="eurocity")) == [
        ("pedestrian", box, False),
        ("rider", box, False),
        ("pedestrian", box, True),
        ("rider", box, True),
        ("pedestrian", box, True),
    ]
