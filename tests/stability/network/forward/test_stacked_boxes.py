"""Boxes of a stack, post-processed at once, are those that MMDetection makes of each image."""

import copy

import numpy as np
import pytest
import torch
from branching import same

from autoeval.detectors.predicting import Batch, HostCopy, predict
from autoeval.stability.network.forward import stacked_boxes
from autoeval.stability.network.forward.stacked_boxes import known_head, predict_stack

AGNOSTIC = {"type": "nms", "iou_threshold": 0.3, "class_agnostic": True}
CASES = [
    # all points are candidates, some with equal scores
    ("yolox_nano", "framework", {}),
    ("yolox_nano", "framework", {"score_thr": 0.5}),
    # classes are laid apart in 16 bits, where coordinates are rounded to whole pixels
    ("yolox_nano", "half", {"nms": {"iou_threshold": 0.3}}),
    ("yolox_nano", "framework", {"nms": AGNOSTIC}),
    # no box in any image
    ("yolox_nano", "framework", {"score_thr": 1.1}),
    # the best candidates of each level; more of them take seconds where all pairs are compared
    ("retinanet_r18", "framework", {"nms_pre": 200}),
    ("retinanet_r18", "half", {"nms": AGNOSTIC, "nms_pre": 50}),
    # small boxes go before suppression
    ("retinanet_r18", "framework", {"min_bbox_size": 8, "max_per_img": 300, "nms_pre": 200}),
    ("retinanet_r18", "framework", {"score_thr": 0.99}),
    # boxes as distances from points, many with the same score, and images without a box
    ("rtmdet_tiny", "framework", {"min_bbox_size": 0}),
]


@pytest.fixture
def stack(build, images, monkeypatch):
    """Return what makes a batch of four images for a detector with changed settings."""

    def make(name, precision="framework", changes=()):
        detector = build(name)
        head = detector.model.bbox_head
        settings = copy.deepcopy(head.test_cfg)
        settings.update(dict(changes))
        monkeypatch.setattr(head, "test_cfg", settings)
        monkeypatch.setattr(detector, "precision", precision)
        monkeypatch.setattr(detector, "max_batch", 4)
        four = [images[0], images[2], 255 - images[0], images[0] // 2]
        with torch.inference_mode():
            ((_, batch),) = detector._batches(four, HostCopy())
        return detector, batch

    return make


def boxes(detector, run, batch):
    return detector._run(run, detector.model, Batch(batch.inputs, batch.samples, HostCopy()))()


@pytest.fixture
def in_order(monkeypatch):
    """Let equal scores stay in their order, which mmdet's own sort leaves to chance."""
    sort = torch.Tensor.sort
    monkeypatch.setattr(torch.Tensor, "sort", lambda x, **how: sort(x, **{**how, "stable": True}))


@pytest.fixture(params=["together", "by mmcv"])
def suppressed(request, monkeypatch):
    """Let candidates of all images be suppressed together, or where there are many by mmcv."""
    most = 2**26 if request.param == "together" else 50**2
    monkeypatch.setattr(stacked_boxes, "MOST_PAIRS_ON_HOST", most)


@pytest.mark.parametrize(("name", "precision", "changes"), CASES)
def test_boxes_are_mmdets_to_the_last_bit(stack, in_order, suppressed, name, precision, changes):
    detector, batch = stack(name, precision, changes)
    assert known_head(detector.model)
    together, one_by_one = (boxes(detector, run, batch) for run in (predict_stack, predict))
    assert all(map(same, together, one_by_one))
    n = [len(found) for found in one_by_one]
    assert any(n) == (changes.get("score_thr", 0) < 0.9)


@pytest.mark.parametrize(
    ("name", "limit", "most"),
    [
        ("yolox_nano", "MOST_PAIRS_ON_HOST", 2 * 189**2),
        # one image at a time, and of three the last is left
        ("yolox_nano", "MOST_SCORES", 1),
        ("retinanet_r18", "MOST_SCORES", 3 * 720 * 129),  # places of all levels
    ],
)
def test_images_in_parts_as_memory_allows(stack, monkeypatch, name, limit, most):
    detector, batch = stack(name)
    expected = boxes(detector, predict_stack, batch)
    monkeypatch.setattr(stacked_boxes, limit, most)
    for found, at_once in zip(boxes(detector, predict_stack, batch), expected, strict=True):
        # some processors round the exponential at the end of a vector otherwise than within it
        np.testing.assert_allclose(found.boxes, at_once.boxes, rtol=1e-6, atol=1e-4)
        np.testing.assert_allclose(found.scores, at_once.scores, rtol=1e-6)
        assert found.labels.tolist() == at_once.labels.tolist()


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("faster_rcnn_r50", {}),
        ("yolox_nano", {"nms": {"type": "soft_nms", "iou_threshold": 0.3}}),
        ("yolox_nano", {"nms": {"type": "nms", "iou_threshold": 0.3, "max_num": 9}}),
        ("retinanet_r18", {"nms_pre": -1}),
    ],
)
def test_other_heads_run_their_own_code(build, monkeypatch, name, changes):
    model = build(name).model
    if changes:
        settings = copy.deepcopy(model.bbox_head.test_cfg)
        settings["nms"] = dict(changes.get("nms", settings["nms"]))
        settings.update({k: v for k, v in changes.items() if k != "nms"})
        monkeypatch.setattr(model.bbox_head, "test_cfg", settings)
    assert known_head(model) is None


def test_a_method_of_its_own_is_not_passed_over(build, monkeypatch):
    model = build("yolox_nano").model
    assert known_head(model)
    monkeypatch.setattr(model.bbox_head, "_bbox_post_process", lambda **results: results)
    assert known_head(model) is None
