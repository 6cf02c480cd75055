"""What one pass adds up, and how the parts of a divided pass come together."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.detections import Evidence
from autoeval.estimation.observation.pass_log import PassLog
from autoeval.estimation.observation.presets import Measure, PassSettings
from autoeval.metasets.sample_set import Sample
from autoeval.metrics.mean_ap import MeanAP
from autoeval.scores.registry import scores
from autoeval.scores.score_set import ScoreSet


class Tally:
    """What a pass adds up, image by image."""

    def __init__(self, categories: tuple[str, ...], settings: PassSettings) -> None:
        self.accuracy = MeanAP(categories)
        self.measures: list[Measure] = [measure.make() for measure in settings.measures]
        self.scores = _score_set(settings)
        several = categories if len(categories) > 1 else ()
        by_box = [n for n, s in scores().items() if not s.per_image]
        self.by_category = {name: _score_set(settings, by_box) for name in several}
        self.n_images = 0
        self.log = PassLog()

    def update(self, sample: Sample, evidence: Evidence) -> None:
        """Take in one image."""
        self.n_images += 1
        for measure in (self.accuracy, *self.measures):
            measure.update(evidence.clean, sample.boxes, sample.labels, sample.iscrowd)
        self.scores.update(evidence)
        for k, of_category in enumerate(self.by_category.values()):
            only = np.full(len(self.by_category), -1)
            only[k] = 0
            of_category.update(evidence.relabel(only))

    def merge(self, other: Self) -> None:
        """Take in what ``other`` has seen of the images that come after those seen here."""
        self.n_images += other.n_images
        self.log.merge(other.log)
        self.accuracy.merge(other.accuracy)
        for mine, theirs in zip(self.measures, other.measures, strict=True):
            mine.merge(theirs)
        self.scores.merge(other.scores)
        for name, of_category in self.by_category.items():
            of_category.merge(other.by_category[name])

    def rows(self) -> list[dict[str, Any]]:
        """Return one row a repeat; see `Observer.rows`."""
        self.log.check(self.n_images)
        with self.log.timed("map_s"):
            accuracy = self.accuracy.compute()
            for measure in self.measures:
                accuracy |= measure.compute()
        shared = {
            "n_images": self.n_images,
            "n_boxes": self.accuracy.n_boxes,
            "n_unreadable": len(self.log.unreadable),
            "unreadable": "; ".join(self.log.unreadable.values()),
            "absent": json.dumps(self.scores.absent, sort_keys=True),
            **self.log.seconds,
        }
        rows = [
            {"repeat": repeat, **shared, **accuracy, **features}
            for repeat, features in enumerate(self.scores.rows())
        ]
        for name, of_category in self.by_category.items():
            for row, features in zip(rows, of_category.rows(), strict=True):
                row |= {f"{feature}/{name}": value for feature, value in features.items()}
        return rows


def _score_set(settings: PassSettings, names: Collection[str] | None = None) -> ScoreSet:
    domain = settings.domain
    return ScoreSet(
        settings.stability,
        repeats=settings.repeats,
        reference=domain.features if domain else None,
        source_threshold=domain.threshold if domain else None,
        names=names,
    )


def merged(parts: Sequence[Tally]) -> Tally:
    """Return the tally of all images, given those of its parts in the order of the images.

    In that order mAP, whose ties go by the order of images, equals that of an undivided pass to the
    last bit; so do the scores, but for the Fréchet distance, which is equal up to rounding.
    """
    whole, *rest = parts
    for part in rest:
        whole.merge(part)
    return whole
