"""Writing a report into a folder and printing it, for every command."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from autoeval.estimation.protocol import FitResult
from autoeval.report.sections import Report, written_files


def print_report(
    report: Report,
    folder: Path,
    fit: FitResult | None = None,
    *,
    page: Path | None = None,
    as_json: bool = False,
    more: Callable[[], Sequence[Path]] = tuple,
) -> None:
    """Print a report, then write it: a full disk does not lose what was computed.

    ``result.json`` and the page, unless `page` is another place, go to `folder`; the files of `fit`
    are named first; `more` writes further files and returns their paths.
    """
    print(json.dumps(report.to_dict(), indent=2) if as_json else report.text(), flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    written = [*(fit.files if fit else ()), *report.write(folder, page), *more()]
    if not as_json:
        print(f"\n{written_files(written)}")
