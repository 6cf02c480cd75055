"""ImageLoading a new site as in the fit: its predictions, or a detector run on its images."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.boxes import Boxes, DetectorRun, LabelledImage
from autoeval.detections import Evidence
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.estimation.given import (
    Categories,
    Detector,
    GivenBoxes,
    Predictions,
    check_words,
    checked_present,
    given_boxes,
    given_categories,
    named_categories,
    words_of,
)
from autoeval.estimation.observation.detector_identity import (
    identity_warnings,
    refuse_differences,
)
from autoeval.estimation.observation.kept_observer import Keeping, keeping
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.pass_settings import PassSettings, of_plain_pass
from autoeval.estimation.observation.reference_boxes import Reference, load_reference
from autoeval.estimation.observation.samples import (
    ImageLoading,
    PassLog,
    UnlabelledSamples,
    blocks_of_read,
)
from autoeval.io.find_images import ImageArray, Images, UnlabelledImage, list_images
from autoeval.io.image_lists import ImageFile, images_in_memory, load_image_folder
from autoeval.io.images import image_size
from autoeval.io.labels.content import LabelSet
from autoeval.io.predictions import read_image_list
from autoeval.io.predictions.covered_images import (
    copies,
    copies_left_out,
    labels_of_images,
    unseen_images,
)
from autoeval.io.same_files import without_copies
from autoeval.io.tasks.task import Task
from autoeval.model.features import REFERENCE_FEATURES
from autoeval.model.pair_table import CATEGORY, Table
from autoeval.notices import Notice, as_notice
from autoeval.sites.category_numbers import numbered_by_fit
from autoeval.sites.file_looks import ListStart, Looks, check_floor
from autoeval.sites.pool import unknown_sizes
from autoeval.sites.site import BLACK_BOX, Site
from autoeval.words import counted, listed

N_NAMED = 2  # unreadable images that a warning names
THRESHOLDS = ("test_cfg.score_thr", "test_cfg.rcnn.score_thr")  # of mmdet, in settings
CHOSEN = "reference_chosen"  # in the context of a fit: ``number``, counted from 0, and ``of``


@dataclass(frozen=True, eq=False)
class FittedPass:
    """The pass over the images of a fit, which those of a new site get, too.

    context, loading: as an estimator holds them; see `AccuracyEstimator`.
    features: columns of the table that the regression reads.
    table: rows of the fit.
    detector: that of the fit, where it is loaded.
    """

    context: Mapping[str, Any]
    loading: Mapping[str, Any]
    features: tuple[str, ...]
    table: Table
    detector: ImageDetector | None = None

    @property
    def looks(self) -> Looks:
        """How the boxes of the fit look, with the settings of a detector that it ran.

        Refused where it was fitted on rows alone.
        """
        if "boxes" not in self.context:
            raise InputError(
                "This estimator does not know what the boxes of its fit look like, so new "
                "predictions cannot be compared with them: fit it by `autoeval.fit`."
            )
        looks = Looks.from_dict(self.context["boxes"])
        if "detector" not in self.context:
            return looks
        return replace(looks, detector=of_plain_pass(self.context["detector"]))

    @property
    def repeated_warnings(self) -> tuple[str, ...]:
        """What was found wrong in the fit, which every estimate repeats."""
        return self.looks.warnings if "boxes" in self.context else ()

    @property
    def words(self) -> Categories | None:
        """The categories whose detector words were given to the fit; None for its own words."""
        task = self.context.get("task")
        if task is None or (np.asarray(self.table["kind"]) == CATEGORY).any():
            return None
        return {name: list(words) for name, words in task["words"].items()}

    def check_read(self, passes: Iterable[str]) -> None:
        """Refuse passes beside the clean one that the fit did not have: nothing reads them."""
        of_pass = self.context.get("pass", {})
        readable = self.needs(self.table) | {name for name in of_pass if of_pass[name]}
        unread = set(passes) - readable
        if unread:
            raise InputError(
                "This estimator was fitted without a reference detector (`reference`, "
                "--reference), so it would not be read: leave it out, or fit again with it."
            )

    def load_detector(self) -> ImageDetector:
        """Return the detector of the fit, loaded as it was then; refused where nobody knows how."""
        if self.detector is not None:
            return self.detector
        if not self.loading:
            detector_known = "detector" in self.context
            raise InputError(
                "This estimator does not know how its detector is loaded: pass `detector` "
                "(--detector)."
                if detector_known
                else "This estimator was fitted on prediction files: pass the predictions of the "
                "new images (--predictions), or fit it with the detector (`autoeval fit --labels "
                "PATH --detector ALIAS`)."
            )
        return DetectorSpec.from_dict(self.loading["detector"])()

    def load_reference(self) -> Reference | None:
        """Load the reference that it was fitted with, where that was a detector."""
        spec = self.loading.get("reference")
        return load_reference(DetectorSpec.from_dict(spec)) if spec else None

    def needs(self, columns: Iterable[str]) -> frozenset[str]:
        """Return the passes beside the clean one that columns of the table are made of."""
        return frozenset({"reference"} if {*columns} & {*REFERENCE_FEATURES} else ())

    def box_observer(
        self,
        detector: ImageDetector,
        reference: Reference | None = None,
        reading: ImageLoading | None = None,
    ) -> Observer:
        """Make the pass that finds the boxes that are read.

        Its categories are the detector's own words, so that one pass serves all categories.
        """
        self.check_reference(reference)
        self.check_detector(detector)
        settings = PassSettings(reference=reference)
        return Observer(detector, own_words(detector), settings, reading=reading)

    def check_reference(self, reference: Reference | None) -> None:
        """Make sure that there is a reference detector where features need one."""
        if reference is None and "reference" in self.needs(self.features):
            raise InputError(
                "This estimator was fitted with a reference detector: give the same one for these "
                "images (--reference), as a detector or by its boxes."
            )

    def check_detector(self, detector: ImageDetector) -> None:
        """Make sure that a detector is the one it was fitted with, or name what differs."""
        if "detector" not in self.context:
            raise InputError(
                "This estimator was fitted on prediction files, so it cannot tell whether a "
                "detector is theirs: give the predictions of the new images, or fit it with the "
                "detector."
            )
        fitted, now = map(of_plain_pass, (self.context["detector"], detector.settings))
        refuse_differences(fitted, now, "detector.")


@dataclass(frozen=True)
class NewSite:
    """What is said of a new site, beside its boxes.

    images: all images that the detector was run on, or is to be run on; by default those that
        predictions name.
    categories: that may count, each with the detector's words for it; by default those of the fit.
    present: those of them that count in any case; a single one always does.
    labelled: labels of some of the images, which tell images with equal boxes apart.
    """

    images: Images | Sequence[LabelledImage] | None = None
    categories: Categories | None = None
    present: Collection[str] = ()
    labelled: LabelSet | None = None


def read_site(
    fitted: FittedPass,
    boxes: GivenBoxes | None,
    new: NewSite,
    *,
    keep: Keeping | None = None,
    watch: Callable[[Evidence], object] | None = None,
) -> Site:
    """Read predictions of new images, or run the detector on them.

    boxes: see `AccuracyEstimator.predict`.
    keep: where to keep what a detector that is run observes, and who observes.
    watch: called with the evidence of each image, where a detector is run.

    Raises InputError as `AccuracyEstimator.predict`.
    """
    categories = given_categories(named_categories(new.categories), fitted.words)
    new = replace(new, categories=categories)
    given = None if boxes is None else given_boxes(boxes)
    if isinstance(given, Predictions):
        running = {"keep": keep, "watch": watch}
        unread = [name for name, value in running.items() if value is not None]
        if unread:
            raise InputError(
                f"{listed(unread)}: for a detector that is run, and predictions are read. Leave "
                "that out."
            )
        return _read_predictions(fitted, given, new)
    if new.images is None:
        raise InputError("Expected predictions, or images to run the detector on.")
    run = given or Detector(fitted.load_detector())
    return observe_site(fitted, run, new, keep=keep, watch=watch)


def _read_predictions(fitted: FittedPass, files: Predictions, new: NewSite) -> Site:
    """Read the predictions of new images, as the fit reads its own."""
    images: Any = images_in_memory(new.images)
    files_of_images: Sequence[UnlabelledImage] = ()
    named = new.images is None or isinstance(new.images, str | os.PathLike)
    if images is None and (named or _are_described(new.images)):  # described as those of a plan are
        images = new.images
    elif images is None:
        files_of_images = list_images(new.images)  # type: ignore[arg-type]
        images = [
            LabelledImage(image.image_id, _file_name(image), _size(image))
            for image in files_of_images
        ]
    site = site_of_files(
        as_fitted(files, fitted.context), fitted.looks, replace(new, images=images)
    )
    if site.reference is not None:
        fitted.check_read(["reference"])
    elif fitted.needs(fitted.features):
        raise InputError(
            "This estimator was fitted with a reference detector: give its boxes on these "
            "images, too (--reference), or fit again without."
        )
    return replace(site, images=files_of_images) if files_of_images else site


def _are_described(images: Any) -> bool:
    listed_images = isinstance(images, Sequence) and len(images) > 0
    return listed_images and all(isinstance(image, LabelledImage) for image in images)


def _size(image: UnlabelledImage) -> tuple[int, int] | None:
    """Return height and width by the header of a file, or of decoded pixels."""
    if isinstance(image, ImageArray):
        return image.pixels.shape[0], image.pixels.shape[1]
    return image_size(image.path) if isinstance(image, ImageFile) else None


def _file_name(image: UnlabelledImage) -> str:
    """Return the name by which predictions may call an image."""
    if isinstance(image, ImageFile) and not image.path.as_posix().endswith(image.image_id):
        return image.path.as_posix()
    return image.image_id


def site_of_files(files: Predictions, looks: Looks, new: NewSite) -> Site:
    """Read the predictions of new images, beside the looks of those of a fit.

    new: its images are a path, see `read_image_list`, or are described already; its categories have
        the words of the fit.
    """
    images: Any = new.images
    categories, labelled, present = new.categories, new.labelled, new.present
    folder: Sequence[ImageFile] = ()
    listed_images: Sequence[LabelledImage] | None
    left_out = list[str]()
    if isinstance(images, str | os.PathLike):
        listed_images, where = read_image_list(images, left_out), str(images)
        folder = load_image_folder(images) if Path(images).is_dir() else ()
    else:
        listed_images, where = images, "the list of images"
    words = looks.categories
    numbers, kind = looks.numbers, looks.kind
    site = files.read(listed_images, where=where, numbers=numbers, words=words, kind=kind)
    site = replace(site, boxes=numbered_by_fit(site.boxes, looks.frequencies, kind, files.name))
    run, is_of_fit = site.boxes.run, has_detector_of_fit(site.boxes, looks)
    site, cut = (over_thresholds if is_of_fit else as_in_fit)(site, looks)
    clean = site.boxes
    left_out += [*site.left_out, *cut]
    warnings = [*clean.warnings, *looks.warnings]
    start = ListStart()
    if not is_of_fit:  # else scores compare, wherever the lowest one happens to be
        warnings += looks.differences(clean)
        start = looks.start_of(clean)
        explained = start.cut or start.unlikely or start.by_chance
        missing = () if explained else check_floor(clean, "the file", complete=files.complete)
        warnings += () if start.floor else missing
    if run is not None:
        n_lost = len(run.unreadable)
        warnings += (*unreadable_warning(run.unreadable, len(site) + n_lost),)
        warnings += identity_warnings(run)
    # A file that lists an image without a box lists all of them.
    elif images is None and len(np.unique(clean.image)) == len(site):
        warnings.append(
            Notice(
                "images-without-box-unknown",
                "images without a box are not known, and count as if there were none: list all "
                "images",
                severity="note",
            )
        )
    if images is not None:
        every = np.arange(len(site))
        absent, notes = unseen_images(clean, every, "the file", complete=files.complete)
        warnings += notes
        if len(absent):
            site = site.on_images(np.setdiff1d(every, absent))
            clean = site.boxes
    unplaced = [note for note in left_out if as_notice(note).code == "images-not-placed"]
    warnings, left_out = [*unplaced, *warnings], [n for n in left_out if n not in unplaced]
    left_out += unknown_sizes(clean)
    unseen = 0.0
    if not is_of_fit:
        unseen = max(looks.unseen_of(clean, start), looks.unseen)
    of_labels = None if labelled is None else labels_of_images(labelled, clean.images)
    if clean.run is not None and clean.run.knows_images:
        later = np.flatnonzero(clean.run.copies)  # byte by byte
    else:
        later = copies(clean, of_labels, {file.image_id: file.path for file in folder})
    if len(later):
        warnings += copies_left_out(len(later))
        site = site.on_images(np.setdiff1d(np.arange(len(site)), later))
    if categories:
        warnings += check_words(categories, {*looks.categories, *clean.categories})
        words_of_fit = [word for word in words_of(categories) if word in looks.categories]
        site = site.knowing(words_of_fit).as_categories(list(categories), words_of(categories))
    elif present:
        site = site.knowing([name for name in present if name in looks.categories])
    return replace(
        site,
        named=bool(categories),
        present=checked_present(present, categories, site.boxes.categories),
        warnings=tuple(warnings),
        left_out=tuple(left_out),
        images=folder,
        floor=start.floor,
        unseen=unseen,
        backbone=run.backbone if run else BLACK_BOX,
        detector=run.fingerprint if run else "",
    )


def has_detector_of_fit(boxes: Boxes, looks: Looks) -> bool:
    """Whether boxes are of the detector of the fit, so that all their scores compare.

    False where nobody knows, and where the fit has lower scores than the boxes can have. Raises
    `InputError` if another detector found them, or the same one with other settings, but for the
    threshold of scores.
    """
    if boxes.run is None or not looks.detector:
        return False
    fitted, now = looks.detector, of_plain_pass(boxes.run.settings)
    refuse_differences(_without_thresholds(fitted), _without_thresholds(now), "detector.")
    return all((now.get(name) or 0.0) <= (fitted.get(name) or 0.0) for name in THRESHOLDS)


def _without_thresholds(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in THRESHOLDS}


def over_thresholds(site: Site, looks: Looks) -> tuple[Site, tuple[str, ...]]:
    """Leave out boxes that the detector would not have given with the thresholds of the fit.

    Suppression goes from high scores to low ones, so those over a threshold do not depend on it.
    """
    highest = max(looks.detector.get(name) or 0.0 for name in THRESHOLDS)
    kept = site.boxes.scores.astype(np.float32) > np.float32(highest)  # as mmdet compares
    run: DetectorRun | None = site.boxes.run
    if kept.all() or run is None or not any(name in run.settings for name in THRESHOLDS):
        return site, ()
    note = Notice(
        "low-scores-missing",
        f"boxes up to {highest:g}, the threshold of the detector in the fit: "
        f"{int((~kept).sum())}; the estimate is of the boxes over it. Fit on boxes of `autoeval "
        "detect` for one of all",
        severity="note",
    )
    return replace(site, boxes=site.boxes.where(kept)), (note,)


def as_in_fit(site: Site, looks: Looks) -> tuple[Site, tuple[str, ...]]:
    """Leave out boxes with scores under those of the fit; say so."""
    under = looks.under_floor(site.boxes)
    if not under.any():
        return site, ()
    note = Notice(
        "low-scores-missing",
        f"boxes under {looks.floor:.3g}, the lowest score in the fit: {int(under.sum())}; "
        "the estimate is of the boxes over it. Fit on predictions from .01 on (Ultralytics: "
        "conf=0.01) for one of all",
        severity="note",
    )
    return replace(site, boxes=site.boxes.where(~under)), (note,)


@dataclass
class SeenImages:
    """What running a detector over images leaves behind, image by image.

    watch: called with the evidence of each image.
    lookup: category of each of the detector's words, where evidence is in these words.
    """

    watch: Callable[[Evidence], object] = lambda evidence: None
    lookup: np.ndarray | None = None
    evidence: list[Evidence] = field(default_factory=list)
    log: PassLog = field(default_factory=PassLog)

    def keep(self, evidence: Evidence) -> None:
        """Take in one image."""
        self.watch(evidence)
        evidence = evidence if self.lookup is None else evidence.relabel(self.lookup)
        self.evidence.append(evidence.boxes_alone())


def observe_site(
    fitted: FittedPass,
    run: Detector,
    new: NewSite,
    *,
    keep: Keeping | None = None,
    watch: Callable[[Evidence], object] | None = None,
) -> Site:
    """Run a detector, and the reference of the fit, on the images of a site.

    Copies of a file, byte by byte, are left out. For keep and watch see `read_site`.
    """
    assert new.images is not None
    images, copies_taken = without_copies(list_images(new.images))  # type: ignore[arg-type]
    detector, reference = run.loaded, run.loaded_reference
    fitted.check_read(["reference"] if reference is not None else [])
    reference = reference or fitted.load_reference()
    observer = keeping(
        fitted.box_observer(detector, reference, run.reading), keep or run.keeping(None)
    )
    words = observer.task.categories  # the detector's own may hold one twice, as "N/A"
    categories = named_categories(new.categories)
    named = categories or {word: [word] for word in words}
    seen = SeenImages(lookup=any_task(named, words).lookup(words))
    seen.watch = watch or seen.watch
    samples = UnlabelledSamples(images)
    with observer.begin(samples, len(samples)) as bar:
        for _, evidence in observer.each(samples, log=seen.log):
            seen.keep(evidence)
            bar.update()
    n_images, log = len(seen.evidence), seen.log
    log.check(n_images)
    lost = list(log.unreadable.values())
    row = {"n_images": n_images, "n_unreadable": len(lost), "unreadable": "; ".join(lost)}
    warnings = (*copies_taken, *unreadable_warning(lost, len(samples)))
    return replace(
        Site.of_evidence(seen.evidence, tuple(named), blocks_of_read(samples, log.unreadable)),
        named=bool(categories),
        present=checked_present(new.present, categories, tuple(named)),
        warnings=(*warnings, *fitted.repeated_warnings, *identity_warnings(detector)),
        backbone=detector.backbone,
        evidence=tuple(seen.evidence),
        images=images,
        detector=detector.fingerprint,
        row=row | log.seconds,
    )


def unreadable_warning(lost: Sequence[str], n_images: int | None = None) -> tuple[str, ...]:
    """Warn of images that could not be read, and name two of them; `lost` has names and reasons."""
    if not lost:
        return ()
    how_many = (
        counted(len(lost), "image") if n_images is None else f"{len(lost)} of {n_images} images"
    )
    text = f"{how_many} could not be read and were left out: {listed(lost, N_NAMED)}"
    return (Notice("images-unreadable", text),)


def any_task(named: Categories, words: Sequence[str]) -> Task:
    """Make a task without data of some categories, each with the detector's words for it."""
    mapping = words_of(named)
    unknown = [word for word in mapping if word not in words]
    if unknown:
        raise InputError(
            f"Expected words of the detector but got {', '.join(unknown)}. It knows "
            f"{', '.join(words)}."
        )
    return Task("any", tuple(named), (), mapping)


def own_words(detector: ImageDetector) -> Task:
    """Make a task without data whose categories are the detector's own words."""
    words = detector.categories
    return any_task({word: [word] for word in words}, words)


def as_fitted(files: Predictions, context: Mapping[str, Any]) -> Predictions:
    """Keep the reference that a fit has chosen, where new images have boxes of several."""
    several = files.references
    if len(several) < 2:
        return replace(files, reference=several[0] if several else None)
    choice = context.get(CHOSEN)
    if choice is None or choice["of"] != len(several):
        fitted = (
            f"{choice['of']} reference detectors" if choice else "one reference detector or none"
        )
        raise InputError(
            f"Expected the boxes of the reference detector that the fit reads, but got those of "
            f"{len(several)}, and it was fitted with {fitted}: give its boxes alone."
        )
    return replace(files, reference=several[choice["number"]])
