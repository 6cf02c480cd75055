"""Processes that tests kill."""

import os
import threading

from tqdm import tqdm


def fork():
    """Fork; the child draws its bars under its own lock.

    The lock of tqdm is shared with forked processes: whoever is killed with it never lets it go.
    """
    child = os.fork()
    if not child:
        tqdm.set_lock(threading.RLock())
    return child
