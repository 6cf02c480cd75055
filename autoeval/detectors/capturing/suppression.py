"""One run of non-maximum suppression, and whether a detector's final boxes came out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from autoeval.detections import Candidates

ARGUMENTS = ("boxes", "scores", "idxs", "nms_cfg")


@dataclass(frozen=True)
class Suppression:
    """One run of non-maximum suppression.

    Parameters
    ----------
    boxes, scores, labels : Tensor of shape (M, 4), (M,), (M,)
        What went in.
    detections : Tensor of shape (K, 5)
        Boxes and scores that came out, best first: a copy, because mask heads rescale theirs.
    keep : Tensor of shape (K,), int64
        Their numbers among what went in.
    """

    boxes: Tensor
    scores: Tensor
    labels: Tensor
    detections: Tensor
    keep: Tensor

    def scale_to(self, instances: Any, scale_factor: tuple[float, ...]) -> Tensor | None:
        """Return what takes this run's boxes to an image's final ones, where these came from it.

        Parameters
        ----------
        instances : InstanceData
            The final boxes.
        scale_factor : tuple of float
            Of network pixels to image pixels, along x and y.

        Returns
        -------
        Tensor of shape (4,) or None
            Divisors of xyxy: ones, or the scale where mmdet rescales after suppression. None where
            the final boxes are not the first of those that came out.
        """
        first = self.detections[: len(instances)]
        if not torch.equal(first[:, 4], instances.scores):
            return None
        if torch.equal(first[:, :4], instances.bboxes):
            return first.new_ones(4)
        scale = first.new_tensor(tuple(scale_factor)[:2]).repeat(2)
        rescaled = torch.allclose(first[:, :4] / scale, instances.bboxes, rtol=1e-4, atol=1e-3)
        return scale if rescaled else None

    def candidates(self, scale: Tensor) -> Candidates:
        """Return what went in, in pixels of the image, with what was kept."""
        kept = torch.zeros_like(self.scores, dtype=torch.bool)
        kept[self.keep] = True
        parts = (self.boxes / scale, self.scores, self.labels, kept)
        return Candidates(*(part.cpu().numpy() for part in parts))


def recorded(runs: list[Suppression], nms: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call ``batched_nms`` and record it; without settings it suppresses nothing.

    Parameters
    ----------
    runs : list of Suppression
        Receives this one.
    nms : callable
        mmcv's ``batched_nms``, with its arguments.
    """
    detections, keep = nms(*args, **kwargs)
    given = {**dict(zip(ARGUMENTS, args, strict=False)), **kwargs}
    if given["nms_cfg"] is not None:
        inputs = (given["boxes"], given["scores"], given["idxs"])
        runs.append(Suppression(*inputs, detections.clone(), keep))
    return detections, keep
