"""What a clean pass leaves on the way: NMS candidates, class logits, pooled backbone features.

Nothing is run twice and nothing of mmdet's post-processing is done again: while the model's own
``predict`` runs, non-maximum suppression is recorded, boxes carry their logits along, and a hook
reads the backbone's output.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from autoeval.detections import Candidates
from autoeval.detectors.predicting import HostCopy, wrapped
from autoeval.stability.network.capturing.logits import (
    LOGITS,
    CaptureFailures,
    attached_logits,
    final_head,
    wrapped_everywhere,
)

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

ARGUMENTS = ("boxes", "scores", "idxs", "nms_cfg")
CAPTURED = ("candidates", "logits", "features", "prototypes")
MOST_POOLED = 1000  # candidates of an image, the best


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
