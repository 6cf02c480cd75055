"""A detector as the passes of published scores need it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.errors import InputError
from autoeval.stability.network.viewed_black_box import ViewedBlackBox


def as_perturbable(detector: Any, stages: Sequence[str] = ()) -> Any:
    """Return the same detector with all passes that it allows.

    One of mmdet becomes a `PerturbableDetector`, at `stages` of its backbone if any are named; a
    black box a `ViewedBlackBox`, and a `HookedNetwork` where it has a network of torch and stages
    are named; any other takes the options of dropout itself. InputError for stages of one without a
    network.
    """
    if hasattr(detector, "model"):  # mmdet takes seconds to import
        from autoeval.detectors.detector import MMDetector
        from autoeval.stability.network.perturbable import PerturbableDetector

        perturbable = isinstance(detector, PerturbableDetector)
        if perturbable and (not stages or detector.stages == tuple(stages)):
            return detector
        if isinstance(detector, MMDetector):
            parts = detector.model, detector.config, detector.categories
            return PerturbableDetector(*parts, stages=stages, precision=detector.precision)
    if stages and getattr(detector, "network", None) is not None:
        from autoeval.stability.network.hooked_network import HookedNetwork  # imports torch

        same = getattr(detector, "stages", ()) == tuple(stages)
        return detector if same else HookedNetwork(detector, stages)
    if stages:
        raise InputError(
            f"Expected no stages with {getattr(detector, 'name', detector)}: they are modules of "
            "a network of torch, and there is none to see. Leave them out."
        )
    if isinstance(detector, BlackBoxDetector) and not isinstance(detector, ViewedBlackBox):
        return ViewedBlackBox(detector)
    return detector
