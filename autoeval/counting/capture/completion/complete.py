"""From what is visible to a number: all patterns that agree with it, and a choice among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.counting.capture.completion.evidence import VisibleEvidence, hidden_sites
from autoeval.counting.capture.completion.lattice import lattice_hypotheses
from autoeval.counting.capture.completion.ring import ring_hypotheses

POLICIES = ("fewest", "median", "most")


@dataclass(frozen=True, eq=False)
class Completion:
    """What may be behind the box.

    Parameters
    ----------
    alternatives : tuple of ndarray of shape (H, 2)
        Hidden centres, one set for every number of hidden objects that agrees with the evidence,
        ascending.
    found : bool
        False where no pattern agrees; one object in the middle of the box is supposed then.
    """

    alternatives: tuple[np.ndarray, ...]
    found: bool = True

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of hidden objects that agree with the evidence, ascending."""
        return tuple(map(len, self.alternatives))

    def hidden(self, policy: str = "most") -> np.ndarray:
        """Return one set of hidden centres (H, 2).

        Parameters
        ----------
        policy : {'fewest', 'median', 'most'}
            Which number is taken where several agree; ``median`` is the lower one of two.
        """
        last = len(self.alternatives) - 1
        return self.alternatives[{"fewest": 0, "median": last // 2, "most": last}[policy]]


def complete(evidence: VisibleEvidence) -> Completion:
    """Continue the visible pattern behind the box, which is taken to hide something."""
    found: dict[int, np.ndarray] = {}
    for family in (ring_hypotheses, lattice_hypotheses):
        for sites in family(evidence):
            hidden = hidden_sites(sites, evidence)
            if hidden is not None and len(hidden):
                found.setdefault(len(hidden), hidden)
    if not found:
        middle = (evidence.box[:2] + evidence.box[2:])[None] / 2
        return Completion((middle,), found=False)
    return Completion(tuple(found[number] for number in sorted(found)))
