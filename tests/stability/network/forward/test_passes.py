"""What a model's results become, and poolings with channels last."""

import pytest
import torch
from mmengine.structures import InstanceData
from torch import nn

from autoeval.detectors import ops
from autoeval.detectors.predicting import Batch, QuickPooling, predict
from autoeval.errors import InputError

ops.register()


class Model:
    """Gives what it was made with; as SOLO, it has no head for boxes, or has one."""

    with_bbox = False

    def __init__(self, result):
        self.result = result

    def predict(self, inputs, samples):
        return [self.result]


def found(**fields):
    from mmdet.structures import DetDataSample

    given = {"scores": torch.tensor([0.9, 0.4]), "labels": torch.tensor([1, 0]), **fields}
    result = DetDataSample(pred_instances=InstanceData(**given))
    (boxes,) = predict(Model(result), Batch(torch.zeros(1), []))()
    return boxes


def test_masks_without_boxes_have_boxes_around_them():
    """As SOLO gives them; a box is to the far edge of its last pixel."""
    masks = torch.zeros(2, 6, 8, dtype=torch.bool)
    masks[0, 1:3, 2:6] = True
    boxes = found(bboxes=torch.zeros(2, 4), masks=masks)
    assert boxes.boxes.tolist() == [[2, 1, 6, 3], [0, 0, 0, 0]]
    assert boxes.labels.tolist() == [1, 0]


def test_boxes_are_taken_as_they_are():
    boxes = torch.tensor([[0.0, 0, 2, 2], [1, 1, 3, 3]])
    assert found(bboxes=boxes).boxes.tolist() == boxes.tolist()
    assert found(bboxes=boxes, masks=torch.ones(2, 6, 8)).boxes.tolist() == boxes.tolist()


def test_boxes_of_a_head_for_boxes_are_taken_even_where_they_are_zero(monkeypatch):
    """They are not looked at, which would wait for the device."""
    monkeypatch.setattr(Model, "with_bbox", True)
    none = torch.zeros(2, 4)
    assert found(bboxes=none, masks=torch.ones(2, 6, 8)).boxes.tolist() == none.tolist()


def test_a_model_without_boxes_is_told():
    from mmdet.structures import DetDataSample

    with pytest.raises(InputError, match="Model gives no boxes with the settings of its config"):
        predict(Model(DetDataSample()), Batch(torch.zeros(1), []))


@pytest.mark.parametrize("shape", [(1, 8, 13, 13), (2, 3, 7, 20), (1, 1, 4, 5)])
@pytest.mark.parametrize("kernel", [3, 5, 13])
def test_same_numbers_and_layout(shape, kernel):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    x[0, 0, 0, 0] = torch.inf
    pool = nn.MaxPool2d(kernel, stride=1, padding=kernel // 2)
    expected = pool(x)
    with QuickPooling(nn.Sequential(pool))():
        found = pool(x)
    assert torch.equal(found, expected)
    assert found.stride() == expected.stride()


def test_only_sliding_poolings_and_only_for_a_while():
    sliding, halving = nn.MaxPool2d(5, stride=1, padding=2), nn.MaxPool2d(2)
    with QuickPooling(nn.Sequential(sliding, halving))():
        assert "forward" in vars(sliding)
        assert "forward" not in vars(halving)
    assert "forward" not in vars(sliding)
