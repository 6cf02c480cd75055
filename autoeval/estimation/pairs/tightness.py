"""How much of mAP hangs on how tightly boxes are drawn, which no score can see."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

NEAREST, FEWEST = 8, 3
LOWEST = 0.02  # under it the ratio of two precisions says nothing
MATTERS = 0.05
TAILS = (10, 90)


def tightness(rows: pd.DataFrame, told: Mapping[str, float]) -> tuple[str, ...]:
    """Say how far mAP may lie from its estimate because mAP50 does not tell it.

    Loosely drawn labels lower the precision at high overlaps and leave that at .5 as it is. By how
    much they do where the sources are is seen in their ratio of mAP to mAP50: of those nearest in
    mAP50, the tenth from below and from above.

    Parameters
    ----------
    rows : DataFrame
        Pairs that were fitted on, see `autoeval.estimation.pairs.pair_table`.
    told : mapping
        Estimated ``mAP`` and ``mAP50``.

    Returns
    -------
    tuple of str
        One caution, where that moves mAP by `MATTERS` or more to each side, or cannot be known.

    Examples
    --------
    >>> rows = pd.DataFrame({"mAP50": [.5, .6, .7, .8], "mAP": [.2, .4, .3, .6]})
    >>> print(*tightness(rows, {"mAP": .4, "mAP50": .6}))
    mAP hangs on how tightly boxes are drawn, which cannot be seen: with a mAP50 of 60 it is \
25 to 44 at the 4 nearest sources
    >>> tightness(rows.assign(mAP=rows["mAP50"] / 2), {"mAP": .3, "mAP50": .6})
    ()
    """
    if not {"mAP", "mAP50"} <= set(rows) or not np.isfinite(told.get("mAP50", np.nan)):
        return ()
    known = rows[rows["mAP50"] > LOWEST]
    if len(known) < FEWEST:
        return (
            "how tightly boxes are drawn cannot be seen, and fewer than three sources tell what "
            "it does to mAP: go by mAP50",
        )
    near = known.iloc[(known["mAP50"] - told["mAP50"]).abs().argsort(kind="stable")[:NEAREST]]
    low, high = told["mAP50"] * np.percentile(near["mAP"] / near["mAP50"], TAILS)
    if high - low < 2 * MATTERS:
        return ()
    return (
        "mAP hangs on how tightly boxes are drawn, which cannot be seen: with a mAP50 of "
        f"{100 * told['mAP50']:.0f} it is {100 * low:.0f} to {100 * high:.0f} at the {len(near)} "
        "nearest sources",
    )
