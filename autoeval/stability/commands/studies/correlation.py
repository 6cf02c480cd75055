"""How closely each score follows the accuracy over sample sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoeval.stability.commands.studies.inputs import NO_NAMES, TARGET, score_table
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport


@study(
    "correlation",
    "R² and ρ of every score with the accuracy",
    "score_correlation.correlation_report",
    {**TARGET, "features": NO_NAMES, "most": 12},
)
def correlation(run: StudyRun) -> StudyReport:
    """Correlate the scores of one table."""
    return run.report(score_table(run.args), **run.settings)
