"""What a run has to tell: on the terminal, as JSON, and as files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from autoeval.detectors import Detector
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.fitting import Fit
from autoeval.estimation.presets import PassSettings
from autoeval.report.tables import format_cells, to_terminal
from autoeval.results.held_out import formats_of
from autoeval.results.map_report import MapReport, held_out_tables
from autoeval.results.observed import Observed
from autoeval.results.plotted_scores import LEFT_OUT, scores_to_plot
from autoeval.results.what_was_run import facts, time_table
from autoeval.runtime.files import write_text
from autoeval.targets import find_target


@dataclass(frozen=True)
class Outcome:
    """The result of one run of ``estimate-map`` or ``demo``.

    Parameters
    ----------
    detector_name : str
    detector : Detector
    task_name : str
    settings : PassSettings
    estimator : MapEstimator
    fit : Fit, optional
        None where a saved estimator was used.
    observed : Observed, optional
        None where there were no images to estimate on.
    """

    detector_name: str
    detector: Detector
    task_name: str
    settings: PassSettings
    estimator: MapEstimator
    fit: Fit | None = None
    observed: Observed | None = None

    @property
    def estimate(self) -> Estimate | None:
        """The estimate, where there were images to estimate on."""
        return self.observed.estimate if self.observed else None

    @property
    def unreadable(self) -> str:
        """Names and reasons of the images that could not be read."""
        return self.observed.row["unreadable"] if self.observed else ""

    def text(self, written: list[Path]) -> str:
        """Return what the terminal shows."""
        parts = []
        if self.fit is not None:
            parts.append(self._held_out_text())
        if self.estimate is not None:
            parts.append(str(self.estimate))
        if self.unreadable:
            parts.append(f"not read: {self.unreadable}")
        parts.append("written:\n" + "\n".join(f"  {path}" for path in written))
        return "\n\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        held_out = self.fit.held_out if self.fit else ()
        return {
            "estimate": self.estimate.to_dict() if self.estimate else None,
            "unreadable": self.unreadable,
            "least_stable": self.observed.table().to_dict("records") if self.observed else [],
            "held_out": [_without_nan(result.summary()) for result in held_out],
            "per_source": {
                result.method: [_without_nan(row) for row in result.per_source.to_dict("records")]
                for result in held_out
            },
            "problems": list(self.fit.problems) if self.fit else [],
            "facts": self._facts(),
        }

    def write(self, folder: Path, page: Path | None = None) -> list[Path]:
        """Write the report and ``result.json``.

        Parameters
        ----------
        folder : Path
            Of this run.
        page : Path, optional
            Where the report goes, its parts into a folder beside it; by default ``report.html`` in
            `folder`.

        Returns
        -------
        list of Path
            What was written, by the fit too.
        """
        kept = [folder / name for name in ("scores.parquet", "estimator.parquet")]
        written = kept if self.fit else []
        written += self._report().write(page or folder / "report.html")
        write_text(folder / "result.json", json.dumps(self.to_dict(), indent=2) + "\n")
        return [*written, folder / "result.json"]

    def _held_out_text(self) -> str:
        assert self.fit is not None
        if not self.fit.held_out:
            few = len(self.estimator.sources_)
            return f"{few} sources: too few to leave one out, so the error is not known."
        per_source = {result.method: result.per_source for result in self.fit.held_out}
        summaries = [result.summary() for result in self.fit.held_out]
        target = find_target(self.estimator.target)
        tables = held_out_tables(per_source, summaries, target)
        shown = [
            to_terminal(format_cells(table, formats_of(table, digits=target.digits)))
            for table in tables
        ]
        head = f"Each source left out in turn ({target.name}, in {target.unit}):"
        return "\n\n".join([head, *shown])

    def _report(self) -> MapReport:
        held_out = self.fit.held_out if self.fit else ()
        seen, target = self.observed, find_target(self.estimator.target)
        plotted = scores_to_plot(self.estimator)
        return MapReport(
            title=f"{self.detector_name} on {self.task_name}",
            points=plotted.points,
            scores=plotted.scores,
            target=target,
            lines=plotted.lines,
            about_scores=plotted.about,
            per_source={result.method: result.per_source for result in held_out},
            summaries=[result.summary() for result in held_out],
            why_not_held_out=self._why_not_held_out(),
            headline=self._headline(),
            categories=_categories(seen.estimate) if seen else None,
            unstable=seen.table() if seen else None,
            thumbnails=seen.thumbnails() if seen else (),
            times=time_table(self.fit.table if self.fit else None, seen.row if seen else None),
            facts=self._facts(),
            problems=[*(self.fit.problems if self.fit else ()), *filter(None, [self.unreadable])],
        )

    def _headline(self) -> dict[str, Any] | None:
        if self.observed is None:
            return None
        estimate, target = self.observed.estimate, find_target(self.estimator.target)
        return {**self.observed.row, **vars(estimate), LEFT_OUT: target.scale * estimate.value}

    def _why_not_held_out(self) -> str:
        if self.fit is not None:
            return (
                "Fewer than three sources: nothing can be left out, so nothing is known of the "
                "error on a new source."
            )
        if not len(self.estimator.residuals_):
            return (
                "The saved estimator was fitted on fewer than three sources: its error on a new "
                "source is not known."
            )
        target = find_target(self.estimator.target)
        error = target.text(float(self.estimator.residuals_.mean()))
        return (
            f"The saved estimator missed the {target.name} of its {len(self.estimator.sources_)} "
            f"sources by {error} ({target.unit}) on average when each was left out; the report of "
            "its fit compares it with other methods."
        )

    def _facts(self) -> dict[str, str]:
        return facts(
            self.detector_name, self.detector, self.task_name, self.settings, self.estimator
        )


def _categories(estimate: Estimate) -> pd.DataFrame | None:
    per_category = estimate.per_category
    if not per_category:
        return None
    return pd.DataFrame(
        {
            "category": list(per_category),
            "estimate": [of["value"] for of in per_category.values()],
            "lower": [of["lower"] for of in per_category.values()],
            "upper": [of["upper"] for of in per_category.values()],
        }
    )


def _without_nan(values: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and v != v else v for k, v in values.items()}
