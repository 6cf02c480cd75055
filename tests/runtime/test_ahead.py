import threading
import time

import pytest

from autoeval.runtime.threads import Ahead


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
