"""Features of boxes: all images at once against an image at a time, and pools of several passes."""

import numpy as np
import pytest

from autoeval.boxes import Boxes, LabelledImage, box_iou
from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError
from autoeval.sites.pool import (
    OF_BOX,
    OF_DROPOUT,
    pool_of_evidence,
    pool_of_predictions,
    unknown_sizes,
)

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

    def passes():
        clean, perturbed = detections(rng), tuple(detections(rng) for _ in range(3))
        return {"clean": clean, "perturbed": perturbed}

    return [Evidence(f"{k}.jpg", SIZE, **passes()) for k in range(40)]


def of_one_image(boxes, evidence):
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
            float(min(x1, y1) < 3 or x2 > SIZE[1] - 3 or y2 > SIZE[0] - 3),
        ]
        again = [in_other_pass(boxes, k, other) for other in evidence.perturbed]
        overlaps, scores = zip(*again, strict=True)
        rows.append([*row, np.mean(overlaps), np.mean(scores), np.std(scores)])
    return rows


def in_other_pass(boxes, k, other):
    best, found = 0.0, (0.0, 0.0)
    for j in range(len(other)):
        if other.labels[j] == boxes.labels[k]:
            pair = boxes.boxes[k : k + 1].astype(float), other.boxes[j : j + 1].astype(float)
            iou, score = float(box_iou(*pair)[0, 0]), float(other.scores[j])
            if iou * (1 + score) > best:
                best, found = iou * (1 + score), (iou, score if iou > 0.3 else 0.0)
    return found


def test_all_images_at_once_equal_one_at_a_time(evidence):
    pool = pool_of_evidence(evidence, CATEGORIES)
    expected = [
        r for k, e in enumerate(evidence) for r in of_one_image(pool.found.detections(k), e)
    ]
    assert pool.names == (*OF_BOX, *OF_DROPOUT)
    assert pool.features == pytest.approx(np.array(expected), abs=1e-6)
    assert not pool.warnings


def test_a_pass_that_an_image_lacks_is_left_out(evidence):
    some = [*evidence[:3], Evidence("x.jpg", SIZE, evidence[3].clean)]
    assert pool_of_evidence(some, CATEGORIES).names == OF_BOX
    none = [Evidence("x.jpg", SIZE, Detections.empty())]
    assert pool_of_evidence(none, CATEGORIES).features.shape == (0, len(OF_BOX))


def columns(images, boxes):
    boxes, zeros = np.array(boxes, np.float32), np.zeros(len(boxes), int)
    return Boxes(images, ("car",), zeros, zeros, boxes, np.full(len(boxes), 0.5))


def test_what_needs_the_size_of_an_image_is_unknown_without_it():
    known, unknown = LabelledImage("0", "0", (100, 400)), LabelledImage("1", "1", None)
    found = columns((known, unknown), [[5, 5, 25, 85], [0, 0, 20, 20], [100, 10, 140, 50]])
    found.image[1:] = 1
    pool = pool_of_predictions(found)
    side, at_edge = pool.columns(["size", "at_edge"])[np.argsort(pool.found.boxes[:, 3])].T
    # by their lower edges: at the corner of the second image, within it, in the first image
    nan = np.nan
    np.testing.assert_allclose(side, [nan, nan, 0.5 * np.log(20 * 80 / 40_000)])
    np.testing.assert_array_equal(at_edge, [1, nan, 0])
    (warning,) = unknown_sizes(found)
    assert warning.code == "image-sizes-unknown" and "1 of 2 images with boxes" in warning


def test_a_pool_needs_an_image():
    with pytest.raises(InputError, match="at least one image"):
        pool_of_predictions(columns((), np.zeros((0, 4))))
    with pytest.raises(InputError, match="at least one image"):
        pool_of_evidence([], CATEGORIES)
