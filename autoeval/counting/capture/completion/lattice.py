"""Hypotheses: a row, rows and columns, or a triangle, of any direction and spacing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from autoeval.counting.capture.completion.evidence import VisibleEvidence
from autoeval.counting.capture.completion.hulls import Lattice, block, extensions, triangle

STEPS_TRIED = 6
DIVISIONS = (1, 2, 3, 4)  # hidden objects may divide the step between two visible ones
_OFF_SITE = 0.3  # largest distance from a site, in steps, before the steps are refined
_PARALLEL = 0.2  # least sine of the angle between the two steps of a lattice


def lattice_hypotheses(evidence: VisibleEvidence) -> Iterator[np.ndarray]:
    """Yield the sites (N, 2) of every row, block and triangle that may be meant.

    The shortest steps between visible objects, and whole fractions of them, may span the lattice.
    On each lattice, the smallest hull around the visible objects is extended on every side as far
    as the box hides what it gains.
    """
    if len(evidence.visible) < 2:
        return
    steps = _short_steps(evidence)
    for lattice in _rows_and_blocks(evidence, steps):
        yield from extensions(block, lattice, evidence)
    for lattice in _triangular(evidence, steps):
        yield from extensions(triangle, lattice, evidence)


def _short_steps(evidence: VisibleEvidence) -> list[np.ndarray]:
    i, j = np.triu_indices(len(evidence.visible), 1)
    steps = evidence.visible[j] - evidence.visible[i]
    kept: list[np.ndarray] = []
    for step in steps[np.argsort(np.hypot(*steps.T), kind="stable")]:
        distances = [min(np.hypot(*(step - k)), np.hypot(*(step + k))) for k in kept]
        if min(distances, default=np.inf) > evidence.tolerance:
            kept.append(step)
        if len(kept) == STEPS_TRIED:
            break
    least = 2 * evidence.radius - evidence.tolerance
    return [step / m for step in kept for m in DIVISIONS if np.hypot(*step) / m >= least]


def _rows_and_blocks(evidence: VisibleEvidence, steps: list[np.ndarray]) -> Iterator[Lattice]:
    for step in steps:
        yield from _fit(evidence, step[None])
    for first, second in itertools.combinations(steps, 2):
        sine = abs(first[0] * second[1] - first[1] * second[0])
        if sine > _PARALLEL * np.hypot(*first) * np.hypot(*second):
            yield from _fit(evidence, np.array([first, second]))


def _fit(evidence: VisibleEvidence, steps: np.ndarray) -> Iterator[Lattice]:
    points = evidence.visible
    inverse = np.linalg.inv(steps) if len(steps) == 2 else steps.T / (steps @ steps.T)
    place = (points - points[0]) @ inverse
    index = np.rint(place)
    if np.abs(place - index).max() > _OFF_SITE:
        return
    design = np.column_stack([np.ones(len(points)), index])
    fitted, _, rank, _ = np.linalg.lstsq(design, points, rcond=None)
    if rank == design.shape[1] and _close(design @ fitted - points, evidence):
        yield Lattice(fitted[0], fitted[1:], index.astype(int))


def _triangular(evidence: VisibleEvidence, steps: list[np.ndarray]) -> Iterator[Lattice]:
    """Yield equilateral lattices, each with both directions in which a triangle may point."""
    points = evidence.visible @ np.array([1, 1j])
    sixty = np.exp(1j * np.pi / 3)
    for step in steps:
        along = complex(*step)
        place = (points - points[0]) / along
        second = np.rint(place.imag / sixty.imag)
        first = np.rint(place.real - second * sixty.real)
        design = np.column_stack([np.ones(len(points)), first + second * sixty])
        origin, along = np.linalg.lstsq(design, points, rcond=None)[0]
        misfit = design @ [origin, along] - points
        if not _close(np.column_stack([misfit.real, misfit.imag]), evidence):
            continue
        index = np.column_stack([first, second]).astype(int)
        sides = np.array([along, along * sixty])
        spanned = np.column_stack([sides.real, sides.imag])
        start = np.array([origin.real, origin.imag])
        yield Lattice(start, spanned, index)
        yield Lattice(start, -spanned, -index)


def _close(misfit: np.ndarray, evidence: VisibleEvidence) -> bool:
    return bool(np.hypot(*misfit.T).max() <= evidence.tolerance)
