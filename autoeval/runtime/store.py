"""A folder of result rows, one Parquet file a job, that a kill at any moment leaves readable."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from autoeval.runtime.claims import Claims
from autoeval.runtime.files import write_text
from autoeval.runtime.job import Job
from autoeval.runtime.row_file import DamagedRowsError, read_row_file, write_row_file
from autoeval.runtime.states import FAILED, OK

MANIFEST = "jobs.json"


class RowStore:
    """Rows of finished jobs, keyed by job.

    Every row carries the columns ``job`` (its key), ``status`` (``"ok"`` or ``"failed"``) and
    ``error``. A job's file appears whole or not at all.

    Parameters
    ----------
    folder : path-like
        Made on the first write.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = RowStore(folder)
    ...     store.write("a", [{"mAP": 0.5}])
    ...     store.write_failure("b", "out of memory")
    ...     store.finished(["a", "b", "c"]), store.table(["a", "b"])["status"].tolist()
    ({'a'}, ['ok', 'failed'])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def write_manifest(self, jobs: Sequence[Job], what: str) -> None:
        """Keep the list of jobs, in `MANIFEST`; `autoeval.runtime.status` reads it."""
        listed = [{"key": job.key, "size": job.size, **job.columns} for job in jobs]
        write_text(self.folder / MANIFEST, json.dumps({"what": what, "jobs": listed}, indent=1))

    def read_manifest(self) -> dict[str, Any] | None:
        """Return ``what`` and ``jobs`` as `write_manifest` left them; None where they are damaged.

        Without a manifest there are no jobs.
        """
        path = self.folder / MANIFEST
        if not path.exists():
            return {"what": "", "jobs": []}
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            _ = [(job["key"], int(job["size"])) for job in manifest["jobs"]], manifest["what"]
        except (ValueError, TypeError, KeyError, OSError):
            return None
        return dict(manifest)

    def claims(self) -> Claims:
        """Return the locks on the jobs of this store."""
        return Claims(self.folder / "locks")

    def write(self, key: str, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of a finished job, replacing what an earlier try left."""
        table = pd.DataFrame(rows).assign(job=key, status=OK, error="")
        write_row_file(self.path(key), key, table)

    def write_failure(self, key: str, error: str, **columns: Any) -> None:
        """Keep one row that says why a job failed."""
        row = {**columns, "job": key, "status": FAILED, "error": error}
        write_row_file(self.path(key), key, pd.DataFrame([row]))

    def finished(self, keys: Iterable[str]) -> set[str]:
        """Return those of ``keys`` whose job ended well."""
        return {key for key in keys if self._is_ok(self.read(key))}

    def table(self, keys: Iterable[str]) -> pd.DataFrame:
        """Join the rows of ``keys``, in that order; jobs without rows are left out."""
        parts = [part for part in map(self.read, keys) if part is not None]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def path(self, key: str) -> Path:
        """Return the file with the rows of a job, which need not be there."""
        return self.folder / f"{key}.parquet"

    def read(self, key: str) -> pd.DataFrame | None:
        """Return the rows of a job; None without rows.

        A file that is damaged, or of another job, counts as none, with a warning.
        """
        path = self.path(key)
        if not path.exists():
            return None
        try:
            return read_row_file(path, key)
        except DamagedRowsError as error:
            warnings.warn(f"{path} {error}; its job runs again.", stacklevel=3)
            return None

    def clear(self, key: str) -> None:
        """Remove what a killed writer of a job left half written; only for who claimed the job."""
        for leftover in self.folder.glob(f".{key}-????????.parquet"):
            leftover.unlink(missing_ok=True)

    @staticmethod
    def _is_ok(rows: pd.DataFrame | None) -> bool:
        return rows is not None and bool((rows["status"] == OK).all())
