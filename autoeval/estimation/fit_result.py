"""What a fit leaves behind beside the estimator: how accurate it is on what it has not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from typing_extensions import Self

from autoeval.estimation.protocol import LeaveOneSourceOut
from autoeval.metasets.seed_set import SeedSet


@dataclass(frozen=True, repr=False, eq=False)
class FitResult:
    """The evidence for and against a fitted estimator.

    Parameters
    ----------
    table : DataFrame
        Score table that it was fitted on.
    cross_validation : tuple of LeaveOneSourceOut
        Leave-one-group-out results: those of the estimator's method first, those of the constant
        last; empty where there is too little to leave out.
    problems : tuple of str
        What was left out on the way.
    by_category : bool
        Whether groups of categories of the same sites were left out, since there are fewer than
        three families. That tells nothing of other sites.
    reliability : DataFrame, optional
        See `autoeval.estimation.reliability.reliability`; None where nothing was calibrated.
    files : tuple of Path
        What was written.
    seed_sets : tuple of SeedSet
        The labelled images of a task.
    """

    table: pd.DataFrame
    cross_validation: tuple[LeaveOneSourceOut, ...] = ()
    problems: tuple[str, ...] = ()
    by_category: bool = False
    reliability: pd.DataFrame | None = None
    files: tuple[Path, ...] = ()
    seed_sets: tuple[SeedSet, ...] = ()

    def written(self, *files: Path) -> Self:
        """Return the same with the names of files that were written."""
        return replace(self, files=(*self.files, *files))

    def __repr__(self) -> str:
        methods = ", ".join(f"'{result.method}'" for result in self.cross_validation) or "nothing"
        return (
            f"<FitResult of {len(self.table)} rows, evaluated: {methods}, left out: "
            f"{len(self.problems)}>"
        )
