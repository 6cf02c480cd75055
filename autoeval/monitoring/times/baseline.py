"""Which images of a site are the baseline that later ones are compared with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

from autoeval.errors import InputError

BLOCK = "h"  # images of one hour are neighbours in time


@dataclass(frozen=True)
class Baseline:
    """The first days, or the first images, of each site; or all before a date.

    Parameters
    ----------
    text : str
        ``"7d"`` for the first seven days of images of each site, ``"200"`` for its first 200
        images, or a date such as ``"2026-03-01"``, before which everything is the baseline.

    Raises
    ------
    InputError
        If it is none of these.

    Examples
    --------
    >>> taken = pd.Series(pd.to_datetime(["2026-03-01", "2026-03-02", "2026-03-05"]))
    >>> [Baseline(text).length(taken) for text in ("2d", "1", "2026-03-02")]
    [2, 1, 1]
    """

    text: str = "7d"

    def __post_init__(self) -> None:
        if re.fullmatch(r"[1-9]\d*d?", self.text):
            return
        try:
            datetime.fromisoformat(self.text)
        except ValueError as error:
            raise InputError(
                f"Expected --baseline as days (7d), images (200) or a date (2026-03-01), but got "
                f"{self.text!r}."
            ) from error

    def length(self, taken: pd.Series) -> int:
        """Return how many of the images, sorted by time, are the baseline.

        Without any time only a number of images can be counted: 0 otherwise.
        """
        if self.text.isdecimal():
            return min(int(self.text), len(taken))
        if self.text.endswith("d"):
            end = taken.iloc[0] + pd.Timedelta(days=int(self.text[:-1])) if len(taken) else None
        else:
            end = pd.Timestamp(self.text)
        return int((taken < end).sum()) if len(taken) else 0


def blocks_of_time(taken: pd.Series) -> np.ndarray:
    """Return the number of the hour in which each image was taken, shape (N,), int64.

    Without any time each image has a number of its own.
    """
    if taken.isna().all():
        return np.arange(len(taken))
    return np.asarray(pd.factorize(taken.dt.floor(BLOCK))[0], np.int64)
