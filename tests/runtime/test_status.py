import json
import os

import pytest

from autoeval.cli import main
from autoeval.runtime.jobs import Job
from autoeval.runtime.store import RowStore, run_status

JOBS = [Job(key, 10) for key in "abcdef"]


@pytest.fixture
def store(tmp_path):
    """Two jobs done, one failed, three left."""
    store = RowStore(tmp_path / "rows")
    store.write_manifest(JOBS, "scoring")
    store.write("a", [{"job_s": 4.0}] * 2)
    store.write("b", [{"job_s": 4.0}])
    store.write_failure("c", "MemoryError: too large\nTraceback", {"job_s": 1.0})
    return store


def finish_at(store, **times):
    for key, seconds in times.items():
        os.utime(store.path(key), (seconds, seconds))


def test_counts_what_is_done_failed_and_left(store):
    status = run_status(store.folder)
    assert (status.jobs, status.done, status.left) == (6, 2, 3)
    assert status.failed == {"c": "MemoryError: too large"}
    assert (status.items, status.items_done) == (60, 20)


@pytest.mark.parametrize(
    ("b_ends_at", "rate"),
    [
        (1004, 20 / 8),  # one after the other: 8 s of work
        (1000, 20 / 4),  # both at once
        (1002, 20 / 6),  # overlapping by half
        (9000, 20 / 8),  # a pause between two runs does not count
    ],
)
def test_the_rate_counts_the_time_in_which_anything_ran(store, b_ends_at, rate):
    finish_at(store, a=1000, b=b_ends_at)
    assert run_status(store.folder).rate == pytest.approx(rate)


def test_before_the_first_job_there_is_no_rate(tmp_path):
    RowStore(tmp_path).write_manifest(JOBS, "scoring")
    status = run_status(tmp_path)
    assert status.rate is None and status.left == 6
    assert "not known" in str(status)


def test_the_command_tells_it_in_words_and_as_json(store, tmp_path, capsys):
    finish_at(store, a=1000, b=1004)
    assert main(["status", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    for words in ("2 of 6 jobs", "20 of 60 items", "c: MemoryError", "2.5 items a second"):
        assert words in shown
    assert main(["status", str(tmp_path), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["left"] == 3 and told["rate"] == 2.5


def test_a_folder_without_a_run_is_refused(tmp_path, capsys):
    assert main(["status", str(tmp_path / "nowhere")]) == 2
    assert "jobs.json" in capsys.readouterr().err
