"""Images without a box: found nothing there, or never shown to the detector?"""

import numpy as np
import pytest

from autoeval.data.coco import read_coco
from autoeval.data.labels.content import LabelledImage
from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions, read_predictions
from autoeval.data.predictions.oddities import check_coverage
from autoeval.errors import InputError

N = 100


def found(n_boxes, floor=0.01):
    """Predictions with so many boxes in each of 100 images."""
    image = np.repeat(np.arange(N), n_boxes)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(N))
    scores = np.full(len(image), 0.5, np.float32)
    scores[:1] = floor
    boxes = np.tile(np.float32([0, 0, 9, 9]), (len(image), 1))
    return Predictions(images, ("car",), image, np.zeros(len(image), int), boxes, scores, {})


@pytest.mark.parametrize(
    ("empty", "single", "warned"),
    [
        (0, 0, False),
        (3, 0, False),  # 3 % is not over 3 %
        (4, 0, True),
        (25, 15, False),  # many with one box: a detector that hardly finds anything
        (25, 11, False),
        (25, 10, True),  # 25 - 20 are more than 3
        (50, 0, True),
    ],
)
def test_images_without_a_box(empty, single, warned):
    n_boxes = np.repeat([0, 1, 5], [empty, single, N - empty - single])
    warnings = check_coverage(found(n_boxes), np.arange(N), "p.json")
    assert len(warnings) == warned
    assert not warned or warnings[0].startswith(f"{empty} of 100 images have no box in p.json")


def test_only_images_that_should_have_been_seen_count():
    n_boxes = np.repeat([0, 5], [50, 50])
    assert check_coverage(found(n_boxes), np.arange(50, 100), "p.json") == ()
    (warning,) = check_coverage(found(n_boxes), np.arange(40, 100), "p.json")
    assert warning.startswith("10 of 60 images")


def test_lists_that_begin_higher_say_nothing():
    n_boxes = np.repeat([0, 5], [50, 50])
    assert check_coverage(found(n_boxes, floor=0.06), np.arange(N), "p.json", refuse=True) == ()
    with pytest.raises(InputError, match="50 of 100 images have no box"):
        check_coverage(found(n_boxes, floor=0.05), np.arange(N), "p.json", refuse=True)


def test_more_than_a_third_is_refused():
    third, more = (np.repeat([0, 5], [k, N - k]) for k in (33, 34))
    assert check_coverage(found(third), np.arange(N), "p.json", refuse=True) != ()
    with pytest.raises(InputError, match=r"34 of 100 images.*--truncated"):
        check_coverage(found(more), np.arange(N), "p.json", refuse=True)


def test_no_real_set_is_warned_of_and_half_of_one_is_refused(shared):
    """All sets and detectors at hand: the detectors were run on every image."""
    paths = sorted((shared / "real_predictions").glob("*/*/*.json"))
    assert len(paths) >= 100
    for path in paths:
        task, seed = path.parent.name, path.stem
        labels = read_coco(shared / "real" / task / seed / "annotations.json")
        read = read_predictions(path, images=labels.images)
        images = np.unique(Truth.of(labels).image)
        assert check_coverage(read, images, path.name, refuse=True) == (), path
    half = read.where(read.image < len(labels.images) // 2)
    with pytest.raises(InputError, match="have no box"):
        check_coverage(half, images, path.name, refuse=True)
