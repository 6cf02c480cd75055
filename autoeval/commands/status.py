"""Show the progress of a run."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike


def status(work_dir: PathLike, *, json: bool = False) -> None:
    """Show the progress of a run: jobs done, failed, running and left, and the rate.

    Parameters
    ----------
    work_dir : path-like
        Of estimate-map or another command that keeps what it has done.
    json : bool
        Print as JSON.
    """
    from autoeval.runtime.store import run_statuses

    statuses = run_statuses(Path(work_dir))
    if json:
        print(dumps([status.to_dict() for status in statuses], indent=2))
    else:
        print("\n\n".join(map(str, statuses)))
