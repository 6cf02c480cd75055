"""The two halves of a convolution that is computed at some places only."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import unfold


def masked_im2col_forward(
    features: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    data_col: Tensor,
    *,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
) -> None:
    """Write what the kernel reads at M places into ``data_col``.

    Parameters
    ----------
    features : Tensor of shape (1, C, H, W)
    mask_h_idx, mask_w_idx : Tensor of shape (M,), int64
        Row and column of each place in the output.
    data_col : Tensor of shape (C * kernel_h * kernel_w, M)
    kernel_h, kernel_w, pad_h, pad_w : int
        Of a convolution with stride 1.
    """
    width = features.shape[3] + 2 * pad_w - kernel_w + 1
    columns = unfold(features, (kernel_h, kernel_w), padding=(pad_h, pad_w))[0]
    data_col.copy_(columns[:, mask_h_idx * width + mask_w_idx])


def masked_col2im_forward(
    col: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    im: Tensor,
    *,
    height: int,
    width: int,
    channels: int,
) -> None:
    """Write the results (channels, M) to their places in ``im`` (1, channels, height, width)."""
    im[0, :, mask_h_idx, mask_w_idx] = col
