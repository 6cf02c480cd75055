"""Which changes of a site are seen, and when an alarm is raised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoeval.stability.commands.fit_change import UNTOUCHED, observe_named_changes
from autoeval.stability.commands.studies.inputs import DATA, NO_NAMES, needed
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport


@study(
    "changes",
    "which changes of a site are seen, and when an alarm is raised",
    "changes.changes_report",
    {"alpha": 0.05, "orders": 20, "calibrate": True},
    inputs=DATA,
    passes={"everywhere": NO_NAMES, "untouched": UNTOUCHED, "batch_size": 4},
)
def changes(run: StudyRun) -> StudyReport:
    """Observe the sites of the tasks as they come and under corruptions."""
    observed = observe_named_changes(needed(run.args, "task", "detector"), **run.passes)
    return run.report(*observed, **run.settings)
