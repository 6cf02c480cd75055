"""The store of a monitor: what goes in comes back, among processes, kills and full disks."""

import errno
import multiprocessing
import os
import random
import signal
import sqlite3
import time
from datetime import datetime

import numpy as np
import pytest

from autoeval.errors import InputError
from autoeval.monitoring.monitor_store import BOX, CameraImage, MonitorStore, box_rows

TAKEN = datetime(2026, 3, 2, 8, 15, 0, 250)


def row(k, stamp="1", *, why="", site="gate", seed=0, taken=TAKEN, n_boxes=3):
    rng = np.random.default_rng([seed, k])
    boxes = box_rows(rng.random((n_boxes, 4)), rng.random(n_boxes), np.arange(n_boxes))
    facts = {"stamp": stamp, "taken_from": "name", "unreadable": why}
    return CameraImage(f"{site}/{k}.jpg", site, (480, 640), taken, boxes, **facts)


def test_an_image_comes_back_to_the_last_bit(tmp_path):
    store = MonitorStore(tmp_path)
    store.add([row(1), row(2, taken=None, n_boxes=0)])
    first, second = MonitorStore(tmp_path).read(["gate/1.jpg", "gate/2.jpg"])
    assert first.boxes.tobytes() == row(1).boxes.tobytes() and first.taken == TAKEN
    assert (first.site, first.size, first.reference) == ("gate", (480, 640), None)
    assert (first.stamp, first.taken_from, first.unreadable) == ("1", "name", "")
    assert second.taken is None and second.boxes.dtype == BOX and not len(second.boxes)


def test_times_come_back_beside_images_without_one(tmp_path):
    store = MonitorStore(tmp_path)
    store.add([row(1), row(2, taken=None), row(3)])
    taken = store.index()["taken"]
    assert taken.isna().tolist() == [False, True, False]
    assert taken[0].to_pydatetime() == taken[2].to_pydatetime() == TAKEN


def test_only_what_is_new_or_has_changed_is_kept_and_numbers_stay(tmp_path):
    store = MonitorStore(tmp_path)
    assert store.add([row(2), row(1)], numbered=True) == 2
    assert store.add([row(1), row(2, stamp="2", seed=1), row(3)], numbered=True) == 2
    index = store.index().set_index("name")
    assert index["number"].to_dict() == {"gate/2.jpg": 0, "gate/1.jpg": 1, "gate/3.jpg": 2}
    (again,) = store.read(["gate/2.jpg"])
    assert again.boxes.tobytes() == row(2, seed=1).boxes.tobytes()


def test_what_cannot_be_read_is_known_but_has_no_boxes(tmp_path):
    store = MonitorStore(tmp_path)
    store.add([row(1, why="broken"), row(2)])
    assert store.index()["unreadable"].tolist() == ["broken", ""]
    assert [record.name for record in store.read(["gate/1.jpg", "gate/2.jpg"])] == ["gate/2.jpg"]


def test_forgotten_boxes_are_gone_and_their_images_stay_known(tmp_path):
    store = MonitorStore(tmp_path)
    store.add([row(1), row(2)])
    store.forget(["gate/1.jpg"])
    assert store.index()["kept"].tolist() == [False, True]
    assert [record.name for record in store.read(["gate/1.jpg", "gate/2.jpg"])] == ["gate/2.jpg"]
    assert store.add([row(1)]) == 0  # it was observed


def test_words_windows_files_and_alarms_come_back(tmp_path):
    store = MonitorStore(tmp_path)
    assert store.add_words(["car", "bus"]) == ("car", "bus")
    assert MonitorStore(tmp_path).add_words(["bus", "van"]) == ("car", "bus", "van")
    store.add([row(1)], file=("gate", "7", {"sites": ["gate"]}))
    assert store.files() == {"gate": {"stamp": "7", "sites": ["gate"]}}
    store.keep_windows("a", {("gate", "day 1"): ("digest", {"value": np.float64(0.5)})})
    store.keep_windows("a", {("gate", "day 2"): ("digest", {"value": float("nan")})})
    windows = store.windows("a")
    assert windows["gate", "day 1"] == ("digest", {"value": 0.5}) and store.windows("b") == {}
    assert np.isnan(windows["gate", "day 2"][1]["value"])
    store.keep_sent([("gate", "fell"), ("gate", "below")])
    assert store.sent() == {("gate", "fell"), ("gate", "below")}


def test_a_store_of_another_detector_is_refused_and_one_without_images_released(tmp_path):
    store = MonitorStore(tmp_path)
    store.check({"detector": {"weights": "a"}, "task": "x"})
    store.check({"detector": {"weights": "a"}, "task": "x"})
    with pytest.raises(InputError, match=r"different: detector\)"):
        store.check({"detector": {"weights": "b"}, "task": "x"})
    store.release()
    store.check({"task": "y"})
    store.add([row(1)])
    store.release()
    with pytest.raises(InputError, match="different: task"):
        store.check({"task": "x"})


def damage(path, how):
    content = bytearray(path.read_bytes())
    if how == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif how == "something else":
        path.write_text("no database")
    else:  # one bit of a box
        place = content.index(row(40).boxes.tobytes()[:24])
        content[place + 3] ^= 1
        path.write_bytes(content)


@pytest.mark.parametrize("how", ["truncated", "something else", "one bit"])
def test_a_damaged_store_is_refused_and_never_read_in_part(tmp_path, how):
    store = MonitorStore(tmp_path)
    store.add([row(k) for k in range(60)])
    store.close()
    damage(store.path, how)
    before = store.path.read_bytes()
    with pytest.raises(InputError, match=r"is damaged .*nothing of it is used"):
        MonitorStore(tmp_path).read([f"gate/{k}.jpg" for k in range(60)])
    assert store.path.read_bytes() == before


@pytest.mark.parametrize("spoiled", [b'{"mAP" 0.5}', b'{"\xffAP": 0.5}', b'{"mAP": 0.9}'])
def test_a_window_that_was_changed_is_damage(tmp_path, spoiled):
    """Of pages that SQLite finds whole: a traceback, an I/O error, and an estimate of 90 points."""
    store = MonitorStore(tmp_path)
    store.keep_windows("x", {("gate", "2024-01-01"): ("digest", {"mAP": 0.5})})
    store.close()
    content = store.path.read_bytes()
    assert content.count(b'{"mAP": 0.5}') == 1
    store.path.write_bytes(content.replace(b'{"mAP": 0.5}', spoiled.ljust(12)))
    with pytest.raises(InputError, match=r"is damaged .*nothing of it is used"):
        MonitorStore(tmp_path).windows("x")


def test_windows_of_an_earlier_version_have_no_checksum(tmp_path):
    store = MonitorStore(tmp_path)
    store.keep_windows("x", {("gate", "2024-01-01"): ("digest", {"mAP": 0.5})})
    store.close()
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE windows SET digest = 'digest'")
    db.close()
    assert store.windows("x") == {("gate", "2024-01-01"): ("digest", {"mAP": 0.5})}


def test_notes_of_files_that_cannot_be_read_are_damage(tmp_path):
    store = MonitorStore(tmp_path)
    store.add([row(1)], file=("gate.json", "stamp", {"boxes": 3}))
    store.close()
    store.path.write_bytes(store.path.read_bytes().replace(b'{"boxes": 3}', b'{"boxes"  3}'))
    for read in (MonitorStore.files, lambda store: store.gone_since(())):
        with pytest.raises(InputError, match=r"is damaged .*nothing of it is used"):
            read(MonitorStore(tmp_path))


def test_a_store_of_another_format_is_refused(tmp_path):
    store = MonitorStore(tmp_path)
    store.add([row(1)])
    store.close()
    with sqlite3.connect(store.path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="format 99, expected 1"):
        MonitorStore(tmp_path).index()


def test_a_full_disk_loses_nothing_that_was_there(tmp_path):
    store = MonitorStore(tmp_path)
    store.add([row(k) for k in range(20)])
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(OSError, match="full") as full:
        store.add([row(k, site="yard", n_boxes=50) for k in range(50)], file=("yard", "1", {}))
    assert full.value.errno == errno.ENOSPC
    store.close()
    again = MonitorStore(tmp_path)
    assert len(again.index()) == 20 and again.files() == {}
    assert again.add([row(k, site="yard", n_boxes=50) for k in range(50)]) == 50
    assert len(again.read(again.index()["name"].tolist())) == 70


def _at_the_same_time(work, folder):
    """Do a piece of work twenty times in each of two processes, which begin each together."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2, timeout=60)  # where one fails, the other does not wait
    both = [context.Process(target=work, args=(folder, barrier)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
        assert process.exitcode == 0


def _add_rounds(folder, barrier):
    """Add the images of each round, one file after another, beside another process."""
    for k in range(20):
        barrier.wait()
        store = MonitorStore(folder)
        store.add_words([f"word {k} {j}" for j in range(3)])
        for file in range(3):
            rows = [row(10 * k + j, site=f"site {file}") for j in range(10)]
            store.add(rows, numbered=True, file=(f"site {file} {k}", "1", {}))
        store.close()


def _make(folder, barrier):
    for k in range(20):
        barrier.wait()
        MonitorStore(folder / f"{k}").add_words(["word"])


@pytest.mark.rare
def test_two_processes_may_make_a_store_at_the_same_time(tmp_path):
    _at_the_same_time(_make, tmp_path)


@pytest.mark.rare
def test_twenty_rounds_of_two_processes_lose_nothing_and_keep_nothing_twice(tmp_path):
    _at_the_same_time(_add_rounds, tmp_path)
    store = MonitorStore(tmp_path)
    index = store.index()
    assert len(index) == index["name"].nunique() == 600
    assert sorted(index["number"]) == list(range(600))
    assert len(store.read(index["name"].tolist())) == 600
    assert len(store.files()) == 60 and len(store.add_words(())) == 60


def _work_on(folder, began):
    """Add, forget and add again until somebody kills it."""
    store = MonitorStore(folder)
    began.set()
    k = int(time.time() * 1e6)
    while True:
        store.add([row(k + j, n_boxes=20) for j in range(20)], file=(str(k), "1", {}))
        old = store.index()["name"].tolist()[:-100]
        store.forget([name for name in old if name.startswith("gate")][-20:])
        k += 20


@pytest.mark.parametrize("n_kills", [4, pytest.param(50, marks=pytest.mark.slow)])
def test_kills_lose_no_more_than_the_last_change(tmp_path, n_kills):
    """Also in the middle of dropping boxes: all records are whole, and files have their images."""
    context, rng = multiprocessing.get_context("fork"), random.Random(0)
    first = [row(k, site="first") for k in range(30)]
    MonitorStore(tmp_path).add(first)
    for _ in range(n_kills):
        began = context.Event()
        process = context.Process(target=_work_on, args=(tmp_path, began))
        process.start()
        began.wait(20)
        time.sleep(rng.uniform(0.02, 0.2))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        store = MonitorStore(tmp_path)
        index = store.index()
        kept = index[index["kept"]]
        assert len(store.read(kept["name"].tolist())) == len(kept)
        assert len(index) == 30 + 20 * len(store.files())
        store.close()
    assert len(MonitorStore(tmp_path).read([f"first/{k}.jpg" for k in range(30)])) == 30
