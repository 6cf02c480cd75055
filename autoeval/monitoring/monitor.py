"""Monitor many sites: the windows of each with estimates and looks, states, ranks.

`monitor_images` and `monitor_predictions` bring the store up to date and call `_monitored`:
`SiteWindows` estimates the windows of each site that are new or have changed and looks at them
after the baseline, `_shown` says in which state the site is, `_ranks` ranks all sites by joint
draws. Windows that were computed before come from the store.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pandas as pd

from autoeval.accuracy.measures import OperatingPoint, Target, find_target, points_at
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.given import Predictions, named_categories
from autoeval.estimation.observation.detector_identity import identity_warnings
from autoeval.estimation.read_site import with_chosen_reference
from autoeval.estimation.run_detector import Detector, any_task
from autoeval.io.image_lists import ImageFile
from autoeval.io.predictions.category_words import read_names
from autoeval.model.calibration import LIKELY
from autoeval.model.pair_table import UNSEEN
from autoeval.model.regression import draw_sites
from autoeval.monitoring.box_change import AT, box_numbers, shipped_model
from autoeval.monitoring.looks import ALL, RULE, SCALES, SHOWN, TESTED, SiteLook, look_at
from autoeval.monitoring.monitor_store import MonitorStore, copied_files, copied_in_files
from autoeval.monitoring.monitored import (
    BELOW,
    CHANGED,
    FELL,
    HISTORY,
    TOO_FEW,
    UNREADABLE,
    Monitored,
    MonitoredSite,
    MonitorSettings,
    SiteCategories,
    history_row,
    look_of,
    reasons_of,
)
from autoeval.monitoring.read_sites import (
    ResultsReader,
    find_results,
    lost_warnings,
    observe_images,
    read_results,
)
from autoeval.monitoring.windows import (
    AUTO,
    EXIF,
    FILE,
    FORMS,
    Clock,
    Window,
    baseline_of,
    in_time,
    kind_of,
    silent_sites,
    time_warnings,
    windows_of,
    without_numbers_as_times,
)
from autoeval.result_base import ENDS
from autoeval.runtime.files import PathLike, plain
from autoeval.sites.site import Site
from autoeval.version import __version__
from autoeval.words import Notice, codes_of, counted, listed, notices_of, prefixed

DRAWS = 4000  # of the accuracies of all sites together
NOT_EVALUATED = {UNREADABLE, TOO_FEW}
AT_ONCE = 64  # sites whose windows are kept in one transaction
MOST_CATEGORIES = 4  # of a site that are tested each by itself
FEWEST_WITH = 8  # images with a likely box of such a category: of fewer the variance is not known
STEADY = 1e-3  # windows whose boxes are less likely than that if nothing changed are not steady
Kept = Mapping[tuple[str, str], tuple[str, Mapping[str, Any]]]
"""Digest and content of windows that were computed before; see `MonitorStore.windows`."""


@dataclass(frozen=True, eq=False)
class WatchedSites:
    """What all sites of a run have in common.

    Parameters
    ----------
    estimator : AccuracyEstimator
        Estimates each window.
    store : MonitorStore
        Images, boxes and windows.
    settings : MonitorSettings
        What was requested.
    categories : SiteCategories
        Which categories count at each site.
    began : float
        When the run began, in seconds since 1970: what is complete then is complete.
    of_files : mapping of str to mapping
        Of each site the largest ``unseen`` and ``floor`` of its results files; see `Site`.
    blocks : mapping of str to str
        Block of time of each image that is a frame of a video, by name.
    """

    estimator: AccuracyEstimator
    store: MonitorStore
    settings: MonitorSettings
    categories: SiteCategories
    began: float = field(default_factory=time.time)
    of_files: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    blocks: Mapping[str, str] = field(default_factory=dict)


def monitor_images(
    files: Sequence[ImageFile], detector: Detector, clock: Clock, shared: WatchedSites
) -> Monitored:
    """Run a detector on the images that the store lacks, and estimate all sites.

    Images that were observed once and are no longer there still count: a camera's history is what
    it is compared with. The words of the categories are those of the detector.

    Parameters
    ----------
    files : sequence of ImageFile
        Images of all sites, named by their path below one root.
    detector : Detector
        The detector, and how it is run; its reference, a stronger detector, is run, too, by default
        that of the fit, where it had one.
    clock : Clock
        Reads when images were taken.
    shared : WatchedSites
        What all sites have in common.

    Raises
    ------
    InputError
        As `autoeval.monitor`.
    """
    settings, categories = shared.settings, shared.categories
    settings.check(shared.estimator)
    words = detector.loaded.categories
    for requested in filter(None, (categories.named, *categories.of_site.values())):
        named = named_categories(requested, categories.of_fit, categories.joined, words)
        any_task(named or {}, words)  # refuses words that it does not know
    categories.check(words)
    lost = observe_images(files, shared.estimator, detector, shared.store, clock, settings.depth)
    index = shared.store.index()
    warnings = (*lost_warnings(*lost, index), *identity_warnings(detector.loaded))
    categories = replace(categories, words=shared.store.add_words(()))
    copies = copied_files(index)
    warnings = (*warnings, *_copies_left_out(index["name"][copies], "exactly the bytes"))
    return _monitored(index[~copies], replace(shared, categories=categories), warnings)


def monitor_predictions(
    predictions: Predictions,
    shared: WatchedSites,
    *,
    images_list: PathLike | None,
    time_form: str,
) -> Monitored:
    """Read the results files that are new or have changed, and estimate all sites.

    Parameters
    ----------
    predictions : Predictions
        As `find_results` finds them; of several references the one that the fit reads.
    shared : WatchedSites
        What all sites have in common.
    images_list : path-like or None
        All images that the detector was run on; see `find_results`.
    time_form : str
        ``"auto"``, the time that the list of images gives (``date_captured`` or ``datetime``), or a
        form of the time in file names, as in `Clock`.

    Raises
    ------
    InputError
        As `autoeval.monitor`; ``exif`` and ``file`` are no times of results files.
    """
    estimator, store = shared.estimator, shared.store
    shared.settings.check(estimator)
    if time_form in (EXIF, FILE):
        raise InputError(
            f"Expected --time as a form of the time in file names, such as %Y%m%d_%H%M%S, but got "
            f"{time_form!r}: results files hold no images to read it from."
        )
    if len(predictions.references) > 1:
        predictions = with_chosen_reference(predictions, estimator.context_)
    reference = next(iter(predictions.references), None)
    names, reference_names = read_names(predictions.names), read_names(predictions.reference_names)
    predictions = replace(predictions, names=names, reference_names=reference_names)
    if reference_names and not reference:
        raise InputError(
            "`reference_names` belongs to the boxes of a reference detector, and there are none: "
            "give `reference`, too, or leave it out."
        )
    estimator.check_reference(reference is not None)
    looks = estimator.known_looks()
    reader = ResultsReader(predictions, looks, Clock(time_form), shared.settings.depth)
    files = find_results(predictions.path, reference=reference, image_list=images_list)
    gone = store.gone_since({file.name for file in files})
    warnings, of_files, blocks = read_results(files, reader, store)
    for floor in {of_site["floor"] for of_site in of_files.values()}:
        estimator.check_reference(reference is not None, floor)
    words = store.add_words(looks.categories)
    categories = replace(shared.categories, words=words)
    warnings = (*warnings, *categories.check(words))
    index = store.index()
    if time_form == AUTO:
        index = without_numbers_as_times(index)
    copies, named_again = copied_in_files(index, gone)
    warnings = (
        *warnings,
        *_copies_left_out(index["name"][copies], "the name or exactly the boxes"),
    )
    if named_again.any():
        again = index["name"][named_again]
        text = (
            f"without a time, of files that are gone, and named in files read since: "
            f"{counted(len(again), 'image')} ({listed(again, most=2)}). If they are the same, they "
            "count twice: give their files the names that they had, or start again with another "
            "--work-dir"
        )
        warnings = (*warnings, Notice("images-named-again", text))
    shared = replace(shared, categories=categories, of_files=of_files, blocks=blocks)
    return _monitored(index[~copies], shared, warnings)


def _copies_left_out(names: pd.Series, what: str) -> tuple[Notice, ...]:
    """Note which images are copies, and what they have in common; empty without any."""
    text = (
        f"images with the time and {what} of another of their site, left out: "
        f"{len(names)} ({listed(names, most=2)})"
    )
    return (Notice("copies-left-out", text, severity="note"),) if len(names) else ()


def _monitored(index: pd.DataFrame, shared: WatchedSites, warnings: Sequence[Notice]) -> Monitored:
    """Estimate the windows of all sites, and say in which state each site is.

    Parameters
    ----------
    index : DataFrame
        Rows of `MonitorStore.index` of the images that count.
    shared : WatchedSites
        What all sites have in common.
    warnings : sequence of Notice
        What is known so far.

    Raises
    ------
    InputError
        If no image of any site can be read, or an option names a site that is not there.
    """
    estimator, store, settings = shared.estimator, shared.store, shared.settings
    if not (index["unreadable"] == "").any():
        store.release()
        reasons = "; ".join([*index["unreadable"].head(3), *warnings[:3]]) or "they vanished"
        raise InputError(f"No image of any site can be read: {reasons}")
    images_of = {str(name): in_time(rows) for name, rows in index.groupby("site")}
    for option, named in (
        ("--site-category", shared.categories.of_site),
        ("--site", settings.fitted_sites),
        ("--labelled", settings.labelled),
    ):
        if unknown := [name for name in named if name not in images_of]:
            raise InputError(
                f"{option} names {listed(unknown)}, but there is no such site: the sites are "
                f"{listed(list(images_of), 10)}."
            )
    made_with, target = _made_with(shared), find_target(estimator.target)
    kept, new = store.windows(made_with), dict[tuple[str, str], tuple[str, Mapping[str, Any]]]()
    rows_of: dict[str, list[dict[str, Any]]] = {}
    shown: dict[str, tuple[Mapping[str, Any] | None, dict[str, str]]] = {}
    of_fit = estimator.looks_.warnings if estimator.looks_ else ()
    notices, too_old = [*warnings, *of_fit], list[str]()
    for name, images in images_of.items():
        windows = SiteWindows(name, images, shared)
        rows_of[name] = windows.rows(kept)
        for row in rows_of[name]:
            key, digest = (name, row["window"]), row.pop("digest")
            if kept.get(key, ("",))[0] != digest:
                new[key] = digest, row
        if len(new) >= AT_ONCE:
            store.keep_windows(made_with, new)
            new = {}
        shown[name] = _shown(rows_of[name], windows.learning, settings, target)
        of_time = kind_of(images, settings.by) in FORMS
        of_site = list(time_warnings(images, needed=of_time))
        if windows.n_dropped:
            dropped = (
                f"{counted(windows.n_dropped, 'window')} cannot be estimated with these windows, "
                "categories and baseline: the boxes were dropped by --keep, so what is shown may "
                "be an earlier window"
            )
            of_site.insert(0, Notice("windows-dropped", dropped))
        notices += prefixed(name, of_site)
        if settings.keep is not None:
            growing = [window for window in windows.windows if not window.complete]
            needed = [*windows.windows[: windows.n_begun], *growing]
            too_old += _too_old(images, needed, settings.keep)
    store.keep_windows(made_with, new)
    if too_old:
        store.forget(too_old)
    notices += silent_sites(images_of, settings.by)
    floors = {name: shared.of_files.get(name, {}).get("floor", 0.0) for name in shown}
    windows_shown = {name: window for name, (window, _) in shown.items()}
    ranks = _ranks(estimator, windows_shown, settings, floors)
    sites = [
        _monitored_site(name, rows, images_of[name]["taken"].max(), shown[name], ranks, shared)
        for name, rows in rows_of.items()
    ]
    return Monitored(
        tuple(sorted(sites, key=_by_urgency)),
        estimator.target,
        estimator.level,
        settings,
        tuple(notices),
        n_new=int((index["observed_s"] >= shared.began).sum()),
        clocks={str(name): int(n) for name, n in index["taken_from"].value_counts().items()},
    )


def _by_urgency(site: MonitoredSite) -> tuple[bool, bool, bool, float, str]:
    """Key that sorts sites: alarms first, then changed ones, then by value, unknown ones last."""
    unknown = math.isnan(site.value)
    value = 0.0 if unknown else site.value
    return not site.alarms, site.state != CHANGED, unknown, value, site.name


class SiteWindows:
    """The windows of one site; those that did not change are taken from the last run.

    Parameters
    ----------
    name : str
        Of the site.
    images : DataFrame
        Its rows of `MonitorStore.index`, sorted by time.
    shared : WatchedSites
        What all sites have in common.

    Attributes
    ----------
    windows : list of Window
        All windows, in order of time.
    learning : str
        Why there is no full baseline; empty where there is one.
    n_begun, n_baseline : int
        Windows of the baseline, full or not; the second is 0 until it is full.
    n_dropped : int
        Windows that were never estimated with this baseline, and whose boxes are dropped.
    """

    def __init__(self, name: str, images: pd.DataFrame, shared: WatchedSites) -> None:
        self.name, self.images, self.shared = name, images, shared
        settings, now = shared.settings, datetime.fromtimestamp(shared.began)
        sources = images["taken_from"][images["taken"].notna()].tolist()
        if sources[-1:] == [FILE]:  # whose times are in UTC
            now = datetime.fromtimestamp(shared.began, timezone.utc).replace(tzinfo=None)
        self.windows = windows_of(images, settings.by, now)
        self.n_begun, self.learning = baseline_of(settings.baseline, images, self.windows, now)
        self.n_baseline = 0 if self.learning else self.n_begun
        self.n_dropped = 0
        unreadable = images["unreadable"] != ""
        of_images = (images["kept"] | unreadable).to_numpy(bool)
        self._present = [bool(of_images[window.places].all()) for window in self.windows]
        # windows compare by sizes of boxes relative to their images: of all, or of none
        self._sized = bool((images["sized"] | unreadable).all())
        self._sites: dict[int, Site] = {}
        self._rows: list[dict[str, Any]] = []
        self._steady: list[dict[str, np.ndarray]] = []
        self._n_looked = 0  # rows whose means are in `_steady`, where they are steady

    def rows(self, kept: Kept) -> list[dict[str, Any]]:
        """Return the numbers of each window, in order of time.

        A window whose boxes are no longer kept, and that was not computed before with this
        baseline, is left out, and counted as `n_dropped`.

        Parameters
        ----------
        kept : mapping
            Digest and content of the windows that were computed before, by site and name.

        Returns
        -------
        list of dict
            ``site``, ``window``, ``complete``, ``baseline``, ``first``, ``last``, ``n_images``,
            ``n_unreadable``, ``n_boxes``, the estimate (``value`` ...), ``look`` (of
            `SiteLook.to_dict`; None in the baseline), ``means`` of the numbers behind it,
            ``shown``, and ``digest``, of the images of the window, of those that it is compared
            with and of all between, whose variance counts, of where the scores of the site's files
            begin, and of whether the sizes of all its images are known.
        """
        columns = self.images[["name", "stamp", "unreadable"]].to_numpy()
        # of all its windows
        of_site = (sorted(self.shared.of_files.get(self.name, {}).items()), self._sized)
        digests = [
            _digest(repr((*of_site, columns[window.places].tolist()))) for window in self.windows
        ]
        n, present = self.n_baseline, self._present
        before = _digest("".join(digests[:n]))  # of all windows before one after the baseline
        for k, window in enumerate(self.windows):
            looked_at = 0 < n <= k
            number = k + 1 - n if looked_at else 0  # of the look, which a late window moves
            digest = _digest(f"{digests[k]} {k < n} {number} {before if looked_at else ''}")
            kept_digest, row = kept.get((self.name, window.name), ("", None))
            comparable = not looked_at or all(present[:n])
            complete = present[k] and comparable
            if looked_at:
                before = _digest(f"{before} {digests[k]}")
            # without its boxes a window stays as it was, but for one of another baseline
            stays = row is not None and not complete and comparable and row["baseline"] == (k < n)
            if row is not None and (kept_digest == digest or stays):
                self._rows.append({**row, "digest": kept_digest, "complete": window.complete})
            elif complete:
                self._rows.append({**self._computed(k), "digest": digest})
            else:
                self.n_dropped += 1
            for old in [place for place in self._sites if n <= place < k - SCALES[-1]]:
                del self._sites[old]  # of the windows only the baseline and the latest stay
        return self._rows

    def _computed(self, k: int) -> dict[str, Any]:
        """Estimate a window, and after the baseline compare it with that."""
        window, site = self.windows[k], self._site(k)
        images = self.images.iloc[window.places]
        row: dict[str, Any] = {
            "site": self.name,
            "window": window.name,
            "complete": window.complete,
            "baseline": k < self.n_baseline,
            "first": plain(images["taken"].min()),
            "last": plain(images["taken"].max()),
            "n_images": len(site),
            "n_unreadable": int((images["unreadable"] != "").sum()),
            "n_boxes": len(site.boxes),
            **self._estimated(site),
            "look": None,
            "means": {},
            "shown": {},
        }
        if len(site):
            numbers = box_numbers(site.boxes, site.calibration).mean(axis=0)
            row["shown"] = {name: float(numbers[AT[SHOWN.get(name, name)]]) for name in TESTED}
        if 0 < self.n_baseline <= k and len(site):
            look, means = self._look(k)
            row["look"] = look.to_dict()
            row["means"] = {name: values.tolist() for name, values in means.items()}
        return row

    def _estimated(self, site: Site) -> dict[str, Any]:
        """Return what is kept of the estimate of a window; NaN where it has no image."""
        nothing, settings = float("nan"), self.shared.settings
        if not len(site):
            return {
                **dict.fromkeys(ENDS, nothing),
                **{"per_category": {}, "beside": {}, "warnings": [], "scores": [], "unseen": 0.0},
            }
        estimate = self.shared.estimator.predict_site(
            replace(site, known=settings.fitted_sites.get(self.name, "")),
            settings.score_thr,
            settings.iou,
            brief=True,
        )
        points = () if settings.score_thr is None else points_at(settings.score_thr, settings.iou)
        scores = estimate.site.row.get("rows") if estimate.site is not None else None
        scores = {} if scores is None else scores
        columns = {}  # without what is no number or word
        for name in scores:
            values = np.asarray(scores[name])
            if values.dtype.kind in "biuf" or all(isinstance(v, str) for v in values.tolist()):
                columns[str(name)] = values.tolist()
        width = estimate.width_warning
        return {
            "value": estimate.value,
            "lower": estimate.lower,
            "upper": estimate.upper,
            "per_category": estimate.per_category if len(estimate.per_category) > 1 else {},
            "beside": {
                name: ends for name, ends in estimate.other_targets.items() if name in points
            },
            "warnings": codes_of([*([width] if width else ()), *estimate.warnings]),
            "scores": [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ],
            "unseen": 0.0 if estimate.site is None else estimate.site.unseen,
        }

    def _look(self, k: int) -> tuple[SiteLook, dict[str, np.ndarray]]:
        """Compare the windows up to one with the baseline.

        Returns
        -------
        look : SiteLook
            Of the window and the ones before it, as many as the largest of `SCALES`.
        means : dict of str to ndarray
            Means of the numbers of this window, by category.
        """
        n, shared = self.n_baseline, self.shared
        first = max(n, k + 1 - SCALES[-1])
        base = [place for place in range(n) if len(self._site(place))]
        # of a window whose boxes were dropped (--keep) only images without any are left
        later = [place for place in range(first, k + 1) if self._present[place]]
        later = [place for place in later if len(self._site(place))]
        counted, shown = self._likely([*base, *later])
        numbers = {place: self._numbers(place, counted, shown) for place in (*base, *later)}
        steady = [_means(numbers[place]) for place in base]
        while self._n_looked < len(self._rows):  # a row is read once, however long the history
            row = self._rows[self._n_looked]
            self._n_looked += 1
            if row["look"] and row["look"]["p"] >= STEADY:
                self._steady.append({name: np.array(v) for name, v in row["means"].items()})
        steady += self._steady
        level = shared.settings.labelled.get(self.name)
        if level is None:
            values = [row["value"] for row in self._rows[:n] if row["baseline"]]
            values = [value for value in values if not math.isnan(value)]
            level = float(np.mean(values)) if values else math.nan
        look = look_at(
            k + 1 - n,
            [numbers[place] for place in base],
            [numbers[place] for place in later],
            steady,
            None if OperatingPoint.of(shared.estimator.target) else shipped_model(),
            level,
            shared.estimator.level,
        )
        return look, _means(numbers[k])

    def _likely(self, places: Sequence[int]) -> tuple[list[int], list[str]]:
        """Return the categories that have a likely box in some windows, the most frequent first.

        The many unlikely boxes of a detector of 80 categories say nothing of a site.

        Returns
        -------
        labels : list of int
            Numbers of the categories.
        names : list of str
            Those that are tested by themselves, `MOST_CATEGORIES` at most, each with a likely box
            in `FEWEST_WITH` images or more; none of a single category.
        """
        counts, n_images = np.zeros(0, np.int64), np.zeros(0, np.int64)
        names: tuple[str, ...] = ()
        for place in places:
            site = self._site(place)
            names = site.boxes.categories
            likely = site.boxes.where(site.right_at_half > LIKELY)
            in_window = np.bincount(likely.label, minlength=len(names))
            pairs = np.unique(np.stack([likely.label, likely.image]), axis=1)
            with_one = np.bincount(pairs[0], minlength=len(names))
            counts = in_window if not len(counts) else counts + in_window
            n_images = with_one if not len(n_images) else n_images + with_one
        order = [int(label) for label in np.argsort(-counts, kind="stable") if counts[label]]
        several = order[:MOST_CATEGORIES] if len(order) > 1 else []
        several = [label for label in several if n_images[label] >= FEWEST_WITH]
        # one without a name would stand for all: its numbers, in place of theirs
        return order, [names[label] for label in several if names[label] != ALL]

    def _numbers(
        self, place: int, counted: Sequence[int], shown: Sequence[str]
    ) -> dict[str, np.ndarray]:
        site = self._site(place)
        boxes, calibration = site.boxes, site.calibration
        if not self._sized:
            images = tuple(replace(image, size=None) for image in boxes.images)
            boxes = replace(boxes, images=images)
        numbers = {ALL: box_numbers(boxes.where(np.isin(boxes.label, counted)), calibration)}
        for name in shown:
            label = boxes.categories.index(name)
            numbers[name] = box_numbers(boxes, calibration, label)
        return numbers

    def _site(self, k: int) -> Site:
        """Return the readable images of a window with their calibrated boxes."""
        if k not in self._sites:
            images = self.images.iloc[self.windows[k].places]
            names = images["name"][images["unreadable"] == ""].tolist()
            site = self.shared.categories.site(self.name, self.shared.store.read(names))
            file_notes = self.shared.of_files.get(self.name, {})
            floor = file_notes.get("floor", 0.0)
            names = [image.file_name for image in site.boxes.images]
            blocks = [self.shared.blocks.get(name, name) for name in names]
            numbers = np.unique(blocks, return_inverse=True)[1]
            self._sites[k] = replace(
                site.above(floor),  # files of one site may begin at different scores
                blocks=numbers if len({*blocks}) < len(blocks) else None,
                floor=floor,
                unseen=file_notes.get("unseen", 0.0),
                calibration=self.shared.estimator.at_floor(floor).calibration_,
            )
        return self._sites[k]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _means(numbers: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: values.mean(axis=0) for name, values in numbers.items()}


def _shown(
    rows: Sequence[Mapping[str, Any]], learning: str, settings: MonitorSettings, target: Target
) -> tuple[Mapping[str, Any] | None, dict[str, str]]:
    """Return the window of a site that is shown first, and its states with their reasons.

    That is the latest complete window; the latest where none is complete. Where it cannot be
    evaluated (`unreadable`, `too_few`), an alarm of the latest one before it that could be
    evaluated stands, and that window is shown: only a later window that can be evaluated ends an
    alarm.

    Parameters
    ----------
    rows : sequence of mapping
        Of `SiteWindows.rows`.
    learning : str
        Why there is no full baseline; empty where there is one.
    settings : MonitorSettings
        What was requested.
    target : Target
        What is estimated.
    """
    complete = [row for row in rows if row["complete"]]
    latest = next(iter((complete or list(rows))[-1:]), None)
    states = reasons_of(latest, learning, settings, target.text)
    if not NOT_EVALUATED & states.keys():
        return latest, states
    for window in reversed(complete[:-1]):
        earlier = reasons_of(window, learning, settings, target.text)
        if NOT_EVALUATED & earlier.keys():
            continue
        since = f"; this is of {window['window']}, the latest window that could be evaluated"
        standing = {
            kind: earlier[kind] + since for kind in (BELOW, FELL, CHANGED) if kind in earlier
        }
        if not standing:
            break
        # A camera that cannot be read comes first; few images do not hide an alarm.
        return window, standing | states if TOO_FEW in states else states | standing
    return latest, states


def _monitored_site(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    last: pd.Timestamp,
    shown: tuple[Mapping[str, Any] | None, dict[str, str]],
    ranks: Mapping[str, tuple[float, float]],
    shared: WatchedSites,
) -> MonitoredSite:
    """Put together what is known of one site; `last` is of its images, `shown` of `_shown`."""
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
        last=plain(last) or "",
        n_unreadable=window["n_unreadable"] if window else 0,
        alarms=tuple(kind for kind in reasons if kind in alarms),
        units=units,
        labelled_level=shared.settings.labelled.get(name, nothing),
        rank=rank,
        p_worst=p_worst,
        per_category=window["per_category"] if window else {},
        other_targets=window["beside"] if window else {},
        warnings=notices_of(window["warnings"]) if window else (),
        drifts=tuple(asdict(drift) for drift in look.drifts) if look else (),
        history=pd.DataFrame(list(map(history_row, rows)), columns=None if rows else [*HISTORY]),
    )


def _ranks(
    estimator: AccuracyEstimator,
    shown: Mapping[str, Mapping[str, Any] | None],
    settings: MonitorSettings,
    floors: Mapping[str, float],
) -> dict[str, tuple[float, float]]:
    """Return the rank of each site with an estimate, and its probability to be among the worst.

    From `DRAWS` joint draws: much of the error of one site is that of all. Sites whose files begin
    at another score are drawn apart, since the fit at that score has errors of its own.

    Parameters
    ----------
    estimator : AccuracyEstimator
        Made the estimates.
    shown : mapping of str to mapping or None
        The window of each site that is shown.
    settings : MonitorSettings
        What was requested.
    floors : mapping of str to float
        Score at which the files of each site begin; see `Site.floor`.

    Returns
    -------
    dict of str to (float, float)
        Ranks from 1, the lowest value. Probabilities add up to `k`; they are NaN where there are no
        more sites than `k`.
    """
    estimated = {
        name: window
        for name, window in shown.items()
        if window is not None and window["scores"] and not math.isnan(window["value"])
    }
    values = np.array([window["value"] for window in estimated.values()])
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable") + 1.0
    worst = np.full(len(values), np.nan)
    if settings.k < len(values):
        names = np.array(list(estimated))
        floor_of_site = np.array([floors[name] for name in estimated])
        drawn = np.empty((DRAWS, len(names)))
        for number, floor in enumerate(np.unique(floor_of_site).tolist()):
            of_floor = names[floor_of_site == floor].tolist()
            rows = [
                pd.DataFrame(estimated[name]["scores"]).assign(
                    **{"site": name, UNSEEN: estimated[name]["unseen"]}
                )
                for name in of_floor
            ]
            drawn[:, floor_of_site == floor] = draw_sites(
                estimator.at_floor(floor).regression_,
                pd.concat(rows, ignore_index=True),
                draws=DRAWS,
                seed=settings.seed + number,
                fitted_sites={
                    name: site for name, site in settings.fitted_sites.items() if name in of_floor
                },
            )
        places = np.argpartition(drawn, settings.k - 1, axis=1)[:, : settings.k]
        worst = np.bincount(places.ravel(), minlength=len(values)) / len(drawn)
    return {
        name: (float(rank), float(p)) for name, rank, p in zip(estimated, ranks, worst, strict=True)
    }


def _too_old(images: pd.DataFrame, needed: Sequence[Window], keep: str) -> list[str]:
    """Name the images of a site whose boxes are kept no longer: old ones of no needed window."""
    places = np.concatenate([np.empty(0, int), *(window.places for window in needed)])
    if keep.endswith("d"):
        limit = images["taken"].max() - pd.Timedelta(days=int(keep[:-1]))
        old = (images["taken"] < limit).to_numpy()
    else:
        old = np.arange(len(images)) < len(images) - int(keep)
    old = old & (images["kept"] & images["found"]).to_numpy()
    old[places] = False
    return images["name"][old].tolist()


def _made_with(shared: WatchedSites) -> str:
    """Return a digest of all that the estimate of a window depends on, but for its images."""
    estimator, settings, categories = shared.estimator, shared.settings, shared.categories
    calibrations = [
        calibration and calibration.to_dict()
        for calibration in (estimator.calibration_, estimator.reference_calibration_)
    ]
    parts = (
        *(__version__, estimator.target, estimator.level, estimator.context_, estimator.looks_),
        calibrations,
        [(name, np.asarray(values).tolist()) for name, values in estimator.rows_.items()],
        (settings.by, settings.score_thr, settings.iou, sorted(settings.fitted_sites.items())),
        sorted(settings.labelled.items()),
        (categories.of_fit, categories.named, sorted(categories.of_site.items())),
        sorted(categories.present),
        (RULE, SCALES),
    )
    return _digest(repr(parts))
