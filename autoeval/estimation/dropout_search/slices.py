"""One job of the search: some images of one sample set, observed under several dropouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from autoeval.detections import Detections, Evidence
from autoeval.detectors.forward.dropout_spec import DropoutSpec
from autoeval.estimation.dropout_search.grid import list_stages
from autoeval.estimation.dropout_search.searchable import SearchableDetector
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.pass_log import PassLog
from autoeval.metasets.sample_set import Sample, Samples
from autoeval.metrics.mean_ap import MeanAP
from autoeval.scores.box_stability import image_stabilities
from autoeval.scores.context import ScoreContext

Row = dict[str, Any]


@dataclass(frozen=True)
class Slice:
    """Images ``start`` to ``stop`` of a sample set, and the dropouts to observe them under.

    With ``accuracy`` the clean pass runs over all its images, for mAP.
    """

    samples: Samples
    start: int
    stop: int
    specs: tuple[DropoutSpec, ...]
    accuracy: bool


def slice_rows(
    observer: Observer[SearchableDetector], piece: Slice, advance: Callable[[int], object]
) -> list[Row]:
    """Observe a slice.

    Parameters
    ----------
    observer : Observer
        The dropout of its settings is not looked at.
    piece : Slice
    advance : callable
        Called with the number of images done.

    Returns
    -------
    list of dict
        One row for each image and dropout: ``image`` (its number), ``stages``, ``rate``, and, for
        each of `image_stabilities`, ``<score>_sum`` and ``<score>_n``, whose sums over images
        divide to the score. With ``accuracy`` also mAP of the whole set. An image that cannot be
        read leaves one row that says why.
    """
    truth, log, rows = MeanAP(observer.task.categories), PassLog(), list[Row]()
    for number, sample, each in _under_dropouts(observer, piece, log):
        clean = next(iter(each.values())).clean
        truth.update(clean, sample.boxes, sample.labels, sample.iscrowd)
        made = (_row(spec, evidence, observer) for spec, evidence in each.items())
        rows += [{"image": number, **row} for row in made]
        advance(1)
    if piece.accuracy:
        for sample, evidence in _clean(observer).each(
            piece.samples, range(piece.stop, len(piece.samples)), log=log
        ):
            truth.update(evidence.clean, sample.boxes, sample.labels, sample.iscrowd)
    rows += [{"image": n, "unreadable": reason} for n, reason in log.unreadable.items()]
    accuracy = truth.compute() if piece.accuracy else {}
    return [{**row, **accuracy} for row in rows]


def _under_dropouts(
    observer: Observer[SearchableDetector], piece: Slice, log: PassLog
) -> Iterator[tuple[int, Sample, dict[DropoutSpec, Evidence]]]:
    settings = observer.settings
    observe = partial(
        observer.detector.observe_each,
        dropouts=piece.specs,
        repeats=settings.repeats,
        seed=settings.seed,
    )
    numbers = range(piece.start, piece.stop)
    for number, sample, each in observer.stream(piece.samples, observe, numbers, log=log):
        yield number, sample, {spec: e.relabel(observer.lookup) for spec, e in each.items()}


def _clean(observer: Observer) -> Observer:
    settings = replace(observer.settings, repeats=0, wants=())
    return Observer(observer.detector, observer.task, settings, batch_size=observer.batch_size)


def _row(spec: DropoutSpec, evidence: Evidence, observer: Observer) -> Row:
    row: Row = {"stages": list_stages(spec.stages), "rate": spec.rate}
    evidence = replace(evidence, perturbed=tuple(map(_finite, evidence.perturbed)))
    context = ScoreContext(observer.settings.stability)
    for name, score in image_stabilities().items():
        above, below = score.make(context).measure(evidence)
        row |= {f"{name}_sum": float(np.sum(above)), f"{name}_n": int(np.sum(below))}
    return row


def _finite(boxes: Detections) -> Detections:
    """Take boxes that strong dropout has blown out of all bounds as lost."""
    return boxes[np.isfinite(boxes.boxes).all(1) & np.isfinite(boxes.scores)]
