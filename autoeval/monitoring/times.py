"""When images were taken, and which times cannot be true."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import pandas as pd

from autoeval.errors import InputError
from autoeval.io.image_folder import natural_order
from autoeval.io.image_header import exif_time
from autoeval.io.wording import listed
from autoeval.notices import Notice
from autoeval.report.tables import counted
from autoeval.runtime.files import PathLike

AUTO, EXIF, FILE = "auto", "exif", "file"
IN_NAME, LISTED, NOWHERE, UNTRUE = "name", "listed", "none", "untrue"
EARLIEST = datetime(1990, 1, 1)
DIGITS = {"Y": r"\d{4}", "j": r"\d{3}", "f": r"\d{1,6}", **dict.fromkeys("mdHMSyI", r"\d{2}")}
SEVERAL = pd.Timedelta(minutes=1)
FEW_JUMPS = 0.05


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

        Without a file, `listed` is the time that the list of images gives. The second is
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
            return time_in_name(name, self.source), IN_NAME
        if path is None:
            return listed, LISTED
        taken = exif_time(path) if self.source != FILE else None
        if taken is not None or self.source == EXIF:
            return taken, EXIF
        return _changed(path), FILE


def time_in_name(name: str, form: str) -> datetime | None:
    """Find a time of a form in a file name; None where it is not there.

    >>> time_in_name("cam 3/2026-03-02/09.15.07.jpg", "%Y-%m-%d/%H.%M.%S")
    datetime.datetime(2026, 3, 2, 9, 15, 7)
    >>> time_in_name("cam 3/20261302.jpg", "%Y%m%d") is None
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
                f"{by_name['name'].iloc[first]}, by {-steps.iloc[first]}: images are taken "
                "in the order of the clock",
            )
        )


def _by_name(index: pd.DataFrame) -> pd.DataFrame:
    names = [natural_order(name) for name in index["name"]]
    return index.iloc[sorted(range(len(index)), key=names.__getitem__)]
