"""An observer that keeps what it has seen, so that a pass goes on where it was interrupted.

The images of a pass are divided into pieces (`pieces`), each a job of `autoeval.runtime.jobs` whose
row in a `RowStore` is the packed evidence of its images. `with_keeping` makes a `KeptObserver` of a
plain `Observer` where there is a folder; its users see no difference.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from autoeval.detections import (
    ARRAYS,
    BOXES,
    SEVERAL,
    Candidates,
    Classified,
    Detections,
    Evidence,
)
from autoeval.estimation.observation.detector_identity import (
    LoadDetector,
    TravellingObserver,
    kept_with,
)
from autoeval.estimation.observation.observing import OBSERVING, D, Observer
from autoeval.estimation.observation.samples import PassLog, UnlabelledSamples
from autoeval.io.tasks.seed_set import FileSamples, Sample
from autoeval.runtime.jobs import Advance, Executor, Job, LocalExecutor, run_jobs
from autoeval.runtime.progress import progress_bar
from autoeval.runtime.store import RowStore
from autoeval.version import __version__

MEAN = 32
MOST = 64
COLUMNS = ("boxes", "scores", "labels")
KINDS: dict[str, tuple[type[Detections], str]] = {
    "candidates": (Candidates, "kept"),
    "reweighted": (Classified, "probabilities"),
}
Stored = Mapping[str, np.ndarray]
OBSERVED = "observed"
CONTENT = "evidence"
OTHERWISE = "as another detector saw them, or the same with other settings or categories"


def pieces(names: Sequence[str]) -> Iterator[range]:
    """Yield the positions of each piece, in order.

    A piece ends at every image whose name has a hash that `MEAN` divides, one in so many, or at
    `MOST` images: an image more or less changes its own piece, and seldom others.

    Parameters
    ----------
    names : sequence of str
        Of the images of a pass.

    Examples
    --------
    >>> list(pieces([f"{k}.jpg" for k in range(100)]))
    [range(0, 18), range(18, 19), range(19, 65), range(65, 100)]
    """
    start = 0
    for position, name in enumerate(names, start=1):
        drawn = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
        if position - start == MOST or drawn % MEAN == 0 or position == len(names):
            yield range(start, position)
            start = position


def pack_evidence(evidence: Sequence[Evidence]) -> bytes:
    """Write evidence, in the order of images; `unpack_evidence` gives it back to the last bit.

    Parameters
    ----------
    evidence : sequence of Evidence
        Of one piece.

    Returns
    -------
    bytes
        An ``npz`` file: arrays of all images joined, with their shapes and counts.

    Examples
    --------
    >>> found = Detections(np.array([[0.0, 0, 4, 4]]), np.array([0.5]), np.array([0]))
    >>> (again,) = unpack_evidence(pack_evidence([Evidence("7.jpg", (480, 640), found)]))
    >>> again.image_id, again.image_size, again.clean.boxes.tolist()
    ('7.jpg', (480, 640), [[0.0, 0.0, 4.0, 4.0]])
    """
    described = json.dumps([(e.image_id, e.image_size, dict(e.missing)) for e in evidence])
    arrays: dict[str, Any] = {"described": np.frombuffer(described.encode(), np.uint8)}
    for name in (*BOXES, *ARRAYS):
        values = [getattr(e, name) for e in evidence]
        per_image = [v if name in SEVERAL else () if v is None else (v,) for v in values]
        arrays[f"{name}_count"] = np.array([len(of_image) for of_image in per_image])
        flat = [one for of_image in per_image for one in of_image]
        for column in _columns(name):
            arrays |= _joined(f"{name}_{column}", [getattr(one, column) for one in flat])
        if name in ARRAYS:
            arrays |= _joined(name, flat)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def unpack_evidence(content: bytes) -> list[Evidence]:
    """Read the evidence of one piece.

    Parameters
    ----------
    content : bytes
        Of `pack_evidence`.
    """
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        stored = dict(file.items())
    fields = {name: _of_images(stored, name, _sets(stored, name)) for name in BOXES}
    fields |= {name: _of_images(stored, name, _split(stored, name)) for name in ARRAYS}
    return [
        Evidence(image_id, tuple(size), missing=missing, **{n: next(f) for n, f in fields.items()})
        for image_id, size, missing in json.loads(stored["described"].tobytes())
    ]


def _columns(name: str) -> tuple[str, ...]:
    """Return the columns of a field of boxes; none for an array."""
    if name in ARRAYS:
        return ()
    return (*COLUMNS, *(KINDS[name][1:] if name in KINDS else ()))


def _joined(name: str, parts: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Join arrays, flat, with their shapes under ``NAME_shape``."""
    joined = np.concatenate([part.ravel() for part in parts]) if parts else np.zeros(0)
    return {name: joined, f"{name}_shape": np.array([part.shape for part in parts], int)}


def _split(stored: Stored, name: str) -> Iterator[np.ndarray]:
    """Yield the arrays that `_joined` joined."""
    start = 0
    for shape in stored[f"{name}_shape"]:
        end = start + int(np.prod(shape))
        yield stored[name][start:end].reshape(shape)
        start = end


def _sets(stored: Stored, name: str) -> Iterator[Detections]:
    """Yield the boxes of a field, one after the other."""
    columns = _columns(name)
    kind = KINDS[name][0] if name in KINDS else Detections
    for parts in zip(*(_split(stored, f"{name}_{c}") for c in columns), strict=True):
        yield kind(**dict(zip(columns, parts, strict=True)))


def _of_images(stored: Stored, name: str, flat: Iterator[Any]) -> Iterator[Any]:
    """Deal a field out to the images: None, one, or a tuple for fields of several passes."""
    for count in stored[f"{name}_count"]:
        of_image = tuple(next(flat) for _ in range(count))
        yield of_image if name in SEVERAL else next(iter(of_image), None)


@dataclass(frozen=True)
class Keeping:
    """Where what is observed is kept, and who observes.

    Parameters
    ----------
    folder : Path
        Evidence is kept in its subfolder `OBSERVED`.
    executor : Executor, optional
        By default this process.
    load : callable, optional
        Loads the detector in the processes of the executor.
    """

    folder: Path
    executor: Executor | None = None
    load: LoadDetector | None = None


class PieceWork(TravellingObserver):
    """Observes the images of a piece; for parameters see `TravellingObserver`."""

    def __call__(self, job: Job, advance: Advance) -> list[dict[str, Any]]:
        """Return one row: the evidence as bytes, which images it is of, and the time spent.

        Parameters
        ----------
        job : Job
            Its payload is the samples of the piece, and how many they are.
        advance : callable
            Called with 1 after each image.

        Raises
        ------
        OSError
            If none of the images can be read: the job counts as failed.
        """
        samples, size = job.payload
        log, seen = PassLog(), list[Evidence]()
        for _, evidence in self.observer.each(samples, range(size), log=log):
            seen.append(evidence)
            advance(1)
        if not seen:
            raise OSError(f"none of {size} images can be read")
        read = [number for number in range(size) if number not in log.unreadable]
        note = {"numbers": read, "seconds": log.seconds}
        return [{"note": json.dumps(note), CONTENT: pack_evidence(seen)}]


class KeptObserver(Observer[D]):
    """An observer whose pass is kept in a folder, piece by piece.

    What it yields is always read from there, so that an interrupted pass ends with the same bits.
    A piece counts as long as detector, settings, task and the files of its images, which are
    `FileSamples`, are the same. `each` tries again what could not be observed.

    Parameters
    ----------
    observer : Observer
        Whose detector, task, settings and reading it has.
    keep : Keeping
        Where, and who observes.
    """

    def __init__(self, observer: Observer[D], keep: Keeping) -> None:
        reading = observer.reading
        super().__init__(observer.detector, observer.task, observer.settings, reading=reading)
        self.store = RowStore(keep.folder / OBSERVED)
        self._executor = keep.executor
        self._work = PieceWork(observer, load=keep.load)

    def begin(
        self, samples: Any, total: int, activity: str = OBSERVING, *, disable: bool = False
    ) -> tqdm:
        """Observe what is not kept yet; return a bar for going through it all.

        Parameters
        ----------
        samples, total, activity
            See `Observer.begin`.
        disable : bool
            Whether the bar stays hidden.
        """
        jobs = self._jobs(samples)
        if unused := _unused(self.store, jobs):
            _say(unused)
        counts = run_jobs(jobs, self._work, self.store, activity=activity, executor=self._executor)
        if jobs and counts.reused == len(jobs):
            _say(f"{activity}: all {len(samples)} images are kept in {self.store.folder}")
        return progress_bar(total, "adding up", disable=disable)

    def each(
        self, samples: Any, numbers: Iterable[int] | None = None, *, log: PassLog | None = None
    ) -> Iterator[tuple[Sample, Evidence]]:
        """Yield what is kept, without reading images, and observe the rest; see `Observer.each`.

        Parameters
        ----------
        samples : Samples
            The images.
        numbers : iterable of int, optional
            Which of them, in the order wanted; all by default.
        log : PassLog, optional
            Receives what cannot be read, and the time spent.

        Yields
        ------
        tuple of Sample and Evidence
            A kept image is a sample without pixels.
        """
        log, numbers = log or PassLog(), range(len(samples)) if numbers is None else numbers
        jobs = self._jobs(samples)
        sizes = [job.size for job in jobs]
        job_of, starts = np.repeat(range(len(jobs)), sizes), np.cumsum([0, *sizes])
        for k, of_piece in groupby(numbers, key=job_of.__getitem__):
            kept = self._kept(jobs[k], int(starts[k]), log)
            for is_kept, some in groupby(of_piece, key=kept.__contains__):
                if is_kept:
                    yield from ((samples.unread(number), kept[number]) for number in some)
                else:
                    yield from super().each(samples, some, log=log)

    def _jobs(self, samples: FileSamples) -> list[Job]:
        """Return the job of each piece, its key a hash of all that its evidence depends on."""
        names, jobs = [samples.unread(k).image_id for k in range(len(samples))], []
        for piece in pieces(names):
            images = [(names[k], samples.stamp(k)) for k in piece]
            content = repr((self._made_with, images))
            key = hashlib.sha256(content.encode()).hexdigest()[:20]
            payload = (self._part(samples, piece), len(piece))
            jobs.append(Job(key, len(piece), payload, {"made_with": self._made_with}))
        return jobs

    @cached_property
    def _made_with(self) -> str:
        """Hash of what all pieces depend on, this version of the package among it."""
        settings = self.settings
        content = {
            **self.context(),
            "version": __version__,
            **settings.kept_with,
            **kept_with(self),
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]

    def _part(self, samples: Any, piece: range) -> FileSamples | _Piece:
        """Take a piece of the samples; a worker is sent more only for a reference."""
        if isinstance(samples, UnlabelledSamples) and self.settings.reference is None:
            return UnlabelledSamples(samples.images[piece.start : piece.stop])
        return _Piece(samples, piece.start, len(piece))

    def _kept(self, job: Job, start: int, log: PassLog) -> dict[int, Evidence]:
        """Return the evidence of a piece by the numbers of its images, and log the time it took.

        Parameters
        ----------
        job : Job
            Of the piece.
        start : int
            Number of its first image.
        log : PassLog
            Receives the seconds, and how many were observed.
        """
        rows = self.store.read(job.key)
        if rows is None or CONTENT not in rows:
            return {}
        note = json.loads(rows["note"].iloc[0])
        for name, seconds in note["seconds"].items():
            log.seconds[name] += seconds
        evidence = unpack_evidence(rows[CONTENT].iloc[0])
        log.n_observed += len(evidence)
        return {start + n: one for n, one in zip(note["numbers"], evidence, strict=True)}


def with_keeping(observer: Observer[D], keep: Keeping | None) -> Observer[D]:
    """Return an observer that keeps what it has seen; the same one without a `Keeping`.

    What a detector or a reference without an identity has seen is kept for workers alone; see
    `kept_with`.

    Parameters
    ----------
    observer : Observer
        A plain one.
    keep : Keeping, optional
        Where, and who observes.
    """
    if keep is not None and kept_with(observer)["run"]:
        _say(
            f"note: {keep.folder} keeps no observed image for another run: the detector, or its "
            "reference, states neither its weights nor settings, so that a retrained one could not "
            "be distinguished from it (BlackBoxDetector(..., weights=PATH))"
        )
        if keep.executor is None or isinstance(keep.executor, LocalExecutor):
            return observer
    return observer if keep is None else KeptObserver(observer, keep)


class _Piece:
    """Neighbouring samples, numbered from 0."""

    def __init__(self, samples: FileSamples, start: int, size: int) -> None:
        self.samples, self._start, self._size = samples, start, size

    def __len__(self) -> int:
        return self._size

    @property
    def in_order(self) -> bool:
        """See `UnlabelledSamples.in_order`."""
        return getattr(self.samples, "in_order", False)

    def __getitem__(self, index: int) -> Sample:
        return self.samples[self._start + index]


def _say(line: str) -> None:
    """Print a line on standard error, above a bar."""
    tqdm.write(line, file=sys.stderr)


def _unused(store: RowStore, jobs: Sequence[Job]) -> str:
    """Return a note on images that the last run kept in a folder and these jobs do not use."""
    manifest, now = store.read_manifest(), {job.key for job in jobs}
    listed = manifest["jobs"] if manifest else []
    unused_jobs = {job["key"]: job for job in listed if job["key"] not in now}
    kept = [unused_jobs[key] for key in store.finished(unused_jobs)]
    if not kept:
        return ""
    same = {job.columns["made_with"] for job in jobs} & {job.get("made_with") for job in kept}
    reason = "not asked for, or as they were before a change" if same else OTHERWISE
    return f"note: {store.folder} also keeps {sum(job['size'] for job in kept)} images {reason}"
