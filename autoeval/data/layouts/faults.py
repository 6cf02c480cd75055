"""Turning what goes wrong inside a label file into one sentence that names it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autoeval.data.wording import printable
from autoeval.errors import InputError

_MALFORMED = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)


@contextmanager
def reading(path: Path, layout: str, where: str = "") -> Iterator[None]:
    """Name file, layout and place in an `InputError` for whatever is malformed in the body."""
    try:
        yield
    except InputError:
        raise
    except _MALFORMED as error:
        place = f", {where}" if where else ""
        what = f"no field {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{printable(path)}{place}: not as {layout} publishes it ({what})."
        ) from error
