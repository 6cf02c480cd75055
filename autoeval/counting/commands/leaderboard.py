"""Put several counting runs on one page: each model's rank in each run, and every measure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike


def leaderboard(
    runs: Sequence[PathLike],
    *,
    measure: Sequence[str] = (),
    work_dir: PathLike = "leaderboard",
) -> None:
    """Put several counting runs on one page: each model's rank in each run, and every measure.

    Models that are called alike in several runs are one. Writes report.html, ranks.csv,
    leaderboard.csv and a figure for each run into the folder --work-dir.

    Parameters
    ----------
    runs : sequence of path-like
        Folders that `autoeval count evaluate`, `count praco` or `count capture report` wrote, or
        NAME=FOLDER.
    measure : sequence of str
        Rank a run by the first of these that it has (default: pooled MAE, NMN, NMN macro, sMAPE,
        accuracy or MAE).
    work_dir : path-like
        Where to write.
    """
    from autoeval.counting.filed_page import PAGE
    from autoeval.counting.leaderboard import leaderboard_page, overall, read_runs
    from autoeval.report.text import format_cells, to_terminal

    named = [_named(str(text)) for text in runs]
    folders, names = [folder for _, folder in named], [name for name, _ in named]
    standings = read_runs(folders, names, measures=list(measure))
    leaderboard_page(standings).write_all(Path(work_dir))
    table = overall(standings)
    formats = dict.fromkeys(table.columns[2:], "{:g}") | {"mean rank": "{:.2f}"}
    print(to_terminal(format_cells(table, formats)))
    for standing in standings:
        print(f"{standing.run} is ranked by {standing.measure}")
    print(f"\nReport: {Path(work_dir) / PAGE}")


def _named(text: str) -> tuple[str, Path]:
    """Read NAME=FOLDER, or the folder alone."""
    name, sign, folder = text.partition("=")
    if sign and not Path(text).exists():
        return name, Path(folder)
    return Path(text).resolve().name, Path(text)
