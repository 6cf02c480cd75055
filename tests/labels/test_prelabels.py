"""Boxes that are offered to those who label, with values worked out by hand."""

from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np

from autoeval.boxes import Boxes, LabelledImage
from autoeval.labels.plan_folder import label_config, prelabels


def offered(rows, size=(100, 200), categories=("vehicle", "person")):
    """Boxes (label, score, xyxy) of one image, as they are offered in it."""
    image = LabelledImage("a b.jpg", "a b.jpg", size)
    labels, scores, corners = zip(*rows, strict=True)
    columns = np.zeros(len(rows), int), np.array(labels), np.float32(corners), np.float32(scores)
    boxes = Boxes((image,), categories, *columns)
    plan = SimpleNamespace(found=boxes, drawn=np.array([0]))
    return prelabels(plan, [image])[0]


def test_confident_boxes_inside_the_image():
    made = offered(
        [
            (0, 0.5, [-20, 10, 20, 60]),  # half outside
            (1, 0.3, [50, 50, 60, 60]),  # not over .3
            (0, 0.9, [150, 40, 260, 130]),
            (1, 0.8, [210, 10, 250, 40]),  # wholly outside
        ]
    )
    np.testing.assert_array_equal(made.boxes, [[150, 40, 200, 100], [0, 10, 20, 60]])
    assert made.categories == ["vehicle", "vehicle"]
    assert [box.xywh for box in made.labelled()] == [(150, 40, 50, 60), (0, 10, 20, 50)]


def test_one_object_that_two_words_of_the_detector_name_is_offered_once():
    car, truck = [10, 10, 50, 50], [10, 10, 50, 46]  # IoU .9
    beside, other = [30, 10, 70, 50], [10, 10, 50, 48]  # IoU 1/3; another category
    made = offered([(0, 0.6, truck), (0, 0.7, car), (0, 0.5, beside), (1, 0.4, other)])
    np.testing.assert_array_equal(made.boxes, [car, beside, other])
    assert made.categories == ["vehicle", "vehicle", "person"]
    np.testing.assert_allclose(made.scores, [0.7, 0.5, 0.4])


def test_a_task_for_label_studio():
    task = offered([(1, 0.9, [50, 20, 100, 45])]).label_studio_task("abc")
    assert task["data"] == {"image": "/data/local-files/?d=images/a%20b.jpg"}
    (prediction,) = task["predictions"]
    assert prediction["model_version"] == "abc"
    value = prediction["result"][0]["value"]
    assert [value[side] for side in ("x", "y", "width", "height")] == [25, 20, 25, 25]  # per cent
    assert value["rectanglelabels"] == ["person"]


def test_the_interface_has_a_label_for_each_category():
    root = ElementTree.fromstring(label_config(["car", 'a "b" & <c>']))
    assert [label.get("value") for label in root.iter("Label")] == ["car", 'a "b" & <c>']
    assert root.find("RectangleLabels").get("toName") == root.find("Image").get("name")
