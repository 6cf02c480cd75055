"""What a clean pass leaves on the way: NMS candidates, class logits, pooled backbone features.

Nothing is run twice and nothing of mmdet's post-processing is done again: while the model's own
``predict`` runs, non-maximum suppression is recorded, boxes carry their logits along, and a hook
reads the backbone's output. mmdet keeps the boxes of an image in an ``InstanceData``, which selects
all of its fields together: once the logits of each candidate are one of the fields, suppression and
all later selections leave those of the final boxes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from inspect import BoundArguments
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from autoeval.detections import Candidates, Classified, Detections
from autoeval.detectors.predicting import HostCopy, Later, perform, wrapped
from autoeval.errors import first_line

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

CAPTURED = ("candidates", "energies", "logits", "features", "prototypes")
REWEIGHTED = "reweighted"
MOST_POOLED = 1000  # candidates of an image, the best
LOGITS = "class_logits"
DIGIT = 256  # whole numbers up to which bfloat16 holds
N_DIGITS = 3  # of the number of a point
Patch = AbstractContextManager[None]


@contextmanager
def wrapped_everywhere(function: Callable, around: Callable) -> Iterator[None]:
    """Wrap a function under its own name in every Python module that has imported it.

    Parameters
    ----------
    function : callable
        Of some Python module.
    around : callable
        Called in its place with it and the arguments of the call, see `wrapped`.
    """
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

    Parameters
    ----------
    boxes : ndarray of shape (M, 4)
        xyxy that went in.
    scores, labels : ndarray of shape (M,)
        The same.
    detections : ndarray of shape (K, 5)
        Boxes and scores that came out, best first.
    keep : ndarray of shape (K,), int
        Their numbers among what went in.
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

        Parameters
        ----------
        boxes : ndarray of shape (N, 4)
            Final boxes of the image.
        scores : ndarray of shape (N,)
            Their scores.
        scale_factor : tuple of float
            Network pixels to one image pixel along x and y.

        Returns
        -------
        ndarray of shape (4,), float32, optional
            Divisors of xyxy: ones, or `scale_factor`, where mmdet rescales after suppression. None
            where the final boxes are not the first of those that came out.
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
        """Return what went in, in pixels of the image, with what was kept.

        Parameters
        ----------
        scale : ndarray of shape (4,)
            Network pixels to one image pixel, of x, y, x, y.
        """
        kept = np.zeros(len(self.scores), bool)
        kept[self.keep] = True
        return Candidates(self.boxes / scale, self.scores, self.labels, kept)


def recorded(runs: list[tuple[Tensor, ...]], nms: Callable, call: BoundArguments) -> Any:
    """Call mmcv's ``batched_nms`` and record the fields of a `Suppression`.

    Without settings it suppresses nothing. What came out is copied: mask heads rescale theirs.

    Parameters
    ----------
    runs : list of tuples of Tensor
        To which the run is added.
    nms : callable
        ``batched_nms``.
    call : BoundArguments
        Of the call.
    """
    detections, keep = perform(nms, call)
    boxes, scores, labels, settings = call.args[:4]
    if settings is not None:
        runs.append((boxes, scores, labels, detections.clone(), keep))
    return detections, keep


def free_energy(logits: Tensor) -> Tensor:
    """Return the free energy (N,), float64, of boxes with class logits z (N, K): -log Σ exp z.

    The lower, the surer. Source: Liu et al. 2020, equation 4, with a temperature of 1.

    Parameters
    ----------
    logits : Tensor of shape (N, K)
        Of any float type.
    """
    return -torch.logsumexp(logits.double(), dim=1)


def class_probabilities(logits: Tensor, n_categories: int | None) -> Tensor:
    """Return the probabilities (N, K + 1), float32, of K categories and of none of them.

    They are the softmax of the logits. Those without a column for the background (N, K), as heads
    of sigmoids give them, have 0 there: a single category then has its sigmoid.

    Parameters
    ----------
    logits : Tensor of shape (N, K) or (N, K + 1)
        Of any float type.
    n_categories : int or None
        K; where it is not known, no column is added.
    """
    if logits.shape[1] == n_categories:
        logits = nn.functional.pad(logits, (0, 1))
    return logits.double().softmax(dim=1).float()


@dataclass
class Capture:
    """What was captured of a batch of N images.

    All of it stays on the device until `reduce` has made of it what `fields` reads.

    Parameters
    ----------
    wants : collection of str
        See `capture`.
    detector : str
        Its name, for messages.
    instances : list
        Final boxes of each image, an ``InstanceData`` or None.
    scales : list of tuple of float
        Network pixels to one pixel of each image.
    suppressions : list of tuple of Tensor
        Fields of each `Suppression` in the order they ran, those of region proposals included.
    features : Tensor of shape (N, C), optional
        Averages of the backbone's last feature maps.
    maps : Tensor of shape (N, C, H, W), optional
        These maps, where prototypes are wanted.
    to_map : float
        Cells of the maps to one network pixel.
    n_categories : int, optional
        None where the model does not say.
    failures : CaptureFailures
        What went wrong.
    copied : dict
        What is on its way to the host, by name and number of the image.
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
    copied: dict[tuple[str, int], Later[list[np.ndarray]]] = field(default_factory=dict)

    def fields(self, i: int, clean: Detections) -> dict[str, Any]:
        """Return the fields of `Evidence` for image i, with the reasons for what is missing.

        Parameters
        ----------
        i : int
            Number of the image in the batch.
        clean : Detections
            Its final boxes.
        """
        fields: dict[str, Any] = {"missing": {}}
        find: dict[str, Callable[[], Any]] = {
            "candidates": lambda: self._candidates(i, clean),
            "energies": lambda: self._of_logits("energies", i),
            "logits": lambda: self._of_logits("logits", i),
            "features": lambda: self._features(i),
            "prototypes": lambda: self._prototypes(i, clean),
        }
        for name in CAPTURED:
            if name in self.wants:
                value = find[name]()
                (fields["missing"] if isinstance(value, str) else fields)[name] = value
        return fields

    def classified(self, i: int, clean: Detections) -> Classified | str:
        """Return the boxes with the probability of every category, or why it is not known.

        Parameters
        ----------
        i : int
            Number of the image in the batch.
        clean : Detections
            Its final boxes.
        """
        probabilities = self._of_logits(REWEIGHTED, i)
        if isinstance(probabilities, str):
            return probabilities
        return Classified(clean.boxes, clean.scores, clean.labels, probabilities)

    def keep_instances(self, predict: Callable, call: BoundArguments) -> Any:
        """Call the model's ``predict`` and keep the final boxes.

        Parameters
        ----------
        predict : callable
            The model's own.
        call : BoundArguments
            Of the call.
        """
        results = perform(predict, call)
        for result in results:
            self.instances.append(result.get("pred_instances", None))
            self.scales.append(result.metainfo.get("scale_factor", (1.0, 1.0)))
        return results

    def pool_features(self, module: nn.Module, inputs: Any, output: Any) -> None:
        """Average the backbone's last feature maps, padding included; a forward hook.

        Parameters
        ----------
        module, inputs, output
            As torch calls a forward hook.
        """
        last = output[-1] if isinstance(output, list | tuple) else output
        if isinstance(last, Tensor) and last.ndim == 4:
            self.features = last.mean(dim=(2, 3))
            if "prototypes" in self.wants:
                self.maps, self.to_map = last, last.shape[-1] / inputs[0].shape[-1]

    def reduce(self, copy: HostCopy) -> None:
        """Reduce what was captured where it is, and add what `fields` reads to a copy to the host.

        Nothing waits for the device: only numbers of boxes have to be known on the host, and these
        are known since non-maximum suppression.

        Parameters
        ----------
        copy : HostCopy
            Of the batch.
        """
        runs = self._final_suppressions()
        for i, run in runs.items():
            self.copied["candidates", i] = copy.add(run)
        if self.maps is not None and self.n_categories is not None:
            for i, sums in self._sums_by_category(self.maps, self.n_categories, runs).items():
                self.copied["prototypes", i] = copy.add([sums])
        if self.features is not None:
            for i, averages in enumerate(self.features.float()):
                self.copied["features", i] = copy.add([averages])
        classified = {i: one[LOGITS] for i, one in enumerate(self.instances) if LOGITS in one}
        if classified:
            logits = torch.cat([*classified.values()]).float()
            reduced = {
                "logits": lambda: logits,
                "energies": lambda: free_energy(logits),
                REWEIGHTED: lambda: class_probabilities(logits, self.n_categories),
            }
            sizes = [len(rows) for rows in classified.values()]
            for name in reduced.keys() & self.wants:
                for i, rows in zip(classified, reduced[name]().split(sizes), strict=True):
                    self.copied[name, i] = copy.add([rows])
        self.suppressions, self.instances = [], []
        self.features = self.maps = None

    def _final_suppressions(self) -> dict[int, tuple[Tensor, ...]]:
        """Return the last run of each image that has boxes, by the number of the image.

        Images come in their order, and those of region proposals before all others. Whether it is
        indeed the run that gave the boxes is decided by their values, in `_candidates`.
        """
        with_boxes = [i for i, one in enumerate(self.instances) if len(one.bboxes)]
        runs = [run for run in self.suppressions if len(run[-1])]
        if not with_boxes or len(runs) < len(with_boxes):
            return {}
        return dict(zip(with_boxes, runs[-len(with_boxes) :], strict=True))

    def _sums_by_category(
        self, maps: Tensor, n_categories: int, runs: Mapping[int, tuple[Tensor, ...]]
    ) -> dict[int, Tensor]:
        """Pool the backbone's last maps over the best candidates, and sum them by category.

        Returned by the number of the image, (K + 1, C + 1): see `Evidence.prototypes`.
        """
        if not runs:
            return {}
        from mmcv.ops import roi_align

        height, width = maps.shape[2] / self.to_map, maps.shape[3] / self.to_map
        regions, best = [], []
        for i, (boxes, scores, labels, detections, _) in runs.items():
            chosen = torch.argsort(scores, descending=True, stable=True)[:MOST_POOLED]
            # Where mmdet rescales after suppression, candidates are in pixels of the network.
            final = self.instances[i].bboxes
            in_image = (detections[: len(final), :4] == final).all()
            to_x = torch.where(in_image, float(self.scales[i][0]), 1.0)
            to_y = torch.where(in_image, float(self.scales[i][1]), 1.0)
            left, top, right, bottom = boxes[chosen].float().unbind(1)
            number = torch.full_like(left, i)
            left, right = (left * to_x).clamp(0, width), (right * to_x).clamp(0, width)
            top, bottom = (top * to_y).clamp(0, height), (bottom * to_y).clamp(0, height)
            regions.append(torch.stack([number, left, top, right, bottom], dim=1))
            best.append((scores[chosen].float(), labels[chosen].long()))
        pooled = roi_align(maps, torch.cat(regions).to(maps.dtype), 1, self.to_map)
        sums, sizes = {}, [len(of_image) for of_image in regions]
        for i, (scores, labels), rows in zip(
            runs, best, pooled.flatten(1).float().split(sizes), strict=True
        ):
            weights = scores.new_zeros(n_categories + 1, len(scores))
            weights.scatter_(0, labels[None], scores[None])
            weights[-1] = 1 - scores
            sums[i] = weights @ nn.functional.pad(rows, (0, 1), value=1.0)
        return sums

    def _candidates(self, i: int, clean: Detections) -> Candidates | str:
        """Return what suppression was given, where it gave the image's boxes.

        Without boxes there were no candidates.
        """
        if not len(clean):
            return Candidates(np.zeros((0, 4)), np.zeros(0), np.zeros(0), np.zeros(0))
        if ("candidates", i) in self.copied:
            suppression = Suppression(*self.copied["candidates", i]())
            scale = suppression.scale_to(clean.boxes, clean.scores, self.scales[i])
            if scale is not None:
                return suppression.candidates(scale)
        return f"the boxes of {self.detector} do not come out of mmdet's non-maximum suppression"

    def _of_logits(self, name: str, i: int) -> np.ndarray | str:
        if (name, i) in self.copied:
            return self.copied[name, i]()[0]
        return (
            f"the head of {self.detector} does not state which class logits a box comes from"
            f"{self.failures}"
        )

    def _features(self, i: int) -> np.ndarray | str:
        if ("features", i) in self.copied:
            return self.copied["features", i]()[0]
        return f"the backbone of {self.detector} gives no feature maps"

    def _prototypes(self, i: int, clean: Detections) -> np.ndarray | str:
        candidates, without = self._candidates(i, clean), self._features(i)
        if isinstance(candidates, str) or isinstance(without, str):
            return candidates if isinstance(candidates, str) else str(without)
        if self.n_categories is None:
            return f"the head of {self.detector} does not state how many categories it has"
        if ("prototypes", i) in self.copied:
            return self.copied["prototypes", i]()[0]
        return np.zeros((self.n_categories + 1, len(without) + 1), np.float32)


@contextmanager
def capture(model: BaseDetector, wants: Collection[str], copy: HostCopy) -> Iterator[Capture]:
    """Capture what a model leaves on the way while the body runs one batch through it.

    Parameters
    ----------
    model : BaseDetector
        Of mmdet.
    wants : collection of str
        Any of `CAPTURED`, and `REWEIGHTED` for the probabilities of all categories; with none of
        them nothing is touched.
    copy : HostCopy
        What is wanted is added to it when the body ends.
    """
    n_categories = getattr(final_head(model), "num_classes", None)
    captured = Capture(wants, type(model).__name__, n_categories=n_categories)
    watched = not {*CAPTURED, REWEIGHTED}.isdisjoint(wants)
    with ExitStack() as stack:
        if watched:
            stack.enter_context(wrapped(model, "predict", captured.keep_instances))
        if {"candidates", "prototypes"} & set(wants):
            from mmcv.ops.nms import batched_nms

            stack.enter_context(
                wrapped_everywhere(batched_nms, partial(recorded, captured.suppressions))
            )
        if {"energies", "logits", REWEIGHTED} & set(wants):
            stack.enter_context(attached_logits(model, captured.failures))
        if {"features", "prototypes"} & set(wants):
            hook = model.backbone.register_forward_hook(captured.pool_features)
            stack.callback(hook.remove)
        yield captured
    if watched:
        with torch.autocast(next(model.parameters()).device.type, enabled=False):
            captured.reduce(copy)


@contextmanager
def attached_logits(model: BaseDetector, failures: CaptureFailures) -> Iterator[None]:
    """Let the final boxes have a field `LOGITS` (N, K) while the body runs.

    Works for heads of the families of Faster R-CNN, YOLOX and RetinaNet (all that run the latter's
    ``_predict_by_feat_single``, such as ATSS, FCOS and RTMDet); the boxes of other heads have no
    such field, nor have those of a head that calls these methods in a way of its own, which
    ``failures`` then say. Of a cascade it is the last head that gives the boxes.

    Parameters
    ----------
    model : BaseDetector
        Of mmdet.
    failures : CaptureFailures
        Where errors are noted.
    """
    with ExitStack() as stack:
        with failures.around():
            for patch in _patches(final_head(model), failures):
                stack.enter_context(patch)
        yield


def final_head(model: BaseDetector) -> nn.Module | None:
    """Return the module that gives the model's final boxes.

    Parameters
    ----------
    model : BaseDetector
        Of mmdet.
    """
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

    def keep(self, select: Callable, call: BoundArguments) -> Any:
        with_numbers = call.arguments.get("return_inds", False)
        call.arguments["return_inds"] = True
        detections, labels, numbers = perform(select, call)
        with self.failures.around():
            scores = call.arguments["multi_scores"]
            self.kept = numbers // (scores.size(1) - 1)
        return (detections, labels, numbers) if with_numbers else (detections, labels)

    def attach(self, predict: Callable, call: BoundArguments) -> Any:
        self.kept = None
        results = perform(predict, call)
        with self.failures.around():
            scores = call.args[1]
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

    def begin(self, predict: Callable, call: BoundArguments) -> Any:
        self.levels, self.kept = call.args[0], []
        return perform(predict, call)

    def keep(self, select: Callable, call: BoundArguments) -> Any:
        selected = perform(select, call)
        self.kept.append(selected[2])
        return selected

    def attach(self, finish: Callable, call: BoundArguments) -> Any:
        if self.levels:
            with self.failures.around():
                results, channels = call.args[0], self.head.cls_out_channels
                pairs = zip(self.levels, self.kept, strict=True)
                parts = [_of_priors(level, kept, channels) for level, kept in pairs]
                results.set_field(torch.cat(parts), LOGITS)
        return perform(finish, call)


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

    def begin(self, predict: Callable, call: BoundArguments) -> Any:
        self.levels = call.args[0]
        return perform(predict, call)

    def decode(self, decode: Callable, call: BoundArguments) -> Tensor:
        boxes = perform(decode, call)
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

    def attach(self, finish: Callable, call: BoundArguments) -> Any:
        if self.logits is None:
            return perform(finish, call)
        results = call.args[0]
        digits = results.bboxes[:, -N_DIGITS:].long()
        results.bboxes = results.bboxes[:, :-N_DIGITS].contiguous()
        with self.failures.around():
            points = (digits * self.places).sum(dim=1)
            results.set_field(next(self.logits)[points], LOGITS)
        return perform(finish, call)


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
