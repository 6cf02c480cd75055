"""Matching of all groups at once against one detection after the other."""

import numpy as np

from autoeval.accuracy.coco_evaluation import IOU_THRESHOLDS, match_detections, top_detections
from autoeval.boxes import box_iou


def slowly(boxes, group, truth, true_group, counted):
    """Match one box after the other, in plain words."""
    matched = np.zeros((len(counted), len(IOU_THRESHOLDS), len(boxes)), bool)
    overlap = box_iou(boxes, truth)
    for version, counts in enumerate(counted):
        for level, least in enumerate(IOU_THRESHOLDS):
            free = set(np.flatnonzero(counts))
            for n in range(len(boxes)):
                near = [m for m in sorted(free, reverse=True) if true_group[m] == group[n]]
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
        matched, ignored = match_detections(*given, present=counted)
        assert matched.sum() > 30 and not ignored.any()
        np.testing.assert_array_equal(matched, slowly(*given, counted))


def test_a_detection_is_matched_once_and_that_of_the_higher_score_first():
    box, same = np.array([[0, 0, 10, 10]]), np.zeros(2, int)
    matched, _ = match_detections(box[[0, 0]], same, box, same[:1])
    assert matched[:, 0].all() and not matched[:, 1].any()


def test_the_best_detections_of_each_category_and_image():
    image, label = np.array([1, 0, 0, 0, 0]), np.array([0, 1, 0, 0, 0])
    scores = np.array([0.1, 0.2, 0.5, 0.9, 0.5])
    assert top_detections(image, label, scores, limit=2).tolist() == [3, 2, 1, 0]
    assert len(top_detections(image[:0], label[:0], scores[:0])) == 0
