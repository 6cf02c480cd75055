"""CARAFE against a slow loop and numeric gradients."""

import numpy as np
import pytest
import torch

from autoeval.detectors import ops

ops.register()
from mmcv.ops import carafe, carafe_naive  # noqa: E402


def slow(features, masks, kernel, groups, scale):
    """The definition, one output number at a time."""
    n, channels, height, width = features.shape
    out = torch.zeros(n, channels, height * scale, width * scale, dtype=features.dtype)
    for b, c, p, q, i, j in np.ndindex(*out.shape, kernel, kernel):
        y, x = p // scale + i - kernel // 2, q // scale + j - kernel // 2
        if 0 <= y < height and 0 <= x < width:
            place = (c // (channels // groups) * kernel + i) * kernel + j
            out[b, c, p, q] += features[b, c, y, x] * masks[b, place, p, q]
    return out


@pytest.mark.parametrize("operator", [carafe, carafe_naive])
@pytest.mark.parametrize(("kernel", "groups", "scale"), [(3, 1, 2), (5, 2, 3), (1, 4, 1)])
def test_equals_the_definition(operator, kernel, groups, scale):
    torch.manual_seed(0)
    features = torch.randn(2, 4, 3, 4).double()
    masks = torch.randn(2, groups * kernel**2, 3 * scale, 4 * scale).double()
    found = operator(features, masks, kernel, groups, scale)
    torch.testing.assert_close(found, slow(features, masks, kernel, groups, scale))


def test_gradients():
    torch.manual_seed(0)
    features = torch.randn(1, 4, 3, 4).double().requires_grad_()
    masks = torch.randn(1, 18, 6, 8).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda *x: carafe(*x, 3, 2, 2).sum(), (features, masks))
