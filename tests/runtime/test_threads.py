"""Work in threads: everything once, nothing more after an error or a stop."""

from __future__ import annotations

import threading
import time

import pytest

from autoeval.runtime.jobs import Ahead, as_done


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


def test_several_workers_make_items_at_once_and_give_them_in_order():
    together = threading.Barrier(3, timeout=30)  # which one worker alone would never pass

    def make(key):
        together.wait()
        return key

    with Ahead(make, range(9), depth=4, workers=3) as items:
        assert [item() for item in items] == list(range(9))


def test_without_a_worker_the_caller_makes_each_item_when_it_asks_for_it():
    made = []
    with Ahead(lambda key: made.append((key, threading.get_ident())), "ab", depth=4, workers=0) as (
        items
    ):
        for number, item in enumerate(items):
            assert len(made) == number
            item()
    assert made == [("a", threading.get_ident()), ("b", threading.get_ident())]


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, MemoryError])
def test_leaving_early_ends_the_threads(workers, error):
    before = threading.active_count()
    made = []
    with (
        pytest.raises(error),
        Ahead(made.append, range(1000), depth=8, workers=workers) as items,
    ):
        next(items)()
        raise error
    assert threading.active_count() == before
    assert len(made) <= 9


def test_an_error_that_ends_a_worker_is_raised_where_its_item_is_asked_for():
    def make(key):
        if key == 3:
            raise SystemExit("the worker dies")
        return key

    before, found = threading.active_count(), []
    with (
        pytest.raises(SystemExit, match="dies"),
        Ahead(make, range(100), depth=4, workers=2) as items,
    ):
        found.extend(item() for item in items)
    assert found == [0, 1, 2] and threading.active_count() == before
