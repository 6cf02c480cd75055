"""Where the time of an image comes from, and which times cannot be true."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from autoeval.data.image_header import exif_time
from autoeval.errors import InputError

AUTO, EXIF, FILE = "auto", "exif", "file"
IN_NAME, LISTED, NOWHERE, UNTRUE = "name", "listed", "none", "untrue"
EARLIEST = datetime(1990, 1, 1)
DIGITS = {"Y": r"\d{4}", "j": r"\d{3}", "f": r"\d{1,6}", **dict.fromkeys("mdHMSyI", r"\d{2}")}


@dataclass(frozen=True)
class Clock:
    """Reads when images were taken.

    The source is ``"exif"``; ``"file"``, the time of the file's last change, in UTC; ``"auto"``,
    the first of these that there is; or a form as in `datetime.strptime`, such as
    ``"%Y%m%d_%H%M%S"``, that the name of each file holds somewhere.

    Examples
    --------
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
        self, path: str | os.PathLike[str] | None, name: str, listed: datetime | None = None
    ) -> tuple[datetime | None, str]:
        """Return the time of an image, None where there is none, and where it is from.

        Without a file, `listed` is the time that the list of images gives. The second is
        ``"exif"``, ``"file"``, ``"name"`` or ``"listed"``; ``"none"`` without a time, and
        ``"untrue"`` where it is before 1990 or in the future, as that of a camera whose clock was
        reset.
        """
        taken, source = self._found(path, name, listed)
        if taken is None:
            return None, NOWHERE
        if not EARLIEST <= taken <= datetime.now() + timedelta(days=1):
            return None, UNTRUE
        return taken, source

    def _found(
        self, path: str | os.PathLike[str] | None, name: str, listed: datetime | None
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

    Examples
    --------
    >>> time_in_name("cam 3/2026-03-02/09.15.07.jpg", "%Y-%m-%d/%H.%M.%S")
    datetime.datetime(2026, 3, 2, 9, 15, 7)
    >>> time_in_name("cam 3/20261302.jpg", "%Y%m%d") is None
    True
    """
    pattern = re.sub(r"%(.)", lambda mark: DIGITS.get(mark[1], re.escape(mark[1])), re.escape(form))
    for found in re.finditer(f"(?=({pattern}))", name):
        try:
            return datetime.strptime(found[1], form)
        except ValueError:
            continue
    return None


def _changed(path: str | os.PathLike[str]) -> datetime | None:
    try:
        seconds = os.stat(path).st_mtime
        return datetime.fromtimestamp(seconds, timezone.utc).replace(tzinfo=None, microsecond=0)
    except (OSError, OverflowError, ValueError):
        return None
