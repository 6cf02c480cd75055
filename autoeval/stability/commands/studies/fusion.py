"""Whether a second score helps the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoeval.stability.commands.studies.inputs import BY_METHOD, score_table
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport


@study(
    "fusion",
    "does a second score help the first, beyond chance",
    "score_correlation.fusion_report",
    BY_METHOD,
)
def fusion(run: StudyRun) -> StudyReport:
    """Compare the methods with the first, on one table."""
    return run.report(score_table(run.args), **run.settings)
