"""What more passes of the network buy: agreement with other passes, and transformed sample sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.pair_table import FEATURES, OF_BOXES, ONLY, WITH_DROPOUT
from autoeval.estimation.score_table import SAMPLE, SEED, families
from autoeval.studies import transfer

EVIDENCE = {
    "boxes": (OF_BOXES, 1.0),
    "and half size": (FEATURES, 1.25),
    "and dropout": ((*FEATURES, WITH_DROPOUT), 2.25),
}
"""Scores, and the passes an image that they cost: the one at half the size a quarter, one under
dropout at most one."""


def errors_by_passes(
    table: pd.DataFrame, numbers: Sequence[int] = (0, 1, 3, 5), *, target: str = "mAP"
) -> pd.DataFrame:
    """Evaluate every family by the others, with some sample sets of each source as further pairs.

    A sample set shares the family, the place and the category of its source, so that it tells of
    the slopes and of little else.

    Parameters
    ----------
    table : DataFrame
        Score table of one category, with sample sets; see `autoeval.estimation.score_table`.
    numbers : sequence of int
        How many sample sets of each source, in the order of the table.
    target : {"mAP", "mAP50", "mAP75"}

    Returns
    -------
    DataFrame
        ``evidence``, ``n_sets``, ``passes`` (for each of the sources' own images, all that is
        observed), and the figures of `autoeval.studies.transfer.figures`.

    Raises
    ------
    InputError
        If no score but those of boxes is there and there are no sample sets either.
    """
    rows = table[table["repeat"] == table["repeat"].min()]
    rows = rows.assign(family=rows["source"].map(families(rows)))
    rows = rows if "category" in rows else rows.assign(category=ONLY)
    sets = rows[rows["kind"] == SAMPLE]
    numbers = [n for n in numbers if not n or n <= _fewest(sets)]
    kinds = {name: of for name, of in EVIDENCE.items() if set(of[0]) <= set(rows)}
    if len(kinds) * len(numbers) < 2:
        raise InputError(
            "Expected scores of another pass, or sample sets, to see what they buy: run "
            "estimate-map with --n-sets 5 --n-images 24 --repeats 1."
        )
    return pd.DataFrame(_cells(rows, sets, kinds, numbers, target))


def _fewest(sets: pd.DataFrame) -> int:
    return int(sets.groupby("source").size().min()) if len(sets) else 0


def _cells(
    rows: pd.DataFrame,
    sets: pd.DataFrame,
    kinds: dict[str, tuple[tuple[str, ...], float]],
    numbers: Sequence[int],
    target: str,
) -> Iterator[dict]:
    own = transfer.places_of(rows)
    for n in numbers:
        chosen = sets.groupby("source", sort=False).head(n)
        known = pd.concat([own, chosen.assign(kind=SEED)], ignore_index=True)
        share = 1 + chosen["n_images"].sum() / own["n_images"].sum()
        for name, (features, cost) in kinds.items():
            evaluated = pd.concat(
                [
                    transfer.evaluate(
                        known[known["family"] != family], of, target=target, features=features
                    )
                    for family, of in own.groupby("family", sort=False)
                ],
                ignore_index=True,
            )
            figures = transfer.figures(evaluated)
            yield {"evidence": name, "n_sets": n, "passes": cost * float(np.round(share, 6))} | {
                k: figures[k] for k in ("error", "constant", "coverage", "half_width")
            }
