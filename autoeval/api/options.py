"""What every call takes: an estimator, and files of predictions or a detector to run.

The `TypedDict` classes are options that several functions of `autoeval.api` share; commands have
them as options, and the text here is their help. `load_estimator`, `given_boxes_of`, `found_images`
and `estimate_from_options` turn what was given into an estimator, `Predictions` or a `Detector`,
images and an `Estimate`; options that nothing would read are refused.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import TypedDict

from autoeval.accuracy.measures import IOUS, find_target
from autoeval.errors import InputError
from autoeval.words import is_given, refuse_given

if TYPE_CHECKING:
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.estimation.given import Predictions
    from autoeval.estimation.run_detector import Detector
    from autoeval.runtime.files import PathLike

OF_FILES = ("names", "numbering", "columns", "incomplete")
OF_A_DETECTOR = (
    *("checkpoint", "cfg_options", "device", "classes", "network_precision"),
    "trust_checkpoint",
)
OF_RAY = ("ray_workers", "ray_gpus", "ray_cpus")
OF_READING = ("batch_size", "num_workers")
HOW_IT_RUNS = ("device", *OF_READING, "ray", *OF_RAY)  # of whatever detector
OF_A_RUN = (
    *("detector", *OF_A_DETECTOR, "reference_checkpoint"),
    *(*OF_READING, "ray", *OF_RAY),
)
OF_REFERENCE = ("reference", "reference_names", "reference_checkpoint")
THIS_MACHINE = "local"
OF_SITE = ("site", "group", "present")
OF_METHODS = ("autoeval.stability.methods.published_estimator", "PublishedEstimator")


class PassOptions(TypedDict, total=False):
    """Where a detector is run, and on how many images at once.

    Parameters
    ----------
    batch_size : int
        Images at once; changes no number (default: as many as the device takes).
    num_workers : int
        Threads that decode and prepare images while the network runs, 0 for none; changes no number
        (default: one a core, 8 at most).
    ray : str
        Run on workers of Ray: local (this machine), auto, or the address of a cluster.
    ray_workers : int
        Number of workers (default: as many as memory allows).
    ray_gpus : float
        GPUs of each worker (default: 1 where there are GPUs).
    ray_cpus : int
        Processors of each worker, also its threads (default: 1 with GPUs, else those of this
        process, so that workers round as it does).
    """

    batch_size: int
    num_workers: int
    ray: str
    ray_workers: int
    ray_gpus: float
    ray_cpus: int


class NetworkOptions(TypedDict, total=False):
    """How a detector is loaded.

    Parameters
    ----------
    checkpoint : path-like
        Weights of the detector.
    cfg_options : sequence of str
        Changes to its config as KEY=VALUE, as in mmdet.
    device : str
        cpu, cuda, cuda:1 ... (default: cuda where there is one).
    classes : path-like
        Names of the detector's labels, where it has none: data.yaml, JSON, or a text file with one
        in a line.
    network_precision : str
        single: the same numbers on every device; half: 16 bits; framework: its own (default: that
        of the fit, else framework).
    trust_checkpoint : bool
        Unpickle everything in the checkpoint, which may run code.
    """

    checkpoint: str
    cfg_options: Sequence[str]
    device: str
    classes: str
    network_precision: Literal["framework", "single", "half"]
    trust_checkpoint: bool


class DetectorOptions(NetworkOptions, PassOptions, total=False):
    """How a detector is loaded and run: as `NetworkOptions` and `PassOptions`."""


class NamedDetector(TypedDict, total=False):
    """Which detector is run: the one text of all commands that run one.

    Parameters
    ----------
    detector : str
        Detector to run: best.pt of Ultralytics, torchvision:NAME or what else `autoeval list
        detectors` names; one of configs/detectors/, an mmdet config (CONFIG.py or
        mmdet::FOLDER/FILE.py), or FILE.py:NAME of a BlackBoxDetector.
    """

    detector: Any


class ResultsOptions(NamedDetector, DetectorOptions, total=False):
    """How results files are read; and as `NamedDetector` and `DetectorOptions`.

    Parameters
    ----------
    names : mapping of str to str, or path-like
        Words for the category numbers of the predictions: data.yaml, JSON, or a text file with a
        word a line, counted from 0.
    numbering : str
        How category numbers count, where several ways fit: labels (as in the labels, the names or
        the fit), 0 or 1 (positions in their list), coco (1 to 90), images (as in the list of
        images; those of a reference, too).
    incomplete : bool
        Go on although boxes with a score under .3 are missing.
    reference : sequence of str
        A stronger detector, whose boxes count as probable labels: its results on the same images,
        with a task a folder of them, or one to run (an alias or FILE.py:NAME); of several results
        the strongest is read.
    reference_names : path-like
        Words of the detector for the category numbers of the reference, as names.
    reference_checkpoint : path-like
        Weights of the reference detector.
    """

    names: Any
    numbering: str
    incomplete: bool
    reference: Sequence[str]
    reference_names: Any
    reference_checkpoint: str


class BoxOptions(ResultsOptions, total=False):
    """How predictions are read, or which detector is run; and as `ResultsOptions`.

    Parameters
    ----------
    columns : str
        What stands in which column of text files, where they fit several orders: such as
        class,score,left,top,right,bottom, or class,x,y,w,h,score with the centre; - for another
        number.
    """

    columns: str


class SiteOptions(BoxOptions, total=False):
    """Which images, categories and site are meant; and as `BoxOptions`.

    Parameters
    ----------
    images : path-like or sequence
        The images: a folder, COCO JSON, video, image, pattern ('site/**/*.jpg'), text file of
        paths, or - for paths on standard input. With predictions all images that the detector was
        run on, those without a box, too.
    img_dir : path-like
        Folder of the images that a COCO JSON, a list or labels name.
    every : str
        Frames of videos: 2s for one in so many seconds, or every Nth.
    categories : mapping of str to sequence of str
        A category, with the detector's words for it if the fit lacks them, as NAME or
        NAME=WORD,...; repeated for several (default: those of the fit, or all words). What is found
        counts, a single one always.
    present : collection of str
        A category that is there and counts, found or not; may be given several times.
    site : str
        Labelled set, or site of a task, of the fit of which these are new images: the estimate is
        its labelled accuracy, changed as its scores are.
    group : str
        Group of the fit that the new site belongs to, such as cameras of one make: the errors of
        its labelled sets correct the estimate of this site.
    """

    images: Any
    img_dir: str
    every: str
    categories: Mapping[str, Sequence[str]]
    present: Sequence[str]
    site: str
    group: str


def load_estimator(
    estimator: AccuracyEstimator | PathLike,
    target: str | None = None,
    score_thr: float | None = None,
    iou: float = IOUS[0],
) -> AccuracyEstimator:
    """Load an estimator, where it is not one already.

    Parameters
    ----------
    estimator : AccuracyEstimator or path-like
        One, its file, or the work dir of a fit.
    target : str, optional
        What is to be estimated, as `autoeval.estimate` takes it; by default what the fit estimates.
    score_thr, iou : float, optional
        Threshold of a target that has one.

    Raises
    ------
    InputError
        As `AccuracyEstimator.load` and `AccuracyEstimator.for_target`, or if an IoU comes without a
        threshold.
    """
    from autoeval.estimation.estimator import AccuracyEstimator

    if score_thr is None:
        refuse_given({"iou": None if iou == IOUS[0] else iou}, "goes with --score-thr")
    if not isinstance(estimator, AccuracyEstimator):
        estimator = AccuracyEstimator.load(estimator)
    if target is None:
        return estimator
    return estimator.for_target(find_target(target, score_thr, iou).name)


def load_any_estimator(path: PathLike) -> Any:
    """Load an `AccuracyEstimator`, or the estimator of a published method.

    Parameters
    ----------
    path : path-like
        Its file, or the work dir of a fit. The method that the file names decides.

    Returns
    -------
    AccuracyEstimator or PublishedEstimator

    Raises
    ------
    InputError
        If there is no such file, it cannot be read, or it holds no estimator of this version.
    """
    from autoeval.estimation.estimate import DEFAULT_METHOD
    from autoeval.estimation.fit_file import read_artefact

    _, metadata = read_artefact(path)
    if metadata["estimator"].get("method", DEFAULT_METHOD) == DEFAULT_METHOD:
        return load_estimator(path)
    module, name = OF_METHODS  # by name: the core imports no published method
    return getattr(import_module(module), name).load(path)


def given_boxes_of(
    predictions: Any,
    options: Mapping[str, Any],
    loading: Mapping[str, Any] | None = None,
    loaded: Any = None,
) -> Predictions | Detector | None:
    """Return what is given of boxes: files, or the detector to run; None where neither is.

    Parameters
    ----------
    predictions : path-like, object in memory, Predictions, Detector or ImageDetector, optional
        See `autoeval.estimation.given.given_boxes`.
    options : BoxOptions
        By name; others are refused.
    loading : mapping, optional
        How the detector of an estimator is loaded, which is run by default; what is given goes
        before.
    loaded : ImageDetector, optional
        The same detector, where this process holds it.

    Returns
    -------
    Predictions, Detector or None

    Raises
    ------
    InputError
        If both are given, or an option is about what is not.
    TypeError
        If there is no such option.
    """
    from autoeval.estimation.given import Predictions, given_boxes

    check_names(options)
    if predictions is not None:
        box_source = given_boxes(predictions)
        if not isinstance(box_source, Predictions) or box_source is predictions:
            refuse_given(
                options, "is said by the object itself", (*OF_FILES, *OF_A_RUN, "reference")
            )
            return box_source
        refuse_given(options, "is about running a detector, and --predictions need none", OF_A_RUN)
        columns, reference = options.get("columns") or (), options.get("reference")
        return Predictions(
            predictions,
            reference=[reference] if isinstance(reference, str | os.PathLike) else reference,
            names=options.get("names") or {},
            complete=not options.get("incomplete"),
            reference_names=options.get("reference_names") or {},
            columns=columns.split(",") if isinstance(columns, str) else columns,
            numbering=options.get("numbering") or "",
        )
    refuse_given(options, "goes with --predictions", OF_FILES)
    spec = _spec(options, loading, loaded)
    if spec is None:
        refuse_given(options, "goes with --detector", OF_A_RUN)
        return None
    from autoeval.estimation.run_detector import Detector  # it takes a while to import

    if isinstance(spec, Detector):
        refuse_given(options, "is said by the detector itself", (*HOW_IT_RUNS, *OF_REFERENCE))
        return spec
    return Detector(
        spec,
        reference=_reference(options),
        batch_size=options.get("batch_size"),
        num_workers=options.get("num_workers"),
        executor=executor_of(options),
    )


def detector_of_fit(fitted: AccuracyEstimator, options: Mapping[str, Any]) -> Any:
    """Return the `Detector` of a fit, run as the options say; None where nobody knows how.

    Parameters
    ----------
    fitted : AccuracyEstimator
        The fit.
    options : BoxOptions
        Those that are about running a detector.
    """
    loading, loaded = fitted.loading_.get("detector"), fitted.detector_
    if loading is None and loaded is None:  # fitted on files, which is refused where it is read
        return None
    return given_boxes_of(None, options, loading, loaded)


def reference_is_for(fits: Iterable[AccuracyEstimator]) -> list[bool]:
    """Return for which of several fits a reference is: those that had one, or all if none had.

    Parameters
    ----------
    fits : iterable of AccuracyEstimator
        Of detectors on the same images.
    """
    from autoeval.model.pair_table import REFERENCE_AP

    had_one = [REFERENCE_AP in fitted.rows_ for fitted in fits]
    return had_one if any(had_one) else [True] * len(had_one)


def check_names(options: Mapping[str, Any], allowed: type = SiteOptions) -> None:
    """Raise `TypeError` for a keyword that there is not, as Python does for other parameters.

    Parameters
    ----------
    options : mapping
        As given.
    allowed : type
        The `TypedDict` that has them.

    Examples
    --------
    >>> check_names({"devise": "cpu"}, NetworkOptions)
    Traceback (most recent call last):
        ...
    TypeError: got an unexpected keyword argument 'devise'
    """
    unknown = sorted(set(options) - set(allowed.__annotations__))
    if unknown:
        raise TypeError(f"got an unexpected keyword argument {unknown[0]!r}")


def _reference(options: Mapping[str, Any]) -> Any:
    """Return the reference of a detector that is run: another detector, or its boxes.

    Parameters
    ----------
    options : BoxOptions
        Of which ``reference`` is a name or a path, or a list of one.

    Returns
    -------
    DetectorSpec, PredictionsReference, object or None
        A file of boxes is known by its ending (`SUFFIXES`), a folder by being one; a detector that
        is named runs on the device and with the precision of the first. None without a reference.

    Raises
    ------
    InputError
        If there are several, or options are about another kind of reference.
    """
    from autoeval.detectors.detector_spec import DetectorSpec, names_python
    from autoeval.estimation.observation.reference_boxes import PredictionsReference
    from autoeval.io.predictions.category_words import read_names
    from autoeval.io.predictions.formats import SUFFIXES
    from autoeval.words import listed

    references = options.get("reference")
    if references is not None and not isinstance(references, list | tuple):
        references = [references]
    if not references:
        refuse_given(options, "goes with --reference", ("reference_checkpoint", "reference_names"))
        return None
    if len(references) > 1:
        raise InputError(
            "Expected one --reference with a detector that is run but got "
            f"{listed(references)}: several are given by their boxes, with --predictions."
        )
    (named,) = references
    if not isinstance(named, str):
        return named
    if named.endswith(SUFFIXES) or Path(named).is_dir():
        reason = f"is for a detector that is run, and {named} holds boxes"
        refuse_given(options, reason, ["reference_checkpoint"])
        if not Path(named).exists():  # before a detector is run
            raise InputError(f"No boxes of a reference detector in {named}: check the path.")
        return PredictionsReference(Path(named), read_names(options.get("reference_names") or {}))
    refuse_given(
        options, f"has the words of a file of boxes, and {named} is run", ["reference_names"]
    )
    checkpoint = options.get("reference_checkpoint")
    if names_python(named):
        return DetectorSpec(named, checkpoint)
    device, precision = options.get("device"), options.get("network_precision")
    return DetectorSpec(named, checkpoint, device, precision=precision)


def _spec(options: Mapping[str, Any], loading: Mapping[str, Any] | None, loaded: Any) -> Any:
    """Return how the detector is loaded, the detector or `Detector` itself, or None without any.

    Parameters
    ----------
    options : BoxOptions
        Of which ``detector`` goes before `loading`.
    loading : mapping, optional
        How the detector of an estimator is loaded; options change it.
    loaded : ImageDetector, optional
        That detector. It is loaded anew only where options say how, or that workers run it, which
        load it themselves, and where that is known.
    """
    from autoeval.detectors.detector_spec import DetectorSpec

    named = options.get("detector")
    anew = any(is_given(options.get(name)) for name in (*OF_A_DETECTOR, "ray"))
    if named is None and not (anew and loading):
        named = loaded
    if named is not None and not isinstance(named, str | os.PathLike):
        refuse_given(
            options, "is for a detector that is named, and this one is loaded", OF_A_DETECTOR
        )
        return named
    changes = {name: options[name] for name in OF_A_DETECTOR if options.get(name)}
    if "network_precision" in changes:
        changes["precision"] = changes.pop("network_precision")
    if "cfg_options" in changes:
        changes["cfg_options"] = cfg_options_of(changes["cfg_options"])
    if named is not None:
        return DetectorSpec(named, **changes)
    return DetectorSpec.from_dict({**loading, **changes}) if loading else None


def cfg_options_of(options: Mapping[str, Any] | Sequence[str]) -> Mapping[str, Any]:
    """Read words such as ``KEY=VALUE`` as MMDetection does; a mapping is what it is.

    Without mmengine values are Python's literals, or else words: other frameworks nest nothing.

    Parameters
    ----------
    options : mapping, or sequence of str
        As given by ``--cfg-options``.

    Raises
    ------
    InputError
        If a word has no ``=``.

    Examples
    --------
    >>> cfg_options_of({"conf": 0.01})
    {'conf': 0.01}
    """
    if isinstance(options, Mapping):
        return options
    bare = [word for word in options if "=" not in word]
    if bare:
        raise InputError(
            f"Expected --cfg-options as KEY=VALUE, such as model.test_cfg.score_thr=0.01, but got "
            f"{', '.join(bare)}."
        )
    try:
        from mmengine.config import DictAction
    except ModuleNotFoundError:
        return {
            name: _literal(value) for name, _, value in (word.partition("=") for word in options)
        }
    parser = argparse.ArgumentParser()
    parser.add_argument("--cfg-options", nargs="+", action=DictAction)
    read: Mapping[str, Any] = parser.parse_args(["--cfg-options", *options]).cfg_options
    return read


def _literal(text: str) -> Any:
    """Read a value of Python, ``true`` and ``false`` in any case; a word that is none is itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def executor_of(options: Mapping[str, Any]) -> Any:
    """Return the workers of Ray that run a detector, None for this process.

    Parameters
    ----------
    options : PassOptions
        Of which ``ray`` is an address, or `THIS_MACHINE`.

    Raises
    ------
    InputError
        If options of workers come without ``ray``, or one is not above 0.
    """
    address = options.get("ray")
    if address is None:
        refuse_given(options, "goes with --ray", OF_RAY)
        return None
    for name in OF_RAY:
        value = options.get(name)
        if value is not None and value <= 0:
            raise InputError(f"Expected --{name.replace('_', '-')} above 0 but got {value:g}.")
    import torch

    from autoeval.runtime.ray_executor import RayExecutor

    return RayExecutor(
        address=None if address == THIS_MACHINE else address,
        workers=options.get("ray_workers"),
        cpus=options.get("ray_cpus"),
        gpus=options.get("ray_gpus"),
        cpus_without_gpu=torch.get_num_threads(),
    )


def found_images(options: Mapping[str, Any], *, labels: bool = False) -> Any:
    """Find the images that a detector is run on, and name what is passed over.

    Parameters
    ----------
    options : SiteOptions
        Of which ``images``, ``img_dir`` and ``every`` are read.
    labels : bool
        Whether ``img_dir`` may be the folder of the images that labels name.

    Returns
    -------
    sequence of UnlabelledImage, or object
        Images that are given in memory are returned as they are. What is passed over is named on
        standard error.

    Raises
    ------
    InputError
        If there are no images, or options are about images of another kind.
    """
    from autoeval.io.find_images import VIDEOS_SKIPPED, find_images
    from autoeval.runtime.files import is_json

    images, img_dir = options.get("images"), options.get("img_dir")
    if images is None:
        raise InputError("Expected --images PATH, or --predictions FILE.")
    if not isinstance(images, str | os.PathLike):
        refuse_given(options, "is for images that are named by a path", ("every", "img_dir"))
        return images
    if labels and not is_json(images):
        img_dir = None
    listed = find_images(images, img_dir, every=options.get("every"))
    for skipped in listed.skipped:
        hint = ": --every 2s takes their frames" if skipped.startswith(VIDEOS_SKIPPED) else ""
        print(f"note: {skipped}{hint}", file=sys.stderr)
    return listed.images


def estimate_from_options(
    fitted: AccuracyEstimator,
    predictions: Any,
    options: Mapping[str, Any],
    work_dir: Any = None,
    *,
    score_thr: float | None = None,
    iou: float = IOUS[0],
    labels: bool = False,
) -> Estimate:
    """Estimate the site that the options name, by `AccuracyEstimator.predict`.

    Parameters
    ----------
    fitted : AccuracyEstimator
        The estimator.
    predictions : path-like or object
        See `given_boxes_of`.
    options : SiteOptions
        By name.
    work_dir : path-like, optional
        Keeps what a detector that is run observes.
    score_thr, iou : float, optional
        See `AccuracyEstimator.predict`.
    labels : bool
        Whether ``img_dir`` may be the folder of the images that labels name; see `found_images`.

    Returns
    -------
    Estimate
        Of predictions with ``img_dir``, its site knows the files of the images that lie there.

    Raises
    ------
    InputError
        As `AccuracyEstimator.predict`, if options exclude each other, or no listed image is in
        ``img_dir``.
    """
    from autoeval.estimation.given import Predictions

    site_options = {name: options.get(name) for name in OF_SITE}  # a group may be the number 0
    site: dict[str, Any] = {
        name: value for name, value in site_options.items() if value or value == 0
    }
    site |= {"categories": options.get("categories"), "score_thr": score_thr, "iou": iou}
    loading = fitted.loading_.get("detector")
    boxes = given_boxes_of(predictions, options, loading, fitted.detector_)
    images = options.get("images")
    if isinstance(boxes, Predictions):
        refuse_given(options, "is about running a detector, and --predictions need none", ["every"])
        estimate = fitted.predict(boxes, images=images, **site)
        folder = options.get("img_dir")
        if folder is None or estimate.site is None:
            return estimate
        from autoeval.io.image_lists import ImageFile

        # where the images lie, so that the page can show some
        paths = [Path(folder) / image.file_name for image in estimate.site.boxes.images]
        image_files = [
            ImageFile(image.image_id, path)
            for image, path in zip(estimate.site.boxes.images, paths, strict=True)
            if path.is_file()
        ]
        if not image_files:
            raise InputError(
                f"Expected the listed images in {folder}, but none of the {len(paths)} is "
                f"there, first {paths[0]}: correct --img-dir, or leave it out."
            )
        return replace(estimate, site=replace(estimate.site, images=image_files))
    pictures = found_images(options, labels=labels)
    keep = boxes.keeping(work_dir) if boxes else None
    return fitted.predict(boxes, images=pictures, keep=keep, **site)
