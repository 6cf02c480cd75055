"""Row files are verified: a changed or exchanged one is made again, and named."""

import pandas as pd
import pyarrow.parquet
import pytest

from autoeval.runtime.job import Job
from autoeval.runtime.jobs import run_jobs
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
    run_jobs(JOBS, measure, store, what="test")
    spoil(store.path("a"))

    def again(job, advance):
        done.append(job.key)
        return measure(job, advance)

    with pytest.warns(UserWarning, match=rf"a\.parquet .*{reason}.*its job runs again"):
        run_jobs(JOBS, again, store, what="test")
    assert done == ["a"]
    assert store.table("abc")["mAP"].tolist() == [0.5, 0.25, 0.125]


def test_rows_changed_by_other_means_are_noticed(tmp_path):
    store = RowStore(tmp_path)
    run_jobs(JOBS, measure, store, what="test")
    path = store.path("b")
    table = pyarrow.parquet.read_table(path)
    changed = table.set_column(0, "mAP", pyarrow.array([0.9]))
    pyarrow.parquet.write_table(changed.replace_schema_metadata(table.schema.metadata), path)
    with pytest.warns(UserWarning, match="does not match its checksum"):
        assert store.finished("abc") == {"a", "c"}
