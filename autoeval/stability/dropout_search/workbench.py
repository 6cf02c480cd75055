"""Measuring dropouts on slices of sample sets, resumable."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd

from autoeval.accuracy.coco_evaluation import MeanAP
from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError
from autoeval.estimation.checks import unreadable_warning
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.samples import PassLog, at_once
from autoeval.io.tasks.seed_set import Samples, named_rng
from autoeval.runtime import OK
from autoeval.runtime.jobs import Job, run_jobs
from autoeval.runtime.store import RowStore
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import scored_settings
from autoeval.stability.scores.box_stability import image_stabilities

Row = dict[str, Any]
Answer = tuple[Detections, np.ndarray, np.ndarray, np.ndarray]  # clean boxes, and true ones


def list_stages(stages: Sequence[int]) -> str:
    """Write stages as one word, such as ``1,2``.

    Parameters
    ----------
    stages : sequence of int
        Their numbers.
    """
    return ",".join(map(str, stages))


class SearchableDetector(ImageDetector, Protocol):
    """A detector that can be observed under several dropouts at once."""

    @property
    def splits_backbone(self) -> bool:
        """Whether perturbed passes start where dropout begins."""

    def observe_each(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        dropouts: Sequence[DropoutSpec],
        *,
        repeats: int = 1,
        seed: int = 0,
    ) -> list[dict[DropoutSpec, Evidence]]:
        """Return the evidence of each image under each dropout.

        Parameters
        ----------
        images : sequence of ndarray of shape (H, W, 3), uint8, BGR
            Sizes may differ.
        image_ids : sequence of str
            One for each image; masks of dropout depend on it.
        dropouts : sequence of DropoutSpec
            At least one, all different.
        repeats : int
            Perturbed passes under each.
        seed : int
            Of the masks.
        """

    def part_costs(self, image: np.ndarray) -> tuple[float, ...]:
        """Return the share of each part of the network in the cost of a pass, with the sum 1.

        Parameters
        ----------
        image : ndarray of shape (H, W, 3), uint8, BGR
            Any.
        """


class Workbench:
    """The sample sets of a search, and all that has been measured on them.

    Parameters
    ----------
    observer : Observer
        Of a detector whose features can be dropped.
    sample_sets : sequence of Job
        One job a sample set; see `sample_set_jobs`.
    specs : sequence of C DropoutSpec
        Those that may be requested.
    store : RowStore
        Keeps the rows of what was measured, from where an interrupted search goes on.
    score : str
        A name in `image_stabilities`.
    target : str
        The accuracy.

    Attributes
    ----------
    sizes : ndarray of shape (S,)
        Images of each sample set.
    ranks : ndarray of shape (S, M), int
        Place of each image in the random order in which those of its set are observed, M where
        there is none: the first of them are a random part, whatever the order of the files.
    sums, counts : ndarray of shape (S, M, C)
        What each image adds to the score's numerator and denominator, 0 where not measured.
    accuracy : ndarray of shape (S,)
        NaN until measured and where there is none.
    unreadable : dict of str to None
        Names and reasons of images that were left out.

    Raises
    ------
    InputError
        If no features of the detector can be dropped.
    """

    def __init__(
        self,
        observer: Observer[SearchableDetector],
        sample_sets: Sequence[Job],
        specs: Sequence[DropoutSpec],
        store: RowStore,
        *,
        score: str = "bos",
        target: str = "mAP",
    ) -> None:
        detector: Any = observer.detector
        if not hasattr(detector, "observe_each"):
            raise InputError(
                f"Expected a detector whose features can be dropped but got {detector.name}: "
                f"{detector.why_no_dropout}."
            )
        self.observer, self.sample_sets, self.store = observer, tuple(sample_sets), store
        self.specs, self.score, self.target = tuple(specs), score, target
        self.sizes = np.array([job.size for job in sample_sets], int)
        shape = (len(self.sizes), int(self.sizes.max(initial=0)), len(self.specs))
        self._orders = [_random_order(job) for job in self.sample_sets]
        self.ranks = np.full(shape[:2], shape[1])
        for ranks, order in zip(self.ranks, self._orders, strict=True):
            ranks[order] = np.arange(len(order))
        self.sums, self.counts = np.zeros(shape), np.zeros(shape)
        self.accuracy = np.full(len(self.sizes), np.nan)
        self.unreadable: dict[str, None] = {}
        self._without: list[str] = []
        self._column = {spec: i for i, spec in enumerate(self.specs)}
        self._by_name = {
            (list_stages(spec.stages), spec.rate): i for i, spec in enumerate(self.specs)
        }
        self._known = np.zeros((shape[0], shape[2]), int)
        self._lost = np.zeros(len(self.sizes), bool)

    @property
    def warnings(self) -> list[str]:
        """Sample sets and images that were left out, and why."""
        return [*self._without, *unreadable_warning(list(self.unreadable))]

    def columns(self, specs: Sequence[DropoutSpec]) -> list[int]:
        """Return the places of dropouts along the last axis of `sums`.

        Parameters
        ----------
        specs : sequence of DropoutSpec
            Of those of the bench.
        """
        return [self._column[spec] for spec in specs]

    def measure(self, specs: Sequence[DropoutSpec], stops: np.ndarray) -> None:
        """Measure dropouts on the first images of each sample set, by `ranks`, where not yet known.

        Parameters
        ----------
        specs : sequence of DropoutSpec
            Of those of the bench.
        stops : ndarray of shape (S,), int
            How many images of each sample set.
        """
        jobs = {}
        for number, stop in enumerate(stops):
            if not self._lost[number] and (job := self._job(number, specs, int(stop))):
                jobs[number] = job
        run_jobs(
            list(jobs.values()),
            lambda job, advance: _slice_rows(self.observer, job.payload, advance),
            self.store,
            activity="observing images",
        )
        for number, job in jobs.items():
            self._take(number, job)

    def usable(self) -> np.ndarray:
        """Return the numbers of the sample sets that have mAP."""
        return np.flatnonzero(~self._lost & ~np.isnan(self.accuracy))

    def _job(self, number: int, specs: Sequence[DropoutSpec], stop: int) -> Job | None:
        """Make the job that measures what is missing of a sample set."""
        n_scored = self._known[number, self.columns(specs)]
        missing = tuple(spec for spec, n in zip(specs, n_scored, strict=True) if n < stop)
        if not missing:
            return None
        whole = self.sample_sets[number]
        accuracy = bool(np.isnan(self.accuracy[number]))
        order = tuple(self._orders[number].tolist())
        piece = Slice(whole.payload, order, int(n_scored.min()), stop, missing, accuracy)
        names = (piece.numbers, piece.accuracy, piece.specs)
        digest = hashlib.sha256(repr(names).encode()).hexdigest()[:16]
        return Job(f"{whole.key}-{digest}", stop - piece.start, piece)

    def _take(self, number: int, job: Job) -> None:
        """Read a finished job's rows."""
        table, piece = self.store.table([job.key]), job.payload
        failed = table.loc[table["status"] != OK, "error"]
        if len(failed):
            self._lose(number, f"failed: {failed.iloc[0].splitlines()[0]}")
            return
        for reason in table.get("unreadable", pd.Series(dtype=str)).dropna():
            self.unreadable[reason] = None
        if piece.accuracy:
            accuracy = table.get(self.target, pd.Series([np.nan])).dropna()
            if accuracy.empty:
                self._lose(number, "has no labelled box or no readable image")
                return
            self.accuracy[number] = accuracy.iloc[0]
        if "stages" in table:
            rows = table[table["stages"].notna()]
            names = zip(rows["stages"], rows["rate"], strict=True)
            at = number, rows["image"].to_numpy(), [self._by_name[name] for name in names]
            self.sums[at] = rows[f"{self.score}_sum"]
            self.counts[at] = rows[f"{self.score}_n"]
        self._known[number, self.columns(piece.specs)] = piece.stop

    def _lose(self, number: int, reason: str) -> None:
        self._lost[number] = True
        columns = self.sample_sets[number].columns
        name = f"sample set {columns['sample_set']} of {columns['source']}"
        self._without.append(f"{name} was left out: it {reason}")


@dataclass(frozen=True)
class Slice:
    """Images of a sample set, and the dropouts to observe them under.

    Parameters
    ----------
    samples : Samples
        The sample set.
    order : tuple of int
        Numbers of its images in the order in which they are observed.
    start, stop : int
        Those from the first place in it to before the second.
    specs : tuple of DropoutSpec
        The dropouts.
    accuracy : bool
        Whether the clean pass runs over all its images, for mAP.
    """

    samples: Samples
    order: tuple[int, ...]
    start: int
    stop: int
    specs: tuple[DropoutSpec, ...]
    accuracy: bool

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the images."""
        return self.order[self.start : self.stop]


def _random_order(whole: Job) -> np.ndarray:
    """Draw an order of the images of a sample set, which is that of its files."""
    columns = whole.columns
    rng = named_rng("order of observation", str(columns["source"]), str(columns["sample_set"]))
    return rng.permutation(whole.size)


def _slice_rows(
    observer: Observer[SearchableDetector], piece: Slice, advance: Callable[[int], object]
) -> list[Row]:
    """Observe a slice.

    Returns
    -------
    list of dict
        One row for each image and dropout, with the sums and counts of every image stability; one
        with a reason for each image that cannot be read; all with mAP where that is wanted.
    """
    log, rows = PassLog(), list[Row]()
    answers: dict[int, Answer] = {}
    settings, lookup = scored_settings(observer), observer.lookup
    observe = partial(
        observer.detector.observe_each,
        dropouts=piece.specs,
        repeats=settings.repeats,
        seed=settings.seed,
    )
    observed = observer.stream(piece.samples, at_once(observe), piece.numbers, log=log)
    for number, sample, evidence_by_spec in observed:
        by_spec = {spec: evidence.relabel(lookup) for spec, evidence in evidence_by_spec.items()}
        clean = next(iter(by_spec.values())).clean
        answers[number] = clean, sample.boxes, sample.labels, sample.iscrowd
        new_rows = (_row(spec, evidence, observer) for spec, evidence in by_spec.items())
        rows += [{"image": number, **row} for row in new_rows]
        advance(1)
    if piece.accuracy:
        plain = replace(settings, repeats=0, wants=())
        clean_pass = observer.with_settings(plain)
        rest = sorted(piece.order[piece.stop :])
        seen = [
            (evidence.clean, sample.boxes, sample.labels, sample.iscrowd)
            for sample, evidence in clean_pass.each(piece.samples, rest, log=log)
        ]
        answers |= zip((n for n in rest if n not in log.unreadable), seen, strict=True)
    rows += [{"image": n, "unreadable": reason} for n, reason in log.unreadable.items()]
    accuracy = _accuracy(observer, answers) if piece.accuracy else {}
    return [{**row, **accuracy} for row in rows]


def _accuracy(observer: Observer[SearchableDetector], answers: Mapping[int, Answer]) -> Row:
    """Return mAP of the clean boxes, in the order of the files, which ranks equal scores."""
    accuracy = MeanAP(observer.task.categories)
    for number in sorted(answers):
        accuracy.update(*answers[number])
    return accuracy.compute()


def _row(spec: DropoutSpec, evidence: Evidence, observer: Observer) -> Row:
    row: Row = {"stages": list_stages(spec.stages), "rate": spec.rate}
    # Boxes that strong dropout has blown out of all bounds are lost.
    finite = tuple(
        boxes[np.isfinite(boxes.boxes).all(1) & np.isfinite(boxes.scores)]
        for boxes in evidence.perturbed
    )
    evidence = replace(evidence, perturbed=finite)
    given = {"settings": scored_settings(observer).stability}
    for name, score in image_stabilities().items():
        above, below = score.make(given).measure(evidence)
        row |= {f"{name}_sum": float(np.sum(above)), f"{name}_n": int(np.sum(below))}
    return row
