"""A detector that is run over images: how it is loaded, and the site that it leaves behind.

`Detector` is what users give for a run; `detect_site`, which `AccuracyEstimator.read_site` calls,
runs it over the images of a new site, `autoeval.estimation.labelled_sets` over labelled ones. The
pass itself is in `autoeval.estimation.observation`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import TypedDict, Unpack

from autoeval.boxes import Categories, DetectorRun, words_of
from autoeval.detectors.adapters import adapters, wrap_object
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.estimation.observation.detector_identity import (
    identity_warnings,
    is_identified,
    refuse_differences,
    score_thresholds,
)
from autoeval.estimation.observation.kept_observer import Keeping, with_keeping
from autoeval.estimation.observation.observing import OBSERVING, ImageDetector, Observer
from autoeval.estimation.observation.pass_settings import PassSettings, of_plain_pass
from autoeval.estimation.observation.reference_boxes import (
    OF_FILES,
    DetectorReference,
    PredictionsReference,
    Reference,
    load_reference,
)
from autoeval.estimation.observation.samples import (
    ImageLoading,
    PassLog,
    UnlabelledSamples,
    blocks_of_read,
)
from autoeval.io.find_images import Images, file_name_of, list_images, without_copies
from autoeval.io.tasks.seed_set import Samples
from autoeval.io.tasks.task import Task
from autoeval.runtime.files import PathLike
from autoeval.runtime.jobs import Executor
from autoeval.sites.site import Site
from autoeval.words import listed


class Loading(TypedDict, total=False):
    """How a detector that is named is loaded; as `DetectorSpec` takes it, with the same defaults.

    Parameters
    ----------
    checkpoint : str, optional
        Its weights.
    device : str, optional
        As torch names it.
    cfg_options : mapping, optional
        Changes to the config, or options of a framework's own call.
    trust_checkpoint : bool
        Unpickle everything in the checkpoint, which may run code.
    classes : str, optional
        File with the names of its labels.
    precision : str, optional
        ``single`` or ``half``.
    """

    checkpoint: str | None
    device: str | None
    cfg_options: Mapping[str, Any] | None
    trust_checkpoint: bool
    classes: str | None
    precision: str | None


class Detector:
    """A detector that is run over images: how it is loaded, and how it is run.

    Parameters
    ----------
    detector : path-like, DetectorSpec, ImageDetector or object
        A name as `DetectorSpec` describes it; or a detector that is loaded already, such as a
        `BlackBoxDetector`, or a model of another framework, such as Ultralytics' `YOLO`; see
        docs/how-to/network.md.
    reference : DetectorSpec, loaded detector, path-like or Reference, optional
        A stronger detector, or the path of its predictions: agreement with it becomes a score.
    batch_size, num_workers : int, optional
        How many images are read ahead together, and in how many threads; see
        `autoeval.estimation.observation.samples.ImageLoading`. They change no number.
    executor : Executor, optional
        Where it is run; this process by default.
    **loading
        Where it is named: ``checkpoint``, ``device``, ``cfg_options``, ``classes``, ``precision``,
        ``trust_checkpoint``, as `DetectorSpec` describes them.

    Raises
    ------
    InputError
        If it is no detector, one that is loaded already is to be loaded otherwise, the batch size
        is under 1, or the number of workers under 0.
    """

    def __init__(
        self,
        detector: PathLike | DetectorSpec | ImageDetector,
        *,
        reference: PathLike | DetectorSpec | Reference | None = None,
        batch_size: int | None = None,
        num_workers: int | None = None,
        executor: Executor | None = None,
        **loading: Unpack[Loading],
    ) -> None:
        if isinstance(detector, str | os.PathLike):
            detector = DetectorSpec(os.fspath(detector), **loading)
        elif loading:
            raise InputError(
                f"{listed(sorted(loading))}: for a detector that is named, and this one is loaded "
                "already or says itself how. Leave that out."
            )
        if not isinstance(detector, DetectorSpec) and not hasattr(detector, "observe"):
            wrapped = wrap_object(detector)
            if wrapped is None:
                frameworks = [adapter.FRAMEWORK for adapter in adapters() if adapter.OBJECTS]
                raise InputError(
                    f"Expected a detector by its name, a model of {', '.join(frameworks)}, or a "
                    f"BlackBoxDetector, but got {type(detector).__name__}. A function is given as "
                    "BlackBoxDetector(find, categories)."
                )
            detector = wrapped
        self.detector = detector
        self.reference = reference
        self.reading = ImageLoading(batch_size, num_workers)
        self.executor = executor
        self._loaded_reference: tuple[Any, Reference | None] = None, None  # with what it is of

    @property
    def spec(self) -> DetectorSpec | None:
        """How it is loaded, where that is known."""
        return self.detector if isinstance(self.detector, DetectorSpec) else None

    @cached_property
    def loaded(self) -> ImageDetector:
        """The detector itself; `InputError` as `autoeval.load_detector`."""
        return self.spec() if self.spec else self.detector  # type: ignore[return-value]

    @property
    def loaded_reference(self) -> Reference | None:
        """The stronger detector, loaded; a network once, and files of boxes as they now are."""
        given, loaded = self._loaded_reference
        if given is not self.reference or not isinstance(loaded, DetectorReference):
            loaded = load_reference(self.reference)
            self._loaded_reference = self.reference, loaded
        return loaded

    def keeping(self, folder: PathLike | None) -> Keeping | None:
        """Return where to keep what is observed, and who observes; None without a folder.

        Parameters
        ----------
        folder : path-like, optional
            The work dir.

        Raises
        ------
        InputError
            If there is an executor and no folder: its workers share one.
        """
        if folder is not None:
            return Keeping(Path(folder), self.executor, self.spec)
        if self.executor is not None:
            raise InputError("An executor needs a folder in which its workers meet: `work_dir`.")
        return None

    def observer(self, task: Task | None = None) -> Observer:
        """Return the pass that finds its boxes.

        Parameters
        ----------
        task : Task, optional
            The categories; by default the detector's own words, so that one pass serves all.
        """
        settings = PassSettings(reference=self.loaded_reference)
        task = task or own_words(self.loaded)
        return Observer(self.loaded, task, settings, reading=self.reading)

    @property
    def loading(self) -> dict[str, Any] | None:
        """How both are loaded, as plain values; None of a detector that is loaded already."""
        if self.spec is None:
            return None
        reference_detector = self.reference
        reference = (
            reference_detector.to_dict() if isinstance(reference_detector, DetectorSpec) else None
        )
        return {"detector": self.spec.to_dict(), "reference": reference}


def load_fitted(context: Mapping[str, Any], loading: Mapping[str, Any]) -> ImageDetector:
    """Load the detector of a fit as it was then.

    Parameters
    ----------
    context, loading : mapping
        As estimators hold them; see `AccuracyEstimator`.

    Raises
    ------
    InputError
        If nobody knows how it is loaded, or the fit is on files.
    """
    if loading:
        return DetectorSpec.from_dict(loading["detector"])()
    if "detector" in context:
        raise InputError(
            "This estimator does not know how its detector is loaded: pass `detector` (--detector)."
        )
    raise InputError(
        "This estimator was fitted on prediction files: pass the predictions of the new images "
        "(--predictions), or fit it with the detector (`autoeval fit --labels PATH --detector "
        "ALIAS`)."
    )


def fitted_reference(loading: Mapping[str, Any]) -> Reference | None:
    """Load the reference detector of a fit; None where its boxes were given, or without one.

    Parameters
    ----------
    loading : mapping
        As estimators hold it; see `AccuracyEstimator`.
    """
    spec = loading.get("reference")
    return load_reference(DetectorSpec.from_dict(spec)) if spec else None


def check_detector(
    context: Mapping[str, Any],
    detector: ImageDetector,
    reference: Reference | None = None,
    *,
    thresholds: bool = True,
) -> None:
    """Raise an error that names what differs between a detector and that of the fit.

    Parameters
    ----------
    context : mapping
        Of the fit; see `AccuracyEstimator`.
    detector : ImageDetector
        That is about to be run.
    reference : Reference, optional
        That is run, too; boxes in files are not compared, which are others for other images.
    thresholds : bool
        Whether thresholds of scores are compared, too, which `site_of_files` allows for.

    Raises
    ------
    InputError
        If anything differs that plain boxes depend on, or the fit is on files.
    """
    if "detector" not in context:
        raise InputError(
            "This estimator was fitted on prediction files, so it cannot tell whether a detector is"
            " theirs: give the predictions of the new images, or fit it with the detector."
        )
    settings, settings_now = of_plain_pass(context["detector"]), of_plain_pass(detector.settings)
    if not thresholds:
        names = (*score_thresholds(settings), *score_thresholds(settings_now))
        settings |= dict.fromkeys(names)
        settings_now |= dict.fromkeys(names)
    fitted: dict[str, Any] = {"detector": settings}
    now: dict[str, Any] = {"detector": settings_now}
    digests = context.get("pass", {}).get("reference"), reference and reference.digest
    if all(digest and not digest.startswith(OF_FILES) for digest in digests):
        fitted["reference"], now["reference"] = digests
    refuse_differences(fitted, now)


def detect_site(
    run: Detector,
    images: Images,
    *,
    reference: Reference | None,
    keep: Keeping | None = None,
) -> Site:
    """Run a detector on the images of a site, but on no copy of a file.

    Parameters
    ----------
    run : Detector
        The detector, and how it is run.
    images : path-like or sequence
        See `autoeval.io.find_images.list_images`.
    reference, keep
        See `detect_samples`.

    Returns
    -------
    Site
        As of `detect_samples`, with the images, and warnings of those that were left out and of a
        reference that is not identified.

    Raises
    ------
    InputError
        If no image can be read.
    """
    pictures, copies_taken = without_copies(list_images(images))
    site = detect_samples(
        UnlabelledSamples(pictures),
        {image.image_id: file_name_of(image) for image in pictures},
        run,
        reference=reference,
        keep=keep or run.keeping(None),  # None; refused where an executor needs a folder
    )
    of_run = site.boxes.run and replace(site.boxes.run, copies=np.zeros(len(site), bool))
    of_reference = identity_warnings(getattr(reference, "detector", None))
    return replace(
        site,
        boxes=replace(site.boxes, run=of_run),
        images=pictures,
        warnings=(*copies_taken, *of_reference),
    )


def detect_samples(
    samples: Samples,
    file_names: Mapping[str, str],
    run: Detector,
    *,
    reference: Reference | None,
    keep: Keeping | None,
    activity: str = OBSERVING,
) -> Site:
    """Run a detector on images, and its reference where that is run, too.

    Parameters
    ----------
    samples : Samples
        The images.
    file_names : mapping of str to str
        File name of each image by its id.
    run : Detector
        The detector, and how it is run.
    reference : Reference or None
        One whose boxes are in a file is not looked up here.
    keep : Keeping or None
        Where to keep what is observed, and who observes.
    activity : str
        What the progress bar calls it.

    Returns
    -------
    Site
        In the detector's own words, with the boxes as if `autoeval detect` had written them: they
        are read on as those of a file. Its row has ``n_images`` and the seconds spent.

    Raises
    ------
    InputError
        If no image can be read.
    """
    detector = run.loaded
    is_run = None if isinstance(reference, PredictionsReference) else reference
    settings, task = PassSettings(reference=is_run), own_words(detector)
    observer = with_keeping(Observer(detector, task, settings, reading=run.reading), keep)
    log, evidence = PassLog(), []
    with observer.begin(samples, len(samples), activity) as bar:
        for _, seen in observer.each(samples, log=log):
            evidence.append(seen.boxes_alone())
            bar.update()
    log.check(len(evidence))
    of_run = describe_run(observer, samples, log)
    site = Site.of_evidence(evidence, task.categories, file_names=file_names)
    return replace(
        site, boxes=replace(site.boxes, run=of_run), row={"n_images": len(site), **log.seconds}
    )


def describe_run(observer: Observer, samples: Samples, log: PassLog) -> DetectorRun:
    """Return what is noted of a pass that has ended, but for versions and copies.

    Parameters
    ----------
    observer : Observer
        The pass, in the detector's own words.
    samples : Samples
        All images.
    log : PassLog
        Of the pass.
    """
    detector = observer.detector
    return DetectorRun(
        str(getattr(detector, "name", detector)),
        detector.settings,
        detector.fingerprint,
        is_identified(detector),
        detector.backbone,
        categories=observer.task.categories,
        unreadable=tuple(log.unreadable[k] for k in sorted(log.unreadable)),
        blocks=blocks_of_read(samples, log.unreadable),
    )


def any_task(named: Categories, words: Sequence[str]) -> Task:
    """Make a task without data of some categories, each with the detector's words for it.

    Parameters
    ----------
    named : mapping of str to sequence of str
        Words of the detector for each category.
    words : sequence of str
        All that it knows.

    Raises
    ------
    InputError
        If it does not know one of them.
    """
    mapping = words_of(named)
    unknown = [word for word in mapping if word not in words]
    if unknown:
        raise InputError(
            f"Expected words of the detector but got {', '.join(unknown)}. It knows "
            f"{', '.join(words)}."
        )
    # a word of the detector that is the name of a category counts there only where it is given
    others = {name: "" for name in named if name in words and name not in mapping}
    return Task("any", tuple(named), (), {**mapping, **others})


def own_words(detector: ImageDetector) -> Task:
    """Make a task without data whose categories are the detector's own words, each once.

    Parameters
    ----------
    detector : ImageDetector
    """
    words = detector.categories
    return any_task({word: [word] for word in words}, words)
