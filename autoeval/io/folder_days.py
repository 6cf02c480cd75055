"""Days and hours that folders are named after: frames of two days often have equal names."""

from __future__ import annotations

import re

# An hour is behind the day, with minutes and seconds or as a folder of its own.
_YEAR = r"((?:19|20)\d\d)"
_HOUR = r"(?:/([0-2]\d)|[-_T ]?([0-2]\d)(?:[-_.:h]?[0-5]\d){0,2})?(?=/|$)"
_DAYS = (
    re.compile(rf"(?:^|/){_YEAR}[-_./]?([01]\d)[-_./]?([0-3]\d){_HOUR}"),
    re.compile(rf"(?:^|/)([0-3]\d)[-_./]([0-3]\d)[-_./]{_YEAR}{_HOUR}"),  # day or month first
)


def are_of_two_days(folder: str, other: str) -> bool:
    """Whether two paths of folders name different days, or different hours of a day.

    The last day of each counts: one before may be that of an export. With the day or the month
    first it is not known which day that is, but two that are written so are the same or not.

    Parameters
    ----------
    folder, other : str
        With forward slashes.

    Examples
    --------
    >>> are_of_two_days("gate/2026-03-02", "20260303/gate"), are_of_two_days("gate", "2026-03-03")
    (True, False)
    >>> are_of_two_days("02-03-2026", "03-03-2026"), are_of_two_days("02-03-2026", "2026-03-02")
    (True, False)
    >>> are_of_two_days("20260302_08", "20260302_0915"), are_of_two_days("20260302_08", "20260302")
    (True, False)
    >>> are_of_two_days("20260302/08", "20260302_09"), are_of_two_days("20260302/08", "20260302_08")
    (True, False)
    """
    for form in _DAYS:
        of_both = zip(form.findall(folder)[-1:], form.findall(other)[-1:], strict=False)
        for parts, other_parts in of_both:  # at most one, where both are written so
            hours = {"".join(of[3:]) for of in (parts, other_parts)} - {""}  # written in either way
            if parts[:3] != other_parts[:3] or len(hours) > 1:
                return True
    return False
