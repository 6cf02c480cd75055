"""From values as programs hold them to values as JSON has them."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any


def plain(value: Any) -> Any:
    """Return a value as JSON has it: times in ISO 8601, None for what JSON lacks.

    Mappings, lists and tuples are gone through; keys become texts and tuples lists.

    >>> plain({1: (float("nan"), float("inf"), 0.5)})
    {'1': [None, None, 0.5]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    pandas = sys.modules.get("pandas")  # its NaT and NA exist only where something imported it
    if value is None or (pandas is not None and pandas.isna(value)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.isoformat() if isinstance(value, datetime) else value
