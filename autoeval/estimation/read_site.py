"""A new site from predictions, read as those of the fit: boxes, images, possible categories.

`AccuracyEstimator.read_site` calls `site_of_files` and `boxes_of_fit`; monitoring calls the first
for each site. Where a detector is run, `autoeval.estimation.run_detector` makes the boxes, which
are read as those of a file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.boxes import Boxes, Categories, DetectorRun, LabelledImage, over_threshold, words_of
from autoeval.detections import SCORE_THR
from autoeval.errors import InputError
from autoeval.estimation.checks import unreadable_warning
from autoeval.estimation.given import Predictions, check_words, with_own_names
from autoeval.io.find_images import ImageArray, Images, UnlabelledImage, list_images
from autoeval.io.image_lists import (
    ImageFile,
    images_in_memory,
    is_pattern,
    load_image_folder,
    read_image_list,
)
from autoeval.io.images import image_size
from autoeval.io.labels.content import LabelSet
from autoeval.io.predictions.covered_images import (
    copies,
    copies_left_out,
    truth_on_images,
    unseen_images,
)
from autoeval.io.predictions.reading import unknown_sizes
from autoeval.sites.file_looks import (
    FEWEST_SURE,
    NEVER,
    ROUNDING,
    SURE,
    Looks,
    check_floor,
    unseen_share,
)
from autoeval.sites.site import Site
from autoeval.words import Notice, prefixed

ENOUGH_OF_REFERENCE = 100  # boxes, of which hardly none is near the lowest score
LOWER = 0.05  # of a score at which files begin
SAME = 0.9  # of the boxes of a labelled set; a new image has none of them to all digits
CHOSEN = "reference_chosen"  # in the context of a fit: ``number``, counted from 0, and ``of``
GivenImages = Images | Sequence[LabelledImage] | LabelSet | None


def with_chosen_reference(files: Predictions, context: Mapping[str, Any]) -> Predictions:
    """Keep the reference that a fit has chosen, of the several whose boxes new images have.

    Parameters
    ----------
    files : Predictions
        With several references, in the order of the fit.
    context : mapping
        Of the fit; see `AccuracyEstimator`.

    Raises
    ------
    InputError
        If the fit did not choose among as many.
    """
    several, choice = files.references, context.get(CHOSEN)
    if choice is None or choice["of"] != len(several):
        fitted = (
            f"{choice['of']} reference detectors" if choice else "one reference detector or none"
        )
        raise InputError(
            f"Expected the boxes of the reference detector that the fit reads, but got those of "
            f"{len(several)}, and it was fitted with {fitted}: give its boxes alone."
        )
    return replace(files, reference=several[choice["number"]])


def site_of_files(
    files: Predictions,
    looks: Looks,
    images: GivenImages,
    *,
    categories: Categories | None = None,
    present: Collection[str] = (),
    labelled: LabelSet | None = None,
    all_seen: bool = False,
) -> Site:
    """Read the predictions of new images, as those of a fit; compare both, and choose its floor.

    Parameters
    ----------
    files : Predictions
        In files or in memory, with one reference or none.
    looks : Looks
        Of the files of the fit.
    images : path-like or sequence or None
        All that the detector was run on; by default those that the predictions name. See
        `listed_images`.
    categories : mapping of str to sequence of str, optional
        That may count, each with the detector's words for it; by default each of these words.
    present : collection of str
        Categories that are said to be there.
    labelled : LabelSet, optional
        Labels of some of the images, which tell images with equal boxes apart.
    all_seen : bool
        Whether all images count: those without a box, however many, are then never left out as not
        seen, which is a warning.

    Returns
    -------
    Site
        Not yet calibrated; with the floor at which the fit is read, the share of the confidence
        that is unseen, warnings and what was left out.

    Raises
    ------
    InputError
        If nothing can be read, the boxes are of another detector, or their scores do not compare
        with those of the fit.
    """
    if images is None and isinstance(files.path, Boxes) and files.path.listed:
        images = files.path.images
    numbers_of_list = dict[str, str]()
    described, image_files, unplaced = listed_images(images, numbers_of_list)
    named = isinstance(images, str | os.PathLike)
    site = files.read(
        described,
        where=str(images) if named else "the list of images",
        numbers=looks.numbers,
        words=looks.categories,
        kind=looks.kind,
        of_images=numbers_of_list,
        of_fit=looks.frequencies,
    )
    boxes = site.boxes
    warnings, left_out = list[Notice](), list[Notice]()
    of_input = {"images-not-placed"}  # an image that is in no list is a warning
    if named and (Path(str(images)).is_dir() or is_pattern(str(images))):
        names = [image.file_name for image in described or ()]
        of_input |= set() if names == sorted(names) else {"images-by-place"}
    for note in (*unplaced, *site.left_out):
        if note.code in of_input:
            warnings.append(_in_which_order(note) if note.code == "images-by-place" else note)
        else:
            left_out.append(note)
    warnings += boxes.warnings
    if site.reference is not None:
        warnings += prefixed("reference", site.reference.warnings)
    site = replace(site, warnings=tuple(warnings), left_out=tuple(left_out))
    if site.reference is not None:
        site = reference_as_in_fit(site, looks)
    site = replace(site, warnings=(*site.warnings, *looks.warnings))
    # before boxes are compared: by all of them, and copies count in nothing
    site = _without_copied_images(replace(site, images=image_files), labelled, named=named)
    boxes, run = site.boxes, site.boxes.run
    absent, of_absent = np.zeros(0, np.int64), tuple[Notice, ...]()
    if images is not None:  # by all boxes: a fit may leave the lower ones out
        every, complete = np.arange(len(site)), files.complete and not all_seen
        absent, of_absent = unseen_images(boxes, every, "the file", complete=complete)
    if run is not None and _has_detector_of_fit(run, looks):
        site = _over_thresholds(site, run, looks)
    else:
        site = compared_with_fit(site, looks, complete=files.complete)
    if run is not None:
        site = _knowing_run(site, run)
    site = replace(site, left_out=(*site.left_out, *unknown_sizes(site.boxes)))
    if images is None and run is None and not boxes.lists_images:
        text = (
            "images without a box are not known, and count as if there were none: list all images"
        )
        notice = Notice("images-without-box-unknown", text, severity="note")
        site = replace(site, warnings=(*site.warnings, notice))
    site = replace(site, warnings=(*site.warnings, *of_absent))
    site = site.without_images(absent) if len(absent) else site
    if categories:
        categories = with_own_names(categories, looks.frequencies, site.boxes.categories)
        odd = check_words(categories, {*looks.categories, *site.boxes.categories})
        known_words = [word for word in words_of(categories) if word in looks.categories]
        site = replace(site, warnings=(*site.warnings, *odd)).knowing(known_words)
        return site.as_categories(list(categories), words_of(categories))
    known_present = [name for name in present if name in looks.categories]
    return site.knowing(known_present) if known_present else site


def _in_which_order(note: Notice) -> Notice:
    """Warn that items are in the order of a folder or pattern, which is sorted in two ways."""
    text = (
        f"{note} of the folder or pattern, whose names are sorted by their numbers (2.jpg before "
        "10.jpg), and not as Python sorts them (10.jpg before 2.jpg). Give the paths of the images "
        "in the order of the items"
    )
    return Notice("images-by-place", text)


def listed_images(
    images: GivenImages, numbers: dict[str, str]
) -> tuple[Sequence[LabelledImage] | None, Sequence[UnlabelledImage], list[Notice]]:
    """List the images that a detector was run on.

    Parameters
    ----------
    images : path-like, sequence, LabelSet or None
        A folder, a list of images or a COCO document as a path; a COCO document in memory; or
        `LabelledImage`, as of a plan; or paths and arrays (H, W, 3). See `GivenImages`.
    numbers : dict of str to str
        Takes the word of each category number that a COCO document has.

    Returns
    -------
    images : sequence of LabelledImage or None
        None where predictions alone name them.
    files : sequence of UnlabelledImage
        Their files, where these are known.
    left_out : list of Notice
        What was left out of a list.
    """
    left_out = list[Notice]()
    if images is None:
        return None, (), left_out
    if isinstance(images, str | os.PathLike):
        in_folder = load_image_folder(images) if Path(images).is_dir() else ()
        return read_image_list(images, left_out, numbers), in_folder, left_out
    in_document = images_in_memory(images, left_out, numbers)
    if in_document is not None:
        return in_document, (), left_out
    if isinstance(images, LabelSet):
        numbers |= zip(images.numbers, images.categories, strict=False)  # text has no numbers
        images = images.images
    # a table and a mapping would give the names of their columns and keys
    one = isinstance(images, Mapping) or hasattr(images, "columns")
    items = list[Any](images) if isinstance(images, Iterable) and not one else [images]
    described = [image for image in items if isinstance(image, LabelledImage)]  # as of a plan
    if described and len(described) == len(items):
        return described, (), left_out
    image_files = list_images(items)
    sized = list[LabelledImage]()
    for image in image_files:
        name, size = image.image_id, None
        if isinstance(image, ImageArray):
            size = image.pixels.shape[0], image.pixels.shape[1]
        elif isinstance(image, ImageFile):
            size = image_size(image.path)  # by its header
            path = image.path.as_posix()
            name = name if path.endswith(name) else path  # by which predictions may call it
        sized.append(LabelledImage(image.image_id, name, size))
    return sized, image_files, left_out


def compared_with_fit(site: Site, looks: Looks, *, complete: bool = True) -> Site:
    """Keep the boxes that files of the fit would hold, and find out why they begin where they do.

    Boxes under the lowest score of the fit are left out, unless one threshold may explain both
    files.

    Parameters
    ----------
    site : Site
        As read.
    looks : Looks
        Of the fit.
    complete : bool
        Whether a file that begins at a high score is refused.

    Returns
    -------
    Site
        With the floor at which the fit is read, the share of the confidence that is unseen,
        and warnings of both.

    Raises
    ------
    InputError
        As `Looks.compare` and `check_floor`.
    """
    boxes, left_out = site.boxes, site.left_out
    under = boxes.scores < looks.floor - ROUNDING  # .01 is less in float32
    n_under = int(np.count_nonzero(under))
    # If both files were cut at one threshold, the n boxes of the fit and the m new ones are in
    # random order by score: the k lowest of all n + m are new ones with a probability of less than
    # (m / (n + m))^k. Where that is no less than `NEVER`, the new boxes under the fit stay.
    ratio = (looks.n_boxes + len(boxes)) / max(len(boxes), 1)
    if n_under and (not looks.n_boxes or n_under * math.log(ratio) > -math.log(NEVER)):
        boxes = boxes.where(~under)
        text = (
            f"boxes under {looks.floor:.3g}, the lowest score in the fit: {n_under}; the estimate "
            "is of the boxes over it. Fit on predictions from .01 on (Ultralytics: conf=0.01) for "
            "one of all"
        )
        left_out = (*left_out, Notice("low-scores-missing", text, severity="note"))
    start, warnings = looks.compare(boxes)
    if start.cut or start.unlikely:
        unseen = unseen_share(boxes, max(looks.floor, SCORE_THR))
    elif start.by_chance:
        unseen = 0.0
    else:
        unseen = unseen_share(boxes)
        missing = check_floor(boxes, "the file", complete=complete)  # or refuses the file
        warnings += () if start.threshold else missing  # `Looks.compare` warned of a threshold
    return replace(
        site,
        boxes=boxes,
        floor=start.threshold,
        unseen=max(unseen, looks.unseen),
        warnings=(*site.warnings, *warnings),
        left_out=left_out,
    )


def reference_as_in_fit(site: Site, looks: Looks) -> Site:
    """Keep the boxes of a reference detector that its file of the fit would hold.

    Its boxes count as probable objects, so that with more of them, or fewer, an estimate is of
    other ones: a file that begins higher than that of the fit is warned of.

    Parameters
    ----------
    site : Site
        Of new images, with a reference.
    looks : Looks
        Of the fit.
    """
    reference = site.reference
    assert reference is not None
    kept = reference.where(reference.scores >= looks.reference_floor - ROUNDING)
    site = replace(site, reference=kept)
    enough = len(kept) >= ENOUGH_OF_REFERENCE and looks.reference_floor > 0
    if not enough or kept.floor <= looks.reference_floor + LOWER:
        return site
    text = (
        f"its scores begin at {kept.floor:.2g}, and in the fit at {looks.reference_floor:.2g}: "
        "fewer of its boxes count as objects, and the estimate is too high. Export its boxes from "
        "the same score on"
    )
    cut = prefixed("reference", [Notice("low-scores-missing", text)])
    return replace(site, warnings=(*site.warnings, *cut))


def _has_detector_of_fit(run: DetectorRun, looks: Looks) -> bool:
    """Whether the detector of the fit found boxes, so that all their scores compare.

    Parameters
    ----------
    run : DetectorRun
        Of the new boxes, as `autoeval detect` noted it.
    looks : Looks
        Of the fit.

    Returns
    -------
    bool
        False where nobody knows, and where the fit has lower scores than the boxes can have.

    Raises
    ------
    InputError
        If another detector found them, or the same one with other settings, but for the
        threshold of scores.
    """
    if not looks.detector:
        return False
    from autoeval.estimation.observation.detector_identity import (
        refuse_differences,
        score_thresholds,
    )
    from autoeval.estimation.observation.pass_settings import of_plain_pass

    fitted, now = looks.detector, of_plain_pass(run.settings)
    thresholds, thresholds_now = score_thresholds(fitted), score_thresholds(now)
    without = dict.fromkeys((*thresholds, *thresholds_now))  # compared by themselves
    refuse_differences({**fitted, **without}, {**now, **without}, "detector.")
    return all(value <= thresholds.get(name, 0.0) for name, value in thresholds_now.items())


def _over_thresholds(site: Site, run: DetectorRun, looks: Looks) -> Site:
    """Leave out boxes that the detector would not have given with the thresholds of the fit.

    Suppression goes from high scores to low ones, so those over a threshold do not depend on it.

    Parameters
    ----------
    site : Site
        As read.
    run : DetectorRun
        Of its boxes.
    looks : Looks
        Of the fit, whose detector is the same.

    Returns
    -------
    Site
        No share of its confidence is unseen.
    """
    from autoeval.estimation.observation.detector_identity import score_thresholds

    highest = max(score_thresholds(looks.detector).values(), default=0.0)
    kept = over_threshold(site.boxes.scores, highest)
    site = replace(site, unseen=0.0)
    if kept.all() or not score_thresholds(run.settings):
        return site
    text = (
        f"boxes up to {highest:g}, the threshold of the detector in the fit: "
        f"{int((~kept).sum())}; the estimate is of the boxes over it. Fit on boxes of `autoeval "
        "detect` for one of all"
    )
    note = Notice("low-scores-missing", text, severity="note")
    return replace(site, boxes=site.boxes.where(kept), left_out=(*site.left_out, note))


def _knowing_run(site: Site, run: DetectorRun) -> Site:
    """Note which detector found the boxes, and what it could not read."""
    from autoeval.estimation.observation.detector_identity import identity_warnings

    lost = unreadable_warning(run.unreadable, len(site) + len(run.unreadable))
    return replace(
        site,
        warnings=(*site.warnings, *lost, *identity_warnings(run)),
        backbone=run.backbone,
        detector=run.fingerprint,
        row={**site.row, "unreadable": "; ".join(run.unreadable)},
    )


def _without_copied_images(site: Site, labelled: LabelSet | None, *, named: bool) -> Site:
    """Leave out images that show the same as an earlier one.

    They are known byte by byte of a run of `autoeval detect` and of a folder that was `named`;
    others by their boxes, and their labels where there are some.

    Parameters
    ----------
    site : Site
        As read.
    labelled : LabelSet, optional
        Labels of some of the images.
    named : bool
        Whether the images were given by a path.
    """
    run = site.boxes.run
    if run is not None and run.knows_copies:
        later = np.flatnonzero(run.copies)
    else:
        truth = None if labelled is None else truth_on_images(labelled, site.boxes.images)
        paths = {
            image.image_id: image.path
            for image in site.images
            if named and isinstance(image, ImageFile)
        }
        later = copies(site.boxes, truth, paths)
    if not len(later):
        return site
    warnings = (*site.warnings, *copies_left_out(len(later)))
    return replace(site, warnings=warnings).without_images(later)


def boxes_of_fit(
    boxes: Boxes, looks: Looks, read_sites: Callable[[], Iterable[Site]], *, in_part: bool = False
) -> tuple[Notice, ...]:
    """Warn of boxes that are those of a labelled set of the fit: an easily exchanged file.

    Sites are read only where one has exactly as many confident boxes, or more `in_part`, and these
    are `FEWEST_SURE` or more. A set is recognised by `SAME` of its boxes, corners and score, to all
    digits of float32; in part by `SAME` of the new ones.

    Parameters
    ----------
    boxes : Boxes
        New predictions.
    looks : Looks
        Of the fit.
    read_sites : callable
        Returns the labelled sets of the fit.
    in_part : bool
        Whether the boxes are of some categories alone, and those of the fit may be of more.
    """
    n_sure = np.count_nonzero(over_threshold(boxes.scores, SURE))
    as_many = (n_sure <= s.n if in_part else n_sure == s.n for s in looks.confident)
    if n_sure < FEWEST_SURE or not any(as_many):
        return ()
    new_rows = rows_as_bytes(boxes)
    for labelled in read_sites():
        fit_rows = rows_as_bytes(labelled.boxes)
        wanted = new_rows if in_part else fit_rows
        if wanted and len(fit_rows & new_rows) >= SAME * len(wanted):
            text = (
                f"these boxes are those of the labelled set {labelled.name} of the fit: how "
                "accurate the detector is there its labels say. Of new images give their own "
                "predictions"
            )
            return (Notice("images-of-the-fit", text),)
    return ()


def rows_as_bytes(boxes: Boxes) -> set[bytes]:
    """Return corners and score of each box as bytes of float32, to be compared exactly.

    Parameters
    ----------
    boxes : Boxes
        Detected ones.
    """
    rows = np.column_stack([boxes.boxes, boxes.scores]).astype(np.float32)
    return {row.tobytes() for row in rows}
