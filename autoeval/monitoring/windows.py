"""When the images of a site were taken, and the windows in which they are looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.io.image_lists import natural_order, time_in_name
from autoeval.io.images import exif_time
from autoeval.notices import Notice
from autoeval.runtime.files import PathLike
from autoeval.words import counted, listed

AUTO, EXIF, FILE = "auto", "exif", "file"
IN_NAME, LISTED, NOWHERE, UNTRUE = "name", "listed", "none", "untrue"
EARLIEST = datetime(1990, 1, 1)
DIGITS = {"Y": r"\d{4}", "j": r"\d{3}", "f": r"\d{1,6}", **dict.fromkeys("mdHMSyI", r"\d{2}")}
SEVERAL = pd.Timedelta(minutes=1)
FEW_JUMPS = 0.05
FOLDER, DAY, HOUR, EVERY = "folder", "day", "hour", "every:"
FORMS = {DAY: "%Y-%m-%d", HOUR: "%Y-%m-%d %H:00"}
LENGTHS = {DAY: pd.Timedelta(days=1), HOUR: pd.Timedelta(hours=1)}
USUAL_SIZE = 50  # images of a window where no image has a time
FEWEST = 8  # images of a baseline: with fewer its variance is not known
UNITS = {"d": "day", "h": "hour"}
FLOORS = {"d": "D", "h": "h"}  # as pandas has them
USUAL, USUAL_UNTIMED = "7d", f"{2 * USUAL_SIZE}"


@dataclass(frozen=True)
class Clock:
    """Reads when images were taken.

    The source is ``"exif"``; ``"file"``, the time of the file's last change, in UTC; ``"auto"``,
    the first of these that there is; or a form as in `datetime.strptime`, such as
    ``"%Y%m%d_%H%M%S"``, that the name of each file holds somewhere.

    >>> Clock("%Y%m%d_%H%M").read("nowhere.jpg", "gate/in_20260302_0915.jpg")
    (datetime.datetime(2026, 3, 2, 9, 15), 'name')
    """

    source: str = AUTO

    def __post_init__(self) -> None:
        if self.source not in (AUTO, EXIF, FILE) and not re.search("%[YyjfmdHMSI]", self.source):
            raise InputError(
                f"Expected --time as {EXIF}, {FILE}, {AUTO} or a form of the time in file names, "
                f"such as %Y%m%d_%H%M%S, but got {self.source!r}."
            )

    def read(
        self, path: PathLike | None, name: str, listed: datetime | None = None
    ) -> tuple[datetime | None, str]:
        """Return the time of an image, None where there is none, and where it is from.

        Without a file it is `listed`, the time that the list of images gives, or the one that its
        name holds, year first; see `autoeval.io.image_lists.time_in_name`. The second is
        ``"exif"``, ``"file"``, ``"name"`` or ``"listed"``; ``"none"`` without a time, and
        ``"untrue"`` where it is before 1990 or in the future, as that of a camera whose clock was
        reset.
        """
        taken, source = self._read(path, name, listed)
        if taken is None:
            return None, NOWHERE
        if not EARLIEST <= taken <= datetime.now() + timedelta(days=1):
            return None, UNTRUE
        return taken, source

    def _read(
        self, path: PathLike | None, name: str, listed: datetime | None
    ) -> tuple[datetime | None, str]:
        if self.source not in (AUTO, EXIF, FILE):
            return time_of_form(name, self.source), IN_NAME
        if path is None and listed is None and self.source == AUTO:
            return time_in_name(name), IN_NAME
        if path is None:
            return listed, LISTED
        taken = exif_time(path) if self.source != FILE else None
        if taken is not None or self.source == EXIF:
            return taken, EXIF
        return _changed(path), FILE


def time_of_form(name: str, form: str) -> datetime | None:
    """Find a time of a form in a file name; None where it is not there.

    >>> time_of_form("cam 3/2026-03-02/09.15.07.jpg", "%Y-%m-%d/%H.%M.%S")
    datetime.datetime(2026, 3, 2, 9, 15, 7)
    >>> time_of_form("cam 3/20261302.jpg", "%Y%m%d") is None
    True
    """
    pattern = re.sub(r"%(.)", lambda mark: DIGITS.get(mark[1], re.escape(mark[1])), re.escape(form))
    for match in re.finditer(f"(?=({pattern}))", name):
        try:
            return datetime.strptime(match[1], form)
        except ValueError:
            continue
    return None


def _changed(path: PathLike) -> datetime | None:
    try:
        seconds = os.stat(path).st_mtime
        return datetime.fromtimestamp(seconds, timezone.utc).replace(tzinfo=None, microsecond=0)
    except (OSError, OverflowError, ValueError):
        return None


def time_warnings(index: pd.DataFrame, *, needed: bool) -> Iterator[Notice]:
    """Warn of the times of the images of one site; `needed` is whether windows are of time."""
    untrue = index[index["taken_from"] == UNTRUE]
    if len(untrue):
        yield (
            Notice(
                "times-untrue",
                f"{counted(len(untrue), 'image')} with a time before 1990 or in the future, as "
                "after a reset of the clock; taken as without a time "
                f"({listed(untrue['name'], most=2)})",
            )
        )
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
    yield from _jumps(index[index["taken"].notna() & (index["taken_from"] != IN_NAME)])


def _jumps(index: pd.DataFrame) -> Iterator[Notice]:
    """Look for times that go back in the order of names, where that is otherwise their order."""
    if len(index) < 2:
        return
    by_name = _by_name(index)
    steps = by_name["taken"].diff()
    back = steps < -SEVERAL
    if 0 < back.sum() <= max(1, FEW_JUMPS * len(index)):
        first = int(back.to_numpy().argmax())
        yield (
            Notice(
                "clock-jumps-back",
                f"the clock jumps back {counted(int(back.sum()), 'time')}, first at "
                f"{by_name['name'].iloc[first]}, by {-steps.iloc[first].to_pytimedelta()}: images "
                "are taken in the order of the clock",
            )
        )


def _by_name(index: pd.DataFrame) -> pd.DataFrame:
    names = [natural_order(name) for name in index["name"]]
    return index.iloc[sorted(range(len(index)), key=names.__getitem__)]


@dataclass(frozen=True)
class Window:
    """Images of a site that are looked at together, places in its images in time.

    complete: whether no further image belongs to it.
    """

    name: str
    places: np.ndarray
    complete: bool

    def __len__(self) -> int:
        return len(self.places)


def check_by(by: str) -> None:
    """Refuse what is no kind of windows."""
    if by not in (AUTO, FOLDER, DAY, HOUR) and not re.fullmatch(r"every:[1-9]\d*", by):
        raise InputError(f"Expected --by as auto, day, hour, folder or every:200, but got {by!r}.")


def in_time(index: pd.DataFrame) -> pd.DataFrame:
    """Sort the images of a site by time; equal times, and images without, by number and name."""
    names = [natural_order(name) for name in index["name"]]
    by_name = index.iloc[sorted(range(len(index)), key=names.__getitem__)]
    return by_name.sort_values(["taken", "number"], kind="stable", na_position="last")


def kind_of(images: pd.DataFrame, by: str) -> str:
    """Return the kind of the windows of a site: with `AUTO` days, or without times `USUAL_SIZE`."""
    if by != AUTO:
        return by
    return DAY if images["taken"].notna().any() else f"{EVERY}{USUAL_SIZE}"


def windows_of(images: pd.DataFrame, by: str, now: datetime) -> list[Window]:
    """Return the windows of the images of one site, sorted by `in_time`.

    `by` is ``"day"`` or ``"hour"``, of images with a time; ``"every:200"`` for so many images after
    one another; ``"folder"`` for the folders of the images; or `AUTO`. A day or an hour is complete
    when it is over or a later image is there, so many images when they are together, and a folder
    always.

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
        found = _together(names)
        last = len(found) - 1
        return [
            Window(name, places, k < last or now >= pd.Timestamp(name) + LENGTHS[kind])
            for k, (name, places) in enumerate(found)
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


@dataclass(frozen=True)
class Baseline:
    """What a site is compared with: the windows that begin in its first days, hours or images.

    ``"7d"`` is for the first seven days of images of each site, ``"12h"`` for hours, ``"200"`` for
    its first 200 images, and a date such as ``"2026-03-01"`` for everything before it.
    """

    text: str = USUAL

    @classmethod
    def of_site(cls, text: str | None, images: pd.DataFrame) -> Baseline:
        """Return the baseline of a site; by default seven days, or images where none has a time."""
        usual = USUAL if images["taken"].notna().any() else USUAL_UNTIMED
        return cls(text or usual)

    def __post_init__(self) -> None:
        if re.fullmatch(r"[1-9]\d*[dh]?", self.text):
            return
        try:
            datetime.fromisoformat(self.text)
        except ValueError as error:
            raise InputError(
                f"Expected --baseline as days (7d), hours (12h), images (200) or a date "
                f"(2026-03-01), but got {self.text!r}."
            ) from error

    def length(self, images: pd.DataFrame, windows: Sequence[Window]) -> int:
        """Return how many of the windows of a site, sorted by time, are its baseline."""
        first = [int(window.places[0]) for window in windows]
        if self.text.isdecimal():
            return int(np.searchsorted(first, int(self.text)))
        taken = images["taken"].iloc[first] if first else images["taken"].iloc[:0]
        return int((taken < self._end(images)).sum())

    def full(self, images: pd.DataFrame) -> bool:
        """Whether images of a site, sorted by time, reach beyond its baseline."""
        if self.text.isdecimal():
            return len(images) >= int(self.text)
        return bool((images["taken"] >= self._end(images)).any())

    def progress(self, images: pd.DataFrame) -> str:
        """Say how much of the baseline there is, such as ``"has 2 of 7 days"``."""
        if self.text.isdecimal():
            return f"has {len(images)} of {counted(int(self.text), 'image')}"
        if images["taken"].isna().all():
            return "needs times, and no image has one"
        unit = UNITS.get(self.text[-1], "")
        if not unit:
            n_before = int((images["taken"] < self._end(images)).sum())
            after = "" if self.full(images) else ", and none is later"
            return f"has {counted(n_before, 'image')} before that day{after}; {FEWEST} are needed"
        n = images["taken"].dropna().dt.floor(FLOORS[self.text[-1]]).nunique()
        return f"has {n} of {counted(int(self.text[:-1]), unit)}"

    def _end(self, images: pd.DataFrame) -> pd.Timestamp:
        if self.text[-1] not in UNITS or images["taken"].isna().all():
            return pd.Timestamp.max if self.text[-1] in UNITS else pd.Timestamp(self.text)
        length = pd.Timedelta(int(self.text[:-1]), unit=self.text[-1])
        return images["taken"].min().floor(FLOORS[self.text[-1]]) + length


def would_be_full(images: pd.DataFrame, now: datetime) -> str:
    """Return the options that leave a site a full baseline and a complete window now, or nothing.

    The longest windows of which two or more are complete and none of these has too few images, and
    as baseline all before the last of these.
    """
    sizes = [f"{EVERY}{size}" for size in (USUAL_SIZE, USUAL_SIZE // 2, FEWEST)]
    timed = [DAY, HOUR] if images["taken"].notna().any() else []
    for by in (*timed, *sizes):
        complete = [window for window in windows_of(images, by, now) if window.complete]
        if len(complete) < 2 or min(map(len, complete)) < FEWEST:
            continue
        n = len(complete) - 1
        if by not in LENGTHS:
            return f"--by {by} --baseline {sum(map(len, complete[:n]))}"
        first, last = (pd.Timestamp(complete[k].name) for k in (0, n - 1))
        return f"--by {by} --baseline {(last - first) // LENGTHS[by] + 1}{by[0]}"
    return ""
