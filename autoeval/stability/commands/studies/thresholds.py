"""At which threshold a thresholded score correlates best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoeval.stability.commands.studies.inputs import NO_NAMES, TARGET, score_table
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport


@study(
    "thresholds",
    "R² of thresholded scores at every threshold",
    "score_correlation.thresholds_report",
    {**TARGET, "families": NO_NAMES},
)
def thresholds(run: StudyRun) -> StudyReport:
    """Correlate the thresholded scores of one table."""
    return run.report(score_table(run.args), **run.settings)
