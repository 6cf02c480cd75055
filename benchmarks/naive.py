"""What the pass is compared with: plain inference by mmdet, and box stability made of it by hand.

By hand means what a script around mmdet does: one inference of all images as they are, one more for
each repeat, with dropout switched on by forward hooks, and a loop over the images that matches the
boxes of both. The loop is not slowed down on purpose: overlaps come from mmdet's own vectorised
function, the assignment from scipy.
"""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import torch
from mmengine.dataset import Compose
from scipy.optimize import linear_sum_assignment
from torch.nn.functional import dropout

from autoeval.accuracy.mean_ap import MeanAP
from autoeval.detections import Detections
from autoeval.detectors.detector import MMDetector
from autoeval.detectors.preprocessing import test_pipeline
from autoeval.stability.network.backbones import split_backbone
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from benchmarks.subjects import LabelledFiles


def infer(detector: MMDetector, samples: LabelledFiles) -> list[Detections]:
    """Run ``model.test_step`` on each file, read and resized by mmdet's own pipeline."""
    steps = [step for step in test_pipeline(detector.config) if "Annotations" not in step["type"]]
    pipeline, found = Compose(steps), []
    with torch.no_grad():
        for file in samples.files:
            data = pipeline({"img_path": str(file.path), "img_id": 0})
            batch = {name: [value] for name, value in data.items()}
            boxes = detector.model.test_step(batch)[0].pred_instances.cpu()
            columns = boxes.bboxes, boxes.scores, boxes.labels
            found.append(Detections(*(column.numpy() for column in columns)))
    return found


def estimate(
    detector: MMDetector, samples: LabelledFiles, spec: DropoutSpec, repeats: int
) -> tuple[dict[str, float], list[float]]:
    """Return mAP, and the box stability of each repeat."""
    clean = infer(detector, samples)
    stability = []
    for _ in range(repeats):
        with _dropout(detector, spec):
            perturbed = infer(detector, samples)
        pairs = zip(clean, perturbed, strict=True)
        stability.append(float(np.nanmean([_stability(a, b) for a, b in pairs] or [np.nan])))
    accuracy = MeanAP(["object"])
    for file, boxes in zip(samples.files, clean, strict=True):
        true, labels = samples.truth[file.image_id]
        as_one = boxes.relabel(np.zeros(len(detector.categories), np.int64))
        accuracy.update(as_one, true, np.zeros_like(labels), np.zeros(len(labels), bool))
    return accuracy.compute(), stability


def _dropout(detector: MMDetector, spec: DropoutSpec) -> ExitStack:
    """Drop elements of what leaves the stages until the stack is closed."""
    staged = split_backbone(detector.model.backbone)
    assert staged is not None and spec.position == "after"
    stack = ExitStack()
    for stage in spec.stages:
        handle = staged.points.exits[stage].register_forward_hook(
            lambda module, inputs, output: dropout(output, spec.rate, training=True)
        )
        stack.callback(handle.remove)
    return stack


def _stability(clean: Detections, perturbed: Detections) -> float:
    from mmdet.structures.bbox import bbox_overlaps

    a, b = (torch.from_numpy(d.above(0.05).boxes) for d in (clean, perturbed))
    if not len(a) or not len(b):
        return float("nan")
    overlaps = bbox_overlaps(a, b, mode="giou").numpy()
    rows, columns = linear_sum_assignment(-overlaps)
    return float(overlaps[rows, columns].mean())
