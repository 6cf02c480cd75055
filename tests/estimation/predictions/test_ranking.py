"""Judged boxes give the mean average precision of faster-coco-eval."""

import numpy as np
import pytest

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import Predictions
from autoeval.estimation.observation.mean_ap import MeanAP
from autoeval.estimation.predictions.category_precision import rank_categories
from autoeval.estimation.predictions.truth import Truth


def test_precision_equals_that_of_coco():
    rng = np.random.default_rng(0)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (100, 100)) for k in range(15))
    corners = rng.uniform(0, 70, (60, 2))
    true = np.concatenate([corners, corners + rng.uniform(5, 30, (60, 2))], axis=1)
    truth_image, truth_label = rng.integers(0, 15, 60), rng.integers(0, 2, 60)
    crowd = rng.random(60) < 0.1
    source = rng.integers(0, 60, 300)
    boxes = (true[source] + rng.normal(0, 2, (300, 4))).astype(np.float32)
    boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 1)
    label = np.where(rng.random(300) < 0.8, truth_label[source], rng.integers(0, 2, 300))
    scores = rng.permutation(300).astype(np.float32) / 300
    found = Predictions(images, ("a", "b"), truth_image[source], label, boxes, scores, {})
    truth = Truth(images, ("a", "b"), truth_image, truth_label, true, crowd)
    metric = MeanAP(["a", "b"])
    for k in range(15):
        mine = truth_image == k
        metric.update(found.detections(k), true[mine], truth_label[mine], crowd[mine])
    expected = metric.compute()
    for ranking, name in zip(rank_categories(found, truth), "ab", strict=True):
        assert ranking.precision().mean() == pytest.approx(expected[f"mAP/{name}"], abs=1e-9)
