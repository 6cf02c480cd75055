"""Work in threads: everything once, nothing more after an error or a stop."""

from __future__ import annotations

import threading
import time

import pytest

from autoeval.runtime.threads import Ahead, as_done


@pytest.mark.parametrize("workers", [1, 4])
def test_each_item_is_done_once(workers):
    assert sorted(as_done(lambda k: k * k, range(50), workers)) == [k * k for k in range(50)]


def test_one_worker_keeps_the_order_and_the_thread():
    here = threading.get_ident()
    assert list(as_done(lambda k: (k, threading.get_ident()), [3, 1, 2], 1)) == [
        (k, here) for k in (3, 1, 2)
    ]


def test_several_workers_are_at_work_at_once():
    meeting = threading.Barrier(3, timeout=20)  # breaks unless three are there together
    assert list(as_done(lambda k: meeting.wait() >= 0, range(3), 3)) == [True] * 3


def test_an_error_ends_the_work():
    begun = []

    def work(k):
        begun.append(k)
        time.sleep(0.01)
        if k == 2:
            raise ValueError("two")
        return k

    with pytest.raises(ValueError, match="two"):
        list(as_done(work, range(1000), 2))
    assert len(begun) < 900


def test_order_is_kept_and_an_error_is_raised_where_its_item_is_asked_for():
    def make(key):
        if key == 2:
            raise KeyError(key)
        return -key

    found = []
    with Ahead(make, range(5), depth=3) as items:
        for item in items:
            try:
                found.append(item())
            except KeyError as error:
                found.append(str(error))
    assert found == [0, -1, "2", -3, -4]


def test_no_more_items_than_the_depth_are_made_before_they_are_asked_for():
    made = []
    with Ahead(made.append, range(100), depth=4) as items:
        next(items)()
        time.sleep(0.05)
        assert len(made) <= 5


def test_items_are_made_in_another_thread_one_at_a_time():
    threads, busy = set(), threading.Lock()

    def make(key):
        assert busy.acquire(blocking=False)
        threads.add(threading.get_ident())
        time.sleep(0.001)
        busy.release()

    with Ahead(make, range(10), depth=5) as items:
        for item in items:
            item()
    assert len(threads) == 1 and threading.get_ident() not in threads


def test_leaving_early_ends_the_thread():
    before = threading.active_count()
    made = []
    with pytest.raises(ZeroDivisionError), Ahead(made.append, range(1000), depth=8) as items:
        next(items)()
        raise ZeroDivisionError
    assert threading.active_count() == before
    assert len(made) <= 9
