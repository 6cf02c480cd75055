"""What a run has to tell: on the terminal, as JSON, and as files."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval import __version__
from autoeval.detectors import Detector
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.fitting import Fit
from autoeval.estimation.presets import PassSettings
from autoeval.report.held_out import formats_of, method_table, source_table
from autoeval.report.map_report import MapReport
from autoeval.report.scatter import RegressionBand
from autoeval.report.tables import format_cells, to_terminal
from autoeval.runtime.files import write_text


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
    estimate : Estimate, optional
        None where there were no images to estimate on.
    unreadable : str, optional
        Names and reasons of the images that could not be read.
    """

    detector_name: str
    detector: Detector
    task_name: str
    settings: PassSettings
    estimator: MapEstimator
    fit: Fit | None = None
    estimate: Estimate | None = None
    unreadable: str | None = None

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
            "unreadable": self.unreadable or "",
            "held_out": [_without_nan(result.summary()) for result in held_out],
            "per_source": {
                result.method: [_without_nan(row) for row in result.per_source.to_dict("records")]
                for result in held_out
            },
            "problems": list(self.fit.problems) if self.fit else [],
            "facts": self._facts(),
        }

    def write(self, folder: Path) -> list[Path]:
        """Write the report and ``result.json``; return the files, those of the fit included."""
        kept = [folder / name for name in ("scores.parquet", "estimator.parquet")]
        written = kept if self.fit else []
        written += self._report().write(folder)
        write_text(folder / "result.json", json.dumps(self.to_dict(), indent=2) + "\n")
        return [*written, folder / "result.json"]

    def _held_out_text(self) -> str:
        assert self.fit is not None
        if not self.fit.held_out:
            few = len(self.estimator.sources_)
            return f"{few} sources: too few to leave one out, so the error is not known."
        per_source = {result.method: result.per_source for result in self.fit.held_out}
        summaries = [result.summary() for result in self.fit.held_out]
        tables = (source_table(per_source), method_table(summaries))
        shown = [to_terminal(format_cells(table, formats_of(table))) for table in tables]
        head = f"Each source left out in turn ({self.estimator.target}, in points of 100):"
        return "\n\n".join([head, *shown])

    def _report(self) -> MapReport:
        held_out = self.fit.held_out if self.fit else ()
        x = next(iter(self.estimator.training_range_), "bos")
        headline = None
        if self.estimate is not None:
            headline = self.estimate.to_dict() | {"x": self.estimate.features.get(x, np.nan)}
            for bound in ("lower", "upper", "value"):
                headline[bound] = getattr(self.estimate, bound)
        return MapReport(
            title=f"{self.detector_name} on {self.task_name}",
            points=_mean_over_repeats(self.estimator.table_, x, self.estimator.target),
            x=x,
            y=self.estimator.target,
            per_source={result.method: result.per_source for result in held_out},
            summaries=[result.summary() for result in held_out],
            band=_band(self.estimator),
            headline=headline,
            facts=self._facts(),
            problems=[*(self.fit.problems if self.fit else ()), *filter(None, [self.unreadable])],
        )

    def _facts(self) -> dict[str, str]:
        import torch

        dropout = self.settings.dropout
        return {
            "detector": f"{self.detector_name}, fingerprint {self.detector.fingerprint[:16]}",
            "dropout": f"{dropout.position} stages {list(dropout.stages)}, rate {dropout.rate}",
            "repeats": str(self.settings.repeats),
            "seed": str(self.settings.seed),
            "sources": ", ".join(self.estimator.sources_),
            "versions": f"autoeval {__version__}, torch {torch.__version__}, "
            f"python {platform.python_version()}",
        }


def _mean_over_repeats(table: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    keys = ["source", "sample_set", "kind"]
    return table.groupby(keys, sort=False)[[x, y]].mean().reset_index()


def _band(estimator: MapEstimator, *, points: int = 50) -> RegressionBand | None:
    """Trace the estimate along the feature, for a method of one feature."""
    if len(estimator.training_range_) != 1:
        return None
    ((name, (low, high)),) = estimator.training_range_.items()
    repeats = sorted(set(estimator.table_["repeat"]))
    x = np.linspace(low, high, points)
    rows = [pd.DataFrame({"repeat": repeats, "n_images": 0, name: at}) for at in x]
    estimates = [estimator.predict(row) for row in rows]
    value, lower, upper = (
        np.array([getattr(estimate, part) for estimate in estimates])
        for part in ("value", "lower", "upper")
    )
    return RegressionBand(x, value, lower, upper)


def _without_nan(values: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and v != v else v for k, v in values.items()}
