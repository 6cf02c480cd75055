"""How many sample sets of each source a fit needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoeval.stability.commands.studies.inputs import BY_METHOD, NO_NUMBERS, score_table
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport


@study(
    "meta-set-size",
    "error by the number of sample sets",
    "errors_by_size.meta_set_size_report",
    {**BY_METHOD, "sizes": NO_NUMBERS, "draws": 20},
)
def meta_set_size(run: StudyRun) -> StudyReport:
    """Fit on fewer sample sets of one table."""
    return run.report(score_table(run.args), **run.settings)
