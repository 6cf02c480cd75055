"""A folder of result rows, one Parquet file a job, that a kill at any moment leaves readable."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow

from autoeval.runtime.files import atomic_path

OK, FAILED = "ok", "failed"


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

    def write(self, key: str, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of a finished job, replacing what an earlier try left."""
        self._write(key, pd.DataFrame(rows).assign(job=key, status=OK, error=""))

    def write_failure(self, key: str, error: str, **columns: Any) -> None:
        """Keep one row that says why a job failed."""
        self._write(key, pd.DataFrame([{**columns, "job": key, "status": FAILED, "error": error}]))

    def finished(self, keys: Iterable[str]) -> set[str]:
        """Return those of ``keys`` whose job ended well."""
        return {key for key in keys if self._is_ok(self._read(key))}

    def table(self, keys: Iterable[str]) -> pd.DataFrame:
        """Join the rows of ``keys``, in that order; jobs without rows are left out."""
        parts = [part for part in map(self._read, keys) if part is not None]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.parquet"

    def _write(self, key: str, table: pd.DataFrame) -> None:
        with atomic_path(self._path(key)) as temporary:
            table.to_parquet(temporary, index=False)

    def _read(self, key: str) -> pd.DataFrame | None:
        path = self._path(key)
        if not path.exists():
            return None
        try:
            return pd.read_parquet(path)
        except (pyarrow.ArrowException, OSError) as error:
            warnings.warn(f"{path} cannot be read ({error}); its job runs again.", stacklevel=3)
            return None

    @staticmethod
    def _is_ok(rows: pd.DataFrame | None) -> bool:
        return rows is not None and bool((rows["status"] == OK).all())
