"""The pass over the images of many places, as work that can go to another process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.estimation.estimate_any import any_task
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.pass_log import PassLog
from autoeval.estimation.observation.presets import light
from autoeval.estimation.observation.samples import UnlabelledSamples
from autoeval.estimation.observation.travelling import LoadDetector, TravellingObserver
from autoeval.estimation.pairs.pair_regression import NAME, PairRegression
from autoeval.estimation.pairs.pair_table import CATEGORY
from autoeval.monitoring.observing.place_images import PlaceImage
from autoeval.monitoring.records.record import CameraImage
from autoeval.monitoring.records.record_rows import row_of
from autoeval.monitoring.times.clock import Clock
from autoeval.runtime.job import Advance, Job
from autoeval.scores.registry import needs_of

HALF = "half_size"
Signals = Callable[[np.ndarray], Mapping[str, float]]


def place_observer(
    estimator: MapEstimator,
    detector: ImageDetector,
    *,
    categories: Mapping[str, Sequence[str]] | None = None,
    batch_size: int = 4,
) -> Observer:
    """Make the pass that an estimator needs of places: the plain one, and that at half the size.

    Parameters
    ----------
    estimator : MapEstimator
    detector : ImageDetector
    categories : mapping of str to sequence of str, optional
        Categories to expect everywhere, each with the detector's words for it; those of the task
        by default. An estimator of a labelled set needs them.
    batch_size : int
        Changes no number.

    Raises
    ------
    InputError
        If the estimator is of another method than ``bayes``, of which alone it is known how errors
        of places go together, or as `MapEstimator.observer`.
    """
    if not isinstance(estimator.regression_, PairRegression):
        raise InputError(
            f"Expected an estimator of the method '{NAME}', the default, but this one is of "
            f"'{estimator.method}': it does not tell how the errors of several places go together. "
            "Fit again without --method."
        )
    needed = needs_of(estimator.regression_.features_)
    if more := sorted(needed - {HALF, "clean"}):
        raise InputError(
            f"This estimator needs {', '.join(more)} of each image, and places are remembered by "
            "the boxes of the plain pass and of that at half the size alone. Fit without it."
        )
    if categories:
        estimator.check_detector(detector)
        task = any_task(categories, detector.categories)
        observer = Observer(detector, task, light(), batch_size=batch_size)
    elif "kind" in estimator.table_ and (estimator.table_["kind"] == CATEGORY).any():
        raise InputError(
            "This estimator was fitted on the categories of a labelled set: say with --category "
            "which of them are to be expected at these places, such as --category car=car,truck."
        )
    else:
        observer = estimator.observer(detector, repeats=0, batch_size=batch_size)
    settings = replace(observer.settings, wants=(HALF,) if HALF in needed else ())
    return Observer(detector, observer.task, settings, batch_size=batch_size)


class PlacePass(TravellingObserver):
    """Observes the `PlaceImage` of a job and returns the rows of a `RecordStore`.

    Parameters
    ----------
    observer : Observer
        From `place_observer`.
    clock : Clock
    signals : callable
        From an image (H, W, 3), uint8, BGR, to what its pixels alone say, by name.
    load : callable, optional
        See `TravellingObserver`.
    """

    def __init__(
        self,
        observer: Observer,
        clock: Clock,
        signals: Signals,
        *,
        load: LoadDetector | None = None,
    ) -> None:
        super().__init__(observer, load=load)
        self.clock = clock
        self.signals = signals

    def __call__(self, job: Job, advance: Advance) -> list[dict[str, Any]]:
        """Observe a batch; files that vanished leave no row, others that cannot be read a reason.

        Raises
        ------
        FileNotFoundError
            If all have vanished.
        """
        images: Sequence[PlaceImage] = job.payload
        by_name, log = {image.file.image_id: image for image in images}, PassLog()
        samples = UnlabelledSamples([image.file for image in images])
        rows = []
        for sample, evidence in self.observer.each(samples, log=log):
            image = by_name[sample.image_id]
            record = CameraImage(
                sample.image_id,
                evidence.image_size,
                None,
                image.group,
                evidence.clean,
                evidence.half_size,
                self.signals(sample.image),
            )
            rows.append(self._row(record, image))
            advance(1)
        lost = {images[k]: reason for k, reason in log.unreadable.items()}
        rows += [self._unreadable(i, why) for i, why in lost.items() if i.file.path.exists()]
        if not rows:
            raise FileNotFoundError(f"{images[0].file.path} and all {len(images)} of its batch")
        return rows

    @property
    def made_with(self) -> dict[str, Any]:
        """What its records depend on, as nested plain values."""
        context = self.observer.context()
        passed = {**context["pass"], "half_size": HALF in self.observer.settings.wants}
        return {**context, "pass": passed, "time": self.clock.source}

    def _row(self, record: CameraImage, image: PlaceImage, why: str = "") -> dict[str, Any]:
        taken, source = self.clock.read(image.file.path, image.file.image_id)
        return {
            **row_of(replace(record, taken=taken)),
            "stamp": image.stamp,
            "taken_from": source,
            "unreadable": why,
            "observed_s": time.time(),
        }

    def _unreadable(self, image: PlaceImage, why: str) -> dict[str, Any]:
        nothing = CameraImage(image.file.image_id, (0, 0), None, image.group, Detections.empty())
        return self._row(nothing, image, why)
