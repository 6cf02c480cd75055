"""A pass with perturbed weights, for the flatness of Yu et al. 2024."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from scipy.special import softmax
from torch import nn

from autoeval.detections import Classified, Detections

STEP = 1.0


@contextmanager
def perturbed_weights(model: nn.Module, seed: int, *, step: float = STEP) -> Iterator[None]:
    """Perturb the weights of a model while the body runs; afterwards they are as before, exactly.

    All parameters together are one vector, to which ``step * r / ||r||`` is added, r uniform on [0,
    1) in every coordinate, drawn on the CPU by `seed`, so that it is the same on any device.
    """
    weights = [weight.data for weight in model.parameters()]
    before = [weight.clone() for weight in weights]
    drawn = torch.Generator().manual_seed(seed)
    change = [torch.rand(weight.shape, generator=drawn) for weight in weights]
    norm = float(torch.stack([part.double().square().sum() for part in change]).sum().sqrt())
    try:
        for weight, part in zip(weights, change, strict=True):
            weight += (step / norm * part).to(weight)
        yield
    finally:
        for weight, kept in zip(weights, before, strict=True):
            weight.copy_(kept)


def classified(detections: Detections, logits: np.ndarray, n_categories: int) -> Classified:
    """Add the probabilities of all K categories to N boxes: the softmax of their logits.

    Logits (N, K), without a column for the background, as heads of sigmoids give them, have 0
    there: a single category then has its sigmoid.
    """
    if logits.shape[1] == n_categories:
        logits = np.pad(logits, ((0, 0), (0, 1)))
    probabilities = softmax(logits.astype(np.float64), axis=1).astype(np.float32)
    return Classified(detections.boxes, detections.scores, detections.labels, probabilities)
