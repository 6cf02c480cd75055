"""Bin loss: gentle inside the bin of the true count, linear outside (equation 7)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from mmengine.registry import MODELS
from torch import Tensor, nn

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.measures.binned import check_mode
from autoeval.errors import InputError


def bin_loss(
    pred: Tensor,
    target: Tensor,
    edges: Tensor,
    *,
    mode: str = "paper",
    log_weight: float = 1.0,
) -> Tensor:
    """Penalty of each count.

    With e = pred - target and [lo, hi] the bin of the target, ``"paper"`` is
    ``log_weight * ln(1 + |e|)`` where lo <= pred <= hi and |e| elsewhere, as printed.
    ``"released"`` is the greater of ``log_weight * ln(1 + |e|)`` and the distance of pred beyond
    the edge of the bin, as the authors' code; unlike there, the logarithm has a gradient.

    Parameters
    ----------
    pred, target : Tensor of shape (B,)
        Counts.
    edges : Tensor of shape (K + 1,)
        Bins are (lo, hi], the first closed on both sides. A target outside all of them widens the
        nearest one to hold it.
    mode : {"paper", "released"}
        Which formula.
    log_weight : float
        lambda 1.

    Returns
    -------
    Tensor of shape (B,)

    Examples
    --------
    >>> edges = torch.tensor([0., 10., 20.])
    >>> bin_loss(torch.tensor([8., 14.]), torch.tensor([9., 9.]), edges)
    tensor([0.6931, 5.0000])
    """
    check_mode(mode)
    index = (torch.bucketize(target.detach(), edges) - 1).clamp(0, len(edges) - 2)
    low = torch.minimum(edges[index], target)
    high = torch.maximum(edges[index + 1], target)
    error = (pred - target).abs()
    gentle = log_weight * torch.log1p(error)
    if mode == "paper":
        return torch.where((low <= pred) & (pred <= high), gentle, error)
    return torch.maximum(gentle, torch.maximum(low - pred, pred - high))


@MODELS.register_module()
class BinLoss(nn.Module):
    """Mean bin loss of a batch of counts or of density maps.

    Add it to the loss of the network itself.

    Parameters
    ----------
    edges : sequence of float or CountBins
        Bins of the true count.
    mode : {"paper", "released"}
        See `bin_loss`.
    log_weight : float
        lambda 1, the weight of the logarithm.
    loss_weight : float
        lambda 2, the weight of the whole.

    Examples
    --------
    >>> loss = BinLoss([0, 10, 20])
    >>> loss(torch.full((1, 1, 2, 2), 2.0), torch.tensor([9.0]))
    tensor(0.6931)
    """

    edges: Tensor

    def __init__(
        self,
        edges: Sequence[float] | CountBins,
        mode: str = "paper",
        log_weight: float = 1.0,
        loss_weight: float = 1.0,
    ) -> None:
        super().__init__()
        check_mode(mode)
        bins = edges if isinstance(edges, CountBins) else CountBins(tuple(edges))
        self.register_buffer("edges", torch.tensor(bins.edges), persistent=False)
        self.mode = mode
        self.log_weight = log_weight
        self.loss_weight = loss_weight

    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        """Return the weighted mean penalty.

        Parameters
        ----------
        pred, target : Tensor of shape (B,) or (B, ...)
            Counts, or density maps, which are summed to counts; each on its own terms.

        Raises
        ------
        InputError
            If the two hold different numbers of images.
        """
        pred, target = _counts(pred), _counts(target)
        if pred.shape != target.shape:
            raise InputError(
                f"Expected as many predictions as true counts but got {len(pred)} and "
                f"{len(target)}."
            )
        edges = self.edges.to(pred.dtype)
        penalties = bin_loss(
            pred, target.to(pred.dtype), edges, mode=self.mode, log_weight=self.log_weight
        )
        return self.loss_weight * penalties.mean()


def _counts(batch: Tensor) -> Tensor:
    return batch.flatten(1).sum(1) if batch.ndim > 1 else batch
