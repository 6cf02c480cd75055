"""A folder of result rows, one Parquet file a job, readable after a kill; and how far a run is.

`run_jobs` writes into a `RowStore`; `run_statuses`, of the command `status`, reads how far runs
are.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from autoeval.errors import InputError
from autoeval.runtime import FAILED, OK
from autoeval.runtime.files import PathLike, atomic_path, write_text
from autoeval.runtime.jobs import Job

if TYPE_CHECKING:  # pandas and Arrow take longer to import than a command without rows to run
    import pandas as pd
    import pyarrow

SEAL = b"autoeval.rows"
MANIFEST = "jobs.json"
RECENT = 50


class DamagedRowsError(Exception):
    """Rows that cannot be trusted, with the reason."""


def write_row_file(path: Path, job: str, rows: pd.DataFrame) -> None:
    """Write rows with the name of their job and a digest of their content, atomically.

    What was written is read back before it replaces what is there.

    Parameters
    ----------
    path : Path
        The file to write.
    job : str
        Key of the job.
    rows : DataFrame
        Its rows.
    """
    import pyarrow.parquet

    table = rows_table(rows)
    seal = json.dumps({"job": job, "digest": table_digest(table)}).encode()
    table = table.replace_schema_metadata({SEAL: seal})
    with atomic_path(path) as temporary:
        # a dictionary for each of hundreds of columns takes longer than the few rows themselves
        options = {"write_statistics": False, "use_dictionary": False}
        pyarrow.parquet.write_table(table, temporary, **options)
        _read_table(temporary, job)


def rows_table(rows: pd.DataFrame) -> pyarrow.Table:
    """Return rows as they come back from Parquet, where NaN is a missing value.

    Parameters
    ----------
    rows : DataFrame
        Rows of one job: few rows, of hundreds of columns.
    """
    import pyarrow

    # numbers from one block: `Table.from_pandas` takes five times as long for 300 columns
    is_number = (rows.dtypes == np.float64).to_numpy()
    numbers = iter(np.ascontiguousarray(rows.loc[:, is_number].to_numpy(np.float64).T))
    others = iter([values for _, values in rows.loc[:, ~is_number].items()])
    columns = {
        name: pyarrow.array(next(numbers), from_pandas=True) if number else _column(next(others))
        for name, number in zip(map(str, rows.columns), is_number.tolist(), strict=True)
    }
    return pyarrow.table(columns)


def _column(values: pd.Series) -> pyarrow.Array:
    """Return a column as it comes back from Parquet, which keeps milliseconds for seconds."""
    import pyarrow

    column = pyarrow.array(values.to_numpy(), from_pandas=True)
    return column.cast("timestamp[ms]") if column.type == pyarrow.timestamp("s") else column


def read_row_file(path: Path, job: str) -> pd.DataFrame:
    """Read what `write_row_file` wrote for a job.

    Parameters
    ----------
    path : Path
        The file.
    job : str
        Key of the job.

    Raises
    ------
    DamagedRowsError
        If it is no such file, of another job, or its content has changed.
    """
    return _read_table(path, job).to_pandas()


def _read_table(path: Path, job: str) -> pyarrow.Table:
    """Read the table of a job, as `read_row_file` does."""
    import pyarrow.parquet

    try:  # a changed byte may make any part of the readers fail in any way
        with pyarrow.parquet.ParquetFile(path) as file:
            table = file.read(use_threads=False)
        metadata = table.schema.metadata or {}
        seal = json.loads(metadata[SEAL]) if SEAL in metadata else {}
        digest = table_digest(table)
    except Exception as error:
        raise DamagedRowsError(f"cannot be read ({error})") from error
    if not seal.keys() >= {"job", "digest"}:
        raise DamagedRowsError("is a Parquet file of something else")
    if seal["job"] != job:
        raise DamagedRowsError(f"holds the rows of another job, {seal['job']}")
    if seal["digest"] != digest:
        raise DamagedRowsError("does not match its checksum: its content has changed on disk")
    return table


def table_digest(table: pyarrow.Table) -> str:
    """Return a hash of the names, types and values of the columns of a table.

    Parameters
    ----------
    table : pyarrow.Table
        Of `rows_table`, or read from a file.
    """
    columns = [(field.name, str(field.type)) for field in table.schema]
    content = repr((columns, table.num_rows, table.to_pydict()))
    return hashlib.sha256(content.encode()).hexdigest()


class RowStore:
    """Rows of finished jobs, keyed by job, in a folder that is made on the first write.

    Every row carries the columns ``job`` (its key), ``status`` (``"ok"`` or ``"failed"``) and
    ``error``. A job's file appears whole or not at all.

    Parameters
    ----------
    folder : path-like
        Where files lie.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = RowStore(folder)
    ...     store.write("a", [{"mAP": 0.5}])
    ...     store.write_failure("b", "out of memory", {"job_s": 1.5})
    ...     store.finished(["a", "b", "c"]), store.table(["a", "b"])["status"].tolist()
    ({'a'}, ['ok', 'failed'])
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)

    def write_manifest(self, jobs: Sequence[Job], activity: str) -> None:
        """Keep the list of jobs, in `MANIFEST`; `run_status` reads it.

        Parameters
        ----------
        jobs : sequence of Job
            All jobs of a run.
        activity : str
            What they do, in words.
        """
        listed = [{"key": job.key, "size": job.size, **job.columns} for job in jobs]
        write_text(self.folder / MANIFEST, json.dumps({"what": activity, "jobs": listed}, indent=1))

    def read_manifest(self) -> dict[str, Any] | None:
        """Return ``what`` and ``jobs``; None where they are damaged, no jobs without a file."""
        path = self.folder / MANIFEST
        if not path.exists():
            return {"what": "", "jobs": []}
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            _ = [(job["key"], int(job["size"])) for job in manifest["jobs"]], manifest["what"]
        except (ValueError, TypeError, KeyError, OSError):
            return None
        return dict(manifest)

    def write(self, key: str, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of a finished job, replacing what an earlier try left.

        Parameters
        ----------
        key : str
            Of the job.
        rows : list of dict
            One for each row.
        """
        import pandas as pd

        table = pd.DataFrame(rows).assign(job=key, status=OK, error="")
        write_row_file(self.path(key), key, table)

    def write_failure(self, key: str, error: str, columns: Mapping[str, Any]) -> None:
        """Keep one row that says why a job failed.

        Parameters
        ----------
        key : str
            Of the job.
        error : str
            Why.
        columns : mapping
            Further columns of the row.
        """
        import pandas as pd

        row = {**columns, "job": key, "status": FAILED, "error": error}
        write_row_file(self.path(key), key, pd.DataFrame([row]))

    def finished(self, keys: Iterable[str]) -> set[str]:
        """Return the keys of jobs that ended well.

        Parameters
        ----------
        keys : iterable of str
            Of the jobs to look at.
        """
        read = ((key, self.read(key)) for key in keys)
        return {key for key, rows in read if rows is not None and (rows["status"] == OK).all()}

    def table(self, keys: Iterable[str]) -> pd.DataFrame:
        """Join the rows of jobs.

        Parameters
        ----------
        keys : iterable of str
            Of the jobs, in this order; those without rows are left out.
        """
        import pandas as pd

        parts = [part for part in map(self.read, keys) if part is not None]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def path(self, key: str) -> Path:
        """Return the file with the rows of a job, which need not be there.

        Parameters
        ----------
        key : str
            Of the job.
        """
        return self.folder / f"{key}.parquet"

    def read(self, key: str) -> pd.DataFrame | None:
        """Return the rows of a job; None without them or, with a warning, where damaged.

        Parameters
        ----------
        key : str
            Of the job.
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
        """Remove what a killed writer of a job left half written.

        Parameters
        ----------
        key : str
            Of the job.
        """
        for leftover in self.folder.glob(f".{key}-????????.parquet"):
            leftover.unlink(missing_ok=True)


@dataclass(frozen=True)
class RunStatus:
    """How far the jobs of a manifest are.

    Parameters
    ----------
    folder : Path
        Of their rows.
    activity : str
        What they do.
    jobs, done : int
        All jobs, and those that ended well.
    failed : dict of str to str
        First line of each error, by the key of the job.
    items, items_done : int
        Items, such as images, of all jobs and of those that ended well.
    rate : float or None
        Items a second over the last `RECENT` jobs that ended well, times without a job left out;
        None before the first.
    """

    folder: Path
    activity: str
    jobs: int
    done: int
    failed: dict[str, str]
    items: int
    items_done: int
    rate: float | None

    @property
    def left(self) -> int:
        """Jobs that have not ended."""
        return self.jobs - self.done - len(self.failed)

    def __str__(self) -> str:
        rate = "not known before a job has ended"
        if self.rate is not None:
            rate = f"{self.rate:.3g} items a second"
            if self.done < self.jobs:
                minutes = (self.items - self.items_done) / self.rate / 60
                rate += f", {minutes:.0f} minutes to go"
        rows = {
            "done": f"{self.done} of {self.jobs} jobs, {self.items_done} of {self.items} items",
            "failed": str(len(self.failed)),
            "left": str(self.left),
            "rate": rate,
        }
        lines = [f"{self.activity} ({self.folder})", *(f"  {k:8} {v}" for k, v in rows.items())]
        return "\n".join([*lines, *(f"  {key}: {error}" for key, error in self.failed.items())])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return {**vars(self), "folder": str(self.folder), "left": self.left}


def run_statuses(work_dir: PathLike) -> list[RunStatus]:
    """Return the progress of the runs in a work dir or folder of rows.

    Parameters
    ----------
    work_dir : path-like
        The folder, or one that holds folders of rows.

    Raises
    ------
    InputError
        If there is no list of jobs, or one is damaged.
    """
    root = Path(work_dir)
    manifests = sorted([*root.glob(MANIFEST), *root.glob(f"*/{MANIFEST}")])
    if not manifests:
        raise InputError(
            f"Expected a work dir with a list of jobs (rows/{MANIFEST}) but {root} has none."
        )
    return [run_status(manifest.parent) for manifest in manifests]


def run_status(folder: Path) -> RunStatus:
    """Return the progress of a run in its folder.

    Parameters
    ----------
    folder : Path
        Of the rows of the run.

    Raises
    ------
    InputError
        If the list of jobs is damaged.
    """
    store = RowStore(folder)
    manifest = store.read_manifest()
    if manifest is None:
        raise InputError(
            f"{folder / MANIFEST} is damaged: give the command of that run again, which writes it."
        )
    jobs = [(job["key"], job["size"]) for job in manifest["jobs"]]
    done, items_done = 0, 0
    failed: dict[str, str] = {}
    spans = []  # start, end and size of jobs
    for key, size in jobs:
        if (rows := store.read(key)) is None:
            continue
        elif (rows["status"] == FAILED).any():
            failed[key] = rows["error"].iloc[0].partition("\n")[0]
        else:
            done += 1
            items_done += size
            if "job_s" in rows and len(rows):
                end = store.path(key).stat().st_mtime
                spans.append((end - float(rows["job_s"].iloc[0]), end, size))
    items, rate = sum(size for _, size in jobs), _rate(spans)
    activity = manifest["what"]
    return RunStatus(folder, activity, len(jobs), done, failed, items, items_done, rate)


def _rate(spans: list[tuple[float, float, int]]) -> float | None:
    """Divide items by the length of the union of the jobs' times.

    spans: begin, end and size of each job, times in seconds
    Returned: items a second; None without a job, or where all took no time
    """
    recent = sorted(sorted(spans, key=lambda span: span[1])[-RECENT:])
    busy, until = 0.0, float("-inf")
    for start, end, _ in recent:
        busy += max(end - max(start, until), 0)
        until = max(until, end)
    return sum(size for *_, size in recent) / busy if busy else None
