"""Printing a report: the number, its warnings, the files, and the next step."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from autoeval.report.sections import Report


def print_report(
    report: Report,
    folder: Path,
    *,
    before: Sequence[Path] = (),
    page: Path | None = None,
    as_json: bool = False,
    verbose: bool = True,
    of_fit: Collection[str] = (),
    more: Callable[[], Sequence[Path]] = tuple,
    next_step: str = "",
) -> None:
    """Print a report, then write it: a full disk does not lose what was computed.

    ``result.json`` and the page, unless `page` is another place, go to `folder`. Files that were
    written `before` are named, too; `more` writes further ones and returns their paths. Last comes
    `next_step`, see `next_command`, where there is one. For `verbose` and `of_fit` see
    `Report.text`.
    """
    if as_json:
        print(json.dumps(report.to_dict(), indent=2), flush=True)
    else:
        print(report.text(verbose=verbose, of_fit=of_fit), flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    written = [*before, *report.write(folder, page), *more()]
    if not as_json:
        print("\n" + "\n\n".join(filter(None, [written_files(written), next_step])))


def written_files(paths: Iterable[Path]) -> str:
    """Name the files that a command wrote, for the terminal."""
    return "written:\n" + "\n".join(f"  {path}" for path in paths)


def next_command(purpose: str, command: str) -> str:
    """Say which command to give next, and what for; nothing without a command.

    >>> print(next_command("count", "wc labels.txt"))
    next step, count:
      wc labels.txt
    """
    return f"next step, {purpose}:\n  {command}" if command else ""
