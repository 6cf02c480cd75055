"""Leave-one-group-out evaluation of pairs of site and category, compared with a constant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.estimation.bayesian_regression import DEFAULT_METHOD, BayesianRegression
from autoeval.estimation.protocol import BASELINE, LeaveOneSourceOut
from autoeval.metasets.seed_set import SeedSet

FEWEST_FAMILIES = 3
GROUPS = 10


def evaluate_pairs(
    table: pd.DataFrame, *, target: str, level: float
) -> tuple[LeaveOneSourceOut, ...]:
    """Estimate every pair without its family; with few families, without its group of categories.

    table: a pair table. Where it has fewer than three families, its rows are dealt into ten groups
        in turn: the result then holds for other categories of the same sites, not for other sites.
    Returned: of the default method and of the constant (the mean of the others), one row a pair;
        empty for fewer than three pairs.
    """
    rows = table[np.isfinite(table[target].to_numpy(float))].reset_index(drop=True)
    groups = rows
    if not has_families(rows):
        groups = rows.assign(family=[f"group {k % GROUPS}" for k in range(len(rows))])
    if groups["family"].nunique() < FEWEST_FAMILIES:
        return ()
    found = BayesianRegression(target=target, level=level).fit(groups).cross_validated_
    means = [float(found.loc[found["family"] != f, "true"].mean()) for f in found["family"]]
    shared = found[["n_images", "true"]].assign(
        source=_names(found),
        family=found["family"] if has_families(rows) else _names(found),
        std=0.0,
        missing=False,
        interval_method="predictive",
    )
    ours = shared.assign(**{name: found[name] for name in ("estimate", "lower", "upper")})
    constant = shared.assign(
        estimate=means, lower=np.nan, upper=np.nan, interval_method=f"none: {BASELINE}"
    )
    return (
        _result(DEFAULT_METHOD, target, ours),
        _result(BASELINE, target, constant),
    )


def has_families(table: pd.DataFrame) -> bool:
    """Return whether there are enough families to leave one out."""
    return table["family"].nunique() >= FEWEST_FAMILIES


def worse_than_constant(results: tuple[LeaveOneSourceOut, ...]) -> tuple[str, ...]:
    """Warn of an estimator whose error on left-out pairs is not below that of a constant."""
    errors = {result.method: result.summary()["mean_absolute_error"] for result in results}
    used = next(iter(errors), BASELINE)
    if used == BASELINE or BASELINE not in errors or errors[used] < errors[BASELINE]:
        return ()
    return (
        "on sources that were left out of the fit the mean absolute error is "
        f"{100 * errors[used]:.1f} points; the mean accuracy of the others as the estimate of "
        f"each gives {100 * errors[BASELINE]:.1f}. Either all sources are about equally accurate, "
        "or these scores do not predict accuracy here, as where labels are wrong",
    )


def _result(method: str, target: str, rows: pd.DataFrame) -> LeaveOneSourceOut:
    rows = rows.assign(error=(rows["estimate"] - rows["true"]).abs())
    return LeaveOneSourceOut(method, target, rows, np.array([rows["error"].mean()]), {})


def _names(rows: pd.DataFrame) -> list[str]:
    """Name each pair by its source, its category, or both, whichever identifies it."""
    if rows["source"].nunique() == 1:
        return rows["category"].tolist()
    if rows["category"].nunique() == 1:
        return rows["source"].tolist()
    return [f"{s}: {c}" for s, c in zip(rows["source"], rows["category"], strict=True)]


@dataclass(frozen=True, repr=False, eq=False)
class FitResult:
    """The evidence for and against a fitted estimator.

    cross_validation: leave-one-group-out results: those of the estimator's method first, those of
        the constant last; empty where there is too little to leave out.
    by_category: whether groups of categories of the same sites were left out, since there are fewer
        than three families. That tells nothing of other sites.
    reliability: see `autoeval.estimation.calibrating.reliability`; None where nothing was
        calibrated.
    """

    table: pd.DataFrame
    cross_validation: tuple[LeaveOneSourceOut, ...] = ()
    warnings: tuple[str, ...] = ()
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
            f"{len(self.warnings)}>"
        )
