"""What to do where an interval is too wide to act on."""

from __future__ import annotations

from autoeval.estimation.regression import Told

TOO_WIDE = 0.15


def advice(
    told: Told, *, plan: str = "autoeval label plan", measured: tuple[int, int] = (17, 15)
) -> tuple[str, ...]:
    """Say that an interval is too wide to act on, and what helps, as it was measured.

    The figures are those of ``docs/results/transfer.md`` (``autoeval study transfer``).

    Parameters
    ----------
    told : Told
    plan : str
        How images to label are drawn.
    measured : tuple of int
        Half-width from one labelled set, and from forty places, in points.
    """
    if told.reach <= TOO_WIDE:
        return ()
    by_set, by_places = measured
    return (
        f"too wide to act on: ±{100 * told.reach:.0f} points. More labelled places help little "
        f"(measured: ±{by_set} from one labelled set, ±{by_places} from forty places), twenty "
        f"labelled images of this place help most ({plan}). What can still be told: which of "
        "several places is better, and whether a place has changed",
    )
