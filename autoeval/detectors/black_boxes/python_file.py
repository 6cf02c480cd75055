"""A black box that a Python file defines, named as FILE.py:NAME."""

from __future__ import annotations

import hashlib
import re
import runpy
from pathlib import Path

from autoeval.detectors.black_boxes.black_box import BlackBoxDetector
from autoeval.errors import InputError

_NAMED = re.compile(r"(?P<file>.+\.py):(?P<name>\w+)")


def names_python(text: str) -> bool:
    """Say whether a detector is named as ``FILE.py:NAME``."""
    return _NAMED.fullmatch(text) is not None


def load_black_box(text: str) -> BlackBoxDetector:
    """Run a Python file and take a detector out of it.

    Parameters
    ----------
    text : str
        ``FILE.py:NAME``, where the file defines NAME as a `BlackBoxDetector`.

    Raises
    ------
    InputError
        If the file is missing, fails, or has no such detector.
    """
    named = _NAMED.fullmatch(text)
    if named is None:
        raise InputError(f"Expected a detector as FILE.py:NAME but got '{text}'.")
    try:
        defined = runpy.run_path(named["file"])
    except Exception as error:  # the file is a program: it can fail in any way
        raise InputError(f"Cannot run {named['file']}: {type(error).__name__}: {error}") from error
    found = defined.get(named["name"])
    if not isinstance(found, BlackBoxDetector):
        raise InputError(
            f"Expected {named['file']} to define {named['name']} as a BlackBoxDetector but found "
            f"{type(found).__name__}."
        )
    found.file_digest = hashlib.sha256(Path(named["file"]).read_bytes()).hexdigest()
    return found
