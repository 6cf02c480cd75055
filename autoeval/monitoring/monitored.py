"""What is requested of the sites of a monitor, and what a run says of them: states and changes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from autoeval.accuracy.measures import IOUS, OperatingPoint, find_target, points_at
from autoeval.boxes import Boxes, Categories, LabelledImage, words_of
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.given import (
    check_words,
    checked_present,
    named_categories,
    with_own_names,
)
from autoeval.io.predictions.category_words import known_spellings
from autoeval.monitoring.looks import ALL, FEWEST_WINDOWS, MOVED, TESTED, SiteLook
from autoeval.monitoring.monitor_store import BOX, CameraImage
from autoeval.monitoring.windows import AUTO, FOLDER, FORMS, check_baseline
from autoeval.result_base import ENDS, REFUSED, Result
from autoeval.runtime.files import PathLike, read_json
from autoeval.sites.site import Site
from autoeval.words import Notice, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNREADABLE = "unreadable"
TOO_FEW = "too_few"
LEARNING = "learning"
OK = "ok"
FELL = "fell"
BELOW = "below"
CHANGED = "changed"
STATES = {
    UNREADABLE: "more than half of the images of the latest window cannot be read",
    TOO_FEW: "the latest window has too few images, or too few boxes that are likely to be right, "
    "and no alarm of a window before it stands",
    LEARNING: "there is no full baseline yet, or no complete window after it",
    BELOW: "the whole interval is below the level that was set",
    FELL: "the accuracy fell against the site's own baseline",
    CHANGED: "the boxes changed against the baseline, not known to be for the worse",
    OK: "nothing changed",
}
"""Each state with its meaning; where several hold, the first counts."""
FEWEST_IMAGES = 5  # of a window
MOST_UNREADABLE = 0.5  # share of the images of a window
CLEAR = 0.01  # probability under which a number of the boxes is named as changed
BY_CHANCE = "the boxes moved no further than they may by chance in so many looks (--false-alarms)"
NO_VALUE = ("no-estimate", "no-box-over-threshold")
"""Codes of the warnings of an estimate without a value, where boxes are likely to be right."""
KEPT = r"[1-9]\d{0,3}d|[1-9]\d{0,6}"  # days, fewer than pandas can subtract, or images
CHANGE = ("change", "change_lower", "change_upper")
HISTORY = ("site", "window", "complete", "baseline", *ENDS, *CHANGE)
"""Columns of the history of a site of which no window is known."""
Window = Mapping[str, Any]
"""What is known of one window; see `autoeval.monitoring.monitor.SiteWindows.rows`."""


@dataclass(frozen=True)
class MonitorSettings:
    """What is requested of sites.

    Parameters
    ----------
    by : str
        Windows of a site: ``"day"``, ``"hour"``, ``"every:200"`` images, ``"folder"``; by default
        days, or 50 images where none has a time.
    depth : int, optional
        Folders that name a site; all by default.
    baseline : str, optional
        What a site is compared with: its first ``"7d"``, ``"12h"`` or ``"200"`` images, or all
        before a date; by default seven days, or 100 images where none has a time.
    false_alarms : float
        Largest probability of ever raising ``fell`` or ``changed`` at a site whose images go on
        showing the scenes of its baseline; over 0 and under 1.
    alarm_below : float, optional
        Level of the target, over 0 and under 1, under which a site is ``below``, by the whole
        interval.
    alarm_on_changed : bool
        Whether ``changed`` is an alarm, as ``fell`` and ``below`` always are.
    keep : str, optional
        For how long boxes are kept, such as ``"90d"`` or the latest ``"5000"`` images of each site;
        always those of the baseline, and of windows that are not complete. Estimates of earlier
        windows stay.
    k : int
        How many sites count as the worst.
    seed : int
        Of every draw.
    score_thr : float, optional
        Score threshold at which precision, recall and F1 are estimated, too.
    iou : float
        IoU of true positives there.
    fitted_sites : mapping of str to str
        By site the labelled set of the fit that it is.
    labelled : mapping of str to float
        Accuracy of the baseline of a site in [0, 1] as labels measured it; the others' are
        estimated.

    Raises
    ------
    InputError
        If there are no such windows or baseline, or a number is out of its range.
    """

    by: str = AUTO
    depth: int | None = None
    baseline: str | None = None
    false_alarms: float = 0.05
    alarm_below: float | None = None
    alarm_on_changed: bool = False
    keep: str | None = None
    k: int = 3
    seed: int = 0
    score_thr: float | None = None
    iou: float = IOUS[0]
    fitted_sites: Mapping[str, str] = field(default_factory=dict)
    labelled: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.by not in (AUTO, FOLDER, *FORMS) and not re.fullmatch(r"every:[1-9]\d*", self.by):
            raise InputError(
                f"Expected --by as auto, day, hour, folder or every:200, but got {self.by!r}."
            )
        if self.baseline is not None:
            check_baseline(self.baseline)
        if self.keep is not None and not re.fullmatch(KEPT, self.keep):
            raise InputError(f"Expected --keep as days (90d) or images (5000) but got {self.keep}.")
        for name, value in (("--depth", self.depth), ("--worst", self.k)):
            if value is not None and value < 1:
                raise InputError(f"Expected {name} of 1 or more but got {value}.")
        if not 0 < self.false_alarms < 1:
            raise InputError(
                f"Expected --false-alarms over 0 and under 1 but got {self.false_alarms:g}."
            )
        if self.score_thr is not None:
            points_at(self.score_thr, self.iou)  # refuses what is no threshold
        elif self.iou != IOUS[0]:
            raise InputError(
                f"Expected a score threshold with an IoU of {self.iou:g}, which is that of true "
                "positives over it."
            )
        if self.alarm_below is not None and not 0 < self.alarm_below < 1:
            raise InputError(
                f"Expected --alarm-below over 0 and under 1 but got {self.alarm_below:g}."
            )
        for site, level in self.labelled.items():
            if not 0 <= level <= 1:  # nor NaN
                raise InputError(f"Expected --labelled of {site} in [0, 1] but got {level:g}.")

    def check(self, estimator: AccuracyEstimator) -> None:
        """Check that an estimator can give what is requested, before anything is observed.

        Parameters
        ----------
        estimator : AccuracyEstimator
            The fit, for the target that is estimated.

        Raises
        ------
        InputError
            If sites are known, or levels labelled, and the target is no average precision, a known
            site is none of the fit, or the fit has no accuracy at the score threshold.
        """
        if self.fitted_sites and OperatingPoint.of(estimator.target):
            raise InputError(
                f"At a known site mAP, mAP50 and mAP75 are estimated, not {estimator.target}: "
                "leave out either --site or --target."
            )
        if self.labelled and OperatingPoint.of(estimator.target):
            raise InputError(
                f"--labelled acts on changes, which are of average precision, not of "
                f"{estimator.target}: leave out either --labelled or --target."
            )
        if self.score_thr is not None:
            estimator.regression_of(points_at(self.score_thr, self.iou)[1])
        for site in self.fitted_sites.values():
            estimator.regression_.accuracies_at(site)


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
    joined : mapping of str to sequence of str, optional
        Those whose words were given to some of the fits that were joined.
    named : mapping of str to sequence of str, optional
        In their place: the categories that may count, with the detector's words; one without other
        words than its own name has those of the fit. A single one always counts.
    of_site : mapping of str to mapping
        Categories of single sites, which count there, found or not; these go before the others.
    present : collection of str
        Categories that count at every site, found or not.
    known : collection of str
        Words of the boxes of the fit, see `with_own_names`.
    """

    words: Sequence[str]
    of_fit: Categories | None = None
    joined: Categories | None = None
    named: Categories | None = None
    of_site: Mapping[str, Categories] = field(default_factory=dict)
    present: Collection[str] = ()
    known: Collection[str] = ()

    def site(self, site: str, images: Sequence[CameraImage]) -> Site:
        """Lay out images of a site with the boxes of its categories, as an estimate takes them.

        Parameters
        ----------
        site : str
            Its name.
        images : sequence of CameraImage
            With their boxes, whose labels index `words`. The reference counts where every image has
            one.
        """
        described = tuple(
            LabelledImage(image.name, image.name, image.size if min(image.size) > 0 else None)
            for image in images
        )
        stronger = [image.reference for image in images if image.reference is not None]
        passes = [[image.boxes for image in images]]
        if images and len(stronger) == len(images):
            passes.append(stronger)
        boxes_of_passes = []
        for boxes_of_images in passes:
            rows = np.concatenate([np.empty(0, BOX), *boxes_of_images])
            image = np.repeat(np.arange(len(images)), [len(boxes) for boxes in boxes_of_images])
            columns = rows["label"].astype(np.int64), rows["box"].copy(), rows["score"].copy()
            boxes_of_passes.append(Boxes(described, tuple(self.words), image, *columns))
        reference = boxes_of_passes[1] if len(boxes_of_passes) > 1 else None
        new_site = Site(boxes_of_passes[0], reference=reference)
        given = self.of_site.get(site) or self.named
        categories = named_categories(given, self.of_fit, self.joined, self.words)
        if categories is not None:
            words = words_of(with_own_names(categories, self.known, self.words))
            new_site = replace(new_site, detector_words=words)
            new_site = new_site.as_categories(list(categories), words)
        present = tuple(categories or self.words)  # of a single site all count, found or not
        if site not in self.of_site:
            present_names = [name for name in self._present(present) if name in present]
            present = checked_present(present_names, categories, present)
        return replace(new_site, named=categories is not None, present=present)

    def check(self, known_words: Sequence[str]) -> list[Notice]:
        """Check that categories have a known word of the detector.

        Parameters
        ----------
        known_words : sequence of str
            Words of the detector that are known so far.

        Returns
        -------
        list of Notice
            Warnings of words that are not known.

        Raises
        ------
        InputError
            If `present` names another category, or no word of a category is known.
        """
        named = named_categories(self.named, self.of_fit, self.joined, known_words)
        names = tuple(named or known_words)
        checked_present(self._present(names), None, names)
        given = filter(None, (self.named, *self.of_site.values()))
        requested = [
            named_categories(words, self.of_fit, self.joined, known_words) or {} for words in given
        ]
        return [
            warning
            for categories in requested
            for warning in check_words(categories, set(known_words))
        ]

    def _present(self, names: Sequence[str]) -> list[str]:
        """Call the categories that are there as a site does, where they are spelt otherwise."""
        spelt = known_spellings(self.present, names)
        return [spelt.get(name, name) for name in self.present]


def labelled_level(path: PathLike | float, target: str) -> float:
    """Read the accuracy that ``label estimate --json`` or ``estimate --labels --json`` printed.

    Parameters
    ----------
    path : path-like or float
        The file; a number is this accuracy itself, in [0, 1].
    target : str
        What it has to be; see `autoeval.accuracy.measures.TARGETS`.

    Raises
    ------
    InputError
        If the file holds no such value, or one of another target.
    """
    if isinstance(path, int | float | np.floating):
        return float(path)
    content = read_json(Path(path), "estimate from labels")
    try:
        estimate = content.get("labelled_estimate", content)
        value, measured = float(estimate["value"]), estimate.get("target", target)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"Expected {path} to hold a value, as `autoeval label estimate --json` prints it, but "
            f"it does not ({error!r})."
        ) from error
    if measured != target:
        raise InputError(
            f"Expected {path} to hold {target}, which is monitored, but it holds {measured}: "
            f"monitor that with --target, or estimate {target} from the labels."
        )
    return value


@dataclass(frozen=True, repr=False)
class MonitoredSite(Result):
    """The state of one site, and its latest complete window.

    Parameters
    ----------
    name, state : str
        The state is a key of `STATES`.
    reasons : dict of str to str
        Every state that holds, the one that counts first, with the reason.
    alarms : tuple of str
        The states among these that are alarms: ``fell``, ``below``, and ``changed`` where that was
        requested.
    window : str
        The latest complete window; the latest one where none is complete. Where it cannot be
        evaluated, the latest one that could be, if that has an alarm.
    value, lower, upper : float
        Estimated accuracy there, in [0, 1], with its prediction interval; NaN where nothing is
        known.
    change, change_lower, change_upper : float
        Against the baseline of the site, in [-1, 1], with its interval; NaN where none is
        estimated.
    change_windows : int
        How many of the last windows that change is of: one, or as many as show together that the
        site fell, 2, 4 or 8.
    level : float
        Nominal coverage of the intervals.
    target : str
        What is estimated, see `autoeval.accuracy.measures.TARGETS`. A change is estimated of an
        average precision alone.
    n_images : int
        Images of the window that could be read.
    n_unreadable : int
        Images of the window that could not.
    last : str
        When the latest image of the site was taken, as ISO 8601 by the camera's clock; empty where
        no image has a time.
    units : str
        How many independent units the change was measured with, in words.
    labelled_level : float
        Accuracy of the baseline in [0, 1] as labels measured it; NaN where it is estimated.
    rank, p_worst : float
        1 is the lowest value; probability to be among the `k` worst. NaN where not known.
    per_category, other_targets : dict of str to dict
        ``value``, ``lower`` and ``upper`` of each category where there are several, and of other
        targets of the same images.
    warnings : tuple of Notice
        Of the estimate of the window.
    history : DataFrame
        One row a window, in order of time; see `Monitored.windows`.
    drifts : tuple of dict
        Numbers of the boxes at the baseline and now; see `autoeval.monitoring.looks.Drift`.

    Examples
    --------
    `autoeval.monitor` makes them. By hand:

    >>> site = MonitoredSite(
    ...     "gate", FELL, {FELL: "fewer boxes"}, "2026-03-09", 0.31, 0.22, 0.4, change=-0.09,
    ...     change_lower=-0.14, change_upper=-0.04, level=0.9, target="mAP", n_images=120,
    ...     n_unreadable=0, alarms=(FELL,),
    ... )
    >>> print(site)  # doctest: +NORMALIZE_WHITESPACE
    gate: fell, estimated mAP: 31.0 (90% interval 22.0 to 40.0), 120 images of 2026-03-09,
    fell by 9.0 points (-14.0 to -4.0) against its baseline
      fewer boxes
    """

    name: str
    state: str
    reasons: dict[str, str]
    window: str
    value: float
    lower: float
    upper: float
    change: float
    change_lower: float
    change_upper: float
    level: float
    target: str
    n_images: int
    n_unreadable: int
    last: str = ""
    alarms: tuple[str, ...] = ()
    change_windows: int = 1
    units: str = ""
    labelled_level: float = np.nan
    rank: float = np.nan
    p_worst: float = np.nan
    per_category: dict[str, dict[str, float]] = field(default_factory=dict)
    other_targets: dict[str, dict[str, float]] = field(default_factory=dict)
    warnings: tuple[Notice, ...] = ()
    drifts: tuple[dict[str, Any], ...] = ()
    history: pd.DataFrame = field(default_factory=pd.DataFrame, compare=False)

    @property
    def title(self) -> str:
        """The site, its state, and what the value is."""
        return f"{self.name}: {self.state}, {super().title}"

    @property
    def basis(self) -> str:
        """How many images of which window, and the change against the baseline."""
        images = counted(self.n_images, "image") + (f" of {self.window}" if self.window else "")
        change = f"{self.change_text} against its baseline" if self.change_text else ""
        return ", ".join(filter(None, [images, change]))

    def __str__(self) -> str:
        first, *rest = super().__str__().splitlines()
        return "\n".join([first, *([f"  {self.reason}"] if self.reason else []), *rest])

    @property
    def reason(self) -> str:
        """Why the site is in its state, and what else holds."""
        other_reasons = [
            f"{name}: {text}" for name, text in self.reasons.items() if name != self.state
        ]
        reasons = [self.reasons[self.state], *other_reasons]
        return "; ".join(reason for reason in reasons if reason)

    @property
    def value_text(self) -> str:
        """The value with its interval, in the unit of the target."""
        return self.interval_text({end: getattr(self, end) for end in ENDS})

    @property
    def change_text(self) -> str:
        """The change with its interval, such as ``"fell by 9.1 points (-14.0 to -4.2)"``.

        ``"-2.1 points (-9.0 to +4.8)"`` where that contains 0. Where it is of several windows, it
        ends with their number.
        """
        if math.isnan(self.change):
            return ""
        scale = find_target(self.target).scale
        points = f"{scale * self.change:+z.1f} points"
        if self.change_lower > 0 or self.change_upper < 0:
            verb = "fell" if self.change < 0 else "rose"
            points = f"{verb} by {abs(scale * self.change):.1f} points"
        ends = f"{scale * self.change_lower:+z.1f} to {scale * self.change_upper:+z.1f}"
        several = f" over the last {self.change_windows} windows" if self.change_windows > 1 else ""
        return f"{points} ({ends}){several}"

    @property
    def baseline_level(self) -> float:
        """The accuracy that the change is against: by labels, or the mean of the estimates."""
        if not math.isnan(self.labelled_level):
            return self.labelled_level
        return float(self.history["value"][self.history["baseline"].to_numpy(bool)].mean())

    def to_dict(self) -> dict[str, float]:
        """Return the numbers under flat keys, as every result has them, and the change.

        ``estimate/change``, ``estimate/change_lower`` and ``estimate/change_upper``, where known.
        """
        changes = {f"{self.kind}/{name}": getattr(self, name) for name in CHANGE}
        estimated = {name: value for name, value in changes.items() if not math.isnan(value)}
        return super().to_dict() | estimated

    def to_pandas(self) -> pd.DataFrame:
        """Return one row a window, in order of time; see `Monitored.windows`."""
        return self.history.reset_index(drop=True)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the value of each window with its interval, in the target's unit.

        After the baseline also its level and the change against it, which boxes show more exactly
        than the values of single windows do.

        Parameters
        ----------
        ax : Axes, optional
            A new figure by default.
        """
        from matplotlib.figure import Figure

        target, rows = find_target(self.target), self.history
        if ax is None:
            ax = Figure(figsize=(7, 2.6), layout="constrained").subplots()
        at = np.arange(len(rows))
        lines = {"each window by itself": rows[list(ENDS)].to_numpy(float)}
        if rows["change"].notna().any():
            against = self.baseline_level + rows[list(CHANGE)].to_numpy(float)
            lines["baseline and change"] = np.clip(against, 0, 1)
        for name, line in lines.items():
            value, lower, upper = target.scale * line.T
            ax.fill_between(at, lower, upper, alpha=0.25, lw=0)
            ax.plot(at, value, "o-", ms=3, label=name)
        if len(lines) > 1:
            ax.legend(fontsize=7, loc="lower left", frameon=False)
        shown = at[:: max(1, len(at) // 6)]
        ax.set_xticks(shown, rows["window"].iloc[shown], rotation=20, ha="right", parse_math=False)
        ax.set_ylabel(target.title)
        return ax


@dataclass(frozen=True, eq=False)
class Monitored:
    """All sites of a run: those with an alarm first, then changed ones, then the worst first.

    Parameters
    ----------
    sites : tuple of MonitoredSite
        In this order; sites without a value last.
    target : str
        What is estimated.
    level : float
        Nominal coverage of the intervals.
    settings : MonitorSettings
        What was requested.
    warnings : tuple of Notice
        What could not be read, doubtful times.
    n_new : int
        Images that this run observed.
    clocks : dict of str to int
        How many images have their time from each source, see `autoeval.monitoring.windows.Clock`.
    candidate : (DataFrame, tuple of Notice), optional
        Another detector against this one, one row a site, and what was not compared; see
        `autoeval.monitoring.candidate.compare_at_sites`.
    pictures : dict of str to Path
        Where the images lie that a detector was run on, by name.
    """

    sites: tuple[MonitoredSite, ...]
    target: str
    level: float
    settings: MonitorSettings
    warnings: tuple[Notice, ...] = ()
    n_new: int = 0
    clocks: Mapping[str, int] = field(default_factory=dict)
    candidate: tuple[pd.DataFrame, tuple[Notice, ...]] | None = None
    pictures: Mapping[str, Path] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sites."""
        return tuple(site.name for site in self.sites)

    def __getitem__(self, name: str) -> MonitoredSite:
        """Return one site; KeyError if there is none of this name."""
        for site in self.sites:
            if site.name == name:
                return site
        raise KeyError(f"No site {name!r}, only {', '.join(self.names)}.")

    def __str__(self) -> str:
        lines = [str(site).splitlines()[0] for site in self.sites]
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])

    def __repr__(self) -> str:
        return f"<Monitored: {len(self.sites)} sites, alarms: {len(self.alarms)}>"

    @property
    def alarms(self) -> tuple[MonitoredSite, ...]:
        """Sites with an alarm."""
        return tuple(site for site in self.sites if site.alarms)

    def to_dict(self) -> dict[str, float]:
        """Return the numbers of every site under flat keys, each behind the name of its site.

        Names are those that loggers take; see `Result.to_dict`.
        """
        numbers: dict[str, float] = {}
        for site in self.sites:
            name = REFUSED.sub("_", site.name)
            for key, value in site.to_dict().items():
                key = f"{name}/{key}"
                while key in numbers:
                    key += "_"
                numbers[key] = value
        return numbers

    def to_pandas(self) -> pd.DataFrame:
        """Return one row a site: its state and its latest complete window."""
        nested = {"history", "per_category", "other_targets", "warnings", "drifts", "reasons"}
        return pd.DataFrame(
            [
                {k: value for k, value in vars(site).items() if k not in {*nested, "alarms"}}
                | {"reason": site.reason}
                for site in self.sites
            ]
        )

    def windows(self) -> pd.DataFrame:
        """Return one row for each window of each site, in order of time.

        Returns
        -------
        DataFrame
            Columns are ``site``, ``window``, ``complete``, ``baseline`` (whether it is part of it),
            ``n_images``, ``n_unreadable``, ``n_boxes``, ``first`` and ``last`` (times of its
            images), ``value``, ``lower``, ``upper``, ``change``, ``change_lower``, ``change_upper``
            (of this window alone), ``p`` (of such boxes if nothing changed), and each number of the
            boxes, of `TESTED`; where there are several categories ``value/NAME``, ``lower/NAME``
            and ``upper/NAME``. NaN where nothing is known.
        """
        parts = [site.history for site in self.sites if len(site.history)]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def look_of(window: Window | None) -> SiteLook | None:
    """Return the look of a window to which no more images can come; else None.

    Parameters
    ----------
    window : mapping, optional
        See `autoeval.monitoring.monitor.SiteWindows.rows`; None of a site without one.

    Returns
    -------
    SiteLook, optional
        None also of a window of the baseline, and of one without a readable image.
    """
    if window is None or not window["look"] or not window["complete"]:
        return None
    return SiteLook.from_dict(window["look"])


def reasons_of(
    window: Window | None, learning: str, settings: MonitorSettings, text: Callable[..., str]
) -> dict[str, str]:
    """Return every state that holds at a site, the one that counts first, and why.

    Parameters
    ----------
    window : mapping, optional
        The latest complete one, see `autoeval.monitoring.monitor.SiteWindows.rows`; None where
        there is none.
    learning : str
        Why there is no full baseline; empty where there is one.
    settings : MonitorSettings
        What was requested.
    text : callable
        Writes a value of the target.

    Returns
    -------
    dict of str to str
        Keys of `STATES`. Where the window cannot be evaluated, that is the only one.
    """
    look = look_of(window)
    learning = learning or ("" if look else "there is no complete window after the baseline yet")
    if window is None:
        return {LEARNING: learning}
    n, lost = window["n_images"], window["n_unreadable"]
    if lost > MOST_UNREADABLE * (n + lost):
        return {UNREADABLE: f"{lost} of {n + lost} images cannot be read"}
    if n < FEWEST_IMAGES:
        return {TOO_FEW: f"{counted(n, 'image')}; {FEWEST_IMAGES} are needed"}
    changed = look is not None and look.changed(settings.false_alarms)
    of_estimate = {warning["code"]: warning["text"] for warning in window["warnings"]}
    if "nothing-found" in of_estimate and not changed:  # a recall of 0, too, if there are objects
        return {TOO_FEW: "no box is likely to be right, so that nothing can be estimated"}
    if np.isnan(window["value"]) and not changed:
        return {TOO_FEW: next(of_estimate[code] for code in NO_VALUE if code in of_estimate)}
    reasons = {LEARNING: learning} if look is None else {}
    below = settings.alarm_below
    if below is not None and window["complete"] and window["upper"] < below:
        ends = f"{text(window['lower'])} to {text(window['upper'], below)}"
        reasons[BELOW] = f"the interval {ends} is below {text(below)}"
    if look is not None and changed:
        moved = "; ".join(_moved_texts(look))
        if look.fell(settings.false_alarms):
            reasons[FELL] = moved
        else:
            reasons[CHANGED] = f"{moved}; whether for the worse, only labels show"
            if look.of != "windows":
                reasons[CHANGED] += (
                    f". With under {FEWEST_WINDOWS} windows the baseline does not show how much "
                    "scenes differ: one that is new there looks so, too"
                )
    why = ""
    if look is not None and look.fall is not None:
        n_windows, _ = look.fall
        over = f" over the last {n_windows} windows" if n_windows > 1 else ""
        why = f"the interval of the change{over} is below 0, but {BY_CHANCE}"
    return reasons or {OK: why}


def _moved_texts(look: SiteLook) -> list[str]:
    """Describe which numbers of the boxes moved, three at most, those of all categories first.

    Those with a probability of at most `CLEAR`; where all together moved and none of them so
    clearly, those that moved most.
    """
    least = min((drift.p for drift in look.drifts), default=0.0)
    clear = (drift for drift in look.drifts if drift.p <= max(CLEAR, least))
    drifts = sorted(clear, key=lambda drift: drift.category != ALL)
    texts = []
    for drift in drifts[:3]:
        of_category = f" of {drift.category}" if drift.category != ALL else ""
        texts.append(f"{MOVED[drift.name]}{of_category}: {drift.before:.2f} to {drift.after:.2f}")
    return texts


def history_row(window: Window) -> dict[str, Any]:
    """Return the row of a window in `Monitored.windows`.

    Parameters
    ----------
    window : mapping
        See `autoeval.monitoring.monitor.SiteWindows.rows`.
    """
    names = ("site", "window", "complete", "baseline", "n_images", "n_unreadable", "n_boxes")
    row = {name: window[name] for name in names}
    row |= {name: pd.Timestamp(window[name]) for name in ("first", "last")}
    row |= {name: window[name] for name in ENDS}
    look = window["look"] or {}
    change = next(iter(look.get("changes", ())), dict.fromkeys(ENDS, np.nan))
    row |= {column: change[end] for column, end in zip(CHANGE, ENDS, strict=True)}
    row["p"] = look.get("p", np.nan)
    row |= {name: window["shown"].get(name, np.nan) for name in TESTED}
    for category, ends in window["per_category"].items():
        row |= {f"{name}/{category}": value for name, value in ends.items()}
    return row
