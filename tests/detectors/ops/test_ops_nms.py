"""Suppression ops against hand-worked values, a naive loop, and torchvision where it works."""

import math

import numpy as np
import pytest
import torch

from autoeval.detectors import ops
from autoeval.detectors.ops.nms import nms, softnms
from autoeval.detectors.ops.support import torchvision_ops

# IoU of the first two: 8 / (16 + 8 - 8) = 1/2. The third is apart.
BOXES = torch.tensor([[0.0, 0, 4, 4], [0, 0, 4, 2], [10, 10, 12, 12]])
SCORES = torch.tensor([0.9, 0.8, 0.7])


@pytest.fixture
def pure(monkeypatch):
    monkeypatch.setattr(ops.nms, "torchvision_ops", lambda device: None)


def random_boxes(n: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    corner = torch.rand(n, 2, generator=generator) * 60
    size = torch.rand(n, 2, generator=generator) * 30
    scores = (torch.rand(n, generator=generator) * 50).round() / 50  # with ties
    return torch.cat([corner, corner + size], 1), scores


def naive_nms(boxes, scores, threshold, offset):
    boxes, scores = boxes.double().numpy(), scores.numpy()
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        if all(naive_iou(boxes[i], boxes[j], offset) <= threshold for j in kept):
            kept.append(i)
    return kept


def naive_iou(a, b, offset):
    width = max(0, min(a[2], b[2]) - max(a[0], b[0]) + offset)
    height = max(0, min(a[3], b[3]) - max(a[1], b[1]) + offset)
    area_a, area_b = ((c[2] - c[0] + offset) * (c[3] - c[1] + offset) for c in (a, b))
    return width * height / (area_a + area_b - width * height)


@pytest.mark.parametrize(
    ("threshold", "offset", "kept"),
    [
        (0.49, 0, [0, 2]),
        (0.5, 0, [0, 1, 2]),  # an IoU equal to the threshold does not suppress
        (0.5, 1, [0, 2]),  # with the offset, IoU = 15 / 25 = .6
    ],
)
def test_nms_by_hand(pure, threshold, offset, kept):
    assert nms(BOXES, SCORES, iou_threshold=threshold, offset=offset).tolist() == kept


@pytest.mark.parametrize(
    ("boxes", "scores", "expected"),
    [
        # by score, ties in their order
        ([[k, 0, k + 1, 1] for k in (0, 10, 20, 30)], [0.5, 0.9, 0.5, 0.7], [1, 3, 0, 2]),
        ([], [], []),
        ([[1, 1, 1, 1]] * 2, [1, 1], [0, 1]),  # without area they do not overlap
    ],
)
def test_nms_of_boxes_apart(pure, boxes, scores, expected):
    boxes = torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4)
    kept = nms(boxes, torch.tensor(scores, dtype=torch.float32), iou_threshold=0.5, offset=0)
    assert kept.tolist() == expected and kept.dtype == torch.int64


@pytest.mark.parametrize("n", [1, 63, 64, 65, 300])  # around the size of a block
@pytest.mark.parametrize("offset", [0, 1])
def test_nms_equals_a_naive_loop(pure, n, offset):
    boxes, scores = random_boxes(n, seed=n)
    kept = nms(boxes, scores, iou_threshold=0.4, offset=offset)
    assert kept.tolist() == naive_nms(boxes, scores, 0.4, offset)


@pytest.mark.skipif(torchvision_ops("cpu") is None, reason="needs a torchvision that works")
def test_nms_equals_torchvision(pure):
    boxes, scores = random_boxes(500)
    expected = torchvision_ops("cpu").nms(boxes, scores, 0.4)
    assert torch.equal(nms(boxes, scores, iou_threshold=0.4, offset=0), expected)


@pytest.mark.parametrize(
    ("method", "least", "second"),
    [
        (0, 1e-3, None),  # dropped
        (1, 1e-3, 0.8 * (1 - 0.5)),
        (1, 0.41, None),  # it sank to .4
        (2, 1e-3, 0.8 * math.exp(-(0.5**2) / 0.5)),
    ],
)
def test_soft_nms_by_hand(method, least, second):
    dets = torch.zeros(3, 5)
    kept = softnms(
        BOXES, SCORES, dets, iou_threshold=0.5, sigma=0.5, min_score=least, method=method, offset=0
    )
    expected = [(0, 0.9), (2, 0.7)] + ([] if second is None else [(1, second)])
    assert kept.tolist() == [index for index, _ in expected]
    picked = dets[: len(kept)]
    assert torch.equal(picked[:, :4], BOXES[kept])
    assert picked[:, 4].tolist() == pytest.approx([score for _, score in expected])


def test_hard_method_of_soft_nms_equals_nms(pure):
    boxes, scores = random_boxes(120, seed=4)
    scores = scores + torch.arange(120) * 1e-5  # no ties, whose order the two may choose freely
    soft = softnms(
        boxes, scores, torch.zeros(120, 5), 0.4, sigma=0.5, min_score=1e-9, method=0, offset=0
    )
    assert soft.tolist() == nms(boxes, scores, iou_threshold=0.4, offset=0).tolist()
