"""Whether estimated differences between detectors are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoeval.errors import InputError
from autoeval.stability.commands.studies.inputs import needed, task_sites
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport


@study(
    "compare",
    "are differences between detectors right",
    "detector_comparison.compare_report",
    {"draws": 20},
    inputs=("fits", "task"),
)
def compare(run: StudyRun) -> StudyReport:
    """Compare at the sources of the task: ``--fits NAME WORK_DIR PREDICTIONS`` of each detector."""
    from autoeval.api import load_estimator

    args = needed(run.args, "fits", "task")
    if any(len(words) != 3 for words in args.fits):
        raise InputError("'compare' needs --fits NAME WORK_DIR PREDICTIONS of each detector.")
    (task,) = args.task
    fits = {name: load_estimator(folder) for name, folder, _ in args.fits}
    sites = {name: task_sites(task, folder, args.data_root) for name, _, folder in args.fits}
    return run.report(fits, sites, **run.settings)
