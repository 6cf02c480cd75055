"""How much mAP depends on how tightly objects are labelled, which no score can show."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

NEAREST, FEWEST = 8, 3
LOWEST = 0.02  # under it the ratio of two precisions says nothing
MATTERS = 0.05
TAILS = (10, 90)


def tightness(rows: pd.DataFrame, estimates: Mapping[str, float]) -> tuple[str, ...]:
    """Warn of how far mAP may be from its estimate because of how tightly objects are labelled.

    Loosely drawn labels lower the precision at high overlaps and leave that at .5 as it is. By how
    much they do where the sources are is seen in their ratio of mAP to mAP50: of those nearest in
    mAP50, the tenth from below and from above.

    Parameters
    ----------
    rows : DataFrame
        Pairs that were fitted on, see `autoeval.estimation.pair_table`.
    estimates : mapping
        Estimated ``mAP`` and ``mAP50``.

    Returns
    -------
    tuple of str
        One warning, where that moves mAP by `MATTERS` or more to each side, or cannot be known.

    Examples
    --------
    >>> rows = pd.DataFrame({"mAP50": [.5, .6, .7, .8], "mAP": [.2, .4, .3, .6]})
    >>> print(*tightness(rows, {"mAP": .4, "mAP50": .6}))
    mAP depends on how tightly boxes were labelled, which no score shows; mAP50 hardly \
does. At the 4 sources with the most similar mAP50, mAP is 41 to 72 % of mAP50: 25 to 44 at the \
estimated mAP50 of 60. The estimated mAP of 40 lies inside this range
    >>> tightness(rows.assign(mAP=rows["mAP50"] / 2), {"mAP": .3, "mAP50": .6})
    ()
    """
    if not {"mAP", "mAP50"} <= set(rows) or not np.isfinite(estimates.get("mAP50", np.nan)):
        return ()
    known = rows[rows["mAP50"] > LOWEST]
    if len(known) < FEWEST:
        return (
            "mAP depends on how tightly boxes were labelled, which no score shows; mAP50 hardly "
            "does. Fewer than three sources do not show by how much: rely on mAP50",
        )
    at = estimates["mAP50"]
    near = known.iloc[(known["mAP50"] - at).abs().argsort(kind="stable")[:NEAREST]]
    shares = np.percentile(near["mAP"] / near["mAP50"], TAILS)
    low, high = at * shares
    if high - low < 2 * MATTERS:
        return ()
    value = estimates["mAP"]
    where = "below" if value < low else "above" if value > high else "inside"
    return (
        "mAP depends on how tightly boxes were labelled, which no score shows; mAP50 hardly does. "
        f"At the {len(near)} sources with the most similar mAP50, mAP is {100 * shares[0]:.0f} to "
        f"{100 * shares[1]:.0f} % of mAP50: {100 * low:.0f} to {100 * high:.0f} at the estimated "
        f"mAP50 of {100 * at:.0f}. The estimated mAP of {100 * value:.0f} lies {where} this range",
    )
