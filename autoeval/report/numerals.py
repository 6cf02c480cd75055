"""Numbers in sentences."""

from __future__ import annotations

import math


def counted(number: int, one: str, many: str = "") -> str:
    """Write how many there are of something.

    Examples
    --------
    >>> counted(1, "box", "boxes"), counted(0, "image")
    ('1 box', '0 images')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def number_text(value: float, spec: str) -> str:
    """Write a number by a format, or in short where that would take more than fifteen digits.

    Examples
    --------
    >>> number_text(2.5, "{:.2f}"), number_text(1e300, "{:.2f}")
    ('2.50', '1e+300')
    """
    return f"{value:.4g}" if 1e15 <= abs(value) < math.inf else spec.format(value)
