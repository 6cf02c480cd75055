"""How well sites and categories predict others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoeval.stability.commands.studies.inputs import NO_NAMES, TARGET, pair_tables
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport

SIZES = (0, 1, 2, 3, 5, 8, 12, 16)


@study(
    "transfer",
    "errors at other sites and categories",
    "transfer.transfer_report",
    {**TARGET, "labelled": "", "without": NO_NAMES, "sizes": SIZES, "draws": 20},
)
def transfer(run: StudyRun) -> StudyReport:
    """Evaluate the pairs of all tables together."""
    import pandas as pd

    return run.report(pd.concat(pair_tables(run.args), ignore_index=True), **run.settings)
