"""Progress bars: a rate and the time left on everything that takes over two seconds."""

from __future__ import annotations

from typing import Any

from tqdm import tqdm


def progress_bar(total: int | None, what: str, *, unit: str = "img", **options: Any) -> tqdm:
    """Make a bar on standard error that appears after two seconds and vanishes when done.

    Parameters
    ----------
    total : int or None
        Number of items, None when unknown.
    what : str
        What is being done, shown before the bar.
    unit : str
        Name of one item, shown in the rate.
    **options
        Passed to `tqdm.tqdm`.
    """
    return tqdm(total=total, desc=what, unit=unit, delay=2, leave=False, **options)
