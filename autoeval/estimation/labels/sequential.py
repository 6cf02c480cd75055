"""Labelling until the interval is narrow enough, without paying for it in coverage.

Whoever stops as soon as an interval is narrow stops where the spread of the labels happens to look
small, so the intervals of those who stopped hold the truth too seldom. `STRETCH` is how much wider
an interval must be made for that. It comes from a simulation of batches of ten labels from ten on
with normal and skewed influences (``tests/estimation/labels/test_sequential.py``), and
``autoeval study labels`` measures it on real places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from autoeval.estimation.labels.value_with_error import ValueWithError

STRETCH = 1.08
BATCH = 10


@dataclass(frozen=True)
class Stop:
    """Whether a wanted half-width is reached.

    Parameters
    ----------
    reached : bool
    half_width : float
        Made wider by `STRETCH`.
    more : int
        Images that the next batch should add; 0 where it is reached.
    """

    reached: bool
    half_width: float
    more: int


def stretched(measured: ValueWithError) -> ValueWithError:
    """Widen an estimate that may be looked at after every batch."""
    return replace(measured, error=STRETCH * measured.error)


def next_batch(
    measured: ValueWithError, wanted: float, *, n_labelled: int, needed: int, level: float = 0.9
) -> Stop:
    """Say whether to stop, and how many images to label next.

    Parameters
    ----------
    measured : ValueWithError
        The combined estimate so far.
    wanted : float
        Half-width, in the unit of the estimate.
    n_labelled : int
    needed : int
        Labels that are expected to suffice; see `autoeval.estimation.labels.needed.Outlook`.
        At most half of the way is gone at once, in batches of `BATCH`, since that is a guess.
    level : float
    """
    half = stretched(measured).half_width(level)
    if half <= wanted:
        return Stop(True, half, 0)
    missing = max(needed - n_labelled, BATCH)
    return Stop(False, half, min(missing, BATCH * max(1, math.ceil(missing / 2 / BATCH))))
