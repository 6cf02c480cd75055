"""One Parquet file of rows that knows which job it is of, and whether it is as it was written."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pandas as pd
import pyarrow
import pyarrow.parquet

from autoeval.runtime.files import atomic_path

SEAL = b"autoeval.rows"


class DamagedRowsError(Exception):
    """Rows that cannot be trusted, with the reason."""


def write_row_file(path: Path, job: str, rows: pd.DataFrame) -> None:
    """Write rows with the name of their job and a digest of their content, atomically."""
    table = pyarrow.Table.from_pandas(rows, preserve_index=False)
    seal = json.dumps({"job": job, "digest": rows_digest(table.to_pandas())}).encode()
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), SEAL: seal})
    with atomic_path(path) as temporary:
        pyarrow.parquet.write_table(table, temporary)


def read_row_file(path: Path, job: str) -> pd.DataFrame:
    """Read what `write_row_file` wrote for a job.

    Raises
    ------
    DamagedRowsError
        If it is no such file, of another job, or its content has changed.
    """
    rows, seal = _opened(path)
    if seal["job"] != job:
        raise DamagedRowsError(f"holds the rows of another job, {seal['job']}")
    if seal["digest"] != rows_digest(rows):
        raise DamagedRowsError("does not match its checksum: its content has changed on disk")
    return rows


def _opened(path: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return rows and seal; a changed byte may make any part of the readers fail in any way."""
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            table = file.read()
        metadata = table.schema.metadata or {}
        seal = json.loads(metadata[SEAL]) if SEAL in metadata else {}
        rows = table.to_pandas()
    except Exception as error:
        raise DamagedRowsError(f"cannot be read ({error})") from error
    if not seal.keys() >= {"job", "digest"}:
        raise DamagedRowsError("is a Parquet file of something else")
    return rows, seal


def rows_digest(rows: pd.DataFrame) -> str:
    """Return a hash of the columns and values of a table, as it comes back from Parquet."""
    columns = [(name, str(dtype)) for name, dtype in rows.dtypes.items()]
    digest = hashlib.sha256(repr((columns, len(rows))).encode())
    digest.update(pd.util.hash_pandas_object(rows, index=False).to_numpy().tobytes())
    return digest.hexdigest()
