"""Reference detectors: stronger detectors, whose boxes are compared with those of a detector.

`Observer.each` asks one for its boxes of each image: it is run then (`DetectorReference`), or they
are looked up in a file (`PredictionsReference`). Where the boxes of the detector itself are given
in a file, `Predictions` reads those of the reference, too.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from autoeval.boxes import Boxes, LabelledImage
from autoeval.detections import Detections
from autoeval.detectors.adapters import wrap_object
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.io.find_images import file_name_of
from autoeval.io.predictions import read_predictions
from autoeval.io.predictions.formats import SUFFIXES
from autoeval.io.predictions.reading import file_of
from autoeval.io.tasks.seed_set import Sample, Samples, SeedSet
from autoeval.io.tasks.task import Task

OF_FILES = "predictions "  # how the digest of predictions begins: other images, other files
NEW_IMAGES = "new images"  # the name of a site without labels
AT_ONCE = 4  # sites whose predictions are kept in memory


class Reference(Protocol):
    """A source of boxes of another detector for the images of a pass."""

    @property
    def digest(self) -> str:
        """A short name of all that its boxes depend on, as far as it is known."""

    def find(self, task: Task, samples: Samples, sample: Sample) -> Detections:
        """Return its boxes on one of the samples, labelled by the categories of the task.

        Parameters
        ----------
        task : Task
            Its categories, and the detector's words for them, which the reference shares.
        samples : Samples
            The images of the pass.
        sample : Sample
            One of them.
        """


class DetectorReference:
    """A reference that is run, once on each image.

    Parameters
    ----------
    detector : ImageDetector
        Its words are those of the task, or of the task's `detector_mapping`.
    load : callable, optional
        Loads it in another process; without it the detector itself goes there.
    """

    def __init__(self, detector: Any, *, load: Callable[[], Any] | None = None) -> None:
        self._detector, self._load = detector, load
        self._fingerprint = ""

    @property
    def detector(self) -> Any:
        """The detector, loaded anew in another process.

        Raises
        ------
        InputError
            If that is another one than that of this run.
        """
        if self._detector is None and self._load is not None:
            loaded = self._load()
            if loaded.fingerprint != self._fingerprint:
                raise InputError(
                    f"A worker loaded reference detector {loaded.fingerprint} where this run is of "
                    f"{self._fingerprint}. Do all machines see the same config and checkpoint?"
                )
            self._detector = loaded
        return self._detector

    @property
    def digest(self) -> str:
        """Its fingerprint."""
        return self._fingerprint or self.detector.fingerprint

    def __getstate__(self) -> dict[str, Any]:
        kept = None if self._load else self._detector
        return {**vars(self), "_detector": kept, "_fingerprint": self.digest}

    def find(self, task: Task, samples: Samples, sample: Sample) -> Detections:
        """Run the reference on an image; see `Reference`.

        Parameters
        ----------
        task, samples, sample
            As of `Reference.find`.
        """
        lookup = _lookup_of(self.detector.categories, task)
        (evidence,) = self.detector.observe([sample.image], [sample.image_id])
        return evidence.clean.relabel(lookup)


class PredictionsReference:
    """What a reference found, from predictions files.

    Parameters
    ----------
    path : Path
        A file in a format that `read_predictions` reads, a folder of text files, or with several
        sites a folder that holds ``NAME.json``, or another format, for each.
    names : mapping of str to str, optional
        The detector's word for each category number of the reference; by default as of a file of
        the detector itself.
    """

    def __init__(self, path: Path, names: Mapping[str, str] | None = None) -> None:
        self.path = path
        self.names = dict(names or {})

    @property
    def is_text(self) -> bool:
        """Whether it is a folder of text files, one an image, and not of a file for each site."""
        return self.path.is_dir() and not any(
            path for end in SUFFIXES for path in self.path.rglob(f"*{end}")
        )

    @cached_property
    def digest(self) -> str:
        """Names, sizes and dates of its files, and the words for its numbers, as a hash.

        Raises
        ------
        InputError
            If there is no such file.
        """
        files = [self.path]
        if self.path.is_dir():
            ends = [".txt"] if self.is_text else SUFFIXES
            files = sorted(file for end in ends for file in self.path.rglob(f"*{end}"))
        if not files or not files[0].is_file():
            raise InputError(f"No boxes of a reference detector in {self.path}: check the path.")
        fingerprints = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
        content = [*fingerprints, self.names] if self.names else fingerprints
        return OF_FILES + hashlib.sha256(repr(content).encode()).hexdigest()[:16]

    def of_site(self, site: str) -> Path:
        """Return where the boxes of a site are: its file in a folder of them, else the path.

        Parameters
        ----------
        site : str
            Its name.

        Raises
        ------
        InputError
            If such a folder has no file of it, or several.
        """
        if self.path.is_dir() and not self.is_text:
            return file_of(site, self.path)
        return self.path

    def find(self, task: Task, samples: Samples, sample: Sample) -> Detections:
        """Look an image up in the file of predictions; see `Reference`.

        Parameters
        ----------
        task, samples, sample
            As of `Reference.find`.
        """
        boxes, positions = self.read(samples)
        number = positions[sample.image_id]
        return boxes.detections(number).relabel(_lookup_of(boxes.categories, task))

    def read(self, samples: Samples) -> tuple[Boxes, dict[str, int]]:
        """Read the boxes on all images of a pass.

        Parameters
        ----------
        samples : Samples
            The images.

        Returns
        -------
        tuple of Boxes and dict of str to int
            The boxes, and the position of each image there by its id.
        """
        return _read(self.path, self.digest, _source_of(samples), tuple(self.names.items()))


def load_reference(reference: Any) -> Reference | None:
    """Load a `DetectorSpec`, or the path of predictions; a `Reference` is returned as it is.

    Parameters
    ----------
    reference : DetectorSpec, path-like, detector, Reference, list of one of these, or None
        None, and an empty list, for no reference.

    Raises
    ------
    InputError
        For a list of several, each of which would have to be run.
    """
    if isinstance(reference, list | tuple):
        if len(reference) > 1:
            raise InputError(
                f"Expected one reference detector with a detector that is run but got "
                f"{len(reference)}: several are given by their boxes, with predictions "
                "(--predictions PATH)."
            )
        return load_reference(next(iter(reference), None))
    if isinstance(reference, DetectorSpec):
        return DetectorReference(reference(), load=reference)
    if isinstance(reference, str | os.PathLike):
        return PredictionsReference(Path(reference))
    detector = reference if hasattr(reference, "observe") else wrap_object(reference)
    return reference if detector is None else DetectorReference(detector)


def _lookup_of(words: Sequence[str], task: Task) -> np.ndarray:
    """Translate a reference's words as those of a detector are; see `Task.lookup`.

    Parameters
    ----------
    words : sequence of str
        Of the reference.
    task : Task
        Its categories, and the detector's words for them.

    Raises
    ------
    InputError
        If none of the words is known.
    """
    try:
        return task.lookup(words)
    except InputError as error:
        raise InputError(f"The reference detector cannot be used here. {error}") from error


@lru_cache(maxsize=AT_ONCE)
def _read(
    path: Path, digest: str, source: Any, names: tuple[tuple[str, str], ...]
) -> tuple[Boxes, dict[str, int]]:
    """Read the predictions of a reference on the images of a site; `AT_ONCE` sites are kept.

    Parameters
    ----------
    path : Path
        A file, or a folder with one of the site's name.
    digest : str
        Of the files, see `PredictionsReference`: changed ones are read again.
    source : SeedSet or UnlabelledSamples
        The images that predictions may be of, see `_source_of`.
    names : tuple of (str, str)
        See `PredictionsReference`.
    """
    if isinstance(source, SeedSet):
        site, paths = source.name, [record.path for record in source.images]
        root = os.path.commonpath([file.parent for file in paths])
        images = tuple(
            LabelledImage(r.image_id, file.relative_to(root).as_posix(), (r.height, r.width))
            for r, file in zip(source.images, paths, strict=True)
        )
    else:
        site = NEW_IMAGES
        images = tuple(
            LabelledImage(image.image_id, file_name_of(image), None) for image in source.images
        )
    file = PredictionsReference(path).of_site(site)
    boxes = read_predictions(
        file, numbers=dict(names), images=images, where=f"the images of {site}"
    )
    return boxes, {image.image_id: k for k, image in enumerate(images)}


def _source_of(samples: Any) -> Any:
    """Return the `SeedSet` that samples are of, or where there is none themselves.

    Raises
    ------
    InputError
        If the images are transformed: predictions are of images as they are.
    """
    while not hasattr(samples, "seed_set") and hasattr(samples, "samples"):
        samples = samples.samples
    if not hasattr(samples, "seed_set"):
        return samples
    if samples.transformed:
        raise InputError(
            "Expected images as they are with the boxes of a reference detector, but these are "
            "transformed: give the reference as a detector, or leave the sample sets out."
        )
    return samples.seed_set
