from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from monitoring.made_records import made_record

from autoeval.errors import InputError
from autoeval.monitoring.site_records import RecordStore, row_of


def rows_of(records, *, observed_s=0.0, unreadable=()):
    more = dict(stamp="1-1", taken_from="exif", observed_s=observed_s)
    return [
        {**row_of(r), **more, "unreadable": "broken" if r.file_name in unreadable else ""}
        for r in records
    ]


@pytest.fixture
def store(tmp_path):
    return RecordStore(tmp_path)


def test_a_record_comes_back_as_it_was_to_the_last_bit(store):
    record = made_record(3, sharpness=2.5)
    store.rows.write("p", rows_of([record]))
    (back,) = store.read(store.index())
    for name in ("clean", "half_size"):
        before, after = getattr(record, name), getattr(back, name)
        assert before.boxes.tobytes() == after.boxes.tobytes()
        assert before.scores.tobytes() == after.scores.tobytes()
        assert before.labels.tolist() == after.labels.tolist()
    same = ("file_name", "size", "taken", "group", "signals")
    assert all(getattr(record, name) == getattr(back, name) for name in same)


def test_no_time_no_half_size_and_no_boxes_come_back(store):
    record = made_record(1, half=False, n_boxes=0)
    store.rows.write("p", [{**rows_of([record])[0], "taken": np.datetime64("NaT", "us")}])
    (back,) = store.read(store.index())
    assert (back.taken, back.half_size, len(back.clean)) == (None, None, 0)
    assert back.clean.boxes.shape == (0, 4)


@pytest.mark.parametrize("n_boxes", [0, 2])
@pytest.mark.parametrize("name", ["reference", "teacher"])  # now, and in older folders
def test_boxes_of_a_reference_come_back_under_either_name(store, name, n_boxes):
    record = replace(made_record(3), reference=made_record(4, n_boxes=n_boxes).clean)
    rows = rows_of([record])
    store.rows.write(
        "p", [{k.replace("reference", name): v for k, v in row.items()} for row in rows]
    )
    (back,) = store.read(store.index())
    assert back.reference.scores.tolist() == record.reference.scores.tolist()


def test_of_an_image_that_was_observed_twice_the_last_record_counts(store):
    old, new = made_record(1, seed=1), made_record(1, seed=2)
    store.rows.write("z", rows_of([old], observed_s=1.0))
    store.rows.write("a", rows_of([new], observed_s=2.0))
    (back,) = store.read(store.index())
    assert back.clean.scores.tolist() == new.clean.scores.tolist()


def test_what_could_not_be_read_is_known_but_has_no_record(store):
    store.rows.write("p", rows_of([made_record(1), made_record(2)], unreadable={"a/1.jpg"}))
    index = store.index()
    assert index["unreadable"].tolist() == ["broken", ""]
    assert [r.file_name for r in store.read(index)] == ["a/2.jpg"]


def test_a_failed_batch_is_no_observation(store):
    store.rows.write_failure("p", "out of memory")
    assert store.index().empty


def test_a_damaged_batch_is_named_and_its_images_count_as_not_observed(store):
    store.rows.write("good", rows_of([made_record(1)]))
    store.rows.write("bad", rows_of([made_record(2)]))
    path = store.rows.path("bad")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.warns(UserWarning, match="bad cannot be read"):
        assert store.index()["file_name"].tolist() == ["a/1.jpg"]


def test_only_a_store_without_images_is_released(store):
    store.check({"task": "x"})
    store.release()
    store.check({"task": "y"})
    store.rows.write("p", rows_of([made_record(1)]))
    store.release()
    with pytest.raises(InputError, match="different: task"):
        store.check({"task": "x"})


def test_a_store_of_another_detector_is_refused(store):
    for _ in range(2):
        store.check({"detector": {"weights": "a"}, "task": "x"})
    with pytest.raises(InputError, match=r"another detector.*different: detector\)"):
        store.check({"detector": {"weights": "b"}, "task": "x"})


def test_an_older_store_names_the_reference_otherwise(store):
    store.check({"task": "x", "pass": {"seed": 0, "teacher": "abc"}})
    store.check({"task": "x", "pass": {"seed": 0, "reference": "abc"}})
    with pytest.raises(InputError, match="different: pass"):
        store.check({"task": "x", "pass": {"seed": 0, "reference": "def"}})


def test_many_small_files_become_one_and_nothing_is_lost(store):
    records = [made_record(k) for k in range(60)]
    for k, record in enumerate(records):
        store.rows.write(f"run{k}", rows_of([record], observed_s=float(k)))
    store.rows.write_failure("failed", "out of memory")
    newer = made_record(3, seed=5)
    store.rows.write("later", rows_of([newer], observed_s=99.0))
    before = store.index().drop(columns="part")
    store.tidy()
    assert len(list(store.rows.folder.glob("*.parquet"))) == 2  # joined, and the failure
    after = store.index()
    pd.testing.assert_frame_equal(
        after.drop(columns="part").sort_values("file_name", ignore_index=True),
        before.sort_values("file_name", ignore_index=True),
    )
    by_name = {record.file_name: record for record in store.read(after)}
    assert len(by_name) == 60
    assert by_name["a/3.jpg"].clean.scores.tolist() == newer.clean.scores.tolist()
    assert by_name["a/7.jpg"].clean.boxes.tobytes() == records[7].clean.boxes.tobytes()


def test_a_few_small_files_stay(store):
    store.rows.write("run", rows_of([made_record(1)]))
    store.tidy()
    assert store.rows.path("run").exists()
