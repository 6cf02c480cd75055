"""What a clean pass leaves on the way: NMS candidates, class logits, pooled backbone features.

Nothing is run twice and nothing of mmdet's post-processing is done again: while the model's own
``predict`` runs, non-maximum suppression is recorded, boxes carry their logits along, and a hook
reads the backbone's output. mmdet keeps the boxes of an image in an ``InstanceData``, which selects
all of its fields together: once the logits of each candidate are one of the fields, suppression and
all later selections leave those of the final boxes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from autoeval.detections import Candidates
from autoeval.detectors.predicting import HostCopy, wrapped
from autoeval.errors import first_line

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

ARGUMENTS = ("boxes", "scores", "idxs", "nms_cfg")
CAPTURED = ("candidates", "logits", "features", "prototypes")
MOST_POOLED = 1000  # candidates of an image, the best
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


@dataclass(frozen=True)
class Suppression:
    """One run of non-maximum suppression.

    `boxes` (M, 4), `scores` (M,) and `labels` (M,) went in. `detections` (K, 5), boxes and scores,
    came out, best first. `keep` (K,) are their numbers among what went in.
    """

    boxes: np.ndarray
    scores: np.ndarray
    labels: np.ndarray
    detections: np.ndarray
    keep: np.ndarray

    def scale_to(
        self, boxes: np.ndarray, scores: np.ndarray, scale_factor: tuple[float, ...]
    ) -> np.ndarray | None:
        """Return what takes this run's boxes to an image's final ones, where these came from it.

        These are divisors of xyxy, (4,) float32: ones, or `scale_factor`, of network pixels to
        image pixels along x and y, where mmdet rescales after suppression. None where the final
        boxes (N, 4) and scores (N,) are not the first of those that came out.
        """
        first = self.detections[: len(boxes)]
        if not np.array_equal(first[:, 4], scores):
            return None
        if np.array_equal(first[:, :4], boxes):
            return np.ones(4, np.float32)
        scale = np.tile(np.asarray(tuple(scale_factor)[:2], np.float32), 2)
        rescaled = np.allclose(first[:, :4] / scale, boxes, rtol=1e-4, atol=1e-3)
        return scale if rescaled else None

    def candidates(self, scale: np.ndarray) -> Candidates:
        """Return what went in, in pixels of the image, with what was kept."""
        kept = np.zeros(len(self.scores), bool)
        kept[self.keep] = True
        return Candidates(self.boxes / scale, self.scores, self.labels, kept)


def recorded(runs: list[tuple[Tensor, ...]], nms: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call mmcv's ``batched_nms`` and record the fields of a `Suppression`.

    Without settings it suppresses nothing. What came out is copied: mask heads rescale theirs.
    """
    detections, keep = nms(*args, **kwargs)
    given = {**dict(zip(ARGUMENTS, args, strict=False)), **kwargs}
    if given["nms_cfg"] is not None:
        inputs = (given["boxes"], given["scores"], given["idxs"])
        runs.append((*inputs, detections.clone(), keep))
    return detections, keep


class _OnHost(NamedTuple):
    """What was captured of N images, as arrays of the host.

    `found` are the boxes (M, 4) and scores (M,) of each image; `logits` (M, K) by its number.
    """

    suppressions: list[Suppression]
    found: list[tuple[np.ndarray, np.ndarray]]
    logits: dict[int, np.ndarray]
    features: np.ndarray | None


@dataclass
class Capture:
    """What was captured of a batch of N images.

    `detector` is its name in messages; `instances` are the final boxes of each image, `scales` its
    network pixels to one image pixel, `suppressions` the fields of each `Suppression` in the order
    they ran, those of region proposals included; `features` (N, C) are the averages of the
    backbone's last `maps` (N, C, H, W), of which `to_map` cells make one network pixel.
    """

    wants: Collection[str]
    detector: str
    instances: list[Any] = field(default_factory=list)
    scales: list[tuple[float, ...]] = field(default_factory=list)
    suppressions: list[tuple[Tensor, ...]] = field(default_factory=list)
    features: Tensor | None = None
    maps: Tensor | None = None
    to_map: float = 0.0
    n_categories: int | None = None
    failures: CaptureFailures = field(default_factory=CaptureFailures)

    def fields(self, i: int) -> dict[str, Any]:
        """Return the fields of `Evidence` for image i, with the reasons for what is missing."""
        fields: dict[str, Any] = {"missing": {}}
        for name in CAPTURED:
            if name in self.wants:
                value = getattr(self, f"_{name}")(i)
                (fields["missing"] if isinstance(value, str) else fields)[name] = value
        return fields

    def keep_instances(self, predict: Callable, *args: Any, **kwargs: Any) -> Any:
        """Call the model's ``predict`` and keep the final boxes."""
        results = predict(*args, **kwargs)
        for result in results:
            self.instances.append(result.get("pred_instances", None))
            self.scales.append(result.metainfo.get("scale_factor", (1.0, 1.0)))
        return results

    def pool_features(self, module: nn.Module, inputs: Any, output: Any) -> None:
        """Average the backbone's last feature maps, padding included; a forward hook."""
        last = output[-1] if isinstance(output, list | tuple) else output
        if isinstance(last, Tensor) and last.ndim == 4:
            self.features = last.mean(dim=(2, 3))
            if "prototypes" in self.wants:
                self.maps, self.to_map = last, last.shape[-1] / inputs[0].shape[-1]

    def begin_copy(self) -> None:
        """Begin to copy to the host what `fields` reads, while perturbed passes run."""
        _ = self._copy

    @cached_property
    def _copy(self) -> HostCopy:
        """The copy of all that `fields` reads, in one piece."""
        tensors = [tensor for run in self.suppressions for tensor in run]
        for instances in self.instances:
            tensors += [instances.bboxes, instances.scores]
        tensors += [i[LOGITS].float() for i in self.instances if LOGITS in i]
        tensors += [] if self.features is None else [self.features.float()]
        return HostCopy(tensors)

    @cached_property
    def _host(self) -> _OnHost:
        classified = [i for i, instances in enumerate(self.instances) if LOGITS in instances]
        copied = iter(self._copy.arrays())
        return _OnHost(
            [Suppression(*(next(copied) for _ in run)) for run in self.suppressions],
            [(next(copied), next(copied)) for _ in self.instances],
            {i: next(copied) for i in classified},
            next(copied, None),
        )

    def _candidates(self, i: int) -> Candidates | str:
        """Find the run that gave the image's boxes; without boxes there were no candidates."""
        boxes, scores = self._host.found[i]
        if not len(boxes):
            return Candidates(np.zeros((0, 4)), np.zeros(0), np.zeros(0), np.zeros(0))
        for suppression in reversed(self._host.suppressions):
            scale = suppression.scale_to(boxes, scores, self.scales[i])
            if scale is not None:
                return suppression.candidates(scale)
        return f"the boxes of {self.detector} do not come out of mmdet's non-maximum suppression"

    def _logits(self, i: int) -> np.ndarray | str:
        if i in self._host.logits:
            return self._host.logits[i]
        return (
            f"the head of {self.detector} does not state which class logits a box comes from"
            f"{self.failures}"
        )

    def _features(self, i: int) -> np.ndarray | str:
        if self._host.features is None:
            return f"the backbone of {self.detector} gives no feature maps"
        return self._host.features[i]

    def _prototypes(self, i: int) -> np.ndarray | str:
        """Pool the backbone's last maps over the best candidates, and sum them by category."""
        candidates, without = self._candidates(i), self._features(i)
        if isinstance(candidates, str) or isinstance(without, str):
            return candidates if isinstance(candidates, str) else str(without)
        if self.maps is None or self.n_categories is None:
            return f"the head of {self.detector} does not state how many categories it has"
        from mmcv.ops import roi_align

        candidates = candidates[np.argsort(-candidates.scores, kind="stable")[:MOST_POOLED]]
        scale = np.tile(np.asarray(self.scales[i])[:2], 2)
        size = np.tile(np.array(self.maps.shape[:1:-1]) / self.to_map, 2)
        boxes = np.clip(candidates.boxes * scale, 0, size)
        rois = np.column_stack([np.full(len(candidates), i), boxes])
        at = torch.as_tensor(rois, dtype=self.maps.dtype, device=self.maps.device)
        pooled = roi_align(self.maps, at, 1, self.to_map).flatten(1).float().cpu().numpy()
        weights = np.zeros((self.n_categories + 1, len(candidates)), np.float32)
        weights[candidates.labels, np.arange(len(candidates))] = candidates.scores
        weights[-1] = 1 - candidates.scores
        return weights @ np.column_stack([pooled, np.ones(len(candidates), np.float32)])


@contextmanager
def capture(model: BaseDetector, wants: Collection[str]) -> Iterator[Capture]:
    """Capture what a model leaves on the way while the body runs one batch through it.

    `wants` are any of `CAPTURED`; with none of them nothing is touched.
    """
    n_categories = getattr(final_head(model), "num_classes", None)
    captured = Capture(wants, type(model).__name__, n_categories=n_categories)
    with ExitStack() as stack:
        if not set(CAPTURED).isdisjoint(wants):
            stack.enter_context(wrapped(model, "predict", captured.keep_instances))
        if {"candidates", "prototypes"} & set(wants):
            from mmcv.ops.nms import batched_nms

            stack.enter_context(
                wrapped_everywhere(batched_nms, partial(recorded, captured.suppressions))
            )
        if "logits" in wants:
            stack.enter_context(attached_logits(model, captured.failures))
        if {"features", "prototypes"} & set(wants):
            hook = model.backbone.register_forward_hook(captured.pool_features)
            stack.callback(hook.remove)
        yield captured
    if not set(CAPTURED).isdisjoint(wants):
        captured.begin_copy()


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
    """Dense heads: ``filter_scores_and_topk`` returns the priors of a level that are candidates."""

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
