"""What is remembered of one image that was observed, so that it is not observed again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from autoeval.detections import Detections, Evidence


@dataclass(frozen=True, eq=False)
class CameraImage:
    """One observed image.

    Parameters
    ----------
    file_name : str
        Relative to the root of the images, with forward slashes; unique within a store.
    size : tuple of int
        Height and width in pixels.
    taken : datetime or None
        When, by the camera's own clock, without a time zone; None where that is not known.
    group : str
        The site: a folder relative to the root, ``"."`` for the root itself.
    clean : Detections
        Boxes of the plain pass as xyxy, pixels, float32 (N, 4), those of the task's categories
        alone; labels index these.
    half_size : Detections or None
        Boxes of the pass at half the size, in the image's own coordinates; None where the
        estimator does not need it.
    signals : mapping of str to float
        Of the pixels; see `autoeval.monitoring.observing.signals`.
    """

    file_name: str
    size: tuple[int, int]
    taken: datetime | None
    group: str
    clean: Detections
    half_size: Detections | None = None
    signals: Mapping[str, float] = field(default_factory=dict)

    def evidence(self) -> Evidence:
        """Return what scores are made of."""
        return Evidence(self.file_name, self.size, self.clean, half_size=self.half_size)
