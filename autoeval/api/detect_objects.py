"""Run a detector over images, and write what it finds with all that an estimate needs to know.

`autoeval.detect` and the command of that name. The pass is an `Observer`
(`autoeval.estimation.observation`), the form of the file in
`autoeval.io.predictions.detector_run`, which `fit` and `estimate` read again.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from autoeval.api.options import DetectorOptions, check_names, found_images, given_boxes_of
from autoeval.errors import InputError

if TYPE_CHECKING:
    from tqdm import tqdm

    from autoeval.boxes import Boxes
    from autoeval.detectors.detector_spec import DetectorSpec
    from autoeval.estimation.observation.observing import ImageDetector, Observer
    from autoeval.estimation.observation.samples import UnlabelledSamples
    from autoeval.estimation.run_detector import Detector
    from autoeval.io.find_images import Images, UnlabelledImage
    from autoeval.runtime.files import PathLike

SUFFIX = ".parquet"
PACKAGES = ("autoeval", "torch", "mmdet", "mmcv")
"""Packages whose versions are noted, where they were imported, besides those of the adapters."""
WHAT = "detecting"


def detect(
    detector: PathLike | DetectorSpec | ImageDetector | Detector,
    images: Images,
    output: PathLike,
    *,
    img_dir: PathLike | None = None,
    every: str | None = None,
    work_dir: PathLike | None = None,
    **run: Unpack[DetectorOptions],
) -> Boxes:
    """Run a detector over images once, and write its boxes as Parquet.

    The file has a row for each box and notes all images, with and without a box, their sizes, the
    detector's words, settings and the hash of its weights. ``fit`` and ``estimate`` read it as
    predictions: they know which images were looked at, and refuse boxes of another detector than
    that of the fit. Scores are those that the detector gives; a threshold over .01 in the config of
    an MMDetection detector that is named is lowered to .01.

    Parameters
    ----------
    detector : path-like, DetectorSpec, ImageDetector, Detector or object
        As in `autoeval.api.options.NamedDetector`. In Python also a detector that is loaded
        already, such as a `YOLO` object, which is run as it is; or a `Detector`, which says how it
        is run.
    images : path-like or sequence
        The images: a folder, COCO JSON, video, image, pattern ('site/**/*.jpg'), text file of
        paths, or - for paths on standard input. In Python also a sequence of paths, of arrays
        (H, W, 3) uint8 BGR or of frames of a video; see `autoeval.io.find_images.list_images`.
    output : path-like
        The file to write, FILE.parquet: a row a box, and notes of all images and of the detector.
    img_dir : path-like, optional
        Folder of the images that a COCO JSON names.
    every : str, optional
        Frames of videos: 2s for one in so many seconds, or every Nth.
    work_dir : path-like, optional
        Keeps what was observed, so that a run that was killed goes on where it was, and images that
        are new are all that is run next time. In Python nothing is kept without it.
    **run
        See `autoeval.api.options.DetectorOptions`.

    Returns
    -------
    Boxes
        The boxes as they are read from the file. `run` has the settings of the detector, and names
        the images that could not be read: they are not in the file.

    Raises
    ------
    InputError
        If the detector cannot be loaded, there are no images, none can be read, `output` is no
        Parquet file, or a reference is given.

    Examples
    --------
    A detector that finds the same car in each of two images (mostly it is a name such as
    ``"best.pt"``, and images are a folder):

    >>> import tempfile
    >>> import numpy as np
    >>> from autoeval.detectors.black_box import BlackBoxDetector
    >>> def find(images):
    ...     n = len(images)
    ...     return [[[8, 8, 48, 28]]] * n, [[0.9]] * n, [["car"]] * n
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     images = [np.zeros((48, 64, 3), np.uint8)] * 2
    ...     boxes = detect(BlackBoxDetector(find, ["car"]), images, f"{folder}/boxes.parquet")
    >>> boxes.categories, boxes.boxes.tolist()  # xyxy in pixels
    (('car',), [[8.0, 8.0, 48.0, 28.0], [8.0, 8.0, 48.0, 28.0]])
    """
    from autoeval.estimation.observation.kept_observer import with_keeping
    from autoeval.estimation.observation.observing import Observer
    from autoeval.estimation.observation.pass_settings import PassSettings
    from autoeval.estimation.observation.samples import UnlabelledSamples
    from autoeval.estimation.run_detector import own_words
    from autoeval.io.find_images import list_images
    from autoeval.io.predictions import read_predictions
    from autoeval.runtime.files import atomic_path

    output = Path(output)
    if output.suffix != SUFFIX:
        raise InputError(f"Expected an output that ends in {SUFFIX} but got {output}.")
    runner = _detector(detector, run)
    pictures = list_images(found_images({"images": images, "img_dir": img_dir, "every": every}))
    observer = with_keeping(
        Observer(runner.loaded, own_words(runner.loaded), PassSettings(), reading=runner.reading),
        runner.keeping(work_dir),
    )
    names, samples = _file_names(pictures), UnlabelledSamples(pictures)
    # The file is begun after a kept pass has ended: until then a kill leaves nothing of it.
    with observer.begin(samples, len(samples), WHAT) as bar, atomic_path(output) as temporary:
        _write(temporary, observer, names, samples, runner.spec, bar)
    return read_predictions(output)


def _detector(detector: Any, run: DetectorOptions) -> Detector:
    """Return the detector with how it is run; one that is named keeps boxes of low scores.

    Parameters
    ----------
    detector, run
        As given to `detect`.

    Raises
    ------
    InputError
        If it is no detector that is run, options are given with a `Detector`, or it has a
        reference.
    """
    from autoeval.estimation.run_detector import Detector

    check_names(run, DetectorOptions)
    runner = given_boxes_of(None, {**run, "detector": detector})
    if not isinstance(runner, Detector):
        raise InputError(f"Expected a detector that is run but got {detector}.")
    if runner.reference is not None:
        raise InputError(
            "A reference is another detector: run it by a call of its own, and leave it out here."
        )
    if runner.spec is None:
        return runner
    low_score_runner = Detector(runner.spec.with_low_scores(), executor=runner.executor)
    low_score_runner.reading = runner.reading
    return low_score_runner


def _write(
    path: Path,
    observer: Observer,
    names: Mapping[str, str],
    samples: UnlabelledSamples,
    spec: DetectorSpec | None,
    bar: tqdm,
) -> None:
    """Write boxes as they come, and the note in the end.

    Parameters
    ----------
    path : Path
        File to write; it is left unfinished where anything fails.
    observer : Observer
        The pass, in the detector's own words.
    names : mapping of str to str
        File name of each image by its id.
    samples : UnlabelledSamples
        The images.
    spec : DetectorSpec, optional
        How the detector is loaded, where that is known.
    bar : tqdm
        Counts the images.
    """
    import numpy as np

    from autoeval.boxes import LabelledImage
    from autoeval.estimation.observation.samples import PassLog
    from autoeval.estimation.run_detector import describe_run
    from autoeval.io.find_images import copied
    from autoeval.io.predictions.detector_run import BoxWriter, note_of

    words, pictures = observer.task.categories, samples.images
    log, writer = PassLog(), BoxWriter(path)
    sizes: dict[str, tuple[int, int]] = {}
    try:
        for sample, seen in observer.each(samples, log=log):
            detections = seen.clean
            sizes[sample.image_id] = seen.image_size
            words_of_boxes = [words[k] for k in detections.labels]
            writer.add(names[sample.image_id], detections.boxes, detections.scores, words_of_boxes)
            bar.update()
        log.check(len(sizes))
        read = [k for k in range(len(pictures)) if k not in log.unreadable]
        listed = [
            LabelledImage(name, names[name], sizes[name])
            for name in (pictures[k].image_id for k in read)
        ]
        copies = np.zeros(len(pictures), bool)
        copies[copied(pictures)] = True
        noted = describe_run(observer, samples, log)
        noted = replace(
            noted,
            name=spec.name if spec else noted.name,
            versions=_versions(),
            copies=copies[read],
        )
        writer.close(note_of(noted, listed))
    except BaseException:
        writer.abandon()
        raise


def _file_names(pictures: Sequence[UnlabelledImage]) -> dict[str, str]:
    """Return the file name of each image by its id, as `file_name_of`.

    All are called by their ids where two would have one name.
    """
    from autoeval.io.find_images import file_name_of

    names = {image.image_id: file_name_of(image) for image in pictures}
    if len(names) < len(pictures):
        raise InputError("Expected images with names of their own, but some have the same name.")
    return names if len(set(names.values())) == len(names) else {name: name for name in names}


def _versions() -> dict[str, str]:
    """Return the versions of the packages that were imported."""
    from autoeval.detectors.adapters import adapters

    versions = {}
    for name in (*PACKAGES, *(adapter.PACKAGE for adapter in adapters())):
        if name in sys.modules:
            try:
                versions[name] = version(name)
            except PackageNotFoundError:
                continue
    return versions
