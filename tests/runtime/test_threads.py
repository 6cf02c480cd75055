"""Work in threads: everything once, nothing more after an error or a stop."""

import threading
import time

import pytest

from autoeval.runtime.threads import as_done


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
