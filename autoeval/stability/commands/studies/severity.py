"""How the error grows with the severity of a corruption."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.stability.commands.studies.inputs import BY_METHOD, needed, score_table
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport


@study(
    "severity",
    "error by severity of a corruption",
    "errors_by_size.severity_report",
    {**BY_METHOD, "fit_on": ""},
)
def severity(run: StudyRun) -> StudyReport:
    """Estimate the corrupted sample sets of one table, fitted on them or on another table."""
    from autoeval.stability.methods.score_rows import read_scores

    needed(run.args, "scores")
    settings = dict(run.settings)
    if settings["fit_on"]:
        settings["fit_on"] = read_scores(Path(settings["fit_on"]))
    return run.report(score_table(run.args), **settings)
