"""Rows of jobs in files that know their job, and runs of jobs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from autoeval.errors import InputError
from autoeval.runtime import store
from autoeval.runtime.jobs import Job, run_jobs
from autoeval.runtime.store import DamagedRowsError, RowStore, read_row_file, write_row_file

ROWS = pd.DataFrame(
    {"mAP": [0.25, float("nan")], "repeat": [0, 1], "source": ["w0", None], "ok": [True, False]}
)
JOBS = [Job(key, 1, payload) for key, payload in (("a", 0.5), ("b", 0.25), ("c", 0.125))]


def measure(job, advance):
    return [{"mAP": job.payload, "note": "x" * 40}]


def test_rows_come_back_as_they_were(tmp_path):
    write_row_file(tmp_path / "a.parquet", "a", ROWS)
    pd.testing.assert_frame_equal(read_row_file(tmp_path / "a.parquet", "a"), ROWS)


def test_every_flipped_byte_is_noticed_or_harmless(tmp_path):
    """Law over all bytes: what is read is what was written, or it is refused."""
    path = tmp_path / "a.parquet"
    write_row_file(path, "a", ROWS)
    content, refused = path.read_bytes(), 0
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :])
        try:
            pd.testing.assert_frame_equal(read_row_file(path, "a"), ROWS)
        except DamagedRowsError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "cannot be read"),
        (lambda path: path.write_bytes((path.parent / "b.parquet").read_bytes()), "another job, b"),
        (lambda path: pd.DataFrame({"x": [1]}).to_parquet(path), "Parquet file of something else"),
    ],
)
def test_a_damaged_file_is_named_and_its_job_alone_runs_again(tmp_path, spoil, reason):
    store, done = RowStore(tmp_path), []
    run_jobs(JOBS, measure, store, activity="test")
    spoil(store.path("a"))

    def again(job, advance):
        done.append(job.key)
        return measure(job, advance)

    with pytest.warns(UserWarning, match=rf"a\.parquet .*{reason}.*its job runs again"):
        run_jobs(JOBS, again, store, activity="test")
    assert done == ["a"]
    assert store.table("abc")["mAP"].tolist() == [0.5, 0.25, 0.125]


def test_rows_changed_by_other_means_are_noticed(tmp_path):
    store = RowStore(tmp_path)
    run_jobs(JOBS, measure, store, activity="test")
    path = store.path("b")
    table = pyarrow.parquet.read_table(path)
    changed = table.set_column(0, "mAP", pyarrow.array([0.9]))
    pyarrow.parquet.write_table(changed.replace_schema_metadata(table.schema.metadata), path)
    with pytest.warns(UserWarning, match="does not match its checksum"):
        assert store.finished("abc") == {"a", "c"}


def test_a_second_run_of_a_folder_waits_and_finds_all_jobs_done(tmp_path, capsys):
    jobs = [Job(f"job{k}", 1, payload=k) for k in range(4)]
    done, counts, begun = [], {}, threading.Event()

    def work(job, advance):
        begun.set()
        time.sleep(0.05)
        done.append(job.key)
        return [{"value": job.payload**2}]

    def run(name):
        counts[name] = run_jobs(jobs, work, RowStore(tmp_path), activity="test")

    first = threading.Thread(target=run, args=["first"])
    first.start()
    assert begun.wait(timeout=60)
    run("second")
    first.join()
    assert sorted(done) == [job.key for job in jobs]
    assert (counts["first"].done, counts["first"].reused) == (4, 0)
    assert (counts["second"].done, counts["second"].reused) == (0, 4)
    assert "another process writes into" in capsys.readouterr().err
    assert RowStore(tmp_path).table(job.key for job in jobs)["value"].tolist() == [0, 1, 4, 9]


OWNER = """
import sys, time
from autoeval.runtime.files import alone_in
with alone_in(sys.argv[1]):
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_lock_dies_with_its_owner(tmp_path):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None and owner.stdout.readline() == "ready\n"
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    assert run_jobs(JOBS, measure, RowStore(tmp_path), activity="test").done == 3


FALLIBLE = [Job(key, 1, payload=value) for key, value in [("a", 1), ("b", 0), ("c", 4)]]


def inverse(job, advance):
    advance(1)
    return [{"value": 1 / job.payload}]


def test_failures_become_rows_and_are_tried_again(tmp_path):
    store = RowStore(tmp_path)
    counts = run_jobs(FALLIBLE, inverse, store, activity="test")
    assert (counts.reused, counts.done, list(counts.failed)) == (0, 2, ["b"])
    table = store.table(["a", "b", "c"])
    assert table["status"].tolist() == ["ok", "failed", "ok"]
    assert table["error"][1].startswith("ZeroDivisionError: division by zero")

    asked = []

    def fixed(job, advance):
        asked.append(job.key)
        return [{"value": 0.0}]

    assert run_jobs(FALLIBLE, fixed, store, activity="test").reused == 2
    assert asked == ["b"]
    assert store.table("abc")["value"].tolist() == [1.0, 0.0, 0.25]


def test_wrong_input_stops_everything(tmp_path):
    def work(job, advance):
        raise InputError("no such checkpoint")

    with pytest.raises(InputError, match="checkpoint"):
        run_jobs(FALLIBLE, work, RowStore(tmp_path), activity="test")
    assert RowStore(tmp_path).table(job.key for job in FALLIBLE).empty


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


def test_the_digest_of_rows_is_of_names_types_and_values():
    rows = pd.DataFrame({"a": ["x", None], "n": [1, 2], "b": [0.5, np.nan], "c": 7.0})
    same = rows.assign(b=[0.5, -np.float64("nan")])  # another NaN
    changed = [rows.assign(b=[0.5, 1.0]), rows.assign(a=["y", None]), rows.assign(n=[1.0, 2.0])]
    changed += [rows.rename(columns={"c": "d"}), rows[:1], rows[["a", "n", "b"]], rows[["a"]]]
    changed += [rows[["b"]], rows[["c"]], rows[:0], rows.iloc[:, :0]]
    digests = [store.table_digest(store.rows_table(each)) for each in (rows, same, *changed)]
    assert digests[0] == digests[1] and len(set(digests[1:])) == 1 + len(changed)


@pytest.mark.parametrize(
    "column",
    [
        np.array(["NaT", "NaT"], "datetime64[s]"),  # Parquet keeps milliseconds
        np.array(["2026-03-02T08:00", "NaT"], "datetime64[s]"),
        np.array(["NaT", "NaT"], "datetime64[us]"),
        np.array([None, None], object),
        np.array([1, 2], np.uint8),
    ],
    ids=str,
)
def test_what_is_sealed_is_what_comes_back(tmp_path, column):
    """Whatever type a column has in memory, and empty ones too."""
    path = tmp_path / "job.parquet"
    write_row_file(path, "job", pd.DataFrame({"a": column, "job": "job"}))
    assert len(read_row_file(path, "job")) == 2
