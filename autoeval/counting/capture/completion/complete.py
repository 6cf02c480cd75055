"""From what is visible to a number: all patterns that agree with it, and a choice among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.counting.capture.completion.evidence import Evidence, hidden_sites
from autoeval.counting.capture.completion.lattice import lattice_hypotheses
from autoeval.counting.capture.completion.ring import ring_hypotheses

POLICIES = ("fewest", "median", "most")


@dataclass(frozen=True, eq=False)
class Completion:
    """A completed pattern.

    Parameters
    ----------
    hidden : ndarray of shape (H, 2)
        Centres of the objects supposed behind the box.
    alternatives : tuple of int
        The numbers of hidden objects that agree with the evidence, ascending; empty where no
        pattern was found and one hidden object was supposed.
    """

    hidden: np.ndarray
    alternatives: tuple[int, ...]


def complete(evidence: Evidence, *, policy: str = "most") -> Completion:
    """Continue the visible pattern behind the box.

    Parameters
    ----------
    evidence : Evidence
    policy : {'fewest', 'median', 'most'}
        Which number of hidden objects is taken where several agree with the evidence; ``median`` is
        the lower median of the different numbers.

    Returns
    -------
    Completion
        Without any pattern that agrees, one object in the middle of the box.
    """
    found: dict[int, np.ndarray] = {}
    for family in (ring_hypotheses, lattice_hypotheses):
        for sites in family(evidence):
            hidden = hidden_sites(sites, evidence)
            if hidden is not None and len(hidden):
                found.setdefault(len(hidden), hidden)
    if not found:
        return Completion((evidence.box[:2] + evidence.box[2:])[None] / 2, ())
    numbers = sorted(found)
    place = {"fewest": 0, "median": (len(numbers) - 1) // 2, "most": -1}[policy]
    return Completion(found[numbers[place]], tuple(numbers))
