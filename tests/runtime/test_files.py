import csv
import errno
import json
import math
import multiprocessing
import os
import time
from datetime import datetime, timezone

import numpy as np
import pandas as pd
import pytest

from autoeval.errors import InputError
from autoeval.runtime.files import (
    alone_in,
    atomic_path,
    read_json,
    write_json,
    write_table,
    write_text,
)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "a.txt"
    write_text(target, "old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "a.txt"
    write_text(target, "old")

    def no_space(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        write_text(target, "new")
    assert target.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_text_that_is_being_written_has_another_suffix(tmp_path, monkeypatch):
    """node_exporter reads each *.prom, also hidden ones: no gauge may be there twice."""
    write_text(tmp_path / "sites.prom", "old 1")
    names = []
    monkeypatch.setattr(os, "fsync", lambda _: names.extend(os.listdir(tmp_path)))
    write_text(tmp_path / "sites.prom", "new 1")
    assert len(names) == 2
    assert [name for name in names if name.endswith(".prom")] == ["sites.prom"]


def test_files_are_as_readable_as_others(tmp_path):
    write_text(tmp_path / "a.txt", "x")
    (tmp_path / "b.txt").write_text("x")
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "b.txt").stat().st_mode


NAMES = ["=cmd()", "+1-1", "-x.jpg", "@sum", "\tx", "\rx", "a\r=1", "-2.5", "a=b.jpg", ""]
ESCAPED = ["'=cmd()", "'+1-1", "'-x.jpg", "'@sum", "'\tx", "' x", "a =1", "-2.5", "a=b.jpg", ""]


@pytest.mark.parametrize("kind", ["object", "category", "string"])
def test_no_cell_or_column_of_a_csv_file_is_a_formula(kind, tmp_path):
    names = pd.Series(NAMES, dtype=object).astype(kind)
    table = pd.DataFrame({"name": names, "=n": range(len(NAMES)), "x": -1.5})
    write_table(tmp_path / "t.csv", table)
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["name", "'=n", "x"]
    assert [row[0] for row in rows[1:]] == ESCAPED and {row[2] for row in rows[1:]} == {"-1.5"}
    assert table["name"].tolist() == NAMES  # what was given stays


def test_what_is_read_again_and_parquet_keep_every_name(tmp_path):
    table = pd.DataFrame({"name": NAMES[:4]})
    write_table(tmp_path / "t.csv", table, read_again=True)
    write_table(tmp_path / "t.parquet", table)
    assert pd.read_csv(tmp_path / "t.csv")["name"].tolist() == NAMES[:4]
    assert pd.read_parquet(tmp_path / "t.parquet")["name"].tolist() == NAMES[:4]


def test_a_temporary_file_is_the_owner_s_alone_and_beside_its_target(tmp_path):
    with atomic_path(tmp_path / "deep" / "a.txt") as temporary:
        assert temporary.parent == tmp_path / "deep" and temporary.name != "a.txt"
        assert temporary.stat().st_mode & 0o077 == 0
        temporary.write_text("x")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a.txt"]


def test_a_link_in_the_place_of_the_target_is_replaced_and_not_followed(tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("of somebody else")
    (tmp_path / "a.txt").symlink_to(other)
    write_text(tmp_path / "a.txt", "mine")
    assert other.read_text() == "of somebody else" and not (tmp_path / "a.txt").is_symlink()


def _write_both(folder, mark):
    for _ in range(30):
        with alone_in(folder):
            write_text(folder / "a.txt", mark)
            time.sleep(0.001)
            write_text(folder / "b.txt", mark)


def test_files_of_one_result_are_of_one_process(tmp_path):
    """Two write two files in turn; whenever nobody writes, both are of the same."""
    context = multiprocessing.get_context("fork")
    both = [context.Process(target=_write_both, args=(tmp_path, mark)) for mark in "xy"]
    for process in both:
        process.start()
    for _ in range(40):
        with alone_in(tmp_path):
            found = {path.read_text() for path in tmp_path.glob("*.txt")}
        assert len(found) <= 1
    for process in both:
        process.join()
        assert process.exitcode == 0
    assert {path.name for path in tmp_path.glob("*.txt")} == {"a.txt", "b.txt"}


def test_half_a_character_in_json_is_refused(tmp_path):
    """A name that cannot be written ended in a traceback behind the number."""
    path = tmp_path / "a.json"
    path.write_text('{"whole": "\\uD83D\\uDE00", "path": "a\\\\udc"}')
    assert read_json(path) == {"whole": "\U0001f600", "path": "a\\udc"}
    path.write_text('{"half": "\\ud800"}')
    with pytest.raises(InputError, match="not a JSON file in UTF-8"):
        read_json(path)


def test_a_folder_is_no_file_to_write(tmp_path):
    with pytest.raises(InputError, match="folder"):
        write_text(tmp_path, "a")
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_json_lacks_are_null(tmp_path):
    path = write_json(tmp_path / "made.json", {"dof": math.inf, "rows": [math.nan, -math.inf, 1.5]})
    assert json.loads(path.read_text(), parse_constant=pytest.fail) == {
        "dof": None,
        "rows": [None, None, 1.5],
    }


def test_numbers_of_numpy_and_times_are_written(tmp_path):
    """As in a plan for `n=np.int64(10)` images, which could not be written."""
    day = datetime(2026, 3, 2, tzinfo=timezone.utc)
    path = write_json(tmp_path / "made.json", {"n": np.int64(10), "day": day, "at": np.ones(2)})
    expected = {"n": 10, "day": "2026-03-02T00:00:00+00:00", "at": [1, 1]}
    assert json.loads(path.read_text()) == expected


def test_an_error_names_the_file_also_where_none_can_be_made_beside_it(tmp_path):
    """It named a temporary file that nobody asked for."""
    path = tmp_path / f"{'a' * 300}.json"
    with pytest.raises(OSError) as raised:
        write_text(path, "")
    assert raised.value.filename == str(path)
    assert not [*tmp_path.iterdir()]
