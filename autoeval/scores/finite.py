"""Refusal of evidence that holds NaN or infinite values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autoeval.detections import Evidence
from autoeval.errors import InputError


def check_finite(evidence: Evidence) -> None:
    """Make sure that every number of an image's evidence is finite.

    Raises
    ------
    InputError
        Naming the image and the field.
    """
    for name, values in _fields(evidence):
        finite = np.isfinite(values)
        if not finite.all():
            raise InputError(
                f"Expected finite numbers but {name} of image '{evidence.image_id}' holds "
                f"{int(np.isnan(values).sum())} NaN and {int(np.isinf(values).sum())} infinite "
                "values: look at this image and at the weights of the detector, and leave out "
                "half precision."
            )


def _fields(evidence: Evidence) -> Iterator[tuple[str, np.ndarray]]:
    boxes = ("clean", "half_size", "teacher", "candidates")
    groups = {name: getattr(evidence, name) for name in boxes}
    for several in ("perturbed", "views"):
        groups |= {f"{several}[{k}]": d for k, d in enumerate(getattr(evidence, several))}
    for name, detections in groups.items():
        if detections is not None:
            yield f"{name}.boxes", detections.boxes
            yield f"{name}.scores", detections.scores
    for name in ("logits", "features"):
        if getattr(evidence, name) is not None:
            yield name, getattr(evidence, name)
