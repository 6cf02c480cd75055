"""Watch many sites: read or observe what is new, estimate, compare with another detector.

`autoeval.monitor` and the command of that name. Options are checked and images found here; the
store of what was observed, windows, changes and states are in `autoeval.monitoring`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import Unpack

from autoeval.accuracy.measures import IOUS
from autoeval.api.options import (
    ResultsOptions,
    check_names,
    given_boxes_of,
    load_estimator,
    reference_is_for,
)
from autoeval.errors import InputError
from autoeval.words import Notice, listed, prefixed, refuse_given

if TYPE_CHECKING:
    from autoeval.boxes import Categories
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.io.image_lists import ImageFile
    from autoeval.monitoring.monitor_store import MonitorStore
    from autoeval.monitoring.monitored import Monitored
    from autoeval.runtime.files import PathLike


def monitor(
    estimator: AccuracyEstimator | PathLike,
    predictions: Any = None,
    *,
    images: Any = None,
    img_dir: PathLike | None = None,
    depth: int | None = None,
    categories: Categories | None = None,
    site_categories: Mapping[str, Categories] | None = None,
    present: Collection[str] = (),
    known_sites: Mapping[str, str] | None = None,
    by: str = "auto",
    time: str = "auto",
    baseline: str | None = None,
    labelled: Mapping[str, PathLike | float] | None = None,
    false_alarms: float = 0.05,
    alarm_below: float | None = None,
    alarm_on: Literal["changed"] | None = None,
    worst: int = 3,
    target: str | None = None,
    score_thr: float | None = None,
    iou: float = IOUS[0],
    against: AccuracyEstimator | PathLike | None = None,
    against_predictions: PathLike | None = None,
    against_known: Mapping[str, float] | None = None,
    keep: str | None = None,
    seed: int = 0,
    work_dir: PathLike,
    **boxes: Unpack[ResultsOptions],
) -> Monitored:
    """Watch many sites: the state of each, from unlabelled images, window by window.

    Boxes come from a detector or from results files. Images that an earlier run has seen are left
    alone, so the same call from cron goes on where the last one ended. On the command line status 3
    means with --fail-on-alarm that a site fell against its own baseline, or is below --alarm-below.

    Parameters
    ----------
    estimator : AccuracyEstimator or path-like
        Fitted with the same detector, or on its predictions: a work dir of fit or estimate-map, or
        estimator.parquet.
    predictions : path-like, Predictions, Detector or ImageDetector, optional
        Folder with COCO results, one file a site, or one file with a folder a site. In Python also
        the detector that is run over the images; by default the one of the estimator.
    images : path-like, optional
        Folder with a folder for each site, COCO JSON, pattern or list of paths; with predictions
        all images, since those without a box are not in them: a list of names in a folder a site,
        or for each file the images or a list of them.
    img_dir : path-like, optional
        Folder of the images that a COCO JSON names.
    depth : int, optional
        Folders that name a site, such as 1 for camera/2026/03/02/ (default: all).
    categories : mapping of str to sequence of str, optional
        A category, with the detector's words for it if the fit lacks them, as NAME or
        NAME=WORD,...; repeated for several (default: those of the fit, or all words). What is found
        counts, a single one always.
    site_categories : mapping of str to categories, optional
        A category that counts at one site, found or not, in place of the others, as SITE
        NAME[=WORD,...]; may be given several times.
    present : collection of str
        A category that is there and counts at every site, found or not; may be given several times.
    known_sites : mapping of str to str, optional
        Labelled set, or site of a task, of the fit of which a site's images are new ones, as
        SITE=NAME.
    by : str
        Windows: day, hour, every:200 images, or folder (auto: day, or every:50 where no image has a
        time).
    time : str
        exif, file, or a form of the time in file names such as %Y%m%d_%H%M%S (auto: EXIF where
        there is one, else the file's time; with predictions date_captured or datetime of the list
        of images).
    baseline : str, optional
        What a site is compared with: its first 7d, 12h or 200 images, or all before 2026-03-01
        (default: 7d, or 100 where no image has a time).
    labelled : mapping of str to path-like or float, optional
        What label estimate --json, or estimate --labels --json, printed for a site's baseline, as
        SITE=FILE: its level, in place of an estimate (in Python also the number).
    false_alarms : float
        Largest probability that a site ever raises one while it goes on showing the scenes of its
        baseline.
    alarm_below : float, optional
        Alarm at a site whose interval in the latest complete window lies below it, such as .6.
    alarm_on : str, optional
        Alarm also where the boxes changed, not known to be for the worse.
    worst : int
        How many sites count as worst.
    target : str, optional
        mAP, mAP50, mAP75, or with a score threshold precision, recall or f1 (default: that of the
        fit).
    score_thr : float, optional
        Score threshold: estimate recall and false alarms an image there, too.
    iou : float
        At which IoU with a labelled object a box over the threshold is a true positive.
    against : AccuracyEstimator or path-like, optional
        Work dir or estimator.parquet of another detector: where it would be better, and where worse
        (see `autoeval compare`).
    against_predictions : path-like, optional
        Folder with the boxes of that detector, SITE.json for each site; with images it is run.
    against_known : mapping of str to float, optional
        Accuracy of that detector at sites where it was measured, as SITE=POINTS,..., of 100 (in
        Python in [0, 1]); then this detector's there follows, with the interval of the difference.
    keep : str, optional
        Keep the boxes of the last 90d or 5000 images of each site, and of baselines and incomplete
        windows; estimates of earlier windows stay (default: all).
    seed : int
        Of every draw.
    work_dir : path-like
        Keeps what was observed: a call with the same one looks at new images alone.
    **boxes
        See `autoeval.api.options.ResultsOptions`.

    Returns
    -------
    Monitored
        ``monitored["gate"]`` is one site with its `state`, ``monitored.to_pandas()`` the table of
        all, ``monitored.windows()`` their histories.

    Raises
    ------
    InputError
        If the estimator or what `work_dir` keeps is of another detector, the store is damaged, no
        image of any site can be read, or options exclude each other.
    """
    from autoeval.estimation.given import Predictions, named_categories
    from autoeval.estimation.run_detector import Detector
    from autoeval.monitoring.candidate import (
        CANDIDATE,
        compare_at_sites,
        sites_of_predictions,
        sites_of_records,
    )
    from autoeval.monitoring.monitor import WatchedSites, monitor_images, monitor_predictions
    from autoeval.monitoring.monitor_store import MonitorStore
    from autoeval.monitoring.monitored import MonitorSettings, SiteCategories, labelled_level
    from autoeval.monitoring.windows import Clock

    check_names(boxes, ResultsOptions)
    if images is None and predictions is None:
        raise InputError("Expected --images ROOT, or --predictions PATH.")
    if alarm_on not in (None, "changed"):
        raise InputError(f"Expected --alarm-on changed, or none, but got {alarm_on!r}.")
    fitted = load_estimator(estimator, target, score_thr, iou)
    settings = MonitorSettings(
        by=by,
        depth=depth,
        baseline=baseline,
        false_alarms=false_alarms,
        alarm_below=alarm_below,
        alarm_on_changed=alarm_on == "changed",
        keep=keep,
        k=worst,
        seed=seed,
        score_thr=score_thr,
        iou=iou,
        fitted_sites=dict(known_sites or {}),
        labelled={
            site: labelled_level(level, fitted.target) for site, level in (labelled or {}).items()
        },
    )
    loading = fitted.loading_.get("detector")
    box_source = given_boxes_of(predictions, boxes, loading, fitted.detector_)
    by_files = isinstance(box_source, Predictions)
    if by_files:
        reason = "is about images that a detector is run on, and --predictions need none of it."
        refuse_given({"img_dir": img_dir}, reason)
    if against is None:
        of_against = {"against_predictions": against_predictions, "against_known": against_known}
        refuse_given(of_against, "goes with --against")
    elif by_files != (against_predictions is not None):
        raise InputError(
            "--against FILE takes --against-predictions DIR where --predictions are given, the "
            "boxes of both detectors at each site, and runs its own detector on --images."
        )
    of_sites = SiteCategories(
        words=(),
        of_fit=fitted.categories_,
        joined=fitted.context_.get("words"),
        named=named_categories(categories),
        of_site={
            site: named_categories(words) or {} for site, words in (site_categories or {}).items()
        },
        present=present,
        known=fitted.looks_.frequencies if fitted.looks_ else (),
    )
    store = MonitorStore(work_dir)
    shared = WatchedSites(fitted, store, settings, of_sites)
    files: tuple[ImageFile, ...] = ()
    candidate_fit = None if against is None else load_estimator(against)
    of_current = box_source
    of_this = candidate_fit is None or reference_is_for((fitted, candidate_fit))[0]
    if not of_this and isinstance(box_source, Predictions):
        of_current = replace(box_source, reference=None, reference_names={})
    elif not of_this and isinstance(box_source, Detector):
        of_current = copy(box_source)
        of_current.reference = None
    if isinstance(of_current, Predictions):
        monitored = monitor_predictions(of_current, shared, images_list=images, time_form=time)
    else:
        files = _image_files(images, img_dir)
        _check_sites(images, files, store)
        run = of_current or Detector(fitted.load_detector())
        monitored = monitor_images(files, run, Clock(time), shared)
    if candidate_fit is not None:
        lost = tuple[Notice, ...]()
        if isinstance(box_source, Predictions):
            assert against_predictions is not None
            sites, lost = sites_of_predictions(
                fitted,
                candidate_fit,
                box_source,
                against_predictions,
                of_sites,
                images_list=images,
                depth=depth,
            )
        else:
            lost = _observe(
                candidate_fit, box_source, files, Path(work_dir), time, depth, boxes.get("device")
            )
            lost = tuple(notice for notice in lost if notice not in monitored.warnings)
            lost = tuple(prefixed(CANDIDATE, lost))
            stores = store, MonitorStore(store.folder / CANDIDATE)
            if keep is not None:  # what one detector has no boxes of is not compared
                index = store.index()
                stores[1].forget(index["name"][~index["kept"]])
            sites = sites_of_records((fitted, candidate_fit), stores, of_sites)
        table, not_compared = compare_at_sites(
            fitted, candidate_fit, sites, level=fitted.level, known=against_known
        )
        monitored = replace(monitored, candidate=(table, (*lost, *not_compared)))
    return replace(monitored, pictures={image.image_id: image.path for image in files})


def _image_files(images: Any, img_dir: Any) -> tuple[ImageFile, ...]:
    """Find the images of all sites, and name on standard error what is passed over; no videos.

    Parameters
    ----------
    images, img_dir
        As given to `monitor`.

    Raises
    ------
    InputError
        If there are no images.
    """
    from autoeval.io.find_images import find_images
    from autoeval.io.image_lists import ImageFile

    if images is None:
        raise InputError("Expected predictions, or images to run the detector on.")
    image_list = find_images(images, img_dir)
    for skipped in image_list.skipped:
        print(f"note: {skipped}", file=sys.stderr)
    files = [image for image in image_list.images if isinstance(image, ImageFile)]
    # an id of a COCO file names no site
    names = [PurePosixPath(image.file_name or image.image_id).as_posix() for image in files]
    named = {name: replace(image, image_id=name) for name, image in zip(names, files, strict=True)}
    return tuple(named.values())


def _check_sites(images: Any, files: tuple[ImageFile, ...], store: MonitorStore) -> None:
    """Refuse a list of images that calls their sites otherwise than the list of an earlier run.

    Names begin below the deepest folder that holds all listed images: of one site alone they have
    no folder, so that its new images would be of another site.

    Parameters
    ----------
    images : path-like
        As given to `monitor`; only a list or a pattern is looked at.
    files : tuple of ImageFile
        Images of all sites.
    store : MonitorStore
        What earlier runs observed.

    Raises
    ------
    InputError
        If the images lie in one folder and those of the store do not, or the other way round.
    """
    from autoeval.io.find_images import LISTS
    from autoeval.io.image_lists import STANDARD_INPUT, is_pattern, suffix_of
    from autoeval.monitoring.monitor_store import ROOT, site_of

    name = os.fspath(images)
    if not (is_pattern(name) or name == STANDARD_INPUT or suffix_of(name) in LISTS):
        return
    before, now = set(store.index()["site"]), {site_of(image.image_id) for image in files}
    if before and (before == {ROOT}) != (now == {ROOT}):
        several = listed(sorted((before | now) - {ROOT}), most=3)
        raise InputError(
            f"The images of {name} lie in {'one folder' if now == {ROOT} else 'several folders'}, "
            f"and those that {store.folder} knows do not: their sites ({several}) are called by "
            "the folders below the deepest one that holds all listed images. Name the folder that "
            "holds the folders of all sites (--images ROOT), or list images of several sites."
        )


def _observe(
    other_fit: AccuracyEstimator,
    first_detector: Any,
    files: tuple[ImageFile, ...],
    folder: Path,
    time: str,
    depth: int | None,
    device: str | None,
) -> tuple[Notice, ...]:
    """Run the other detector, as the first one is, on the images that it has not seen yet.

    Returned are warnings of images that it lost.

    Parameters
    ----------
    other_fit : AccuracyEstimator
        Fit of the other detector, which knows how it is loaded.
    first_detector : Detector, optional
        How the first one is run: its reading, its executor, and its reference where the other fit
        reads one, too.
    files : tuple of ImageFile
        Images of all sites.
    folder : Path
        The work dir, in whose subfolder `CANDIDATE` the other store lies.
    time, depth, device
        As given to `monitor`.
    """
    from autoeval.detectors.detector_spec import DetectorSpec
    from autoeval.estimation.run_detector import Detector
    from autoeval.model.pair_table import REFERENCE_AP
    from autoeval.monitoring.candidate import CANDIDATE
    from autoeval.monitoring.monitor_store import MonitorStore
    from autoeval.monitoring.read_sites import lost_warnings, observe_images
    from autoeval.monitoring.windows import Clock

    kept = other_fit.loading_.get("detector")
    run = Detector(
        DetectorSpec.from_dict({**kept, "device": device or kept.get("device")})
        if kept
        else other_fit.load_detector(),
        reference=first_detector.reference
        if first_detector and REFERENCE_AP in other_fit.rows_
        else None,
        executor=first_detector.executor if first_detector else None,
    )
    run.reading = first_detector.reading if first_detector else run.reading
    store, clock = MonitorStore(folder / CANDIDATE), Clock(time)
    lost = observe_images(files, other_fit, run, store, clock, depth)
    return tuple(lost_warnings(*lost, store.index()))
