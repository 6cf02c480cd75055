"""Turning what goes wrong inside a label file into one sentence that names it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autoeval.data.bad_items import MALFORMED, BadItems, fault
from autoeval.data.wording import printable
from autoeval.errors import InputError

_FORM = "{item}: not as %s publishes it ({fault})"


@contextmanager
def reading(path: Path, layout: str) -> Iterator[None]:
    """Name file and layout in an `InputError` for whatever is malformed in the body."""
    try:
        yield
    except InputError:
        raise
    except MALFORMED as error:
        what = (_FORM % layout).format(item=printable(path), fault=fault(error))
        raise InputError(f"{what}.") from error


def unread(layout: str, what: str) -> BadItems:
    """Count the label files, frames or lines that are not as a layout publishes them."""
    return BadItems("", what, _FORM % layout)
