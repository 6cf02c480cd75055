"""A trial: dropouts evaluated on a share of the images, with the work counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from autoeval.detectors.forward.dropout_spec import N_STAGES, DropoutSpec
from autoeval.research.dropout_search.objective import compare_with_leader, correlation, scores_of
from autoeval.research.dropout_search.workbench import Workbench

LEAST_IMAGES = 2
PARTS = ("stem", *(f"stage {stage}" for stage in range(N_STAGES)), "neck and head")


@dataclass(frozen=True)
class Standings:
    """How C dropouts do on a share of the images.

    Parameters
    ----------
    specs : tuple of DropoutSpec
    r2 : ndarray of shape (C,)
        R² over all images, estimated; exact on a share of 1.
    errors : ndarray of shape (C,)
        Standard error of each one's gap to the largest R².
    """

    specs: tuple[DropoutSpec, ...]
    r2: np.ndarray
    errors: np.ndarray


class Measures(Protocol):
    """What strategies need."""

    specs: tuple[DropoutSpec, ...]

    @property
    def least_share(self) -> float:
        """Share of the images below which nothing can be said."""
        ...

    def measure(self, specs: Sequence[DropoutSpec], share: float = 1.0) -> Standings:
        """Evaluate dropouts on the first images of each sample set."""
        ...


class Trial:
    """One run of a strategy.

    Work is counted as if nothing had been measured before, even where the bench remembers it.

    Attributes
    ----------
    executions : ndarray of shape (6,), int
        See `autoeval.research.dropout_search.trial.PARTS`.
    found : dict of DropoutSpec to dict
        What was last seen of each dropout: ``r2``, signed ``r``, ``share`` of the images,
        ``undefined`` (sample sets without a score).
    """

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.specs = bench.specs
        self.executions = np.zeros(len(PARTS), int)
        self.found: dict[DropoutSpec, dict[str, float]] = {}
        self._stops: dict[DropoutSpec, np.ndarray] = {}

    @property
    def least_share(self) -> float:
        """Two images of the largest sample set: errors need two."""
        return LEAST_IMAGES / max(int(self.bench.sizes.max()), LEAST_IMAGES)

    def measure(self, specs: Sequence[DropoutSpec], share: float = 1.0) -> Standings:
        """Evaluate dropouts on the first images of each sample set, two at least."""
        sizes = self.bench.sizes
        stops = np.minimum(np.maximum(np.ceil(share * sizes).astype(int), LEAST_IMAGES), sizes)
        self._count(specs, stops)
        self.bench.measure(specs, stops)
        usable, columns = self.bench.usable(), self.bench.columns(specs)
        seen = (np.arange(sizes.max()) < stops[:, None])[usable][..., None]
        sums, counts = (
            a[usable][..., columns] * seen for a in (self.bench.sums, self.bench.counts)
        )
        accuracy = self.bench.accuracy[usable]
        r2, errors = compare_with_leader(sums, counts, accuracy, stops[usable], sizes[usable])
        scores = scores_of(sums, counts)
        undefined, r = np.isnan(scores).sum(0), correlation(scores, accuracy)
        for i, spec in enumerate(specs):
            self.found[spec] = {
                "r2": r2[i],
                "r": r[i],
                "share": stops.sum() / sizes.sum(),
                "undefined": undefined[i],
            }
        return Standings(tuple(specs), r2, errors)

    def _count(self, specs: Sequence[DropoutSpec], stops: np.ndarray) -> None:
        """Add the work of what this trial has not measured before, and of its first clean pass."""
        detector, repeats = self.bench.observer.detector, self.bench.observer.settings.repeats
        none = np.zeros_like(stops)
        ahead: dict[bytes, tuple[np.ndarray, list[DropoutSpec]]] = {}
        for spec in specs:
            start = self._stops.get(spec, none)
            ahead.setdefault(start.tobytes(), (start, []))[1].append(spec)
            self._stops[spec] = np.maximum(start, stops)
        first = not self.executions.any()
        for start, group in ahead.values():
            n = int(np.maximum(stops - start, 0).sum())
            self.executions += n * executions(
                group, repeats=repeats, splits_backbone=detector.splits_backbone
            )
        if first:
            self.executions += int((self.bench.sizes - stops).sum()) * np.ones(len(PARTS), int)


def executions(
    specs: Sequence[DropoutSpec], *, repeats: int = 1, splits_backbone: bool = True
) -> np.ndarray:
    """Count what observing one image under several dropouts executes, with all sharing.

    A stage runs once for each way in which its input differs: clean, and for each combination of a
    rate and dropped stages before it. Neck and head run once for each dropout, and once clean.

    Parameters
    ----------
    specs : sequence of DropoutSpec
    repeats : int
        Perturbed passes for each of them.
    splits_backbone : bool
        False for a detector that must run wholly for each pass.

    Returns
    -------
    ndarray of shape (6,), int
        In the order of `PARTS`.

    Examples
    --------
    >>> executions([DropoutSpec("after", (0,), 0.1), DropoutSpec("after", (0, 1), 0.1)])
    array([1, 1, 2, 3, 3, 3])
    """
    if not splits_backbone:
        return naive_executions(len(specs), repeats=repeats, share_clean=True)
    stages = [1 + repeats * len(_inputs(stage, specs)) for stage in range(N_STAGES)]
    return np.array([1, *stages, 1 + repeats * len(specs)])


def naive_executions(n_dropouts: int, *, repeats: int = 1, share_clean: bool = False) -> np.ndarray:
    """Count what observing one image costs when nothing is shared.

    Returns
    -------
    ndarray of shape (6,), int

    Examples
    --------
    >>> naive_executions(285).sum(), naive_executions(285, share_clean=True).sum()
    (np.int64(3420), np.int64(1716))
    """
    clean = 1 if share_clean else n_dropouts
    return np.full(len(PARTS), clean + n_dropouts * repeats)


def _inputs(stage: int, specs: Sequence[DropoutSpec]) -> set[tuple]:
    """Return the different perturbed inputs of a stage."""
    found = set()
    for spec in specs:
        last = stage if spec.position == "before" else stage - 1
        dropped = tuple(s for s in spec.stages if s <= last)
        if dropped:
            found.add((spec.position, spec.rate, dropped))
    return found
