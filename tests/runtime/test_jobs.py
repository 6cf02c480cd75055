import os
import signal
import subprocess
import sys
import time

import pytest

from autoeval.errors import InputError
from autoeval.runtime.job import Job
from autoeval.runtime.jobs import run_jobs
from autoeval.runtime.store import RowStore

JOBS = [Job(key, 1, payload=value) for key, value in [("a", 1), ("b", 0), ("c", 4)]]


def inverse(job, advance):
    advance(1)
    return [{"value": 1 / job.payload}]


def test_failures_become_rows_and_are_tried_again(tmp_path):
    store = RowStore(tmp_path)
    counts = run_jobs(JOBS, inverse, store, what="test")
    assert (counts.reused, counts.done, list(counts.failed)) == (0, 2, ["b"])
    table = store.table(["a", "b", "c"])
    assert table["status"].tolist() == ["ok", "failed", "ok"]
    assert table["error"][1].startswith("ZeroDivisionError: division by zero")

    asked = []

    def fixed(job, advance):
        asked.append(job.key)
        return [{"value": 0.0}]

    assert run_jobs(JOBS, fixed, store, what="test").reused == 2
    assert asked == ["b"]
    assert store.table("abc")["value"].tolist() == [1.0, 0.0, 0.25]


def test_wrong_input_stops_everything(tmp_path):
    def work(job, advance):
        raise InputError("no such checkpoint")

    with pytest.raises(InputError, match="checkpoint"):
        run_jobs(JOBS, work, RowStore(tmp_path), what="test")
    assert RowStore(tmp_path).table(job.key for job in JOBS).empty
    assert not list(tmp_path.rglob("*.lock"))


def test_a_damaged_file_means_its_job_runs_again(tmp_path):
    store = RowStore(tmp_path)
    run_jobs(JOBS[:1], inverse, store, what="test")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.warns(UserWarning, match="runs again"):
        assert run_jobs(JOBS[:1], inverse, store, what="test").done == 1
    assert store.finished(["a"]) == {"a"}


ENDLESS = """
import sys
from autoeval.runtime.store import RowStore
store = RowStore(sys.argv[1])
print("ready", flush=True)
k = 0
while True:
    store.write(f"job{k % 7}", [{"value": float(k)}] * 200)
    k += 1
"""


def test_the_store_stays_readable_when_its_writer_is_killed(tmp_path):
    for pause in (0.02, 0.05, 0.11):
        writer = subprocess.Popen(
            [sys.executable, "-c", ENDLESS, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
        time.sleep(pause)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        keys = [path.stem for path in tmp_path.glob("job*.parquet")]
        assert set(keys) == RowStore(tmp_path).finished(keys)
