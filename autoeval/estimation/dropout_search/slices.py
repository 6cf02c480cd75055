"""One job of the search: some images of one sample set, observed under several dropouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autoeval.data.images import UnreadableImageError
from autoeval.detections import Detections, Evidence
from autoeval.detectors.detector import Detector
from autoeval.detectors.dropout import DropoutSpec
from autoeval.estimation.collect import Samples
from autoeval.estimation.dropout_search.grid import list_stages
from autoeval.estimation.mean_ap import MeanAP
from autoeval.estimation.presets import PassSettings
from autoeval.metasets.sample_set import Sample
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


@dataclass(frozen=True)
class SliceObserver:
    """Observes slices with one detector.

    Parameters
    ----------
    detector : Detector
    categories : tuple of str
        Categories of the task.
    lookup : ndarray of shape (K,), int
        Task category of each detector category, -1 for none.
    settings : PassSettings
        Its dropout is not looked at.
    batch_size : int
        Changes no number.
    """

    detector: Detector
    categories: tuple[str, ...]
    lookup: np.ndarray
    settings: PassSettings
    batch_size: int = 4

    def rows(self, piece: Slice, advance: Callable[[int], object]) -> list[Row]:
        """Observe a slice.

        Returns
        -------
        list of dict
            One row for each image and dropout: ``image`` (its number), ``stages``, ``rate``, and,
            for each of `image_stabilities`, ``<score>_sum`` and ``<score>_n``, whose sums over
            images divide to the score. With ``accuracy`` also mAP of the whole set. An image that
            cannot be read leaves one row that says why.
        """
        truth, rows = MeanAP(self.categories), list[Row]()
        end = len(piece.samples) if piece.accuracy else piece.stop
        for numbers, batch in self._batches(piece, end, rows):
            inside = numbers[0] < piece.stop
            observed = self._observe(batch, piece.specs if inside else ())
            for number, sample, found in zip(numbers, batch, observed, strict=True):
                truth.update(found[0], sample.boxes, sample.labels, sample.iscrowd)
                rows += [{"image": number, **row} for row in found[1]]
            advance(len(batch) if inside else 0)
        accuracy = truth.compute() if piece.accuracy else {}
        return [{**row, **accuracy} for row in rows]

    def _observe(
        self, batch: Sequence[Sample], specs: Sequence[DropoutSpec]
    ) -> Iterator[tuple[Detections, list[Row]]]:
        images, ids = [s.image for s in batch], [s.image_id for s in batch]
        if not specs:
            for evidence in self.detector.observe(images, ids):
                yield evidence.relabel(self.lookup).clean, []
            return
        repeats, seed = self.settings.repeats, self.settings.seed
        for each in self.detector.observe_each(images, ids, specs, repeats=repeats, seed=seed):
            known = {spec: evidence.relabel(self.lookup) for spec, evidence in each.items()}
            rows = [self._row(spec, evidence) for spec, evidence in known.items()]
            yield next(iter(known.values())).clean, rows

    def _row(self, spec: DropoutSpec, evidence: Evidence) -> Row:
        row: Row = {"stages": list_stages(spec.stages), "rate": spec.rate}
        evidence = replace(evidence, perturbed=tuple(map(_finite, evidence.perturbed)))
        context = ScoreContext(self.settings.stability)
        for name, score in image_stabilities().items():
            above, below = score.make(context).measure(evidence)
            row |= {f"{name}_sum": float(np.sum(above)), f"{name}_n": int(np.sum(below))}
        return row

    def _batches(
        self, piece: Slice, end: int, rows: list[Row]
    ) -> Iterator[tuple[list[int], list[Sample]]]:
        """Yield images that are observed alike, with their numbers."""
        for first, last in ((piece.start, piece.stop), (piece.stop, end)):
            for start in range(first, last, self.batch_size):
                found = {}
                for number in range(start, min(start + self.batch_size, last)):
                    try:
                        found[number] = piece.samples[number]
                    except UnreadableImageError as error:
                        rows.append({"image": number, "unreadable": str(error)})
                if found:
                    yield list(found), list(found.values())


def _finite(boxes: Detections) -> Detections:
    """Take boxes that strong dropout has blown out of all bounds as lost."""
    return boxes[np.isfinite(boxes.boxes).all(1) & np.isfinite(boxes.scores)]
