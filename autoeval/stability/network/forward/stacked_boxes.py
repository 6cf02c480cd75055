"""Boxes of a stack of perturbed images, post-processed all at once where the network runs.

MMDetection post-processes image by image: dozens of small operations for each, and several numbers
that the host has to wait for. A small network on a GPU takes less time than that. Here the same
steps run once for a whole stack: one threshold, one suppression in which no box meets one of
another image, and one read of the counts. Boxes are those of MMDetection to the last bit, but for
two things that it leaves open: candidates with equal scores stay in their order here, and on a GPU
its compiled suppression may round the IoU of two boxes otherwise, which tells where that IoU is
the threshold to the last bit.

Heads that run MMDetection's own code for this and suppress as usual are known (`known_head`); all
others run their own code, image by image, as every clean pass does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from autoeval.detections import Detections
from autoeval.detectors.predicting import Batch, Later, is_on_host, predict, to_device, to_host

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

# Scores of a stack that are looked through at once: each takes some 5 bytes for a while, and some
# 80 more where it is over the threshold.
MOST_SCORES = 2**26
# Pairs of candidates compared at once: each takes some 40 bytes for a while. An image with more is
# suppressed by mmcv; on a processor, where no launch is saved, that is soon the quicker way.
MOST_PAIRS = 2**26
MOST_PAIRS_ON_HOST = 2**16
# Settings of non-maximum suppression that are the same here as in mmcv.
SUPPRESSION = {"type", "iou_threshold", "class_agnostic", "split_thr"}
Maps = Sequence[Tensor]  # of each level, (N, channels, H, W)


@dataclass(frozen=True)
class _Stack:
    """Candidates of N images as mmdet suppresses them: those of an image together, in its order.

    Parameters
    ----------
    boxes : Tensor of shape (R, 4)
        xyxy, in pixels of the image.
    scores, labels : Tensor of shape (R,)
        Of the boxes.
    counts : list of int
        Candidates of each image.
    usable : Tensor of shape (R,), bool, optional
        False of boxes that are too small to be candidates.
    most : int, optional
        So many best boxes of an image stay; all where it is None.
    """

    boxes: Tensor
    scores: Tensor
    labels: Tensor
    counts: list[int]
    usable: Tensor | None = None
    most: int | None = None


Find = Callable[[Any, Sequence[Maps], Sequence[Mapping[str, Any]]], _Stack]


def predict_stack(model: BaseDetector, batch: Batch) -> Later[list[Detections]]:
    """Run a model over a stack as `predict` does, with all images post-processed at once if known.

    Parameters
    ----------
    model : BaseDetector
        Of mmdet.
    batch : Batch
        Samples may be there several times; they are left as they are.

    Returns
    -------
    callable
        Waits for the batch's copy to the host, and gives the `Detections` of each image, boxes xyxy
        in pixels of the original image.

    Raises
    ------
    InputError
        If the model gives no boxes.
    """
    find = known_head(model) if len(batch.samples) > 1 else None
    metas = [sample.metainfo for sample in batch.samples]
    if find is None or len({tuple(meta["img_shape"]) for meta in metas}) > 1:
        samples = [type(sample)(metainfo=sample.metainfo) for sample in batch.samples]
        return predict(model, Batch(batch.inputs, samples, batch.copy))
    head = model.bbox_head
    outputs = head(model.extract_feat(batch.inputs))
    at_once = max(1, MOST_SCORES // sum(level[0].numel() for level in outputs[0]))
    candidates = []
    for first in range(0, len(metas), at_once):
        part = slice(first, first + at_once)
        stack = find(head, [[level[part] for level in maps] for maps in outputs], metas[part])
        rows, counts = _suppress(stack, head.test_cfg["nms"])
        candidates.append((stack.boxes[rows], stack.scores[rows], stack.labels[rows], counts))
    added = batch.copy.add([torch.cat(column) for column in zip(*candidates, strict=True)])

    def boxes() -> list[Detections]:
        *columns, n_kept = added()
        ends = np.cumsum(n_kept)[:-1]
        parts = zip(*(np.split(column, ends) for column in columns), strict=True)
        return [Detections(*of_image) for of_image in parts]

    return boxes


def known_head(model: BaseDetector) -> Find | None:
    """Return what finds the candidates of a model's head; None where the head has code of its own.

    Parameters
    ----------
    model : BaseDetector
        Of mmdet.
    """
    from mmdet.models.dense_heads import YOLOXHead
    from mmdet.models.dense_heads.base_dense_head import BaseDenseHead
    from mmdet.models.detectors import SingleStageDetector

    head = getattr(model, "bbox_head", None)
    if not isinstance(head, BaseDenseHead) or not isinstance(model, SingleStageDetector):
        return None
    settings = head.test_cfg or {}
    usual = dict(settings.get("nms") or {"type": ""})
    if usual.get("type", "nms") != "nms" or not usual.keys() <= SUPPRESSION:
        return None
    shared = ("predict", "extract_feat"), ("predict", "predict_by_feat", "_bbox_post_process")
    if not _runs(model, SingleStageDetector, shared[0]):
        return None
    if _runs(head, YOLOXHead, (*shared[1], "_bbox_decode")):
        return _of_points
    dense = _runs(head, BaseDenseHead, (*shared[1], "_predict_by_feat_single"))
    limited = all(settings.get(name, -1) > 0 for name in ("nms_pre", "max_per_img"))
    numbered = isinstance(getattr(head, "num_base_priors", None), int)
    if not (dense and limited and numbered) or not getattr(head, "use_sigmoid_cls", False):
        return None
    special = getattr(getattr(head, "loss_cls", None), "custom_cls_channels", False)
    as_objects = getattr(getattr(head, "bbox_coder", None), "use_box_type", True)
    return None if special or as_objects else _of_priors


def _runs(module: Any, family: type, methods: Sequence[str]) -> bool:
    """Whether a module runs the methods of a family, and none of a subclass or of its own."""
    functions = (getattr(getattr(module, name), "__func__", None) for name in methods)
    return all(
        function is getattr(family, name) for function, name in zip(functions, methods, strict=True)
    )


def _of_points(head: Any, outputs: Sequence[Maps], metas: Sequence[Mapping[str, Any]]) -> _Stack:
    """Find the candidates of YOLOX as ``YOLOXHead.predict_by_feat`` does."""
    levels, sides, objectness = outputs
    sizes = [level.shape[2:] for level in levels]
    of_points = {"dtype": levels[0].dtype, "device": levels[0].device, "with_stride": True}
    points = torch.cat(head.prior_generator.grid_priors(sizes, **of_points))
    scores, labels = _flat(levels, head.cls_out_channels).sigmoid().max(dim=2)
    sure = _flat(objectness, 1).squeeze(2).sigmoid()
    boxes = head._bbox_decode(points, _flat(sides, 4))
    products = sure * scores
    valid = products >= head.test_cfg.score_thr
    (counts,) = to_host([valid.sum(dim=1)])
    image, point = valid.nonzero().unbind(1)
    scale = _by_image([meta["scale_factor"] for meta in metas], boxes)
    return _Stack(
        boxes[image, point] / scale[image],
        products[image, point],
        labels[image, point],
        counts.tolist(),
    )


def _flat(levels: Maps, channels: int) -> Tensor:
    """Return what N images have at their P points (N, P, channels), in the order of mmdet."""
    rows = [level.permute(0, 2, 3, 1).reshape(len(level), -1, channels) for level in levels]
    return torch.cat(rows, dim=1)


def _by_image(factors: Sequence[Sequence[float]], like: Tensor) -> Tensor:
    """Return factors of x and y of each image as those of xyxy, (N, 4), for which nobody waits."""
    rows = [[*factor[:2], *factor[:2]] for factor in factors]
    return to_device(torch.tensor(rows, dtype=like.dtype), like.device)


def _of_priors(head: Any, outputs: Sequence[Maps], metas: Sequence[Mapping[str, Any]]) -> _Stack:
    """Find the candidates of a head with priors, as ``BaseDenseHead.predict_by_feat`` does."""
    levels, sides, *factors = outputs
    n_images, settings = len(metas), head.test_cfg
    sizes = [level.shape[2:] for level in levels]
    of_priors = {"dtype": levels[0].dtype, "device": levels[0].device}
    priors_of = head.prior_generator.grid_priors(sizes, **of_priors)
    candidates = []
    for k, (level, priors) in enumerate(zip(levels, priors_of, strict=True)):
        image, score, label, prior = _best_of_level(head, level, settings)
        place = prior // head.num_base_priors
        anchor, y, x = prior % head.num_base_priors, place // sizes[k][1], place % sizes[k][1]
        side = sides[k].unflatten(1, (head.num_base_priors, -1))[image, anchor, :, y, x]
        if factors:
            score = score * factors[0][k].sigmoid()[image, anchor, y, x]
        candidates.append((image, score, label, priors[prior], side))
    image, scores, labels, priors, side = (
        torch.cat(column) for column in zip(*candidates, strict=True)
    )
    boxes = head.bbox_coder.decode(priors, side, max_shape=metas[0]["img_shape"])
    scale = _by_image([[1 / s for s in meta["scale_factor"]] for meta in metas], boxes)
    boxes = boxes * scale[image]
    usable, least = None, settings.get("min_bbox_size", -1)
    if least >= 0:
        width, height = (boxes[:, 2:] - boxes[:, :2]).unbind(1)
        usable = (width > least) & (height > least)
    image, order = image.sort(stable=True)
    (ends,) = to_host([torch.searchsorted(image, torch.arange(n_images, device=image.device) + 1)])
    counts = np.diff(ends, prepend=0).tolist()
    usable = None if usable is None else usable[order]
    most = settings["max_per_img"]
    return _Stack(boxes[order], scores[order], labels[order], counts, usable, most)


def _best_of_level(
    head: Any, level: Tensor, settings: Mapping[str, Any]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return image, score, label and prior of the best candidates of each image on one level.

    As ``filter_scores_and_topk``; those of an image are together, best first.
    """
    scores = level.sigmoid()
    over = (scores > settings.get("score_thr", 0)).permute(0, 2, 3, 1)
    image, y, x, channel = over.nonzero().unbind(1)
    score, order = scores[image, channel, y, x].sort(descending=True, stable=True)
    image, by_image = image[order].sort(stable=True)
    rank = torch.arange(len(image), device=image.device) - torch.searchsorted(image, image)
    order = order[by_image]
    anchor, label = channel // head.cls_out_channels, channel % head.cls_out_channels
    prior = (y * level.shape[3] + x) * head.num_base_priors + anchor
    best = (rank < settings["nms_pre"]).nonzero().squeeze(1)
    return image[best], score[by_image][best], label[order][best], prior[order][best]


def _suppress(stack: _Stack, nms: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """Return the rows that suppression keeps, by image and best first, and their numbers (N,)."""
    if not len(stack.scores):
        return stack.labels, stack.labels.new_zeros(len(stack.counts))
    most_pairs = MOST_PAIRS_ON_HOST if is_on_host(stack.boxes) else MOST_PAIRS
    rows, counts = [], []
    for first, n in _parts(stack.counts, most_pairs):
        if stack.counts[first] ** 2 > most_pairs:
            rows.append(_suppress_image(stack, first, nms)[: stack.most])
            counts.append(stack.labels.new_full((1,), len(rows[-1])))
            continue
        ranked, kept = _suppress_part(stack, first, n, nms)
        if stack.most is not None:
            kept = kept & (kept.cumsum(dim=1) <= stack.most)
        rows.append(ranked[kept])
        counts.append(kept.sum(dim=1))
    return torch.cat(rows), torch.cat(counts)


def _parts(counts: Sequence[int], most_pairs: int) -> Iterator[tuple[int, int]]:
    """Yield first image and number of images of parts with at most so many pairs, or of one image.

    >>> list(_parts([3, 5, 80, 4, 4], 100))
    [(0, 2), (2, 1), (3, 2)]
    """
    first = 0
    for end in range(1, len(counts) + 1):
        if end == len(counts) or (end + 1 - first) * max(counts[first : end + 1]) ** 2 > most_pairs:
            yield first, end - first
            first = end


def _suppress_image(stack: _Stack, number: int, nms: Mapping[str, Any]) -> Tensor:
    """Return the rows of one image that mmcv's own suppression keeps, best first."""
    from mmcv.ops import batched_nms

    begin = sum(stack.counts[:number])
    rows = torch.arange(begin, begin + stack.counts[number], device=stack.boxes.device)
    if stack.usable is not None:
        rows = rows[stack.usable[rows]]
    if not len(rows):
        return rows
    _, kept = batched_nms(stack.boxes[rows], stack.scores[rows], stack.labels[rows], dict(nms))
    return rows[kept]


def _suppress_part(
    stack: _Stack, first: int, n: int, nms: Mapping[str, Any]
) -> tuple[Tensor, Tensor]:
    """Suppress the candidates of n images, at most M each.

    Parameters
    ----------
    stack : _Stack
        The candidates.
    first, n : int
        Number of the first image, and of images.
    nms : mapping
        Settings of mmcv's suppression.

    Returns
    -------
    rows : Tensor of shape (n, M), int
        Rows of the stack, those of an image best first.
    kept : Tensor of shape (n, M), bool
        Which of them stay.
    """
    device, counts = stack.boxes.device, np.array(stack.counts)
    begins = np.cumsum(counts) - counts
    table = torch.from_numpy(np.stack([begins, counts])[:, first : first + n, None])
    begin, size = to_device(table, device)
    place = torch.arange(max(1, counts[first : first + n].max()), device=device)
    valid = place < size
    rows = torch.where(valid, begin + place, 0)
    if stack.usable is not None:
        valid = valid & stack.usable[rows]
    _, order = torch.where(valid, stack.scores[rows], -1).sort(dim=1, descending=True, stable=True)
    rows, valid = rows.gather(1, order), valid.gather(1, order)
    boxes = stack.boxes[rows]
    if not nms.get("class_agnostic", False):
        # As mmcv does, so that numbers are rounded alike: categories lie apart in the plane.
        largest = torch.where(valid[..., None], boxes, -torch.inf).amax(dim=(1, 2))
        offset = stack.labels[rows].to(boxes) * (largest + 1)[:, None]
        boxes = boxes + offset[..., None]
    hits = (_overlaps(boxes.float()) > nms["iou_threshold"]).triu_(1)
    # A box stays if no better box that stays hits it. Whoever depends on k better boxes in a row is
    # decided after k rounds, so the rounds end with what the greedy loop finds.
    kept, before = valid, None
    while before is None or not torch.equal(kept, before):
        before = kept
        kept = valid & ~(hits & before[:, :, None]).any(dim=1)
    return rows, kept


def _overlaps(boxes: Tensor) -> Tensor:
    """Return the IoU of all pairs of the boxes of each image (N, M, 4), (N, M, M).

    Step by step as non-maximum suppression of torchvision and `autoeval.detectors.ops` computes it;
    NaN where both areas are 0.
    """
    left, top, right, bottom = boxes.unbind(2)
    area = (right - left) * (bottom - top)
    overlap = _shared(left, right).mul_(_shared(top, bottom))
    return overlap / (area[:, :, None] + area[:, None] - overlap)


def _shared(low: Tensor, high: Tensor) -> Tensor:
    """Return what all pairs of intervals (N, M) share, (N, M, M)."""
    ends = torch.minimum(high[:, :, None], high[:, None])
    return ends.sub_(torch.maximum(low[:, :, None], low[:, None])).clamp_(min=0)
