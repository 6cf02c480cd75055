"""Matching and average precision against pycocotools, on random boxes and in edge experiments."""

import contextlib
import io

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from autoeval.accuracy.coco_evaluation import MeanAP, rank_categories
from autoeval.accuracy.measures import AP_TARGETS
from autoeval.boxes import Boxes, LabelledImage

N_IMAGES = 12
WORDS = ("car", "bus", "cat")
COLUMNS = ("image", "label", "boxes", "scores")


def make_truth(image, label, boxes, crowd):
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(N_IMAGES))
    columns = (np.array(image, int), np.array(label, int), np.array(boxes))
    return Boxes(images, WORDS, *columns, crowd=np.array(crowd))


def make_found(truth, image, label, boxes, scores):
    columns = (np.array(image, int), np.array(label, int), np.float32(boxes), np.float32(scores))
    return Boxes(truth.images, WORDS, *columns)


def random_world(seed, *, n_true=60, n_found=400, crowded=0.1):
    """Boxes on a coarse grid, so that overlaps and scores tie."""
    rng = np.random.default_rng(seed)

    def boxes(n):
        corner, size = rng.integers(0, 6, (n, 2)) * 5, rng.integers(1, 5, (n, 2)) * 5
        return np.concatenate([corner, corner + size], axis=1).astype(float)

    image, label = rng.integers(0, N_IMAGES, n_true), rng.integers(0, 2, n_true)
    truth = make_truth(image, label, boxes(n_true), rng.random(n_true) < crowded)
    scores = rng.integers(1, 20, n_found) / 20
    image, label = rng.integers(0, N_IMAGES, n_found), rng.integers(0, 3, n_found)
    return truth, make_found(truth, image, label, boxes(n_found), scores)


def coco_world(truth, detections, times=None):
    """The same labels and results for pycocotools, with each image as often as drawn."""
    times = np.ones(N_IMAGES, int) if times is None else times
    copies = np.repeat(np.arange(N_IMAGES), times)

    def entries(boxes):
        """Yield the row of each box, and what annotations and results have in common."""
        for k, image in enumerate(copies):
            for n in np.flatnonzero(boxes.image == image):
                x, y, x2, y2 = map(float, boxes.boxes[n])
                box = {"category_id": int(boxes.label[n]), "bbox": [x, y, x2 - x, y2 - y]}
                yield n, {"image_id": k, **box}

    world = COCO()
    world.dataset = {
        "info": {},
        "images": [{"id": k} for k in range(len(copies))],
        "categories": [{"id": k, "name": name} for k, name in enumerate(WORDS)],
        "annotations": [
            {"id": i, "area": 100.0, "iscrowd": int(truth.crowd[n]), **entry}
            for i, (n, entry) in enumerate(entries(truth), 1)
        ],
    }
    results = [{"score": float(detections.scores[n]), **entry} for n, entry in entries(detections)]
    with contextlib.redirect_stdout(io.StringIO()):
        world.createIndex()
        return world, world.loadRes(results) if results else no_results(world)


def reference(truth, detections, times=None):
    """Average precision (categories, 10) by pycocotools, with each image as often as drawn."""
    world, answers = coco_world(truth, detections, times)
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation = COCOeval(world, answers, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
    precision = evaluation.eval["precision"][:, :, :, 0, -1].mean(axis=1).T
    return np.where(precision < 0, np.nan, precision)


def no_results(world):
    """Do what `COCO.loadRes`, which wants at least one detection, does with results."""
    results = COCO()
    results.dataset = {**world.dataset, "annotations": []}
    results.createIndex()
    return results


@pytest.mark.parametrize("seed", range(2))
def test_random_worlds(seed):
    truth, detections = random_world(seed)
    ours = np.array([ranked.average_precision() for ranked in rank_categories(detections, truth)])
    np.testing.assert_allclose(ours, reference(truth, detections), rtol=0, atol=1e-12)
    assert np.isnan(ours[2]).all()  # nobody labelled a cat
    assert_mean_ap(truth, detections, ours)


def test_more_than_a_hundred_boxes_of_a_category_in_an_image():
    truth, detections = random_world(5, n_true=200, n_found=4000)
    assert np.bincount(detections.image[detections.label == 0]).max() > 100
    ours = [ranked.average_precision() for ranked in rank_categories(detections, truth)]
    np.testing.assert_allclose(ours, reference(truth, detections), rtol=0, atol=1e-12)


def test_images_drawn_again():
    truth, detections = random_world(6, crowded=0)
    # Where copies of an image tie, their order is anybody's: let no two boxes tie.
    detections = make_found(
        truth,
        detections.image,
        detections.label,
        detections.boxes,
        np.linspace(0.9, 0.1, len(detections)),
    )
    times = np.random.default_rng(0).multinomial(N_IMAGES, np.full(N_IMAGES, 1 / N_IMAGES))
    ours = [ranked.average_precision(times) for ranked in rank_categories(detections, truth)]
    # COCO counts copies one by one, the draw at once: recalls between two copies differ a little.
    np.testing.assert_allclose(ours[:2], reference(truth, detections, times)[:2], rtol=0, atol=0.02)
    assert (times > 1).any()


A = (0, 0, 10, 10)
B = (20, 0, 30, 10)
FAR = (50, 50, 60, 60)
IN_A = (0, 0, 10, 9)  # IoU .9 with A
EDGES = {
    # name: labels (image, category, box, crowd), detections (image, category, box, score), and the
    # mAP of category 0 worked out by hand
    "nothing detected": ([(3, 0, A, 0)], [], 0.0),
    "nothing labelled": ([], [(3, 0, A, 0.5)], np.nan),
    "neither": ([], [], np.nan),
    "a perfect detection": ([(3, 0, A, 0)], [(3, 0, A, 0.5)], 1.0),
    "in another image": ([(3, 0, A, 0)], [(4, 0, A, 0.5)], 0.0),
    "of another category": ([(3, 0, A, 0)], [(3, 1, A, 0.5)], 0.0),
    "a duplicate is a false positive": (
        [(3, 0, A, 0), (3, 0, B, 0)],
        [(3, 0, A, 0.9), (3, 0, A, 0.8), (3, 0, B, 0.7)],
        (51 + 50 * 2 / 3) / 101,
    ),
    "one of two found": ([(3, 0, A, 0), (3, 0, B, 0)], [(3, 0, A, 0.9)], 51 / 101),
    "IoU of .8 passes seven thresholds": ([(3, 0, A, 0)], [(3, 0, (0, 0, 10, 8), 0.9)], 7 / 10),
    "a false positive first": ([(3, 0, A, 0)], [(3, 0, FAR, 0.9), (3, 0, A, 0.5)], 0.5),
    "IoU equal to a threshold": ([(3, 0, A, 0)], [(3, 0, IN_A, 0.5)], 0.9),
    "the higher IoU wins": (
        [(3, 0, IN_A, 0), (3, 0, A, 0)],
        [(3, 0, A, 0.9), (3, 0, IN_A, 0.8)],
        1.0,
    ),
    "equal IoU with two labelled boxes": (
        [(3, 0, (0, 0, 10, 5), 0), (3, 0, (0, 5, 10, 10), 0)],
        [(3, 0, A, 0.9), (3, 0, (0, 5, 10, 10), 0.8)],
        None,  # which of the two is taken decides whether the second detection is right at .5
    ),
    "equal scores in one image": ([(3, 0, A, 0)], [(3, 0, FAR, 0.5), (3, 0, A, 0.5)], 0.5),
    "equal scores in two images": ([(3, 0, A, 0)], [(4, 0, FAR, 0.5), (3, 0, A, 0.5)], 1.0),
    "only a crowd": ([(3, 0, A, 1)], [(3, 0, A, 0.5)], np.nan),
    "detections in a crowd are ignored": (
        [(3, 0, A, 0), (3, 0, (20, 0, 60, 40), 1)],
        [(3, 0, B, 0.9), (3, 0, (30, 0, 40, 10), 0.8), (3, 0, A, 0.5)],
        1.0,
    ),
    "half in a crowd": (  # ignored at .5, a false positive above it
        [(3, 0, A, 0), (3, 0, (20, 0, 60, 40), 1)],
        [(3, 0, (15, 0, 25, 10), 0.9), (3, 0, A, 0.5)],
        (1 + 9 * 0.5) / 10,
    ),
    "a labelled box before a crowd": ([(3, 0, A, 1), (3, 0, IN_A, 0)], [(3, 0, A, 0.9)], 0.9),
    "the crowd of another category": (
        [(3, 0, A, 0), (3, 1, B, 1)],
        [(3, 0, B, 0.9), (3, 0, A, 0.5)],
        0.5,
    ),
    "the 100th detection": ([(3, 0, A, 0)], [(3, 0, FAR, 0.9)] * 99 + [(3, 0, A, 0.5)], 1 / 100),
    "the 101st detection": ([(3, 0, A, 0)], [(3, 0, FAR, 0.9)] * 100 + [(3, 0, A, 0.5)], 0.0),
    "101 detections of two categories": (
        [(3, 0, A, 0)],
        [(3, 1, FAR, 0.9)] * 100 + [(3, 0, A, 0.5)],
        1.0,
    ),
    "a box of negative width is ignored": (
        [(3, 0, A, 0)],
        [(3, 0, (20, 0, 15, 10), 0.9), (3, 0, A, 0.5)],
        1.0,
    ),
    "boxes without area": ([(3, 0, (5, 5, 5, 5), 0)], [(3, 0, (5, 5, 5, 5), 0.5)], 0.0),
}


@pytest.mark.parametrize("name", EDGES)
def test_edge_experiments(name):
    labels, rows, by_hand = EDGES[name]
    image, label, boxes, crowd = zip(*labels, strict=True) if labels else ((),) * 4
    crowd = np.array(crowd, bool)
    truth = make_truth(image, label, np.reshape(boxes, (-1, 4)).astype(float), crowd)
    image, label, boxes, scores = zip(*rows, strict=True) if rows else ((),) * 4
    detections = make_found(truth, image, label, np.reshape(boxes, (-1, 4)), scores)
    ours = np.array([ranked.average_precision() for ranked in rank_categories(detections, truth)])
    np.testing.assert_allclose(ours, reference(truth, detections), rtol=0, atol=1e-12)
    if by_hand is not None:
        assert ours[0].mean() == pytest.approx(by_hand, abs=1e-12, nan_ok=True)
    assert_mean_ap(truth, detections, ours)


def test_categories_beyond_those_evaluated_change_nothing():
    truth, detections = random_world(7)
    other = make_found(
        truth, detections.image, detections.label + 3, detections.boxes, detections.scores
    )
    both = [
        np.concatenate([getattr(boxes, name) for boxes in (other, detections)]) for name in COLUMNS
    ]
    for ours, same in zip(
        rank_categories(make_found(truth, *both), truth),
        rank_categories(detections, truth),
        strict=True,
    ):
        np.testing.assert_array_equal(ours.average_precision(), same.average_precision())


def test_without_images_it_is_unknown():
    np.testing.assert_equal(MeanAP(["car"]).compute(), dict.fromkeys(AP_TARGETS, np.nan))


def mean_ap_of(truth, detections, images):
    metric = MeanAP(WORDS)
    for k in images:
        on_image = truth.image == k
        metric.update(
            detections.detections(k),
            truth.boxes[on_image],
            truth.label[on_image],
            truth.crowd[on_image],
        )
    return metric


def assert_mean_ap(truth, detections, expected):
    """`MeanAP` gives the means of (categories, 10), image by image."""
    values = mean_ap_of(truth, detections, range(N_IMAGES)).compute()
    for k, word in enumerate(WORDS):
        mean = expected[k].mean()
        assert values[f"mAP/{word}"] == pytest.approx(mean, abs=1e-12, nan_ok=True)
    labelled = expected[~np.isnan(expected[:, 0])]
    for name, levels in (("mAP", slice(None)), ("mAP50", 0), ("mAP75", 5)):
        mean = labelled[:, levels].mean() if len(labelled) else np.nan
        assert values[name] == pytest.approx(mean, abs=1e-12, nan_ok=True)
