"""When the images of a site were taken, and the windows in which they are looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.io.image_lists import natural_order, split_at_time, times_in_names
from autoeval.io.images import exif_time
from autoeval.runtime.files import PathLike
from autoeval.words import Notice, counted, listed

AUTO = "auto"
EXIF = "exif"
FILE = "file"
IN_NAME = "name"
LISTED = "listed"
NOWHERE = "none"
UNTRUE = "untrue"
EARLIEST = datetime(2001, 1, 1)  # clocks that were reset begin at 1970, 1980 or 2000
DIGITS = {"Y": r"\d{4}", "j": r"\d{3}", "f": r"\d{1,6}", **dict.fromkeys("mdHMSy", r"\d{2}")}
"""Directives of a form of times in names, and their digits: without words, and so without %I, which
is the morning or the afternoon by %p."""
SEVERAL = pd.Timedelta(minutes=1)
FEW_JUMPS = 0.05  # share of steps back in time; more are another order
FOLDER = "folder"
DAY = "day"
HOUR = "hour"
EVERY = "every:"
FORMS = {DAY: "%Y-%m-%d", HOUR: "%Y-%m-%d %H:00"}
LENGTHS = {DAY: pd.Timedelta(days=1), HOUR: pd.Timedelta(hours=1)}
USUAL_SIZE = 50  # images of a window where no image has a time
FEWEST = 8  # images of a baseline: with fewer its variance is not known
UNITS = {"d": "day", "h": "hour"}
FLOORS = {"d": "D", "h": "h"}  # as pandas has them
USUAL = "7d"
USUAL_UNTIMED = f"{2 * USUAL_SIZE}"


@dataclass(frozen=True)
class Clock:
    """Reads when images were taken.

    Parameters
    ----------
    source : str
        ``"exif"``; ``"file"``, the time of the file's last change, in UTC; ``"auto"``, the first of
        these that there is; or a form as in `datetime.strptime`, such as ``"%Y%m%d_%H%M%S"``, that
        the name of each file holds somewhere: a year, and what else there is of `DIGITS`.

    Raises
    ------
    InputError
        If it is none of these.

    Examples
    --------
    >>> Clock("%Y%m%d_%H%M").read("nowhere.jpg", "gate/in_20260302_0915.jpg")
    (datetime.datetime(2026, 3, 2, 9, 15), 'name')
    """

    source: str = AUTO

    def __post_init__(self) -> None:
        directives = [mark for mark in re.findall("%(.?)", self.source) if mark != "%"]
        is_form = len({*directives} & DIGITS.keys()) == len(directives)
        has_year = {"Y", "y"} & {*directives}  # without one it would be 1900
        if self.source not in (AUTO, EXIF, FILE) and not (is_form and has_year):
            raise InputError(
                f"Expected --time as {EXIF}, {FILE}, {AUTO} or a form of the time in file names, "
                f"such as %Y%m%d_%H%M%S, with a year and each of %{', %'.join(DIGITS)} at most "
                f"once, but got {self.source!r}."
            )

    def read(
        self, path: PathLike | None, name: str, listed: datetime | None = None
    ) -> tuple[datetime | None, str]:
        """Return the time of an image, and where it is from.

        Parameters
        ----------
        path : path-like, optional
            Its file. Without one the time is `listed`, or the one that its name holds, year first;
            see `autoeval.io.image_lists.split_at_time`.
        name : str
            Its name, with folders.
        listed : datetime, optional
            The time that the list of images gives.

        Returns
        -------
        taken : datetime, optional
            By the camera's clock, without a time zone; None where there is none.
        source : str
            ``"exif"``, ``"file"``, ``"name"`` or ``"listed"``; ``"none"`` without a time, and
            ``"untrue"`` where it is before 2001 or in the future, as that of a camera whose clock
            was reset.
        """
        if self.source not in (AUTO, EXIF, FILE):
            taken, source = time_of_form(name, self.source), IN_NAME
        elif path is None and listed is None and self.source == AUTO:
            taken, source = split_at_time(name)[0], IN_NAME
        elif path is None:
            taken, source = listed, LISTED
        else:
            taken, source = exif_time(path) if self.source != FILE else None, EXIF
            if taken is None and self.source != EXIF:
                taken, source = _changed(path), FILE
        if taken is None:
            return None, NOWHERE
        if not EARLIEST <= taken <= datetime.now() + timedelta(days=1):
            return None, UNTRUE
        return taken, source


def time_of_form(name: str, form: str) -> datetime | None:
    """Find a time of a form in a file name; None where it is not there.

    Parameters
    ----------
    name : str
        The name, with folders, separated by forward slashes.
    form : str
        As `Clock` takes it. The first place of the name where such digits are a time counts.

    Examples
    --------
    >>> time_of_form("cam 3/2026-03-02/09.15.07.jpg", "%Y-%m-%d/%H.%M.%S")
    datetime.datetime(2026, 3, 2, 9, 15, 7)
    >>> time_of_form("cam 3/20261302.jpg", "%Y%m%d") is None
    True
    """
    pattern = re.sub(r"%(.)", lambda mark: DIGITS.get(mark[1], re.escape(mark[1])), re.escape(form))
    found = []
    for match in re.finditer(f"(?=({pattern}))", name):
        with suppress(ValueError):
            found.append((match, datetime.strptime(match[1], form)))
    for k, (match, time) in enumerate(found):
        # the date of a folder, and what looks like a time is the date once more
        again = any(
            other.start() < match.end(1)
            and not name[other.start() - 1].isdigit()
            and later.year == time.year
            for other, later in found[k + 1 :]
        )
        if not again:
            return time
    return None


def without_numbers_as_times(index: pd.DataFrame) -> pd.DataFrame:
    """Take no time from the names of a site whose digits are times in some names alone.

    See `times_in_names`.

    Parameters
    ----------
    index : DataFrame
        Rows of `MonitorStore.index`, of images read with the source `AUTO`.
    """
    index, in_names = index.copy(), index["taken_from"].isin([IN_NAME, NOWHERE])
    for _, rows in index[in_names].groupby("site"):
        if rows["taken_from"].nunique() > 1:  # else all names hold a time, or none does
            numbers = rows.index[[time is None for time in times_in_names(rows["name"])]]
            index.loc[numbers, ["taken", "taken_from"]] = [pd.NaT, NOWHERE]
    return index


def _changed(path: PathLike) -> datetime | None:
    try:
        seconds = os.stat(path).st_mtime
        return datetime.fromtimestamp(seconds, timezone.utc).replace(tzinfo=None, microsecond=0)
    except (OSError, OverflowError, ValueError):
        return None


def time_warnings(index: pd.DataFrame, *, needed: bool) -> Iterator[Notice]:
    """Warn of the times of the images of one site.

    Parameters
    ----------
    index : DataFrame
        Images of the site, sorted by `in_time`.
    needed : bool
        Whether windows are of time.
    """
    untrue = index[index["taken_from"] == UNTRUE]
    if len(untrue):
        text = (
            f"{counted(len(untrue), 'image')} with a time before 2001 or in the future, as "
            "after a reset of the clock; taken as without a time "
            f"({listed(untrue['name'], most=2)})"
        )
        yield Notice("times-untrue", text)
    lacking = int(index["taken"].isna().sum()) - len(untrue)
    if lacking and needed:
        yield Notice("times-missing", f"{counted(lacking, 'image')} without a time, in no window")
    sources = index.loc[index["taken"].notna(), "taken_from"].value_counts()
    if len(sources) > 1 and FILE in sources:
        numbers = ", ".join(f"{source} {n}" for source, n in sources.items())
        yield Notice(
            "times-of-different-clocks",
            f"times from different clocks ({numbers}): name one with --time",
        )
    # Times that go back in the order of names, where that is otherwise their order.
    by_name = index[index["taken"].notna() & (index["taken_from"] != IN_NAME)].sort_index()
    steps = by_name["taken"].diff()
    back = steps < -SEVERAL
    if 0 < back.sum() <= max(1, FEW_JUMPS * len(by_name)):
        first = int(back.to_numpy().argmax())
        text = (
            f"the clock jumps back {counted(int(back.sum()), 'time')}, first at "
            f"{by_name['name'].iloc[first]}, by {-steps.iloc[first].to_pytimedelta()}: images "
            "are taken in the order of the clock"
        )
        yield Notice("clock-jumps-back", text)


def silent_sites(images_of: Mapping[str, pd.DataFrame], by: str) -> Iterator[Notice]:
    """Warn of sites that no longer send images while others do.

    A site is silent when the newest image of any site is later than its own latest one by over
    twice the longest time that passed between two of its images, and by over an hour where windows
    are of an hour, else a day. It has at least `FEWEST` images with a time.

    Parameters
    ----------
    images_of : mapping of str to DataFrame
        Images of each site, sorted by `in_time`.
    by : str
        Windows of the sites, as in `windows_of`.
    """
    taken_of = {name: images["taken"].dropna().to_numpy() for name, images in images_of.items()}
    newest = max(
        (pd.Timestamp(taken[-1]) for taken in taken_of.values() if len(taken)), default=None
    )
    silent = {}
    for name, taken in taken_of.items():
        if newest is not None and len(taken) >= FEWEST:
            latest, longest = pd.Timestamp(taken[-1]), 2 * pd.Timedelta(np.diff(taken).max())
            least = LENGTHS.get(kind_of(images_of[name], by), LENGTHS[DAY])
            if newest - latest > max(longest, least):
                silent[name] = f"{name} {latest:%Y-%m-%d %H:%M}"
    if silent:
        yield Notice(
            "site-silent",
            f"{listed(list(silent), most=3)}: no new image, while another site has one of "
            f"{newest:%Y-%m-%d %H:%M}: the state is that of the images before (latest: "
            f"{listed(list(silent.values()), most=3)})",
        )


@dataclass(frozen=True)
class Window:
    """Images of a site that are looked at together.

    Parameters
    ----------
    name : str
        Such as ``2026-03-02``, a folder, or a number.
    places : ndarray, int
        Places in the images of the site, which are sorted by `in_time`.
    complete : bool
        Whether no further image belongs to it.
    """

    name: str
    places: np.ndarray
    complete: bool


def in_time(index: pd.DataFrame) -> pd.DataFrame:
    """Sort the images of a site by time; equal times, and images without, by number and name.

    Images without a time come last.

    Parameters
    ----------
    index : DataFrame
        Rows of `MonitorStore.index`: ``name``, ``taken`` and ``number`` are read.

    Returns
    -------
    DataFrame
        The same rows; their index is the place of each image in the natural order of names, in
        which ``9.jpg`` comes before ``10.jpg``.
    """
    names = [natural_order(name) for name in index["name"]]
    by_name = index.iloc[sorted(range(len(index)), key=names.__getitem__)].reset_index(drop=True)
    return by_name.sort_values(["taken", "number"], kind="stable", na_position="last")


def kind_of(images: pd.DataFrame, by: str) -> str:
    """Return the kind of the windows of a site: with `AUTO` days, or without times `USUAL_SIZE`.

    Parameters
    ----------
    images : DataFrame
        Of the site; ``taken`` is read.
    by : str
        As in `windows_of`; all but `AUTO` is returned as it is.
    """
    if by != AUTO:
        return by
    return DAY if images["taken"].notna().any() else f"{EVERY}{USUAL_SIZE}"


def windows_of(images: pd.DataFrame, by: str, now: datetime) -> list[Window]:
    """Return the windows of the images of one site.

    A day or an hour is complete when it is over or a later image is there, so many images when they
    are together, and a folder always.

    Parameters
    ----------
    images : DataFrame
        Of the site, sorted by `in_time`.
    by : str
        ``"day"`` or ``"hour"``, of images with a time; ``"every:200"`` for so many images after one
        another; ``"folder"`` for the folders of the images; or `AUTO`.
    now : datetime
        When the run began.

    Examples
    --------
    >>> taken = pd.to_datetime(["2026-03-02 08:59", "2026-03-02 09:01"])
    >>> images = pd.DataFrame({"taken": taken, "name": ["a/1", "a/2"]})
    >>> now = datetime(2026, 3, 2, 9, 30)
    >>> [(window.name, window.complete) for window in windows_of(images, "hour", now)]
    [('2026-03-02 08:00', True), ('2026-03-02 09:00', False)]
    """
    kind = kind_of(images, by)
    if kind in FORMS:
        taken = images["taken"]
        names = taken.dt.strftime(FORMS[kind]).to_numpy()
        names = np.where(taken.isna(), "", names).astype(str)
        named_windows = _together(names)
        last = len(named_windows) - 1
        return [
            Window(name, places, k < last or now >= pd.Timestamp(name) + LENGTHS[kind])
            for k, (name, places) in enumerate(named_windows)
        ]
    if kind == FOLDER:
        folders = np.array([name.rpartition("/")[0] or "." for name in images["name"]], str)
        return [Window(name, places, True) for name, places in _together(folders)]
    size = int(kind.removeprefix(EVERY))
    starts = range(0, len(images), size)
    parts = [np.arange(start, min(start + size, len(images))) for start in starts]
    return [Window(f"{k:04d}", part, len(part) == size) for k, part in enumerate(parts, 1)]


def _together(names: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Return the places of each name but the empty one, in the order of their first."""
    order = dict.fromkeys(names.tolist())
    return [(name, np.flatnonzero(names == name)) for name in order if name]


def check_baseline(text: str) -> None:
    """Refuse what is no baseline.

    Parameters
    ----------
    text : str
        See `baseline_of`.

    Raises
    ------
    InputError
        If it is no number of days or hours of at most four digits, no number of images of at most
        seven, and no date; a date is not of digits alone, and has no time zone.
    """
    if re.fullmatch(r"[1-9]\d{0,3}[dh]|[1-9]\d{0,6}", text):
        return
    with suppress(ValueError):
        # 20260301 would be days or images
        if not text.isdecimal() and datetime.fromisoformat(text).tzinfo is None:
            return
    raise InputError(
        f"Expected --baseline as days (7d), hours (12h), images (200) or a date (2026-03-01) "
        f"by the camera's clock, but got {text!r}."
    )


def baseline_of(
    text: str | None, images: pd.DataFrame, windows: Sequence[Window], now: datetime
) -> tuple[int, str]:
    """Return how many of the windows of a site are its baseline, and why that is not full.

    A full baseline has `FEWEST` images that can be read. One of so many images is full when these
    are there; of days, hours or a date, when the site has an image after it.

    Parameters
    ----------
    text : str, optional
        ``"7d"`` for the windows that begin in the first seven days of the images of the site,
        ``"12h"`` for hours, ``"200"`` for its first 200 images, and a date such as ``"2026-03-01"``
        for everything before it; by default seven days, or 100 images where none has a time.
    images : DataFrame
        Of the site, sorted by `in_time`.
    windows : sequence of Window
        Of the site, see `windows_of`.
    now : datetime
        When the run began.

    Returns
    -------
    n : int
        Windows that begin in it.
    learning : str
        Why it is not full, with options under which it would be; empty where it is.
    """
    taken = images["taken"]
    text = text or (USUAL if taken.notna().any() else USUAL_UNTIMED)
    first = [int(window.places[0]) for window in windows]
    unit, of_day = text[-1], ""
    if text.isdecimal():
        n, full = int(np.searchsorted(first, int(text))), len(images) >= int(text)
        progress = f"has {len(images)} of {counted(int(text), 'image')}"
    elif taken.isna().all():
        n, full, progress = 0, False, "needs times, and no image has one"
    elif unit in UNITS:
        end = taken.min().floor(FLOORS[unit]) + pd.Timedelta(int(text[:-1]), unit=unit)
        n, full = int((taken.iloc[first] < end).sum()), bool((taken >= end).any())
        n_units = taken.dropna().dt.floor(FLOORS[unit]).nunique()
        progress = f"has {n_units} of {counted(int(text[:-1]), UNITS[unit])}"
    else:
        end = pd.Timestamp(datetime.fromisoformat(text))
        n, full = int((taken.iloc[first] < end).sum()), bool((taken >= end).any())
        n_before, of_day = int((taken < end).sum()), " before that day"
        progress = (
            f"has {counted(n_before, 'image')}{of_day}, and none is later; {FEWEST} are needed"
        )
    readable = (images["unreadable"] == "").to_numpy()
    n_images = sum(int(readable[window.places].sum()) for window in windows[:n])
    if full and n_images >= FEWEST:
        return n, ""
    if full:
        kind = "image" if readable.all() else "readable image"
        progress = f"has {counted(n_images, kind)}{of_day}; {FEWEST} are needed"
    better = would_be_full(images, now)
    progress += f"; with {better} it would be full now" if better else ""
    return n, f"the baseline ({text}) {progress}"


def would_be_full(images: pd.DataFrame, now: datetime) -> str:
    """Return the options that leave a site a full baseline and a complete window now, or nothing.

    The longest windows of which two or more are complete and none of these has too few images, and
    as baseline all before the last of these, where enough of its images can be read.

    Parameters
    ----------
    images : DataFrame
        Of the site, sorted by `in_time`.
    now : datetime
        When the run began.

    Returns
    -------
    str
        Such as ``"--by hour --baseline 4h"``; empty where no windows do.
    """
    sizes = [f"{EVERY}{size}" for size in (USUAL_SIZE, USUAL_SIZE // 2, FEWEST)]
    timed = [DAY, HOUR] if images["taken"].notna().any() else []
    readable = (images["unreadable"] == "").to_numpy()
    for by in (*timed, *sizes):
        complete = [window for window in windows_of(images, by, now) if window.complete]
        sizes_of = [len(window.places) for window in complete]
        if len(complete) < 2 or min(sizes_of) < FEWEST:
            continue
        n = len(complete) - 1
        if sum(int(readable[window.places].sum()) for window in complete[:n]) < FEWEST:
            continue
        if by not in LENGTHS:
            return f"--by {by} --baseline {sum(sizes_of[:n])}"
        first, last = pd.Timestamp(complete[0].name), pd.Timestamp(complete[n - 1].name)
        return f"--by {by} --baseline {(last - first) // LENGTHS[by] + 1}{by[0]}"
    return ""
