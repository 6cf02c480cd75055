"""Class logits that stay with their boxes through mmdet's post-processing.

mmdet keeps the boxes of an image in an ``InstanceData``, which selects all of its fields together.
Once the logits of each candidate are one of the fields, suppression and all later selections leave
those of the final boxes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from autoeval.detectors.predicting import wrapped
from autoeval.errors import first_line

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

LOGITS = "class_logits"
DIGIT = 256  # whole numbers up to which bfloat16 holds
N_DIGITS = 3  # of the number of a point
Patch = AbstractContextManager[None]


@contextmanager
def wrapped_everywhere(function: Callable, around: Callable) -> Iterator[None]:
    """Wrap a function under its own name in every Python module that has imported it."""
    with ExitStack() as stack:
        for module in _users(function, len(sys.modules)):
            stack.enter_context(wrapped(module, function.__name__, around))
        yield


@lru_cache
def _users(function: Callable, n_modules: int) -> list[ModuleType]:
    """List the modules that hold a function; searched again when there are more modules."""
    name, modules = function.__name__, list(sys.modules.values())
    return [module for module in modules if getattr(module, "__dict__", {}).get(name) is function]


class CaptureFailures:
    """What went wrong with watching a model, which itself has gone on: different `reasons`."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    @contextmanager
    def around(self) -> Iterator[None]:
        """Note an error of the body instead of raising it; memory that runs out is raised."""
        try:
            yield
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # the body meets heads that nobody has seen
            reason = f"{type(error).__name__}: {first_line(error)}"
            if reason not in self.reasons:
                self.reasons.append(reason)

    def __str__(self) -> str:
        return f" ({'; '.join(self.reasons)})" if self.reasons else ""


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
                pairs = zip(self.levels, self.kept, strict=True)
                parts = [_of_priors(level, kept, channels) for level, kept in pairs]
                results.set_field(torch.cat(parts), LOGITS)
        return finish(*args, **kwargs)


@dataclass
class _Points:
    """YOLOX: each decoded box carries the number of its point, in digits, until post-processing."""

    head: Any
    failures: CaptureFailures
    levels: list[Tensor] = field(default_factory=list)
    logits: Iterator[Tensor] | None = None
    places: Tensor | None = None

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
        self.logits = None
        with self.failures.around():
            logits = _flattened(self.levels, self.head.cls_out_channels)
            points = torch.arange(boxes.shape[1], device=boxes.device)[:, None]
            self.places = DIGIT ** torch.arange(N_DIGITS, device=boxes.device)
            digits = points // self.places % DIGIT
            carried = digits.to(boxes.dtype).expand(len(boxes), -1, -1)
            boxes = torch.cat([boxes, carried], dim=2)
            self.logits = iter(logits)
        return boxes

    def attach(self, finish: Callable, *args: Any, **kwargs: Any) -> Any:
        if self.logits is None:
            return finish(*args, **kwargs)
        results = kwargs["results"] if "results" in kwargs else args[0]
        digits = results.bboxes[:, -N_DIGITS:].long()
        results.bboxes = results.bboxes[:, :-N_DIGITS].contiguous()
        with self.failures.around():
            points = (digits * self.places).sum(dim=1)
            results.set_field(next(self.logits)[points], LOGITS)
        return finish(*args, **kwargs)


def _flattened(levels: Sequence[Tensor], channels: int) -> Tensor:
    """Return the logits (N, P, K) of the points of N images, in the order that mmdet decodes."""
    n_images = len(levels[0])
    flat = [level.permute(0, 2, 3, 1).reshape(n_images, -1, channels) for level in levels]
    return torch.cat(flat, dim=1)


def _of_priors(scores: Tensor, priors: Tensor, channels: int) -> Tensor:
    """Return the rows (N, K) of some priors of an output map (A * K, H, W).

    mmdet numbers priors by row, column and anchor. Its own reshape copies the whole map.
    """
    n_anchors = scores.shape[0] // channels
    by_anchor = scores.reshape(n_anchors, channels, -1)
    return by_anchor[priors % n_anchors, :, priors // n_anchors]
