"""Average precision in flat arrays against pycocotools, on random boxes and at the edges."""

import contextlib
import io

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import Predictions
from autoeval.estimation.predictions.category_precision import rank_categories
from autoeval.estimation.predictions.truth import Truth

N_IMAGES, WORDS = 12, ("car", "bus", "cat")


def make_truth(image, label, boxes, crowd):
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(N_IMAGES))
    return Truth(images, WORDS, np.array(image), np.array(label), np.array(boxes), np.array(crowd))


def make_found(truth, image, label, boxes, scores):
    columns = (np.array(image), np.array(label), np.float32(boxes), np.float32(scores))
    return Predictions(truth.images, WORDS, *columns, {})


def random_world(seed, *, n_true=60, n_found=400, crowded=0.1):
    """Boxes on a coarse grid, so that overlaps and scores tie."""
    rng = np.random.default_rng(seed)

    def boxes(n):
        corner, size = rng.integers(0, 6, (n, 2)) * 5, rng.integers(1, 5, (n, 2)) * 5
        return np.concatenate([corner, corner + size], axis=1).astype(float)

    truth = make_truth(
        rng.integers(0, N_IMAGES, n_true),
        rng.integers(0, 2, n_true),
        boxes(n_true),
        rng.random(n_true) < crowded,
    )
    scores = rng.integers(1, 20, n_found) / 20
    found = make_found(
        truth,
        rng.integers(0, N_IMAGES, n_found),
        rng.integers(0, 3, n_found),
        boxes(n_found),
        scores,
    )
    return truth, found


def reference(truth, found, times=None):
    """Average precision (categories, 10) by pycocotools, with each image as often as drawn."""
    times = np.ones(N_IMAGES, int) if times is None else times
    copies = np.repeat(np.arange(N_IMAGES), times)

    def rows(of):
        return [(k, n) for k, image in enumerate(copies) for n in np.flatnonzero(of.image == image)]

    def xywh(box):
        return [float(v) for v in (*box[:2], *(box[2:] - box[:2]))]

    world = COCO()
    world.dataset = {
        "info": {},
        "images": [{"id": k} for k in range(len(copies))],
        "categories": [{"id": k, "name": name} for k, name in enumerate(WORDS)],
        "annotations": [
            {
                "id": i + 1,
                "image_id": k,
                "category_id": int(truth.label[n]),
                "bbox": xywh(truth.boxes[n]),
                "area": 100.0,
                "iscrowd": int(truth.crowd[n]),
            }
            for i, (k, n) in enumerate(rows(truth))
        ],
    }
    with contextlib.redirect_stdout(io.StringIO()):
        world.createIndex()
        answers = world.loadRes(
            [
                {
                    "image_id": k,
                    "category_id": int(found.label[n]),
                    "bbox": xywh(found.boxes[n]),
                    "score": float(found.scores[n]),
                }
                for k, n in rows(found)
            ]
        )
        evaluation = COCOeval(world, answers, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
    precision = evaluation.eval["precision"][:, :, :, 0, -1].mean(axis=1).T
    return np.where(precision < 0, np.nan, precision)


@pytest.mark.parametrize("seed", range(4))
def test_random_worlds(seed):
    truth, found = random_world(seed)
    ours = [ranked.precision() for ranked in rank_categories(found, truth)]
    np.testing.assert_allclose(ours, reference(truth, found), rtol=0, atol=1e-12)
    assert np.isnan(ours[2]).all()  # nobody labelled a cat


def test_more_than_a_hundred_boxes_of_a_category_in_an_image():
    truth, found = random_world(5, n_true=200, n_found=4000)
    assert np.bincount(found.image[found.label == 0]).max() > 100
    ours = [ranked.precision() for ranked in rank_categories(found, truth)]
    np.testing.assert_allclose(ours, reference(truth, found), rtol=0, atol=1e-12)


def test_images_drawn_again():
    truth, found = random_world(6, crowded=0)
    # Where copies of an image tie, their order is anybody's: let no two boxes tie.
    found = make_found(
        truth, found.image, found.label, found.boxes, np.linspace(0.9, 0.1, len(found))
    )
    times = np.random.default_rng(0).multinomial(N_IMAGES, np.full(N_IMAGES, 1 / N_IMAGES))
    ours = [ranked.precision(times) for ranked in rank_categories(found, truth)]
    # COCO counts copies one by one, the draw at once: recalls between two copies differ a little.
    np.testing.assert_allclose(ours[:2], reference(truth, found, times)[:2], rtol=0, atol=0.02)
    assert (times > 1).any()


BOX = [0.0, 0.0, 10.0, 10.0]


@pytest.mark.parametrize(
    ("true", "found", "expected"),
    [
        ([(BOX, False)], [], 0.0),  # nothing found
        ([(BOX, False)], [(BOX, 0.5)], 1.0),
        ([(BOX, False)], [(BOX, 0.5), (BOX, 0.4)], 1.0),  # a second box on it comes too late
        ([(BOX, False)], [([20.0, 20, 30, 30], 0.9), (BOX, 0.5)], 0.5),
        ([(BOX, True)], [(BOX, 0.5)], np.nan),  # only a crowd: nothing counts
        ([(BOX, False), ([20.0, 20, 40, 40], True)], [([20.0, 20, 30, 30], 0.9), (BOX, 0.5)], 1.0),
    ],
)
def test_by_hand(true, found, expected):
    n = len(true)
    boxes, crowd = [b for b, _ in true], [c for _, c in true]
    truth = make_truth([3] * n, [0] * n, np.reshape(boxes, (-1, 4)), crowd)
    at = np.full(len(found), 3)
    answers = make_found(
        truth, at, 0 * at, np.reshape([b for b, _ in found], (-1, 4)), [s for _, s in found]
    )
    np.testing.assert_allclose(
        rank_categories(answers, truth)[0].precision(), expected, rtol=0, atol=1e-12
    )
