"""What to do where an interval is too wide to act on."""

from __future__ import annotations

from autoeval.estimation.regression import Told

TOO_WIDE = 0.15


def advice(told: Told, *, plan: str = "autoeval label plan") -> tuple[str, ...]:
    """Say that an interval is too wide to act on, and what helps, as it was measured.

    The figures are those of ``docs/results/transfer.md`` (``autoeval study transfer``).

    Parameters
    ----------
    told : Told
    plan : str
        How images to label are drawn.
    """
    if told.reach <= TOO_WIDE:
        return ()
    return (
        f"too wide to act on: ±{100 * told.reach:.0f} points. More labelled places help little "
        "(measured: ±17 from one labelled set, ±15 from forty places), twenty labelled images of "
        f"this place help most ({plan}). What can still be told: which of several "
        "places is better, and whether a place has changed",
    )
