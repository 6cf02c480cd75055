"""Whether a detector can be told from another one, such as itself with retrained weights."""

from __future__ import annotations

import uuid
from typing import Any

RUN = uuid.uuid4().hex


def is_identified(detector: Any) -> bool:
    """Whether the settings of a detector differ when its weights do; see `BlackBoxDetector`."""
    return bool(getattr(detector, "is_identified", True))


def kept_with(detector: Any) -> dict[str, str]:
    """Return what kept rows depend on beside the settings of their detector.

    Rows of a detector that cannot be told from another one are of this process alone.
    """
    run = "" if is_identified(detector) else RUN
    return {"file": getattr(detector, "file_digest", ""), "run": run}


def identity_warnings(detector: Any) -> tuple[str, ...]:
    """Warn where nobody can check whether a detector is the one that was fitted with."""
    if is_identified(detector):
        return ()
    name = getattr(detector, "name", "the detector")
    return (
        f"{name} states neither its weights nor settings, so nobody can check that it is the "
        "detector that the estimator was fitted with: pass BlackBoxDetector(..., weights=PATH) and "
        "fit again",
    )
