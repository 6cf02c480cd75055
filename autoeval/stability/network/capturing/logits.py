"""Class logits that stay with their boxes through mmdet's post-processing.

mmdet keeps the boxes of an image in an ``InstanceData``, which selects all of its fields together.
Once the logits of each candidate are one of the fields, suppression and all later selections leave
those of the final boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from autoeval.detectors.quick_pooling import wrapped
from autoeval.stability.network.capturing.watching import CaptureFailures, wrapped_everywhere

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

LOGITS = "class_logits"
Patch = AbstractContextManager[None]


@contextmanager
def attached_logits(model: BaseDetector, failures: CaptureFailures) -> Iterator[None]:
    """Let the final boxes have a field `LOGITS` (N, K) while the body runs.

    Works for heads of the families of Faster R-CNN, YOLOX and RetinaNet (all that run the latter's
    ``_predict_by_feat_single``, such as ATSS, FCOS and RTMDet); the boxes of other heads have no
    such field, nor have those of a head that calls these methods in a way of its own, which
    ``failures`` then say. Of a cascade it is the last head that gives the boxes.
    """
    with ExitStack() as stack:
        with failures.around():
            for patch in _patches(final_head(model), failures):
                stack.enter_context(patch)
        yield


def final_head(model: BaseDetector) -> nn.Module | None:
    """Return the module that gives the model's final boxes."""
    head = getattr(getattr(model, "roi_head", model), "bbox_head", None)
    return head[-1] if isinstance(head, nn.ModuleList) else head


def _patches(head: nn.Module | None, failures: CaptureFailures) -> list[Patch]:
    """Choose by the method that a head runs, which a subclass may have replaced."""
    from mmdet.models.dense_heads.base_dense_head import BaseDenseHead
    from mmdet.models.dense_heads.yolox_head import YOLOXHead
    from mmdet.models.roi_heads.bbox_heads.bbox_head import BBoxHead

    families = (
        (BBoxHead, "_predict_by_feat_single", _Regions),
        (YOLOXHead, "predict_by_feat", _Points),
        (BaseDenseHead, "_predict_by_feat_single", _Priors),
    )
    for family, method, follower in families:
        if getattr(type(head), method, None) is getattr(family, method):
            return follower(head, failures).patches()
    return []


@dataclass
class _Regions:
    """Two-stage heads: ``multiclass_nms`` can tell the numbers of the regions that it keeps."""

    head: Any
    failures: CaptureFailures
    kept: Tensor | None = None

    def patches(self) -> list[Patch]:
        from mmdet.models.layers.bbox_nms import multiclass_nms

        return [
            wrapped_everywhere(multiclass_nms, self.keep),
            wrapped(self.head, "_predict_by_feat_single", self.attach),
        ]

    def keep(self, select: Callable, *args: Any, return_inds: bool = False, **kwargs: Any) -> Any:
        detections, labels, numbers = select(*args, **kwargs, return_inds=True)
        with self.failures.around():
            scores = kwargs["multi_scores"] if "multi_scores" in kwargs else args[1]
            self.kept = numbers // (scores.size(1) - 1)
        return (detections, labels, numbers) if return_inds else (detections, labels)

    def attach(self, predict: Callable, *args: Any, **kwargs: Any) -> Any:
        self.kept = None
        results = predict(*args, **kwargs)
        with self.failures.around():
            scores = kwargs["cls_score"] if "cls_score" in kwargs else args[1]
            kept = scores[:0] if self.kept is None else scores[self.kept]
            results.set_field(kept, LOGITS)
        return results


@dataclass
class _Priors:
    """Dense heads: ``filter_scores_and_topk`` tells which priors of a level become candidates."""

    head: Any
    failures: CaptureFailures
    levels: list[Tensor] = field(default_factory=list)
    kept: list[Tensor] = field(default_factory=list)

    def patches(self) -> list[Patch]:
        from mmdet.models.utils.misc import filter_scores_and_topk

        return [
            wrapped(self.head, "_predict_by_feat_single", self.begin),
            wrapped_everywhere(filter_scores_and_topk, self.keep),
            wrapped(self.head, "_bbox_post_process", self.attach),
        ]

    def begin(self, predict: Callable, *args: Any, **kwargs: Any) -> Any:
        self.levels = kwargs["cls_score_list"] if "cls_score_list" in kwargs else args[0]
        self.kept = []
        return predict(*args, **kwargs)

    def keep(self, select: Callable, *args: Any, **kwargs: Any) -> Any:
        selected = select(*args, **kwargs)
        self.kept.append(selected[2])
        return selected

    def attach(self, finish: Callable, *args: Any, **kwargs: Any) -> Any:
        if self.levels:
            with self.failures.around():
                results = kwargs["results"] if "results" in kwargs else args[0]
                channels = self.head.cls_out_channels
                levels = [_by_prior(level, channels) for level in self.levels]
                parts = [level[kept] for level, kept in zip(levels, self.kept, strict=True)]
                results.set_field(torch.cat(parts), LOGITS)
        return finish(*args, **kwargs)


@dataclass
class _Points:
    """YOLOX: candidates are the points, in their order, whose decoded boxes they have."""

    head: Any
    failures: CaptureFailures
    points: Iterator[tuple[Tensor, Tensor]] = field(default_factory=lambda: iter(()))
    levels: list[Tensor] = field(default_factory=list)

    def patches(self) -> list[Patch]:
        return [
            wrapped(self.head, "predict_by_feat", self.begin),
            wrapped(self.head, "_bbox_decode", self.decode),
            wrapped(self.head, "_bbox_post_process", self.attach),
        ]

    def begin(self, predict: Callable, *args: Any, **kwargs: Any) -> Any:
        self.levels = kwargs["cls_scores"] if "cls_scores" in kwargs else args[0]
        return predict(*args, **kwargs)

    def decode(self, decode: Callable, *args: Any, **kwargs: Any) -> Tensor:
        boxes = decode(*args, **kwargs)
        with self.failures.around():
            channels, images = self.head.cls_out_channels, zip(*self.levels, strict=True)
            # No `self` in the generator, which `self` holds: tensors in a cycle are freed late.
            logits = (
                torch.cat([_by_prior(level, channels) for level in image]) for image in images
            )
            self.points = zip(boxes, logits, strict=True)
        return boxes

    def attach(self, finish: Callable, *args: Any, **kwargs: Any) -> Any:
        with self.failures.around():
            results = kwargs["results"] if "results" in kwargs else args[0]
            boxes, logits = next(self.points)
            chosen = _rows_among(boxes, results.bboxes)
            if int(chosen.sum()) == len(results):
                results.set_field(logits[chosen], LOGITS)
        return finish(*args, **kwargs)


def _by_prior(scores: Tensor, channels: int) -> Tensor:
    """Turn an output map (A * K, H, W) into one row a prior, (H * W * A, K), as mmdet orders it."""
    return scores.permute(1, 2, 0).reshape(-1, channels)


def _rows_among(rows: Tensor, others: Tensor) -> Tensor:
    """Say which rows (N, 4) are among others (M, 4), (N,) bool.

    Rows are compared bit by bit in words of 64. One whose words belong to several others passes
    too, which shows in the number of them.
    """
    words = zip(*(part.contiguous().view(torch.int64).T for part in (rows, others)), strict=True)
    return torch.stack([torch.isin(word, word_of_others) for word, word_of_others in words]).all(
        dim=0
    )
