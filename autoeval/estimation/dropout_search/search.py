"""The search from end to end: strategies on one bench, and what each found at what cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autoeval.data.images import UnreadableImageError
from autoeval.errors import InputError
from autoeval.estimation.dropout_search.grid import list_stages
from autoeval.estimation.dropout_search.strategies import STRATEGIES, ChosenDropout
from autoeval.estimation.dropout_search.trial import Trial
from autoeval.estimation.dropout_search.work import PARTS, naive_executions
from autoeval.estimation.dropout_search.workbench import Workbench


@dataclass(frozen=True)
class SearchResult:
    """What one strategy has found.

    Parameters
    ----------
    strategy : str
    choice : ChosenDropout
    table : DataFrame
        One row for each dropout that was measured: ``position``, ``stages``, ``rate``, ``r2``
        (estimated for all images where ``share`` is below 1), ``r`` (Pearson's, of the images
        seen), ``share`` of the images, ``undefined`` sample sets, ``fate``.
    executions : ndarray of shape (6,), int
        Work of the parts named in `autoeval.estimation.dropout_search.work.PARTS`.
    naive : ndarray of shape (6,), int
        The same for each dropout measured by itself: a clean pass and all its perturbed passes of
        the whole network, for every dropout and image.
    naive_shared_clean : ndarray of shape (6,), int
        The same with one clean pass for all of them.
    costs : tuple of float
        Cost of each part; see `autoeval.detectors.forward.costs.part_costs`.
    """

    strategy: str
    choice: ChosenDropout
    table: pd.DataFrame
    executions: np.ndarray
    naive: np.ndarray
    naive_shared_clean: np.ndarray
    costs: tuple[float, ...]

    def summary(self) -> dict[str, Any]:
        """Return the choice and its price; shares are of naive work, in [0, 1].

        ``share_weighted`` weighs executions by the multiply-adds of each part.
        """
        best, row = self.choice.best, self.table.iloc[0]
        return {
            "strategy": self.strategy,
            "position": best.position,
            "stages": list_stages(best.stages),
            "rate": best.rate,
            "r2": self.choice.r2,
            "r": row["r"],
            "executions": int(self.executions.sum()),
            "naive": int(self.naive.sum()),
            "share": self._share(self.naive, None),
            "share_weighted": self._share(self.naive, self.costs),
            "share_of_shared_clean": self._share(self.naive_shared_clean, None),
            "share_weighted_of_shared_clean": self._share(self.naive_shared_clean, self.costs),
        }

    def _share(self, naive: np.ndarray, costs: tuple[float, ...] | None) -> float:
        weights = np.ones(len(PARTS)) * (1.0 if costs is None else costs)
        return float(self.executions @ weights / (naive @ weights))


def search_dropout(bench: Workbench, strategies: Sequence[str]) -> list[SearchResult]:
    """Run strategies one after another.

    A later one measures only what no earlier one has, but its work is counted in full.

    Parameters
    ----------
    bench : Workbench
    strategies : sequence of {"full", "coordinate", "halving"}

    Raises
    ------
    InputError
        If a strategy is unknown, or too few sample sets can be measured.
    """
    unknown = [name for name in strategies if name not in STRATEGIES]
    if unknown:
        raise InputError(f"Expected strategies among {', '.join(STRATEGIES)}, got {unknown[0]}.")
    costs = _part_costs(bench)
    repeats, images = bench.observer.settings.repeats, int(bench.sizes.sum())
    results = []
    for name in strategies:
        trial = Trial(bench)
        choice = STRATEGIES[name](trial)
        alone, together = (
            images * naive_executions(len(bench.specs), repeats=repeats, share_clean=share)
            for share in (False, True)
        )
        table = _table(trial, choice)
        results.append(SearchResult(name, choice, table, trial.executions, alone, together, costs))
    return results


def _table(trial: Trial, choice: ChosenDropout) -> pd.DataFrame:
    """List the chosen dropout, then the others by R²: first those measured on all images."""
    rows = [
        {
            "position": spec.position,
            "stages": list_stages(spec.stages),
            "rate": spec.rate,
            **found,
            "fate": "chosen" if spec == choice.best else choice.fate.get(spec, ""),
            "last": (spec != choice.best, spec in choice.fate, -found["r2"]),
        }
        for spec, found in trial.found.items()
    ]
    table = pd.DataFrame(rows).sort_values("last", kind="stable", ignore_index=True)
    return table.drop(columns="last")


def _part_costs(bench: Workbench) -> tuple[float, ...]:
    """Measure the parts on the first image that can be read."""
    for job in bench.sample_sets:
        for number in range(job.size):
            try:
                return bench.observer.detector.part_costs(job.payload[number].image)
            except UnreadableImageError:
                continue
    raise InputError("None of the images of the sample sets can be read.")
