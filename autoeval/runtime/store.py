"""A folder of result rows, one Parquet file a job, that a kill at any moment leaves readable."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.parquet

from autoeval.runtime.claims import Claims
from autoeval.runtime.files import atomic_path, write_text
from autoeval.runtime.job import Job

OK, FAILED = "ok", "failed"
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

    def claims(self) -> Claims:
        """Return the locks on the jobs of this store."""
        return Claims(self.folder / "locks")

    def write(self, key: str, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of a finished job, replacing what an earlier try left."""
        self._write(key, pd.DataFrame(rows).assign(job=key, status=OK, error=""))

    def write_failure(self, key: str, error: str, **columns: Any) -> None:
        """Keep one row that says why a job failed."""
        self._write(key, pd.DataFrame([{**columns, "job": key, "status": FAILED, "error": error}]))

    def finished(self, keys: Iterable[str]) -> set[str]:
        """Return those of ``keys`` whose job ended well."""
        return {key for key in keys if self._is_ok(self.read(key, ["status"]))}

    def table(self, keys: Iterable[str]) -> pd.DataFrame:
        """Join the rows of ``keys``, in that order; jobs without rows are left out."""
        parts = [part for part in map(self.read, keys) if part is not None]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def path(self, key: str) -> Path:
        """Return the file with the rows of a job, which need not be there."""
        return self.folder / f"{key}.parquet"

    def read(self, key: str, columns: Sequence[str] | None = None) -> pd.DataFrame | None:
        """Return the rows of a job, or those of its ``columns`` that are there; None without rows.

        A file that cannot be read counts as none, with a warning.
        """
        path = self.path(key)
        if not path.exists():
            return None
        try:
            with pyarrow.parquet.ParquetFile(path) as file:
                return file.read(columns).to_pandas()
        except (pyarrow.ArrowException, OSError) as error:
            warnings.warn(f"{path} cannot be read ({error}); its job runs again.", stacklevel=3)
            return None

    def clear(self, key: str) -> None:
        """Remove what a killed writer of a job left half written; only for who claimed the job."""
        for leftover in self.folder.glob(f".{key}-????????.parquet"):
            leftover.unlink(missing_ok=True)

    def _write(self, key: str, table: pd.DataFrame) -> None:
        with atomic_path(self.path(key)) as temporary:
            table.to_parquet(temporary, index=False)

    @staticmethod
    def _is_ok(rows: pd.DataFrame | None) -> bool:
        return rows is not None and bool((rows["status"] == OK).all())
