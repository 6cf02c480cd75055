import pytest
import torch
from torch import nn

from autoeval.detectors.capturing.wrapping import QuickPooling


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
