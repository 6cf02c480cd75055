"""How many dropout repeats an estimate needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoeval.stability.commands.studies.inputs import BY_METHOD, score_table
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport


@study(
    "repeats",
    "error by the number of dropout repeats",
    "errors_by_size.repeats_report",
    BY_METHOD,
)
def repeats(run: StudyRun) -> StudyReport:
    """Average fewer repeats of one table."""
    return run.report(score_table(run.args), **run.settings)
