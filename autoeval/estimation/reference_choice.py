"""Which of several reference detectors is read: the strongest on the labelled sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autoeval.errors import InputError
from autoeval.estimation.given_boxes import Predictions
from autoeval.io.wording import listed
from autoeval.notices import Notice
from autoeval.sites.site import Site

CHOSEN = "reference_chosen"  # in the context of a fit: ``number``, counted from 0, and ``of``


def read_with_strongest(
    files: Predictions, read: Callable[[Predictions], Sequence[Site]]
) -> tuple[list[Site], dict[str, Any]]:
    """Read labelled sets with the reference that is strongest there.

    Two never did better than the stronger one alone (docs/results/generality.md), so one is read.

    read: from predictions with one reference, or none, to labelled sets.
    Returned: with them what the context of the fit says of the choice.
    """
    several = files.references
    if len(several) < 2:
        return list(read(files)), {}
    every = [list(read(replace(files, reference=path))) for path in several]
    strengths = [reference_strength(sets) for sets in every]
    best = int(np.argmax(strengths))
    names = [
        f"{path} ({100 * strength:.1f})" for path, strength in zip(several, strengths, strict=True)
    ]
    note = Notice(
        "reference-chosen",
        f"of {len(several)} reference detectors the strongest on the labelled images is read, "
        f"{several[best]}; AP there: {listed(names)}. Of new images give its boxes alone, or those "
        "of all in the same order",
        severity="note",
    )
    first, *others = every[best]
    return [first.noting(note), *others], {CHOSEN: {"number": best, "of": len(several)}}


def reference_strength(sets: Sequence[Site]) -> float:
    """Return the mean average precision of the reference over categories with labels enough."""
    strengths = [
        ranking.average_precision().mean()
        for labelled in sets
        for ranking, enough in zip(labelled.reference_rankings, labelled.enough, strict=True)
        if enough
    ]
    return float(np.mean(strengths)) if strengths else 0.0


def as_fitted(files: Predictions, context: Mapping[str, Any]) -> Predictions:
    """Keep the reference that a fit has chosen, where new images have boxes of several."""
    several = files.references
    if len(several) < 2:
        return replace(files, reference=several[0] if several else None)
    choice = context.get(CHOSEN)
    if choice is None or choice["of"] != len(several):
        fitted = (
            f"{choice['of']} reference detectors" if choice else "one reference detector or none"
        )
        raise InputError(
            f"Expected the boxes of the reference detector that the fit reads, but got those of "
            f"{len(several)}, and it was fitted with {fitted}: give its boxes alone."
        )
    return replace(files, reference=several[choice["number"]])
