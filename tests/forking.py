"""Processes that tests kill."""

import os
import threading
import traceback

from tqdm import tqdm


def fork(work):
    """Work in a forked process; return its number.

    It draws its bars under its own lock: that of tqdm is shared with forked processes, and whoever
    is killed with it never lets it go. It ends with its work, also by an error: one that left it
    would go on with the tests of this process, and wait for them forever.
    """
    child = os.fork()
    if not child:
        tqdm.set_lock(threading.RLock())
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    return child
