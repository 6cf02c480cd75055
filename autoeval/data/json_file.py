"""Reading JSON files that other people wrote."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from autoeval.data.wording import printable
from autoeval.errors import InputError


def read_json(path: str | os.PathLike[str], what: str = "file") -> Any:
    """Read a JSON file.

    Parameters
    ----------
    path : path-like
    what : str
        What is expected there, for the messages, such as ``"annotation file"``.

    Raises
    ------
    InputError
        If it is missing, cannot be opened, is no JSON, or is nested too deeply to be read.
    """
    path, name = Path(path), printable(path)
    try:
        with _uncollected():
            return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"No {what} {name}: check the path.") from None
    except OSError as error:
        raise InputError(f"Cannot read the {what} {name}: {error.strerror}.") from error
    except ValueError as error:
        raise InputError(f"{name} is not a JSON file ({error}).") from error
    except RecursionError:
        raise InputError(f"{name} is nested too deeply to be a {what}.") from None


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector from walking over ever more values, half of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
