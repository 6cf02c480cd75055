"""Whether the probabilities of the order of sites are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoeval.stability.commands.studies.inputs import TARGET, pair_tables
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport


@study(
    "places",
    "are probabilities of the order of sites right",
    "site_order.places_report",
    {**TARGET, "draws": 40, "share": 0.5, "worst": 3},
)
def places(run: StudyRun) -> StudyReport:
    """Predict the order of the sites of each table."""
    return run.report(pair_tables(run.args), **run.settings)
