"""Features of boxes: all images at once against an image at a time."""

import numpy as np
import pytest

from autoeval.boxes import Boxes, LabelledImage, box_iou
from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError
from autoeval.io.predictions.reading import unknown_sizes
from autoeval.sites.site import OF_BOX, Site, with_features

CATEGORIES = ("car", "bus", "van")
SIZE = (200, 220)


def detections(rng):
    n = rng.integers(0, 25)
    corner, side = rng.uniform(-5, 180, (n, 2)), rng.uniform(5, 60, (n, 2))
    scores = np.round(rng.random(n), 2)  # ties
    return Detections(np.concatenate([corner, corner + side], 1), scores, rng.integers(0, 3, n))


@pytest.fixture(scope="module")
def evidence():
    rng = np.random.default_rng(0)

    return [Evidence(f"{k}.jpg", SIZE, detections(rng)) for k in range(40)]


def pool_of(evidence):
    return Site.of_evidence(evidence, CATEGORIES).pool


def of_one_image(boxes):
    """The definition, box by box, in plain loops."""
    rows = []
    for k in range(len(boxes)):
        x1, y1, x2, y2 = boxes.boxes[k].astype(np.float64)
        score = float(boxes.scores[k])
        odds = np.clip(score, 1e-3, 1 - 1e-3)
        same = [j for j in range(len(boxes)) if boxes.labels[j] == boxes.labels[k]]
        above = [j for j in same if (-boxes.scores[j], j) < (-boxes.scores[k], k)]
        below = [j for j in same if j != k and j not in above]
        iou = box_iou(boxes.boxes[k : k + 1].astype(float), boxes.boxes.astype(float))[0]
        row = [
            score,
            np.log(odds / (1 - odds)),
            np.log(np.sqrt((x2 - x1) * (y2 - y1) / (SIZE[0] * SIZE[1]))),
            np.log((x2 - x1) / (y2 - y1)),
            np.log1p(len(above)),
            np.log1p(sum(boxes.scores[j].astype(float) > 0.3 for j in same)),
            max(boxes.scores[j] for j in same),
            max((iou[j] for j in above), default=0),
            max((iou[j] for j in below), default=0),
            float(min(x1, y1, SIZE[1] - x2, SIZE[0] - y2) <= max(SIZE) / 256),
        ]
        rows.append(row)
    return rows


def test_all_images_at_once_equal_one_at_a_time(evidence):
    pool = pool_of(evidence)
    expected = [r for k in range(len(pool.images)) for r in of_one_image(pool.detections(k))]
    assert pool.features == pytest.approx(np.array(expected), abs=1e-6)
    assert not pool.warnings


def test_without_a_box_there_are_no_rows():
    none = [Evidence("x.jpg", SIZE, Detections.empty())]
    assert pool_of(none).features.shape == (0, len(OF_BOX))


def columns(images, boxes):
    boxes, zeros = np.array(boxes, np.float32), np.zeros(len(boxes), int)
    return Boxes(images, ("car",), zeros, zeros, boxes, np.full(len(boxes), 0.5))


def test_what_needs_the_size_of_an_image_is_unknown_without_it():
    known, unknown = LabelledImage("0", "0", (100, 400)), LabelledImage("1", "1", None)
    found = columns((known, unknown), [[5, 5, 25, 85], [0, 0, 20, 20], [100, 10, 140, 50]])
    found.image[1:] = 1
    pool = with_features(found)
    both = pool.features[:, [OF_BOX.index("size"), OF_BOX.index("at_edge")]]
    side, at_edge = both[np.argsort(pool.boxes[:, 3])].T
    # by their lower edges: at the corner of the second image, within it, in the first image
    nan = np.nan
    np.testing.assert_allclose(side, [nan, nan, 0.5 * np.log(20 * 80 / 40_000)])
    np.testing.assert_array_equal(at_edge, [1, nan, 0])
    (warning,) = unknown_sizes(found)
    assert warning.code == "image-sizes-unknown" and "1 of 2 images with boxes" in warning


def test_a_box_ends_at_the_edge_of_an_image_by_its_share_of_the_longer_side():
    def at_edge(boxes, size, *, times=1):
        image = LabelledImage("0", "0", (times * size[0], times * size[1]))
        found = columns((image,), times * np.array(boxes, float))
        pool = with_features(found)
        rows = np.lexsort(pool.boxes.T[::-1])  # by left, top, right, bottom
        return pool.features[rows, OF_BOX.index("at_edge")].tolist()

    # whole pixels of 640: up to two from any side
    left = [[x, 90, x + 50, 99] for x in range(5)]
    assert at_edge(left, (480, 640)) == [1, 1, 1, 0, 0]
    right = [[9, 90, 640 - x, 99] for x in (4, 3, 2, 1, 0)]
    assert at_edge(right, (480, 640)) == [0, 0, 1, 1, 1]
    bottom = [[9, 90, 99, 480 - x] for x in (4, 3, 2, 1, 0)]
    assert at_edge(bottom, (480, 640)) == [0, 0, 1, 1, 1]
    # on the bound itself, which is 4 pixels here: mirrored boxes are alike, in any unit
    for size in ((600, 1024), (1024, 600)):
        height, width = size
        for times in (1, 2, 0.5):
            near = at_edge([[x, 90, 99, 99] for x in (3, 4, 5)], size, times=times)
            far = at_edge([[90, 90, width - x, 99] for x in (5, 4, 3)], size, times=times)
            low = at_edge([[90, 90, 99, height - y] for y in (5, 4, 3)], size, times=times)
            assert (near, far, low) == ([1, 1, 0], [0, 1, 1], [0, 1, 1])


def test_a_pool_needs_an_image():
    with pytest.raises(InputError, match="at least one image"):
        with_features(columns((), np.zeros((0, 4))))
    with pytest.raises(InputError, match="at least one image"):
        pool_of([])
