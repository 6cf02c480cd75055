"""The score table of a set of images: every score, and mAP where there are labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from autoeval.accuracy.coco_evaluation import MeanAP
from autoeval.detections import Evidence
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import PassLog, blocks_of_read
from autoeval.io.tasks.seed_set import Sample, Samples
from autoeval.runtime.jobs import Behind
from autoeval.stability.passes.presets import Measure, ScoredSettings, scored_settings
from autoeval.stability.scores.base import scores
from autoeval.stability.scores.score_set import ScoreSet

RESAMPLED = "resampled"  # column: of each repeat, a dict of feature to its values in B draws
N_BLOCKS = "n_blocks"


class Tally:
    """What a pass adds up, some images at a time.

    Parameters
    ----------
    categories : tuple of str
        Of the task; with several, the scores of each are added up too.
    settings : ScoredSettings
        Of the pass.
    """

    def __init__(self, categories: tuple[str, ...], settings: ScoredSettings) -> None:
        self.accuracy = MeanAP(categories)
        self.measures: list[Measure] = [measure.make() for measure in settings.measures]
        self.scores = _score_set(settings)
        several = categories if len(categories) > 1 else ()
        by_box = [n for n, s in scores().items() if not s.per_image]
        self.by_category = {name: _score_set(settings, by_box) for name in several}
        self.n_images = 0
        self.log = PassLog()

    def update(self, images: Sequence[tuple[Sample, Evidence]]) -> None:
        """Take in some images; in which company an image comes changes no number.

        Parameters
        ----------
        images : sequence of (Sample, Evidence)
            Of one batch.
        """
        self.n_images += len(images)
        for measure in (self.accuracy, *self.measures):
            for sample, evidence in images:
                measure.update(evidence.clean, sample.boxes, sample.labels, sample.iscrowd)
        self.scores.update_batch([evidence for _, evidence in images])
        if self.by_category:
            alone = [evidence.by_category(len(self.by_category)) for _, evidence in images]
            groups = list(zip(*alone, strict=True))
            ScoreSet.update_groups(list(self.by_category.values()), groups)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row a repeat; see `scored_rows`."""
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
        for name, category_scores in self.by_category.items():
            for row, features in zip(rows, category_scores.rows(), strict=True):
                row |= {f"{feature}/{name}": value for feature, value in features.items()}
        return rows


def _score_set(settings: ScoredSettings, names: Collection[str] | None = None) -> ScoreSet:
    domain = settings.domain
    return ScoreSet(
        settings.stability,
        repeats=settings.repeats,
        reference=domain.features if domain else None,
        source_threshold=domain.threshold if domain else None,
        names=names,
    )


def scored_rows(
    observer: Observer,
    samples: Samples,
    *,
    advance: Callable[[int], object] = lambda n: None,
    watch: Callable[[Evidence], object] = lambda evidence: None,
    resamples: int = 0,
) -> list[dict[str, Any]]:
    """Compute all scores of a set of images, and mAP where there are labels.

    Parameters
    ----------
    observer : Observer
        With `ScoredSettings`.
    samples : Samples
        Images, with labels or without.
    advance : callable
        Called with the number of images done.
    watch : callable
        Called with the evidence of each image.
    resamples : int
        Draw the images again as often, with replacement, by the seed of the settings; where the
        samples have ``blocks``, block by block.

    Returns
    -------
    list of dict
        One row a repeat: ``repeat``, ``n_images``, ``n_boxes``, ``n_unreadable``, ``unreadable``
        (names and reasons), ``absent`` (JSON: why a score is not there), seconds spent, the
        features, ``mAP``, ``mAP50``, ``mAP75`` (NaN without labels), and what else the settings
        measure. With `resamples` also ``resampled``, the features of the sets drawn again by name,
        (resamples,), and ``n_blocks``, how many blocks they were drawn from.
    """
    whole = tally(observer, samples, range(len(samples)), advance=advance, watch=watch)
    rows = whole.rows()
    if not resamples:
        return rows
    blocks = blocks_of_read(samples, whole.log.unreadable)
    drawn = whole.scores.resample(
        resamples=resamples, seed=scored_settings(observer).seed, blocks=blocks
    )
    more = {N_BLOCKS: int(blocks.max()) + 1}
    return [{**row, **more, RESAMPLED: features} for row, features in zip(rows, drawn, strict=True)]


def tally(
    observer: Observer,
    samples: Samples,
    numbers: Iterable[int],
    *,
    advance: Callable[[int], object],
    watch: Callable[[Evidence], object],
) -> Tally:
    """Add up what is observed of some of the images; see `scored_rows`.

    Scores are computed in a thread of their own, batch after batch, while the network goes on.

    Parameters
    ----------
    observer : Observer
        With `ScoredSettings`.
    samples : Samples
        Of all the images.
    numbers : iterable of int
        Which of them.
    advance : callable
        Called with 1 after each image.
    watch : callable
        Called with the `Evidence` of each image, in the thread that adds up.
    """
    adding = Tally(observer.task.categories, scored_settings(observer))

    def add(images: Sequence[tuple[Sample, Evidence]]) -> None:
        with adding.log.timed("scores_s"):
            adding.update(images)
            for _, evidence in images:
                watch(evidence)

    with Behind(add, depth=2) as add_later:
        batch: list[tuple[Sample, Evidence]] = []
        for seen in observer.each(samples, numbers, log=adding.log):
            batch.append(seen)
            if len(batch) == observer.batch_size:
                add_later(batch)
                batch = []
            advance(1)
        if batch:
            add_later(batch)
    return adding
