"""The only rooms that import mmdet: building, preprocessing, staged forward, dropout."""

from autoeval.detectors.detector import Detector
from autoeval.detectors.dropout import DropoutSpec
from autoeval.detectors.loading import load_detector
from autoeval.detectors.quiet import silence

silence()

__all__ = ["Detector", "DropoutSpec", "load_detector"]
