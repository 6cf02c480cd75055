"""Whether labelled images seem to be training images of the detector."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.prediction_files import PathLike
from autoeval.estimation.training_set import read_labels


def seen_in_training(estimator: AccuracyEstimator, labels: PathLike) -> Iterator[str]:
    """Yield why the labelled images seem to be training images, and what follows.

    Parameters
    ----------
    estimator : AccuracyEstimator
        Fitted on them, with its detector.
    labels : path-like
    """
    from autoeval.detectors.building.training_images import trained_on

    detector = estimator.detector_
    config = getattr(detector, "config", None)
    if config is None:  # a black box
        return
    names = tuple(image.file_name for image in read_labels(Path(labels), None).images)
    for reason in trained_on(config, labels, names):
        yield (
            f"{reason}: the accuracy of a detector on images that it was trained on is too high, "
            "fit on others"
        )
