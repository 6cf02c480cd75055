"""Writing a report into a folder and printing it, for every command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autoeval.estimation.fit_result import FitResult
from autoeval.report.sections import Report, printed_text


def print_report(
    report: Report,
    folder: Path,
    fit: FitResult | None = None,
    *,
    page: Path | None = None,
    as_json: bool = False,
    more: Sequence[Path] = (),
) -> None:
    """Print a report, then write it.

    Parameters
    ----------
    report : Report
    folder : Path
        Where ``result.json`` and the page go.
    fit : FitResult, optional
        Whose files are named first.
    page : Path, optional
        Where the page goes instead.
    as_json : bool
        Print the result as JSON.
    more : sequence of Path
        Further files that were written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = [*(fit.files if fit else ()), *report.write(folder, page), *more]
    print(printed_text(report, written, as_json=as_json))
