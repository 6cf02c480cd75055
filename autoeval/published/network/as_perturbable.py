"""A detector as the passes of published scores need it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.published.network.viewed_black_box import ViewedBlackBox


def as_perturbable(detector: Any, stages: Sequence[str] = ()) -> Any:
    """Return the same detector with all passes that it allows.

    One of mmdet becomes a `PerturbableDetector`, at `stages` of its backbone if any are named, a
    black box a `ViewedBlackBox`; any other has its own ``observe`` with options of dropout.
    """
    if isinstance(detector, BlackBoxDetector):
        return detector if isinstance(detector, ViewedBlackBox) else ViewedBlackBox(detector)
    if not hasattr(detector, "model"):  # nothing of mmdet, which takes seconds to import
        return detector
    from autoeval.detectors.detector import MMDetector
    from autoeval.published.network.perturbable import PerturbableDetector

    if not isinstance(detector, MMDetector):
        return detector
    if isinstance(detector, PerturbableDetector) and not (stages and detector.stages != stages):
        return detector
    return PerturbableDetector(detector.model, detector.config, detector.categories, stages=stages)
