"""Energy of class logits."""

from __future__ import annotations

import math

import numpy as np
from typing_extensions import Self

from autoeval.detections import SCORE_THR, Evidence
from autoeval.stability.scores.base import Score, falling, register, undirected


@register
class Energy(Score):
    r"""Energies of the N boxes of a set.

    ``energy``
        Mean over the boxes of their free energy E = -log Σ exp z, z their class logits (Liu et al.
        2020, equation 4).
    ``energy_mde``
        Meta-distribution energy, :math:`-\frac{1}{N} \sum_j \log (e^{E_j} / \sum_k e^{E_k})`: minus
        the mean log-softmax of E over the set. It grows with log N.
    ``energy_spread``
        The same less log N, so that sets of different sizes compare; 0 when all E are equal.

    Parameters
    ----------
    score_thr : float
        Only boxes with a score above it count.
    """

    name = "energy"
    meaning = "free energy of the class logits: its mean, and its spread over the boxes"
    features = falling("energy") | undirected("energy_mde", "energy_spread")
    needs = frozenset({"energies"})
    given = ("score_thr",)
    source = "Peng et al. 2024, equations 3 and 4"

    def __init__(self, *, score_thr: float = SCORE_THR) -> None:
        self.score_thr = score_thr
        self._parts: list[tuple[int, float, float]] = []

    def update(self, evidence: Evidence) -> None:
        energies = evidence.require("energies")[evidence.clean.scores > self.score_thr]
        if not len(energies):
            self._parts.append((0, 0.0, -math.inf))
            return
        largest = float(energies.max())
        log_sum = largest + math.log(math.fsum(np.exp(energies - largest)))
        self._parts.append((len(energies), math.fsum(energies), log_sum))

    def merge(self, other: Self) -> None:
        self._parts.extend(other._parts)

    def compute(self) -> dict[str, float]:
        """Return the features listed above, NaN where there is no box."""
        counts, sums, logs = zip(*self._parts, strict=True) if self._parts else ((), (), ())
        boxes = sum(counts)
        if not boxes:
            return dict.fromkeys(self.features, math.nan)
        # -1/N sum_j (E_j - log sum_k e^E_k): the images' log-sums are joined by their own log-sum,
        # less the largest, so that no power overflows.
        mean, largest = math.fsum(sums) / boxes, max(logs)
        mde = largest + math.log(math.fsum(math.exp(v - largest) for v in logs)) - mean
        return {"energy": mean, "energy_mde": mde, "energy_spread": mde - math.log(boxes)}

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the features of B sets drawn from the images seen, (B,) each.

        Parameters
        ----------
        counts : ndarray of shape (B, N)
            How often each of N images was drawn.
        """
        n, sums, logs = np.array(self._parts, np.float64).reshape(-1, 3).T
        largest = logs.max(initial=-math.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            boxes = counts @ n
            mean = counts @ sums / boxes
            mde = largest + np.log(counts @ np.exp(logs - largest)) - mean
            return {"energy": mean, "energy_mde": mde, "energy_spread": mde - np.log(boxes)}
