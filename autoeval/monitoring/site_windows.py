"""One site: its categories, its windows with their estimates, and looks after the baseline."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from autoeval.boxes import Boxes, LabelledImage
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.given import (
    Categories,
    check_words,
    checked_present,
    named_categories,
    words_of,
)
from autoeval.model.calibration import LIKELY, ScoreCalibration
from autoeval.model.priors import calibration_prior
from autoeval.monitoring.box_change import AT, box_numbers, shipped_model
from autoeval.monitoring.looks import ALL, SCALES, SHOWN, TESTED, SiteLook, look_at
from autoeval.monitoring.monitor_store import BOX, CameraImage, MonitorStore
from autoeval.monitoring.monitored import MonitorSettings
from autoeval.monitoring.windows import baseline_of, windows_of
from autoeval.notices import codes_of
from autoeval.runtime.files import plain
from autoeval.sites.site import Site
from autoeval.targets import OperatingPoint, points_at

MOST_CATEGORIES = 4  # of a site that are tested each by itself
STEADY = 1e-3  # windows whose boxes are less likely than that if nothing changed are not steady
Kept = Mapping[tuple[str, str], tuple[str, Mapping[str, Any]]]
"""Digest and content of windows that were computed before; see `MonitorStore.windows`."""


@dataclass(frozen=True)
class SiteCategories:
    """Which categories are estimated at each site.

    Those that are found there count, as `AccuracyEstimator.predict` has it.

    Parameters
    ----------
    words : sequence of str
        The detector's, which the labels of records index.
    of_fit : mapping of str to sequence of str, optional
        Categories whose detector words were given to the fit.
    named : mapping of str to sequence of str, optional
        In their place: the categories that may count, with the detector's words; one without other
        words than its own name has those of the fit. A single one always counts.
    of_site : mapping of str to mapping
        Categories of single sites, which count there, found or not; these go before the others.
    present : collection of str
        Categories that count at every site, found or not.
    """

    words: Sequence[str]
    of_fit: Categories | None = None
    named: Categories | None = None
    of_site: Mapping[str, Categories] = field(default_factory=dict)
    present: Collection[str] = ()

    def given(self, site: str) -> Categories | None:
        """Return the categories of a site with the detector's words; None for its own words."""
        return named_categories(self.of_site.get(site) or self.named, self.of_fit)

    def site(self, site: str, images: Sequence[CameraImage]) -> Site:
        """Lay out images of a site with the boxes of its categories, as an estimate takes them."""
        described = tuple(
            LabelledImage(image.name, image.name, image.size if min(image.size) > 0 else None)
            for image in images
        )
        clean = _columns(described, [image.boxes for image in images], self.words)
        stronger = [image.reference for image in images if image.reference is not None]
        made = Site(
            clean,
            reference=_columns(described, stronger, self.words)
            if images and len(stronger) == len(images)
            else None,
        )
        given = self.given(site)
        if given is not None:
            made = made.as_categories(list(given), words_of(given))
        present = tuple(given or self.words)  # those of a single site count there, found or not
        if site not in self.of_site:
            known = [name for name in self.present if name in present]
            present = checked_present(known, given, present)
        return replace(made, named=given is not None, present=present)

    def check(self, known_words: Sequence[str]) -> list[str]:
        """Refuse categories without a known word of the detector; warn of words not known."""
        checked_present(self.present, None, tuple(self.named or self.of_fit or known_words))
        categories = [self.named, *self.of_site.values()]
        return [
            warning
            for given in categories
            if given
            for warning in check_words(given, set(known_words))
        ]


def _columns(
    images: tuple[LabelledImage, ...], boxes: Sequence[np.ndarray], words: Sequence[str]
) -> Boxes:
    """Lay out the boxes of each image as columns."""
    rows = np.concatenate([np.empty(0, BOX), *boxes])
    counts = [len(of_image) for of_image in boxes]
    return Boxes(
        images,
        tuple(words),
        np.repeat(np.arange(len(images)), counts),
        rows["label"].astype(np.int64),
        rows["box"].copy(),
        rows["score"].copy(),
    )


@dataclass(frozen=True, eq=False)
class WatchedSites:
    """What all sites of a run have in common.

    began: when the run began, in seconds since 1970: what is complete then is complete.
    of_files: of each site the largest ``unseen`` and ``floor`` of its results files; see `Site`.
    """

    estimator: AccuracyEstimator
    store: MonitorStore
    settings: MonitorSettings
    categories: SiteCategories
    began: float = field(default_factory=time.time)
    of_files: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


class SiteWindows:
    """The windows of one site; those that did not change since the last run are taken from it.

    images: its rows of `MonitorStore.index`, sorted by time.
    learning: why there is no full baseline; empty where there is one.
    n_dropped: windows that were never estimated, and whose boxes are dropped.
    """

    def __init__(self, name: str, images: pd.DataFrame, shared: WatchedSites) -> None:
        self.name, self.images, self.shared = name, images, shared
        settings, now = shared.settings, datetime.fromtimestamp(shared.began)
        self.windows = windows_of(images, settings.by, now)
        n, self.learning = baseline_of(settings.baseline, images, self.windows, now)
        self.n_baseline = 0 if self.learning else n
        self.n_dropped = 0
        self._sites: dict[int, Site] = {}
        self._rows: list[dict[str, Any]] = []
        self._steady: list[dict[str, np.ndarray]] = []
        self._n_looked = 0  # rows whose means are in `_steady`, where they are steady

    def rows(self, kept: Kept) -> list[dict[str, Any]]:
        """Return one row a window, in order of time, and the digest of each as ``digest``.

        A digest is of the images of a window and of those that it is compared with. A window whose
        boxes are no longer kept, and that was not computed before, is left out, and counted as
        `n_dropped`.
        """
        columns = self.images[["name", "stamp", "unreadable"]].to_numpy()
        own = [_digest(repr(columns[window.places].tolist())) for window in self.windows]
        of_images = (self.images["kept"] | (self.images["unreadable"] != "")).to_numpy(bool)
        there = [bool(of_images[window.places].all()) for window in self.windows]
        n = self.n_baseline
        for k, window in enumerate(self.windows):
            compared = [*range(n), *range(max(n, k + 1 - SCALES[-1]), k)] if 0 < n <= k else []
            digest = _digest("".join([own[k], str(k < n), *(own[place] for place in compared)]))
            kept_digest, row = kept.get((self.name, window.name), ("", None))
            complete = there[k] and all(there[place] for place in compared if place < n)
            if row is not None and (kept_digest == digest or not complete):
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
            numbers = box_numbers(site.boxes, self._calibration(site)).mean(axis=0)
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
                **dict.fromkeys(("value", "lower", "upper"), nothing),
                **{"per_category": {}, "beside": {}, "warnings": [], "scores": []},
            }
        estimate = self.shared.estimator.predict_site(
            replace(site, known=settings.known.get(self.name, "")),
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
        return {
            "value": estimate.value,
            "lower": estimate.lower,
            "upper": estimate.upper,
            "per_category": estimate.per_category if len(estimate.per_category) > 1 else {},
            "beside": {name: estimate.beside[name] for name in points if name in estimate.beside},
            "warnings": codes_of([*filter(None, [estimate.width_warning]), *estimate.warnings]),
            "scores": [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ],
        }

    def _look(self, k: int) -> tuple[SiteLook, dict[str, np.ndarray]]:
        """Compare the windows up to one with the baseline; the means of its numbers, too."""
        n, shared = self.n_baseline, self.shared
        first = max(n, k + 1 - SCALES[-1])
        base = [place for place in range(n) if len(self._site(place))]
        later = [place for place in range(first, k + 1) if len(self._site(place))]
        counted, shown = self._likely([*base, *later])
        numbers = {place: self._numbers(place, counted, shown) for place in (*base, *later)}
        steady = [_means(numbers[place]) for place in base]
        while self._n_looked < len(self._rows):  # a row is read once, however long the history
            row = self._rows[self._n_looked]
            self._n_looked += 1
            if row["look"] and row["look"]["p"] >= STEADY:
                self._steady.append({name: np.array(v) for name, v in row["means"].items()})
        steady += [means for means in self._steady if means.keys() >= {ALL, *shown}]
        level = shared.settings.labelled.get(self.name)
        if level is None:
            values = [row["value"] for row in self._rows[:n] if row["baseline"]]
            values = [value for value in values if value == value]
            level = float(np.mean(values)) if values else float("nan")
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
        """Return the categories that have a likely box, and names of the most frequent ones.

        The many unlikely boxes of a detector of 80 categories say nothing of a site.
        """
        counts = np.zeros(0, np.int64)
        names: tuple[str, ...] = ()
        for place in places:
            boxes, calibration = self._site(place).boxes, self._calibration(self._site(place))
            names = boxes.categories
            likely = boxes.label[calibration.at_half(boxes.scores, boxes.boxes) > LIKELY]
            found = np.bincount(likely, minlength=len(names))
            counts = found if not len(counts) else counts + found
        order = [int(label) for label in np.argsort(-counts, kind="stable") if counts[label]]
        several = order[:MOST_CATEGORIES] if len(order) > 1 else []
        return order, [names[label] for label in several]

    def _numbers(
        self, place: int, counted: Sequence[int], shown: Sequence[str]
    ) -> dict[str, np.ndarray]:
        site = self._site(place)
        boxes, calibration = site.boxes, self._calibration(site)
        numbers = {ALL: box_numbers(boxes.where(np.isin(boxes.label, counted)), calibration)}
        for name in shown:
            label = boxes.categories.index(name)
            numbers[name] = box_numbers(boxes, calibration, label)
        return numbers

    def _calibration(self, site: Site) -> ScoreCalibration:
        there = self.shared.estimator.at_floor(site.floor)
        return there.calibration_ or calibration_prior().calibration

    def _site(self, k: int) -> Site:
        """Return the readable images of a window with their boxes."""
        if k not in self._sites:
            images = self.images.iloc[self.windows[k].places]
            names = images["name"][images["unreadable"] == ""].tolist()
            site = self.shared.categories.site(self.name, self.shared.store.read(names))
            known = self.shared.of_files.get(self.name, {})
            floor = known.get("floor", 0.0)
            if floor:  # files of one site may begin at different scores
                site = replace(site, boxes=site.boxes.where(site.boxes.scores >= floor))
            self._sites[k] = replace(site, floor=floor, unseen=known.get("unseen", 0.0))
        return self._sites[k]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _means(numbers: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: values.mean(axis=0) for name, values in numbers.items()}
