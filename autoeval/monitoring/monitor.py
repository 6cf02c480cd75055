"""Monitor many sites with one call: read or observe what is new, estimate, compare, rank."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.given import Predictions, named_categories
from autoeval.estimation.observation.detector_identity import identity_warnings
from autoeval.estimation.read_site import with_chosen_reference
from autoeval.estimation.run_detector import Detector, any_task
from autoeval.io.image_lists import ImageFile
from autoeval.io.predictions.category_words import read_names
from autoeval.model.new_sites import draw_sites
from autoeval.monitoring.looks import RULE, SCALES
from autoeval.monitoring.monitor_store import MonitorStore
from autoeval.monitoring.monitored import (
    BELOW,
    CHANGED,
    FELL,
    TOO_FEW,
    UNREADABLE,
    Monitored,
    MonitoredSite,
    MonitorSettings,
    history_row,
    look_of,
    reasons_of,
)
from autoeval.monitoring.read_sites import (
    ResultsReader,
    SiteImage,
    SitePass,
    find_results,
    observe_sites,
    read_results,
    site_images,
    site_observer,
)
from autoeval.monitoring.site_windows import SiteWindows, WatchedSites
from autoeval.monitoring.windows import (
    AUTO,
    EXIF,
    FILE,
    FORMS,
    Clock,
    baseline_of,
    in_time,
    kind_of,
    time_warnings,
    windows_of,
)
from autoeval.notices import Notice, notices_of
from autoeval.runtime.files import PathLike
from autoeval.runtime.jobs import JobCounts
from autoeval.runtime.store import rows_digest
from autoeval.targets import Target, find_target
from autoeval.version import __version__
from autoeval.words import counted, listed

DRAWS = 4000  # of the accuracies of all sites together
NOT_JUDGED = {UNREADABLE, TOO_FEW}
AT_ONCE = 64  # sites whose windows are kept in one transaction


def monitor_images(
    files: Sequence[ImageFile], detector: Detector, clock: Clock, shared: WatchedSites
) -> Monitored:
    """Run a detector on the images that the store lacks, and estimate all sites.

    Images that were observed once and are no longer there still count: a camera's history is what
    it is compared with. `detector` also says how it is run; its reference, a stronger detector, is
    run, too, by default that of the fit, where it had one. The words of the categories are those of
    the detector. Raises as `monitor`.
    """
    settings, categories = shared.settings, shared.categories
    settings.check(shared.estimator)
    words = detector.loaded.categories
    for given in filter(None, (categories.named, *categories.of_site.values())):
        named = named_categories(given, shared.estimator.categories_)
        any_task(named or {}, words)  # refuses words that it does not know
    lost = observe_images(files, shared.estimator, detector, shared.store, clock, settings.depth)
    index = shared.store.index()
    warnings = (*_lost(*lost, index), *identity_warnings(detector.loaded))
    categories = replace(categories, words=shared.store.add_words(()))
    return _monitored(index, replace(shared, categories=categories), warnings)


def observe_images(
    files: Sequence[ImageFile],
    estimator: AccuracyEstimator,
    detector: Detector,
    store: MonitorStore,
    clock: Clock,
    depth: int | None = None,
) -> tuple[list[SiteImage], list[str], JobCounts]:
    """Run a detector on the images that its store lacks; see `monitor_images`.

    Returns all images, the names of those that vanished, and what could not be observed.
    """
    observer = site_observer(
        estimator,
        detector.loaded,
        reference=detector.loaded_reference,
        reading=detector.reading,
    )
    images, vanished = site_images(files, depth=depth)
    work = SitePass(observer, clock, load=detector.spec)
    counts = observe_sites(images, work, store, executor=detector.executor)
    store.add_words(detector.loaded.categories)
    return images, vanished, counts


def monitor_predictions(
    predictions: Predictions,
    shared: WatchedSites,
    *,
    images_list: PathLike | None = None,
    time_form: str = AUTO,
) -> Monitored:
    """Read the results files that are new or have changed, and estimate all sites.

    `predictions` are as `find_results` finds them; of several references the one that the fit
    reads. `time_form` is ``"auto"``, the time that the list of images gives (``date_captured`` or
    ``datetime``), or a form of the time in file names, as in `Clock`. Raises as `monitor`.
    """
    estimator, store = shared.estimator, shared.store
    shared.settings.check(estimator)
    if time_form in (EXIF, FILE):
        raise InputError(
            f"Expected --time as a form of the time in file names, such as %Y%m%d_%H%M%S, but got "
            f"{time_form!r}: results files hold no images to read it from."
        )
    given = with_chosen_reference(predictions, estimator.context_)
    reference = next(iter(given.references), None)
    names, reference_names = read_names(given.names), read_names(given.reference_names)
    given = replace(given, names=names, reference_names=reference_names)
    if reference_names and not reference:
        raise InputError(
            "`reference_names` belongs to the boxes of a reference detector, and there are none: "
            "give `reference`, too, or leave it out."
        )
    estimator.check_reference(reference is not None)
    reader = ResultsReader(given, estimator.looks_, Clock(time_form), shared.settings.depth)
    files = find_results(given.path, reference=reference, image_list=images_list)
    warnings, of_files = read_results(files, reader, store)
    words = store.add_words(estimator.looks_.categories)
    categories = replace(shared.categories, words=words)
    warnings = (*warnings, *categories.check(words))
    index = store.index()
    # Of images with a box: two empty ones of a minute have the same stamp, and are no copies.
    copies = index["found"] & index.duplicated(["site", "stamp"])
    if copies.any():
        examples = listed(index["name"][copies], most=2)
        warnings += (
            Notice(
                "copies-left-out",
                f"images with the time and exactly the boxes of another of their site, left out: "
                f"{int(copies.sum())} ({examples})",
                severity="note",
            ),
        )
    shared = replace(shared, categories=categories, of_files=of_files)
    return _monitored(index[~copies], shared, warnings)


def _monitored(index: pd.DataFrame, shared: WatchedSites, warnings: Sequence[str]) -> Monitored:
    """Estimate the windows of all sites, and say in which state each site is.

    index: rows of `MonitorStore.index` of the images that count.
    """
    estimator, store, settings = shared.estimator, shared.store, shared.settings
    if not (index["unreadable"] == "").any():
        store.release()
        reasons = "; ".join([*index["unreadable"].head(3), *warnings[:3]]) or "they vanished"
        raise InputError(f"No image of any site can be read: {reasons}")
    images_of = {str(name): in_time(rows) for name, rows in index.groupby("site")}
    _check_sites(list(images_of), shared)
    made_with = _made_with(shared)
    kept, new = store.windows(made_with), dict[tuple[str, str], tuple[str, Mapping[str, Any]]]()
    rows_of: dict[str, list[dict[str, Any]]] = {}
    learning: dict[str, str] = {}
    notices = list(warnings)
    for name, images in images_of.items():
        windows = SiteWindows(name, images, shared)
        rows_of[name], learning[name] = windows.rows(kept), windows.learning
        if windows.n_dropped:
            n = counted(windows.n_dropped, "window")
            notice = Notice(
                "windows-dropped",
                f"{n} cannot be estimated with these windows, categories and baseline: the "
                "boxes were dropped by --keep, so what is shown may be an earlier window",
            )
            notices.append(notice.prefixed(name))
        for row in rows_of[name]:
            key, digest = (name, row["window"]), row.pop("digest")
            if kept.get(key, ("",))[0] != digest:
                new[key] = digest, row
        if len(new) >= AT_ONCE:
            store.keep_windows(made_with, new)
            new = {}
    store.keep_windows(made_with, new)
    if settings.keep is not None:
        store.forget(list(_too_old(images_of, shared)))
    for name, images in images_of.items():
        of_time = kind_of(images, settings.by) in FORMS
        notices += [notice.prefixed(name) for notice in time_warnings(images, needed=of_time)]
    target = find_target(estimator.target)
    shown = {n: _shown(rows, learning[n], settings, target) for n, rows in rows_of.items()}
    ranks = _ranks(estimator, {name: window for name, (window, _) in shown.items()}, settings)
    sites = [_site(name, rows, shown[name], ranks, shared) for name, rows in rows_of.items()]
    return Monitored(
        tuple(sorted(sites, key=_place)),
        estimator.target,
        estimator.level,
        settings,
        tuple(notices),
        n_new=int((index["observed_s"] >= shared.began).sum()),
        clocks={str(name): int(n) for name, n in index["taken_from"].value_counts().items()},
    )


def _place(site: MonitoredSite) -> tuple[bool, bool, bool, float, str]:
    """Order sites: alarms first, then changed ones, then by their values, unknown ones last."""
    unknown = math.isnan(site.value)
    value = 0.0 if unknown else site.value
    return not site.alarms, site.state != CHANGED, unknown, value, site.name


def _check_sites(names: Sequence[str], shared: WatchedSites) -> None:
    """Refuse options of sites that there are not."""
    for option, named in (
        ("--site-category", shared.categories.of_site),
        ("--site", shared.settings.known),
        ("--labelled", shared.settings.labelled),
    ):
        if unknown := [name for name in named if name not in names]:
            raise InputError(
                f"{option} names {listed(unknown)}, but there is no such site: the sites are "
                f"{listed(names, 10)}."
            )


def _shown(
    rows: Sequence[Mapping[str, Any]], learning: str, settings: MonitorSettings, target: Target
) -> tuple[Mapping[str, Any] | None, dict[str, str]]:
    """Return the window of a site that is shown first, and its states with their reasons.

    That is the latest complete window; the latest where none is complete. Where it cannot be judged
    (`unreadable`, `too_few`), an alarm of the latest one before it that could be judged stands, and
    that window is shown: only a later window that can be judged ends an alarm.
    """
    complete = [row for row in rows if row["complete"]]
    latest = next(iter((complete or list(rows))[-1:]), None)
    found = reasons_of(latest, learning, settings, target.text)
    if not NOT_JUDGED & found.keys():
        return latest, found
    for window in reversed(complete[:-1]):
        earlier = reasons_of(window, learning, settings, target.text)
        if NOT_JUDGED & earlier.keys():
            continue
        since = f"; this is of {window['window']}, the latest window that could be judged"
        standing = {
            kind: earlier[kind] + since for kind in (BELOW, FELL, CHANGED) if kind in earlier
        }
        if not standing:
            break
        # A camera that cannot be read comes first; few images do not hide an alarm.
        return window, standing | found if TOO_FEW in found else found | standing
    return latest, found


def _site(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    shown: tuple[Mapping[str, Any] | None, dict[str, str]],
    ranks: Mapping[str, tuple[float, float]],
    shared: WatchedSites,
) -> MonitoredSite:
    """Put together what is known of one site; `shown` is of `_shown`."""
    nothing, estimator = float("nan"), shared.estimator
    window, reasons = shown
    look = look_of(window)
    units = ""
    if look is not None:
        before, after = look.units
        units = f"{before} independent {look.of} in the baseline, {after} in the window"
    alarms = (FELL, BELOW, CHANGED) if shared.settings.alarm_on_changed else (FELL, BELOW)
    n_windows, change = 1, look.change if look is not None else None
    if look is not None and look.fall is not None and FELL in reasons:
        n_windows, change = look.fall
    rank, p_worst = ranks.get(name, (nothing, nothing))
    return MonitoredSite(
        name=name,
        state=next(iter(reasons)),
        reasons=reasons,
        window=window["window"] if window else "",
        value=window["value"] if window else nothing,
        lower=window["lower"] if window else nothing,
        upper=window["upper"] if window else nothing,
        change=change.value if change else nothing,
        change_lower=change.lower if change else nothing,
        change_upper=change.upper if change else nothing,
        change_windows=n_windows,
        level=estimator.level,
        target=estimator.target,
        n_images=window["n_images"] if window else 0,
        n_unreadable=window["n_unreadable"] if window else 0,
        alarms=tuple(kind for kind in reasons if kind in alarms),
        units=units,
        rank=rank,
        p_worst=p_worst,
        per_category=window["per_category"] if window else {},
        beside=window["beside"] if window else {},
        warnings=notices_of(window["warnings"]) if window else (),
        drifts=tuple(drift.__dict__ for drift in look.drifts) if look else (),
        history=pd.DataFrame([history_row(row) for row in rows]),
    )


def _ranks(
    estimator: AccuracyEstimator,
    shown: Mapping[str, Mapping[str, Any] | None],
    settings: MonitorSettings,
) -> dict[str, tuple[float, float]]:
    """Return the rank of each site with an estimate, and its probability to be among the worst.

    From joint draws: much of the error of one site is that of all.
    """
    rows = {
        name: pd.DataFrame(window["scores"]).assign(site=name)
        for name, window in shown.items()
        if window is not None and window["scores"] and window["value"] == window["value"]
    }
    if not rows:
        return {}
    sites, drawn = draw_sites(
        estimator.regression_,
        pd.concat(rows.values(), ignore_index=True),
        draws=DRAWS,
        seed=settings.seed,
        fitted_sites={name: source for name, source in settings.known.items() if name in rows},
    )
    worst = among_worst(drawn, settings.k)
    values = np.array([shown[name]["value"] for name in sites])  # type: ignore[index]
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable") + 1.0
    return {
        name: (float(rank), float(p)) for name, rank, p in zip(sites, ranks, worst, strict=True)
    }


def among_worst(drawn: np.ndarray, k: int) -> np.ndarray:
    """Return the probability of each of K sites to be among the k >= 1 worst of (draws, K).

    They add up to k; NaN where there are no more sites than k.

    >>> among_worst(np.array([[.1, .5, .3], [.4, .2, .3]]), 1)
    array([0.5, 0.5, 0. ])
    """
    if k >= drawn.shape[1]:
        return np.full(drawn.shape[1], np.nan)
    worst = np.argpartition(drawn, k - 1, axis=1)[:, :k]
    return np.bincount(worst.ravel(), minlength=drawn.shape[1]) / len(drawn)


def _too_old(images_of: Mapping[str, pd.DataFrame], shared: WatchedSites) -> Iterator[str]:
    """Name the images whose boxes are kept no longer: old ones that are no part of a baseline."""
    settings, now = shared.settings, datetime.fromtimestamp(shared.began)
    assert settings.keep is not None
    for images in images_of.values():
        windows = windows_of(images, settings.by, now)
        n, _ = baseline_of(settings.baseline, images, windows, now)
        places = np.concatenate([np.empty(0, int), *(window.places for window in windows[:n])])
        from_baseline = images["name"].iloc[places]
        if settings.keep.endswith("d"):
            limit = images["taken"].max() - pd.Timedelta(days=int(settings.keep[:-1]))
            old = images["taken"] < limit
        else:
            old = pd.Series(np.arange(len(images)) < len(images) - int(settings.keep), images.index)
        old &= images["kept"] & images["found"] & ~images["name"].isin(from_baseline)
        yield from images["name"][old]


def _made_with(shared: WatchedSites) -> str:
    """Return a digest of what the estimate of a window depends on beside its images."""
    estimator, settings, categories = shared.estimator, shared.settings, shared.categories
    calibrations = [
        calibration and calibration.to_dict()
        for calibration in (estimator.calibration_, estimator.reference_calibration_)
    ]
    parts = (
        *(__version__, estimator.target, estimator.level, estimator.context_, calibrations),
        rows_digest(estimator.table_),
        (settings.by, settings.score_thr, settings.iou, sorted(settings.known.items())),
        sorted(settings.labelled.items()),
        (categories.of_fit, categories.named, sorted(categories.of_site.items())),
        sorted(categories.present),
        (RULE, SCALES),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:20]


def _lost(
    images: Sequence[SiteImage], vanished: Sequence[str], counts: JobCounts, index: pd.DataFrame
) -> Iterator[str]:
    seen = set(index["name"])
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
            f"cannot be read: {counted(len(reasons), 'image')} ({listed(reasons, 2)})",
        )
