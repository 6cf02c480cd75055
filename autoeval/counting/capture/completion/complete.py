"""Completing a pattern: rings, lattices and their hulls that agree with what is visible."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from autoeval.counting.capture.completion.evidence import VisibleEvidence, can_hide, hidden_sites
from autoeval.counting.capture.regularity import fit_circle

POLICIES = ("fewest", "median", "most")
STEPS_TRIED = 6
DIVISIONS = (1, 2, 3, 4)  # hidden objects may divide the step between two visible ones
_OFF_SITE = 0.3  # largest distance from a site, in steps, before the steps are refined
_PARALLEL = 0.2  # least sine of the angle between the two steps of a lattice
MOST_GROWTH = 6
Hull = Callable[[np.ndarray, tuple[int, ...]], np.ndarray]


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
    for family in (_ring_hypotheses, _lattice_hypotheses):
        for sites in family(evidence):
            hidden = hidden_sites(sites, evidence)
            if hidden is not None and len(hidden):
                found.setdefault(len(hidden), hidden)
    if not found:
        middle = (evidence.box[:2] + evidence.box[2:])[None] / 2
        return Completion((middle,), found=False)
    return Completion(tuple(found[number] for number in sorted(found)))


def _lattice_hypotheses(evidence: VisibleEvidence) -> Iterator[np.ndarray]:
    """Yield the sites (N, 2) of every row, block and triangle that may be meant.

    The shortest steps between visible objects, and whole fractions of them, may span the lattice.
    On each lattice, the smallest hull around the visible objects is extended on every side as far
    as the box hides what it gains.
    """
    if len(evidence.visible) < 2:
        return
    steps = _short_steps(evidence)
    for lattice in _rows_and_blocks(evidence, steps):
        yield from _extensions(block, lattice, evidence)
    for lattice in _triangular(evidence, steps):
        yield from _extensions(triangle, lattice, evidence)


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


@dataclass(frozen=True, eq=False)
class Lattice:
    """Sites at ``origin + index @ steps``.

    Parameters
    ----------
    origin : ndarray of shape (2,)
        Pixels.
    steps : ndarray of shape (D, 2)
        D is 1 for a row and 2 for a plane.
    index : ndarray of shape (M, D), int
        Cells of the visible objects.
    """

    origin: np.ndarray
    steps: np.ndarray
    index: np.ndarray

    def sites(self, cells: np.ndarray) -> np.ndarray:
        """Return the sites (N, 2) of cells (N, D)."""
        return self.origin + cells @ self.steps


def _extensions(hull: Hull, lattice: Lattice, evidence: VisibleEvidence) -> Iterator[np.ndarray]:
    """Yield the sites of the smallest hull and of all larger ones that the box can hide.

    What the box cannot hide of a hull is part of every larger one, so sides are first grown alone.
    """
    sides = 3 if hull is triangle else 2 * lattice.steps.shape[0]

    def fits(grow: tuple[int, ...]) -> bool:
        return _hideable(hull(lattice.index, grow), lattice, evidence)

    if not fits((0,) * sides):
        return
    ranges = []
    for side in range(sides):
        alone = (tuple(g * (k == side) for k in range(sides)) for g in range(1, MOST_GROWTH + 1))
        ranges.append(range(1 + sum(1 for _ in itertools.takewhile(fits, alone))))
    for grow in itertools.product(*ranges):
        if fits(grow):
            yield lattice.sites(hull(lattice.index, grow))


def block(index: np.ndarray, grow: tuple[int, ...]) -> np.ndarray:
    """Return the cells of the block around ``index``, grown at its low and high ends in turn.

    Examples
    --------
    >>> block(np.array([[0], [2]]), (0, 1)).ravel()
    array([0, 1, 2, 3])
    """
    low = index.min(0) - np.array(grow[::2])
    high = index.max(0) + np.array(grow[1::2])
    ranges = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*ranges, indexing="ij"), -1).reshape(-1, index.shape[1])


def triangle(index: np.ndarray, grow: tuple[int, ...]) -> np.ndarray:
    """Return the cells i >= a, j >= b, i + j <= c around ``index``; ``grow`` moves a, b and c.

    Examples
    --------
    >>> triangle(np.array([[0, 0], [1, 0], [0, 1]]), (0, 0, 0)).tolist()
    [[0, 0], [0, 1], [1, 0]]
    """
    low = index.min(0) - np.array(grow[:2])
    last = index.sum(1).max() + grow[2] - low.sum()
    i, j = np.indices((last + 1, last + 1)).reshape(2, -1)
    return low + np.column_stack([i, j])[i + j <= last]


def _hideable(cells: np.ndarray, lattice: Lattice, evidence: VisibleEvidence) -> bool:
    free = cells[~(cells[:, None] == lattice.index).all(2).any(1)]
    sites = lattice.sites(free)
    inside = ((sites > 0) & (sites < np.array(evidence.size))).all(1)
    return can_hide(sites[inside], evidence)


def _ring_hypotheses(evidence: VisibleEvidence) -> Iterator[np.ndarray]:
    """Yield the sites (N, 2) of every ring through the visible objects.

    The circle is fitted to at least three objects; N runs up to where neighbours would overlap.
    """
    points = evidence.visible
    if len(points) < 3:
        return
    centre, radius = fit_circle(points)
    from_centre = points - centre
    if not np.isfinite(radius) or radius > max(evidence.size):
        return
    if np.abs(np.hypot(*from_centre.T) - radius).max() > evidence.tolerance:
        return
    angles = np.arctan2(from_centre[:, 1], from_centre[:, 0])
    for n in range(len(points), int(np.pi * radius / evidence.radius) + 1):
        phase = np.angle(np.exp(1j * n * angles).sum()) / n
        turn = phase + 2 * np.pi * np.arange(n) / n
        yield centre + radius * np.column_stack([np.cos(turn), np.sin(turn)])
