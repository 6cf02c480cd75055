"""Any callable as a detector: its passes, and what it may do wrong."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bright_street import WORDS, find_bright, street

from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.errors import InputError
from autoeval.estimation.observation.detector_identity import refuse_differences
from autoeval.estimation.observation.observing import Observer
from autoeval.io.tasks.task import Task


def answering(answer, categories=WORDS):
    return BlackBoxDetector(lambda images: answer, categories)


def weighed(weights):
    return BlackBoxDetector(find_bright, WORDS, weights=weights)


def test_clean_boxes_and_what_is_missing():
    detector = BlackBoxDetector(find_bright, WORDS)
    first, second = detector.observe([street(), np.zeros((8, 8, 3), np.uint8)], ["a", "b"])
    np.testing.assert_array_equal(first.clean.boxes, [[20, 10, 40, 30]])
    assert (first.clean.labels.tolist(), first.image_size, first.image_id) == ([1], (48, 64), "a")
    assert len(second.clean) == 0
    assert first.why_missing("views") == "the pass was made without views"


def test_what_a_callable_draws_into_its_images_stays_with_it():
    """A reference, and another try where a batch has failed, see the image as it was."""

    def find(images):
        found = find_bright(images)
        for image in images:
            image[:] = 255 - image
        return found

    image = street()
    detector = BlackBoxDetector(find, WORDS)
    for _ in range(2):
        (seen,) = detector.observe([image], ["a"])
        np.testing.assert_array_equal(seen.clean.boxes, [[20, 10, 40, 30]])
    np.testing.assert_array_equal(image, street())


def test_no_box_depends_on_the_images_beside_it():
    """A program that pads a batch to its largest image, as frameworks do, saw others by batches."""

    def find(images):
        width = max(image.shape[1] for image in images)
        n = len(images)
        return [[[0, 0, 4, 4]]] * n, [[width / 100]] * n, [[0]] * n

    images = [np.zeros((8, width, 3), np.uint8) for width in (10, 30, 10, 20)]
    seen = BlackBoxDetector(find, WORDS).observe(images, list("abcd"))
    assert [one.image_id for one in seen] == list("abcd")
    np.testing.assert_allclose([float(one.clean.scores[0]) for one in seen], [0.1, 0.3, 0.1, 0.2])


def test_settings_tell_detectors_apart():
    one, two = (
        BlackBoxDetector(find_bright, WORDS, settings={"score_thr": t}) for t in (0.01, 0.3)
    )
    assert one.fingerprint != two.fingerprint
    assert one.settings["score_thr"] == 0.01
    assert one.fingerprint == BlackBoxDetector(str, WORDS, settings={"score_thr": 0.01}).fingerprint
    assert one.is_identified and not BlackBoxDetector(find_bright, WORDS).is_identified


def test_settings_are_as_they_are_when_a_fit_was_kept():
    """Tuples within lists differed from what was read, and numbers of NumPy could not be kept."""
    given = {"thr": np.float32(0.25), "sizes": [(416, 416), (640, 640)], "config": Path("a.yaml")}
    settings = BlackBoxDetector(find_bright, WORDS, settings=given).settings
    assert json.loads(json.dumps(settings)) == settings
    known = {"thr": 0.25, "sizes": [[416, 416], [640, 640]], "config": "a.yaml"}
    assert {name: settings[name] for name in given} == known
    refuse_differences(known, {**given, "thr": 0.25})  # of a class of one's own


def test_settings_that_change_are_read_anew():
    network = {"weights": "first"}
    detector = BlackBoxDetector(find_bright, WORDS, settings=lambda: network)
    before = detector.fingerprint
    assert detector.is_identified and detector.settings["weights"] == "first"
    network["weights"] = "second"
    assert detector.settings["weights"] == "second" and detector.fingerprint != before


def test_the_content_of_weights_tells_detectors_apart(tmp_path):
    weights, copy = tmp_path / "w.pt", tmp_path / "copy.pt"
    weights.write_bytes(b"first")
    copy.write_bytes(b"first")
    first, same = weighed(weights), weighed([copy])
    # sha256 of "first", by `printf first | sha256sum`
    assert first.settings["weights"] == ["a7937b64b8caa58f"]
    assert first.fingerprint == same.fingerprint
    weights.write_bytes(b"retrained")
    assert weighed(weights).fingerprint != first.fingerprint
    assert len(weighed([weights, copy]).settings["weights"]) == 2
    with pytest.raises(InputError, match=r"none\.pt: No such file"):
        weighed(tmp_path / "none.pt")
    assert first.is_identified


def test_a_callable_that_raises():
    def find(images):
        raise RuntimeError("out of memory")

    with pytest.raises(InputError, match="mine failed on 1 images, from 'a' on: RuntimeError: out"):
        BlackBoxDetector(find, WORDS, name="mine").observe([street()], ["a"])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((np.zeros((1, 4)), [0.5]), "Expected three lists"),
        (({}, {}, {}), "but got 0, 0 and 0"),
        (([[]] * 2, [[]] * 2, [[]] * 2), "of 1 images, one array each, but got 2, 2 and 2"),
        (([[[1, 2, np.nan, 4]]], [[0.5]], [[0]]), "image 'a' has NaN"),
        (([[[1, 2, 3, 4]]], [[np.nan]], [[0]]), "image 'a' has nan"),
        (([[[40, 30, 20, 10]]], [[0.5]], [[0]]), "left, top, width and height"),  # xywh
        (([[[1, 2, 3, 4]]], [[1.5]], [[0]]), r"scores in \[0, 1\] but image 'a' has 1.5"),
        (([[[1, 2, 3, 4]]], [[0.5, 0.4]], [[0]]), "image 'a' is malformed"),
        (([[[1, 2, 3]]], [[0.5]], [[0]]), "image 'a' is malformed"),
        (([[[1, 2], [20, 21], [6, 9], [30, 40]]], [[0.5] * 2], [[0] * 2]), r"got \(4, 2\)"),
        (([[[1, 2, 3, 4]]], [[0.5]], [["cat"]]), "labels cat are not among the categories"),
        (([[[1, 2, 3, 4]]], [[0.5]], [[2]]), "labels are from 0 to 1, these from 2 to 2"),
        # the scores in place of the labels
        (([[[1, 2, 3, 4]]], [[0]], [[0.9]]), r"whole numbers or words, these 0\.9"),
        (([[[1, 2, 3, 4]]], [[0.5]], [[np.nan]]), "whole numbers or words, these nan"),
        (([[[0.1, 0.2, 0.3, 0.4]]], [[0.5]], [[0]]), r"in pixels but those of 'a' lie in \[0, 1\]"),
    ],
)
def test_answers_that_are_refused(answer, told):
    with pytest.raises(InputError, match=told):
        answering(answer).observe([street()], ["a"])


def test_whole_labels_of_any_type_are_numbers():
    for labels in ([1.0], np.array([[1.0]], np.float32), [True]):
        (found,) = answering(([[[1, 2, 3, 4]]], [[0.5]], [labels])).observe([street()], ["a"])
        assert found.clean.labels.tolist() == [1]


def test_words_of_a_table_are_words_also_where_they_are_digits():
    """pandas gives words as objects; a "2" is the word, which may stand elsewhere than third."""
    labels = pd.Series(["2", "10", "0"]).astype(object).to_numpy()
    answer = [np.tile([0, 0, 4, 4], (3, 1))], [[0.9, 0.8, 0.7]], [labels]
    (seen,) = answering(answer, ["10", "2", "0"]).observe([street()], ["a"])
    assert seen.clean.labels.tolist() == [1, 0, 2]


def test_categories_by_their_numbers():
    """As `model.names` of Ultralytics, of which the keys were taken for the words."""
    assert BlackBoxDetector(find_bright, {2: "bus", 0: "car"}).categories == ("car", "N/A", "bus")
    assert BlackBoxDetector(find_bright, "car").categories == ("car",)
    with pytest.raises(InputError, match="words by number but got keys 'car', 'bus'"):
        BlackBoxDetector(find_bright, {"car": 0, "bus": 1})


def test_boxes_that_still_have_gradients_are_told_as_malformed():
    torch = pytest.importorskip("torch")
    boxes = torch.tensor([[1.0, 2, 3, 4]], requires_grad=True)
    with pytest.raises(InputError, match=r"image 'a' is malformed: .*requires grad"):
        answering(([boxes], [[0.5]], [[0]])).observe([street()], ["a"])


def test_boxes_outside_are_clipped_or_dropped():
    boxes = [[[-5, -5, 70, 20], [70, 0, 80, 20], [5, 5, 5, 9], [5, 5, 4.5, 9]]]
    detector = answering((boxes, [[0.5, 0.4, 0.3, 0.2]], [[0, 1, 1, 1]]))
    (found,) = detector.observe([street()], ["a"])
    np.testing.assert_array_equal(found.clean.boxes, [[0, 0, 64, 20]])


@pytest.mark.parametrize("box", [[-9, -9, -2, -1], [0, 0, 0, 0]])  # outside; a row of padding
def test_a_box_that_is_left_out_says_nothing_of_the_unit(box):
    detector = answering(([[box]], [[0.5]], [[0]]))
    (found,) = detector.observe([street()], ["a"])
    assert len(found.clean) == 0


def test_its_representation_says_what_it_is():
    detector = BlackBoxDetector(find_bright, WORDS, name="bright")
    assert repr(detector) == "<BlackBoxDetector 'bright', 2 categories>"
    assert repr(Observer(detector, Task("street", WORDS, ()))) == (
        "<Observer of 'street' by <BlackBoxDetector 'bright', 2 categories>>"
    )


def test_categories_may_hold_a_word_several_times():
    """As those of torchvision, in which "N/A" stands for each number that COCO does not use."""
    words = ("N/A", "car", "N/A", "N/A", "bus")
    for labels, expected in (([4, 2], [4, 2]), (["bus", "car"], [4, 1])):
        answer = [[[1, 2, 3, 4], [1, 2, 5, 6]]], [[0.5, 0.6]], [labels]
        (found,) = answering(answer, words).observe([street()], ["a"])
        assert found.clean.labels.tolist() == expected
