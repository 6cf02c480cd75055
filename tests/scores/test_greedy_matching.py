import numpy as np
from made import evidence, random_detections, shaken
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from autoeval.boxes import box_iou
from autoeval.scores.average_precision import IOU_THRESHOLDS
from autoeval.scores.greedy_matching import match_greedily
from autoeval.scores.scale_ap import ScaleAP


def slowly(found, group, truth, true_group, counted):
    """Match one box after the other, in plain words."""
    matched = np.zeros((len(counted), len(IOU_THRESHOLDS), len(found)), bool)
    overlap = box_iou(found, truth)
    for version, counts in enumerate(counted):
        for level, least in enumerate(IOU_THRESHOLDS):
            free = set(np.flatnonzero(counts))
            for n in range(len(found)):
                near = [m for m in sorted(free) if true_group[m] == group[n]]
                near = [m for m in near if overlap[n, m] >= least]
                if near:
                    matched[version, level, n] = True
                    free.remove(max(near, key=lambda m: overlap[n, m]))
    return matched


def boxes_in_groups(rng, n, n_groups):
    corner = rng.integers(0, 12, (n, 2)).astype(float)
    boxes = np.concatenate([corner, corner + rng.integers(6, 12, (n, 2))], axis=1)
    return boxes, rng.integers(0, n_groups, n)


def test_all_groups_at_once_are_matched_as_one_box_after_the_other():
    """On a coarse grid, so that many boxes overlap equally, some are the same, some groups lack."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        given = (*boxes_in_groups(rng, 60, 5), *boxes_in_groups(rng, 30, 6))
        counted = rng.uniform(size=(3, 30)) < np.array([[1.0], [0.6], [0.0]])
        matched = match_greedily(*given, counted)
        assert matched.sum() > 30
        np.testing.assert_array_equal(matched, slowly(*given, counted))


def test_pycocotools_matches_the_same_boxes():
    rng = np.random.default_rng(0)
    truth = random_detections(rng, 40)
    found = shaken(rng, truth)
    found = found[np.argsort(-found.scores)]
    boxes = (found.boxes, found.labels, truth.boxes, truth.labels)
    matched = match_greedily(*boxes, np.ones((1, 40), bool))
    expected = np.zeros((len(IOU_THRESHOLDS), 40), bool)
    for k, of_image in coco_images(found, truth):
        expected[:, found.labels == k] = of_image["dtMatches"] > 0
    assert 0 < expected.sum() < expected.size
    np.testing.assert_array_equal(matched[0], expected)


def coco_images(found, truth):
    def listed(boxes):
        wide = np.concatenate([boxes.boxes[:, :2], boxes.boxes[:, 2:] - boxes.boxes[:, :2]], axis=1)
        rows = zip(wide.tolist(), boxes.labels.tolist(), boxes.scores.tolist(), strict=True)
        alike = {"image_id": 1, "area": 1, "iscrowd": 0}
        return [
            {**alike, "id": n, "bbox": box, "category_id": k, "score": score}
            for n, (box, k, score) in enumerate(rows, start=1)
        ]

    coco = COCO()
    categories = [{"id": k} for k in range(2)]
    coco.dataset = {"images": [{"id": 1}], "categories": categories, "annotations": listed(truth)}
    coco.createIndex()
    run = COCOeval(coco, coco.loadRes(listed(found)), "bbox")
    run.evaluate()
    whole = [image for image in run.evalImgs if image and image["aRng"] == [0, 1e10]]
    return [(image["category_id"], image) for image in whole]


def test_how_many_images_are_matched_together_changes_no_bit():
    """150 images are matched in three parts as they come, and one by one where they are merged."""
    rng = np.random.default_rng(3)
    whole, merged = ScaleAP(), ScaleAP()
    for k in range(150):
        clean = random_detections(rng, k % 9)
        image = evidence(k, clean, half_size=shaken(rng, clean)[1:])
        alone = ScaleAP()
        for score in (whole, alone):
            score.update(image)
        merged.merge(alone)
    assert 0.1 < whole.compute()["scale_ap@0.30"] < 0.9
    assert whole.compute() == merged.compute()
    counts = rng.integers(0, 3, (4, 150))
    for name, values in whole.resample(counts).items():
        np.testing.assert_array_equal(values, merged.resample(counts)[name])
