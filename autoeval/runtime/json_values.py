"""From values as programs hold them to values as JSON has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd


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
    if value is None or pd.isna(value) or value in (math.inf, -math.inf):
        return None
    return value.isoformat() if isinstance(value, pd.Timestamp) else value
