"""How far a run is, from what it left on disk; asks no running process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoeval.errors import InputError
from autoeval.runtime import FAILED
from autoeval.runtime.files import PathLike
from autoeval.runtime.store import MANIFEST, RowStore

RECENT = 50


@dataclass(frozen=True)
class RunStatus:
    """How far the jobs of a manifest, which do `what`, are.

    `done` jobs ended well, `failed` has the first line of each error; items, such as images, are
    those of the jobs. `rate` is in items a second over the last `RECENT` jobs that ended well,
    times without a job left out; None before the first.
    """

    folder: Path
    what: str
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
        lines = [f"{self.what} ({self.folder})", *(f"  {k:8} {v}" for k, v in rows.items())]
        return "\n".join([*lines, *(f"  {key}: {error}" for key, error in self.failed.items())])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return {**vars(self), "folder": str(self.folder), "left": self.left}


def run_statuses(work_dir: PathLike) -> list[RunStatus]:
    """Return the progress of the runs in a work dir or folder of rows, or raise `InputError`."""
    root = Path(work_dir)
    manifests = sorted([*root.glob(MANIFEST), *root.glob(f"*/{MANIFEST}")])
    if not manifests:
        raise InputError(
            f"Expected a work dir with a list of jobs (rows/{MANIFEST}) but {root} has none."
        )
    return [run_status(manifest.parent) for manifest in manifests]


def run_status(folder: Path) -> RunStatus:
    """Return the progress of a run in its folder, or raise `InputError` for a damaged manifest."""
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
    what = manifest["what"]
    return RunStatus(folder, what, len(jobs), done, failed, items, items_done, rate)


def _rate(spans: list[tuple[float, float, int]]) -> float | None:
    """Divide items by the length of the union of the jobs' times."""
    recent = sorted(sorted(spans, key=lambda span: span[1])[-RECENT:])
    busy, until = 0.0, float("-inf")
    for start, end, _ in recent:
        busy += max(end - max(start, until), 0)
        until = max(until, end)
    return sum(size for *_, size in recent) / busy if busy else None
