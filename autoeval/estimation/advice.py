"""What to do where an interval is too wide to act on."""

from __future__ import annotations

from autoeval.regression import PredictionInterval
from autoeval.targets import OperatingPoint

TOO_WIDE = 0.15


def advice(interval: PredictionInterval, target: str = "mAP") -> tuple[str, ...]:
    """Say that an interval is too wide to act on, and what helps, as it was measured.

    The figures are those of ``docs/results/generality.md`` and ``docs/results/labels.md``.

    Parameters
    ----------
    interval : PredictionInterval
    target : str
    """
    if interval.reach <= TOO_WIDE:
        return ()
    if OperatingPoint.of(target):
        return (
            f"too wide to act on: ±{100 * interval.reach:.0f} points. Twenty labelled images of "
            "this site help most (`autoeval label plan`; measured: recall ±6 to 9)",
        )
    return (
        f"too wide to act on: ±{100 * interval.reach:.0f} points. More labelled sites help little "
        "(measured: ±15 to 19 from one labelled set, ±15 to 17 from 37 sites); twenty labelled "
        "images of this site help most (`autoeval label plan`). Which of several sites is better, "
        "and whether a site has changed, is known more precisely",
    )
