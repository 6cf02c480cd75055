"""A site without labels, as an estimate needs it: from prediction files, or from images."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.boxes import Boxes, DetectorRun, LabelledImage
from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.estimation.given_boxes import Predictions
from autoeval.estimation.observation.detector_identity import (
    identity_warnings,
    refuse_differences,
)
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.pass_settings import of_plain_pass
from autoeval.estimation.observation.samples import PassLog, UnlabelledSamples, blocks_of_read
from autoeval.io.find_images import UnlabelledImage
from autoeval.io.image_folder import ImageFile, load_image_folder
from autoeval.io.labels.content import LabelSet
from autoeval.io.predictions import read_image_list
from autoeval.io.predictions.box_checks import (
    copies,
    copies_left_out,
    labels_of_images,
    unseen_images,
)
from autoeval.io.same_files import without_copies
from autoeval.io.tasks.task import Task
from autoeval.io.wording import listed, listed_near
from autoeval.notices import Notice, as_notice
from autoeval.runtime.files import PathLike
from autoeval.sites.category_numbers import numbered_by_fit
from autoeval.sites.file_looks import ListStart, Looks, check_floor
from autoeval.sites.pool import unknown_sizes
from autoeval.sites.site import BLACK_BOX, Site
from autoeval.words import counted

Categories = Mapping[str, Sequence[str]]
N_NAMED = 2  # unreadable images that a warning names
THRESHOLDS = ("test_cfg.score_thr", "test_cfg.rcnn.score_thr")  # of mmdet, in settings


def site_of_files(
    files: Predictions,
    statistics: Looks,
    *,
    images: PathLike | Sequence[LabelledImage] | None = None,
    categories: Categories | None = None,
    labelled: LabelSet | None = None,
    present: Collection[str] = (),
) -> Site:
    """Read the predictions of new images.

    images: all images that the detector was run on; see `read_image_list`. By default those that
        the predictions name.
    categories: that may count, each with the detector's words for it; by default all its words.
    labelled: labels of some of the images, which tell images with equal boxes apart.
    present: those of the categories that count in any case; a single one always does.
    """
    folder: Sequence[ImageFile] = ()
    listed_images: Sequence[LabelledImage] | None
    left_out = list[str]()
    if isinstance(images, str | os.PathLike):
        listed_images, where = read_image_list(images, left_out), str(images)
        folder = load_image_folder(images) if Path(images).is_dir() else ()
    else:
        listed_images, where = images, "the list of images"
    words = statistics.categories
    numbers, kind = statistics.numbers, statistics.kind
    site = files.read(listed_images, where=where, numbers=numbers, words=words, kind=kind)
    site = replace(
        site, boxes=numbered_by_fit(site.boxes, statistics.frequencies, kind, files.name)
    )
    run, is_of_fit = site.boxes.run, has_detector_of_fit(site.boxes, statistics)
    site, cut = (over_thresholds if is_of_fit else as_in_fit)(site, statistics)
    clean = site.boxes
    left_out += [*left_out_of(site), *cut]
    warnings = [*clean.warnings, *statistics.warnings]
    start = ListStart()
    if not is_of_fit:  # else scores compare, wherever the lowest one happens to be
        warnings += statistics.differences(clean)
        start = statistics.start_of(clean)
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
    if isinstance(images, str | os.PathLike):
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
        unseen = max(statistics.unseen_of(clean, start), statistics.unseen)
    of_labels = None if labelled is None else labels_of_images(labelled, clean.images)
    if clean.run is not None and clean.run.knows_images:
        later = np.flatnonzero(clean.run.copies)  # byte by byte
    else:
        later = copies(clean, of_labels, {file.image_id: file.path for file in folder})
    if len(later):
        warnings += copies_left_out(len(later))
        site = site.on_images(np.setdiff1d(np.arange(len(site)), later))
    if categories:
        warnings += check_words(categories, {*statistics.categories, *clean.categories})
        words_of_fit = [word for word in words_of(categories) if word in statistics.categories]
        site = site.knowing(words_of_fit).as_categories(list(categories), words_of(categories))
    elif present:
        site = site.knowing([name for name in present if name in statistics.categories])
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


def left_out_of(site: Site) -> list[str]:
    """Return what was left out of the boxes, and of those of a reference."""
    of_reference = site.reference.left_out if site.reference is not None else ()
    return [*site.boxes.left_out, *of_reference]


def has_detector_of_fit(boxes: Boxes, statistics: Looks) -> bool:
    """Whether boxes are of the detector of the fit, so that all their scores compare.

    False where nobody knows, and where the fit has lower scores than the boxes can have. Raises
    `InputError` if another detector found them, or the same one with other settings, but for the
    threshold of scores.
    """
    if boxes.run is None or not statistics.detector:
        return False
    fitted, now = statistics.detector, of_plain_pass(boxes.run.settings)
    refuse_differences(_without_thresholds(fitted), _without_thresholds(now), "detector.")
    return all((now.get(name) or 0.0) <= (fitted.get(name) or 0.0) for name in THRESHOLDS)


def _without_thresholds(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in THRESHOLDS}


def over_thresholds(site: Site, statistics: Looks) -> tuple[Site, tuple[str, ...]]:
    """Leave out boxes that the detector would not have given with the thresholds of the fit.

    Suppression goes from high scores to low ones, so those over a threshold do not depend on it.
    """
    highest = max(statistics.detector.get(name) or 0.0 for name in THRESHOLDS)
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


def as_in_fit(site: Site, statistics: Looks) -> tuple[Site, tuple[str, ...]]:
    """Leave out boxes with scores under those of the fit; say so."""
    under = statistics.under_floor(site.boxes)
    if not under.any():
        return site, ()
    note = Notice(
        "low-scores-missing",
        f"boxes under {statistics.floor:.3g}, the lowest score in the fit: {int(under.sum())}; "
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


def site_of_images(
    observer: Observer,
    images: Sequence[UnlabelledImage],
    *,
    categories: Categories | None = None,
    present: Collection[str] = (),
    watch: Callable[[Evidence], object] = lambda evidence: None,
) -> Site:
    """Run a detector over images without labels.

    observer: in the detector's own words, see `any_task`.
    images: copies of a file, byte by byte, are left out.
    """
    words = observer.task.categories  # the detector's own may hold one twice, as "N/A"
    named = categories or {word: [word] for word in words}
    distinct, warnings = without_copies(images)
    samples = UnlabelledSamples(distinct)
    seen = SeenImages(watch, any_task(named, words).lookup(words))
    with observer.begin(samples, len(samples)) as bar:
        for _, evidence in observer.each(samples, log=seen.log):
            seen.keep(evidence)
            bar.update()
    n_images, log = len(seen.evidence), seen.log
    log.check(n_images)
    lost = list(log.unreadable.values())
    row = {"n_images": n_images, "n_unreadable": len(lost), "unreadable": "; ".join(lost)}
    blocks = blocks_of_read(samples, log.unreadable)
    return replace(
        Site.of_evidence(seen.evidence, tuple(named), blocks),
        named=bool(categories),
        present=checked_present(present, categories, tuple(named)),
        warnings=(*warnings, *unreadable_warning(lost, len(samples))),
        backbone=observer.detector.backbone,
        evidence=tuple(seen.evidence),
        images=distinct,
        detector=observer.detector.fingerprint,
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


def named_categories(given: Categories | Sequence[str] | None) -> dict[str, list[str]] | None:
    """Return categories with the detector's words for each, a list; None for none.

    A single word stands for a list of one, and a list of categories for each by its own word.

    Examples
    --------
    >>> named_categories({"vehicle": "car"}), named_categories(["car"])
    ({'vehicle': ['car']}, {'car': ['car']})
    """
    if not given:
        return None
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Mapping):
        given = {name: [name] for name in given}
    return {
        name: [words] if isinstance(words, str) else list(words or [name])
        for name, words in given.items()
    }


def words_of(categories: Categories) -> dict[str, str]:
    """Return the category of each word of the detector; a category without words is its own."""
    categories_of: dict[str, str] = {}
    for name, words in categories.items():
        for word in words or [name]:
            if categories_of.setdefault(word, name) != name:
                raise InputError(
                    f"The word '{word}' is given to two categories, {categories_of[word]} and "
                    f"{name}: a box counts for one."
                )
    return categories_of


def given_categories(given: Categories | None, of_fit: Categories | None) -> Categories | None:
    """Return the categories that may count at a site, each with the detector's words for it.

    given: for the site; one without other words than its own name has those of the fit.
    of_fit: categories whose words the fit knows, which stand where none are given.

    >>> given_categories({"vehicle": ["vehicle"]}, {"vehicle": ["car", "bus"], "dog": ["dog"]})
    {'vehicle': ['car', 'bus']}
    """
    if not given:
        return of_fit
    known = of_fit or {}
    return {
        name: known[name] if name in known and list(words or [name]) == [name] else words
        for name, words in given.items()
    }


def checked_present(
    present: Collection[str], categories: Categories | None, names: Sequence[str]
) -> tuple[str, ...]:
    """Return the categories that are said to be there; a single one that may count always is.

    names: of the categories of the site. Raises InputError for others.
    """
    unknown = [name for name in present if name not in names]
    if unknown:
        raise InputError(
            f"Expected `present` (--present) to name categories of the site but got "
            f"{listed(unknown)}. There are {listed_near(unknown, sorted(names))}."
        )
    return tuple(dict.fromkeys([*present, *(categories or {})] if _single(categories) else present))


def _single(categories: Categories | None) -> bool:
    return categories is not None and len(categories) == 1


def check_words(categories: Categories, vocabulary: set[str]) -> list[str]:
    """Warn of words that no box has; refuse a category that has no other."""
    warnings: list[str] = []
    for name, words in categories.items():
        unknown = [word for word in words or [name] if word not in vocabulary]
        if len(unknown) == len(words or [name]):
            raise InputError(
                f"No box is called {listed(unknown)}, neither here nor where the estimator was "
                f"fitted. The detector's words: {listed_near(unknown, sorted(vocabulary))}."
            )
        if unknown:
            warnings.append(
                Notice(
                    "word-not-known",
                    f"no box is called {listed(unknown)}, here or in the fit: check the word",
                )
            )
    return warnings
