"""A site's level from a few labels, to which its change is added."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from typing_extensions import Self

from autoeval.data.json_file import read_json
from autoeval.errors import InputError
from autoeval.monitoring.changes.site_change import SiteChange


@dataclass(frozen=True)
class Anchor:
    """mAP of a site's baseline as labels measured it.

    Parameters
    ----------
    value, lower, upper : float
        In [0, 1].
    """

    value: float
    lower: float
    upper: float

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read what ``autoeval label estimate --json`` printed.

        Raises
        ------
        InputError
            If the file is missing, or holds no value with its interval.
        """
        content = read_json(path, "an estimate from labels")
        try:
            value, lower, upper = (float(content[name]) for name in ("value", "lower", "upper"))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"Expected {path} to hold value, lower and upper, as `autoeval label estimate "
                f"--json` prints them, but it does not ({error!r})."
            ) from error
        return cls(value, lower, upper)

    def now(self, change: SiteChange) -> tuple[float, float, float]:
        """Return mAP after a change, with its interval.

        The errors of the labels and of the change are taken to be independent: half-widths add up
        as squares.

        Examples
        --------
        >>> fell = SiteChange(-.1, -.14, -.06, .9, {}, (), 50, 50, .0)
        >>> [round(x, 3) for x in Anchor(.5, .47, .53).now(fell)]
        [0.4, 0.35, 0.45]
        """
        value = self.value + change.value
        half = float(np.hypot(self.upper - self.lower, change.upper - change.lower)) / 2
        now, lower, upper = np.clip([value, value - half, value + half], 0, 1).tolist()
        return now, lower, upper
