"""One run over many sites: observe or read what is new, estimate, rank, look for changes."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.given_boxes import Detector, Predictions
from autoeval.estimation.nothing_found import nothing_found_text
from autoeval.estimation.observation.detector_identity import identity_warnings
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.panel_prior import calibration_prior
from autoeval.estimation.reference_choice import as_fitted
from autoeval.estimation.site import BLACK_BOX, Categories, any_task, given_categories
from autoeval.io.image_folder import ImageFile
from autoeval.io.predictions.category_words import read_names
from autoeval.io.wording import listed
from autoeval.monitoring.changes.site_changes import site_changes
from autoeval.monitoring.observing.reading_results import ResultsReader, read_results
from autoeval.monitoring.observing.results_files import find_results
from autoeval.monitoring.observing.site_pass import (
    HALF,
    NO_REFERENCE,
    REFERENCE,
    Signals,
    SiteImage,
    SitePass,
    needed_passes,
    observe_sites,
    site_images,
    site_observer,
)
from autoeval.monitoring.order.alarms import with_alarms_below, with_changes
from autoeval.monitoring.order.site_table import site_table
from autoeval.monitoring.periods import AUTO, EXIF, FILE, Clock, time_warnings
from autoeval.monitoring.site_categories import SiteCategories, check_named_sites
from autoeval.monitoring.site_records import RecordStore
from autoeval.monitoring.watch_plan import WatchPlan
from autoeval.monitoring.watched import Watched
from autoeval.notices import Notice
from autoeval.report.tables import counted
from autoeval.runtime.files import PathLike
from autoeval.runtime.jobs import JobCounts
from autoeval.runtime.shards import Shards

NO_SIGNALS = (
    "Predictions without images: sharpness, noise, light and compression are not measured. Most "
    "alarms come from these; from boxes alone fewer falls raise one, and later."
)
NO_HALF_SIZE = "No predictions at half the input size: everything rests on the boxes at full size."
NO_TIMES = (
    "Images without a time are taken in the order of their file, and each as independent of the "
    "others: where neighbours show the same, false alarms are more frequent than the nominal rate."
)


def watch_sites(
    files: Sequence[ImageFile],
    estimator: AccuracyEstimator,
    detector: Detector | ImageDetector,
    store: RecordStore,
    plan: WatchPlan,
    *,
    clock: Clock,
    signals: Signals,
    categories: Categories | None = None,
    site_categories: Mapping[str, Categories] | None = None,
    present: Collection[str] = (),
    shards: Shards | None = None,
) -> Watched | None:
    """Observe the images that the store lacks, and estimate all sites.

    Images that were observed once and are no longer there still count: a camera's history is what
    it is compared with.

    Parameters
    ----------
    files : sequence of ImageFile
    estimator : AccuracyEstimator
        Of the method ``bayes``, fitted with the same detector.
    detector : Detector or ImageDetector
        A `Detector` also says how it is run; its reference, a stronger detector, is run, too, by
        default that of the fit, where it had one.
    store : RecordStore
    plan : WatchPlan
    clock, signals
        See `SitePass`.
    categories, site_categories : mapping, optional
        Names and words of all sites, and of single ones; see `SiteCategories`.
    present : collection of str
        Categories that count at every site, found or not.
    shards : Shards, optional
        Which processes share the images; see `observe_sites`.

    Returns
    -------
    Watched or None
        None in processes that help to observe and do not lead.

    Raises
    ------
    InputError
        If the estimator or the store is of another detector, or no image of any site can be read.
    """
    plan.check(estimator)
    run = detector if isinstance(detector, Detector) else Detector(detector)
    observer = _observer(estimator, run)
    words = run.loaded.categories
    chosen = SiteCategories(words, estimator.words_, categories, site_categories or {}, present)
    for given in filter(None, (categories, *chosen.of_site.values())):
        any_task(
            given_categories(given, estimator.words_) or {}, words
        )  # refuses words that it does not know
    images, vanished = site_images(files, depth=plan.depth)
    work, began = SitePass(observer, clock, signals, load=run.spec), time.time()
    counts = observe_sites(images, work, store, executor=run.executor, shards=shards)
    if shards and not shards.leads:
        return None
    store.add_words(words)
    index = store.index()
    warnings = (*_lost(images, vanished, index, counts), *identity_warnings(run.loaded))
    return _watched(
        store,
        index,
        estimator,
        plan,
        chosen,
        warnings,
        backbone=run.loaded.backbone,
        began=began,
    )


def observe_candidate(
    files: Sequence[ImageFile],
    estimator: AccuracyEstimator,
    detector: Detector,
    store: RecordStore,
    *,
    clock: Clock,
    depth: int | None = None,
    shards: Shards | None = None,
) -> None:
    """Observe with another detector the images that its store lacks; see `watch_sites`."""
    images, _ = site_images(files, depth=depth)
    work = SitePass(_observer(estimator, detector), clock, no_signals, load=detector.spec)
    observe_sites(images, work, store, executor=detector.executor, shards=shards)
    if not shards or shards.leads:
        store.add_words(detector.loaded.categories)


def _observer(estimator: AccuracyEstimator, detector: Detector) -> Observer:
    """Make the pass over the images of sites; see `site_observer`."""
    return site_observer(
        estimator,
        detector.loaded,
        reference=detector.loaded_reference,
        batch_size=detector.batch_size,
    )


def no_signals(image: np.ndarray) -> dict[str, float]:
    """Keep nothing of the pixels of an image."""
    return {}


def watch_predictions(
    predictions: PathLike | Predictions,
    estimator: AccuracyEstimator,
    store: RecordStore,
    plan: WatchPlan,
    *,
    images_list: PathLike | None = None,
    categories: Categories | None = None,
    site_categories: Mapping[str, Categories] | None = None,
    present: Collection[str] = (),
    time_form: str = AUTO,
) -> Watched:
    """Read the results files that are new or have changed, and estimate all sites.

    Parameters
    ----------
    predictions : path-like or Predictions
        Folder or file of each pass over all sites, as `find_results` finds them; of several
        references the one that the fit reads.
    estimator : AccuracyEstimator
        Of the method ``bayes``, fitted on predictions of the same detector.
    store : RecordStore
    plan : WatchPlan
    images_list : path-like, optional
        The images of all sites; see `find_results`.
    categories, site_categories : mapping, optional
        Names and words of all sites, and of single ones; see `SiteCategories`.
    present : collection of str
        Categories that count at every site, found or not.
    time_form : str
        ``"auto"``, the time that the list of images gives (``date_captured`` or ``datetime``), or a
        form of the time in file names, as in `Clock`.

    Raises
    ------
    InputError
        If the estimator reads what predictions do not hold, the store is of other settings, or no
        results file can be read.

    Examples
    --------
    >>> watched = watch_predictions("sites/", estimator, RecordStore("work"), WatchPlan(),
    ...                             categories={"vehicle": ["car", "bus"]})  # doctest: +SKIP
    >>> watched.table.sites[["group", "estimate", "rank"]]  # doctest: +SKIP
    """
    plan.check(estimator)
    if time_form in (EXIF, FILE):
        raise InputError(
            f"Expected --time as a form of the time in file names, such as %Y%m%d_%H%M%S, but got "
            f"{time_form!r}: results files hold no images to read it from."
        )
    if not isinstance(predictions, Predictions):
        predictions = Predictions(predictions)
    needed, given = needed_passes(estimator), as_fitted(predictions, estimator.context_)
    reference = next(iter(given.references), None)
    names, reference_names = (
        read_names(Path(words)) if isinstance(words, str | os.PathLike) else words
        for words in (given.names, given.reference_names)
    )
    if reference:
        estimator.pass_.check_read([REFERENCE])
    elif reference_names:
        raise InputError(
            "`reference_names` belongs to the boxes of a reference detector, and there are none: "
            "give `reference`, too, or leave it out."
        )
    elif REFERENCE in needed:
        raise InputError(NO_REFERENCE.format("--predictions PATH reference=PATH"))
    if HALF in needed and not given.half_size:
        raise InputError(
            "This estimator was fitted with a pass at half the size: give that of these images, "
            "too (--predictions ... half_size=DIR), or fit again without."
        )
    # Periods of a site are compared with each other: files of all of them begin where the fit does.
    statistics, clock = replace(estimator.statistics_, floors=()), Clock(time_form)
    reader = ResultsReader(
        statistics,
        clock,
        plan.depth,
        names,
        not given.complete,
        reference_names,
        given.numbering,
    )
    files = find_results(
        given.path, half_size=given.half_size, reference=reference, image_list=images_list
    )
    began = time.time()
    warnings, unseen = read_results(files, reader, store)
    index, words = store.index(), store.add_words(statistics.categories)
    chosen = SiteCategories(words, estimator.words_, categories, site_categories or {}, present)
    missing = [NO_SIGNALS, *([] if given.half_size else [NO_HALF_SIZE])]
    if len(index) and index["taken"].isna().any():
        missing.append(NO_TIMES)
    return _watched(
        store,
        index,
        estimator,
        plan,
        chosen,
        (*warnings, *chosen.check(words)),
        backbone=BLACK_BOX,
        began=began,
        unseen=unseen,
        missing=tuple(missing),
    )


def _watched(
    store: RecordStore,
    index: pd.DataFrame,
    estimator: AccuracyEstimator,
    plan: WatchPlan,
    categories: SiteCategories,
    warnings: Sequence[str],
    *,
    backbone: str,
    began: float,
    unseen: Mapping[str, float] | None = None,
    missing: tuple[str, ...] = (),
) -> Watched:
    """Estimate and rank all sites of a store, and compare each with its baseline."""
    if len(index):
        sites = [str(group) for group in index["group"].unique()]
        categories.check_sites(sites)
        check_named_sites(plan.known, sites, "--site")
        if plan.changes:
            check_named_sites(plan.changes.anchors, sites, "--labelled")
    table = site_table(store, estimator, categories, plan, backbone=backbone, unseen=unseen)
    if not len(table.rows) or not table.rows["n_images"].any():
        store.release()
        reasons = "; ".join([*index["unreadable"].head(3), *warnings[:3]]) or "they vanished"
        raise InputError(f"No image of any site can be read: {reasons}")
    if plan.changes:
        calibration = estimator.calibration_ or calibration_prior().calibration
        select = partial(categories.found, calibration=calibration)
        changes = site_changes(store, plan.changes, table.level_of, calibration, select)
        table = with_changes(table, changes)
    if plan.alarm_below is not None:
        table = with_alarms_below(table, plan.alarm_below, estimator.target)
    clocks = {str(name): int(n) for name, n in index["taken_from"].value_counts().items()}
    n_new = int((index["observed_s"].astype(float) >= began).sum())
    times = [
        warning.prefixed(group)
        for group, rows in index.groupby("group")
        for warning in time_warnings(rows, plan.by)
    ]
    sites = table.sites[table.sites["nothing_found"]]
    empty = [
        nothing_found_text(int(row["n_images"]), estimator.target).prefixed(row["group"])
        for row in sites.to_dict("records")
    ]
    all_warnings = (*warnings, *empty, *times)
    return Watched(
        table, estimator.target, plan.by, all_warnings, clocks, n_new, missing, estimator.level
    )


def _lost(
    images: Sequence[SiteImage], vanished: Sequence[str], index: pd.DataFrame, counts: JobCounts
) -> Iterator[str]:
    seen = set(index["file_name"])
    lost = [*vanished, *(i.file.image_id for i in images if i.file.image_id not in seen)]
    if lost:
        yield Notice(
            "images-vanished",
            f"vanished during the run: {counted(len(lost), 'image')} ({listed(lost)})",
            severity="note",
        )
    for error in list(dict.fromkeys(counts.failed.values()))[:3]:
        yield Notice(
            "images-not-observed",
            f"could not be observed: {counted(len(counts.failed), 'batch', 'batches')} ({error})",
        )
    reasons = index.loc[index["unreadable"] != "", "unreadable"]
    if len(reasons):
        yield Notice(
            "images-unreadable",
            f"cannot be read: {counted(len(reasons), 'image')} ({'; '.join(reasons[:3])})",
        )
