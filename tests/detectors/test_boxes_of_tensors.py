import numpy as np
import torch

from autoeval.boxes import box_giou, box_iou


def test_overlaps_of_tensors_are_those_of_arrays():
    rng, pairs = np.random.default_rng(0), []
    for n in (60, 80):
        corners, sides = rng.integers(0, 41, (2, n, 2))
        pairs.append(np.concatenate([corners, corners + sides + 1], axis=1).astype(float))
    tensors = [torch.tensor(boxes) for boxes in pairs]
    for overlap in (box_iou, box_giou):
        assert np.array_equal(overlap(*tensors).numpy(), overlap(*pairs))
    assert (box_iou(*pairs) > 0).any() and (box_giou(*pairs) < 0).any()
