"""What went wrong inside torch or mmdet, distinguished and explained."""

from __future__ import annotations

import re


def first_line(error: BaseException) -> str:
    """Return an error's message up to its first line break; a `KeyError` without its quotes."""
    message = error.args[0] if isinstance(error, KeyError) and error.args else error
    line = (str(message).strip() or type(error).__name__).splitlines()[0]
    return re.sub(r"\s+", " ", line)
