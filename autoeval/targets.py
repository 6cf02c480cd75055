"""What can be estimated, and how each is bounded, doubted and printed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from autoeval.errors import InputError

AP_TARGETS = ("mAP", "mAP50", "mAP75")
LOWEST_MAP = 0.15  # paper, appendix C.3

Numbers = TypeVar("Numbers", float, np.ndarray)


@dataclass(frozen=True)
class Target:
    """A column of the score table that scores are to tell.

    Parameters
    ----------
    name : str
        Of the column.
    unit : str
        Of what is printed.
    scale : float
        Values are printed times this.
    digits : int
        Decimals printed.
    upper : float
        No value is above it; none is below 0.
    doubtful : float
        Estimates below it are known to be unreliable; 0 for none.

    Examples
    --------
    >>> precision, error = find_target("mAP50"), find_target("count_mae")
    >>> precision.text(.256), error.text(2.5), float(error.clip(-1.0))
    ('25.6', '2.50', 0.0)
    """

    name: str
    unit: str = "points of 100"
    scale: float = 100.0
    digits: int = 1
    upper: float = 1.0
    doubtful: float = LOWEST_MAP

    def clip(self, values: Numbers) -> Numbers:
        """Bring estimates into the range of possible values."""
        return np.clip(values, 0.0, self.upper)

    @property
    def title(self) -> str:
        """The name, with the unit where it is not that of mAP."""
        return self.name if self.unit == Target.unit else f"{self.name} ({self.unit})"

    @property
    def format(self) -> str:
        """Format of a value that is already scaled."""
        return f"{{:.{self.digits}f}}"

    def text(self, value: float) -> str:
        """Write a value in the unit, without naming it."""
        return self.format.format(self.scale * value)


def _count(name: str) -> Target:
    return Target(name, "objects an image", scale=1.0, digits=2, upper=math.inf, doubtful=0.0)


TARGETS = {
    **{name: Target(name) for name in AP_TARGETS},
    **{f"count_{name}": _count(f"count_{name}") for name in ("mae", "rmse", "pooled_mae")},
    "count_pooled_std": _count("count_pooled_std"),
    "count_relative_mae": Target(
        "count_relative_mae", "percent of the mean true count", upper=math.inf, doubtful=0.0
    ),
}


def find_target(name: str) -> Target:
    """Return a target by the name of its column; ``mAP/<category>`` is that of one category.

    Raises
    ------
    InputError
        If there is no such target.
    """
    whole, _, category = name.partition("/")
    if whole not in TARGETS or (category and not whole.startswith("mAP")):
        raise InputError(f"Expected a target out of {', '.join(TARGETS)} but got '{name}'.")
    return replace(TARGETS[whole], name=name)
