"""What to do where an interval is too wide to act on."""

from __future__ import annotations

from autoeval.regression import PredictionInterval

TOO_WIDE = 0.15


def advice(interval: PredictionInterval) -> tuple[str, ...]:
    """Say that an interval is too wide to act on, and what helps, as it was measured.

    The figures are those of ``docs/results/transfer.md`` (``autoeval study transfer``) and
    ``docs/results/labels.md``.

    Parameters
    ----------
    interval : PredictionInterval
    """
    if interval.reach <= TOO_WIDE:
        return ()
    return (
        f"too wide to act on: ±{100 * interval.reach:.0f} points. More labelled sites help little "
        "(measured: ±17 from one labelled set, ±15 from forty sites); twenty labelled images of "
        "this site help most (`autoeval label plan`). Which of several sites is better, and "
        "whether a site has changed, is known more precisely",
    )
