"""What the default regressor gains over those of scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.errors import InputError
from autoeval.stability.commands.studies.inputs import needed, pair_table
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport


@study(
    "regressors",
    "the default regressor compared with those of scikit-learn",
    "other_regressors.regressors_report",
    {"draws": 2},
    inputs=("fits",),
)
def regressors(run: StudyRun) -> StudyReport:
    """Evaluate on the tables of each detector: ``--fits NAME PATH...``."""
    import pandas as pd

    named: list[list[str]] = needed(run.args, "fits").fits
    alone = [words[0] for words in named if len(words) < 2]
    if alone:
        raise InputError(
            f"--fits {alone[0]}: expected NAME PATH..., its work dirs behind its name."
        )
    tables = {
        name: pd.concat([pair_table(Path(path)) for path in paths], ignore_index=True)
        for name, *paths in named
    }
    return run.report(tables, **run.settings)
