"""Numbers in sentences."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Write how many there are of something.

    Examples
    --------
    >>> counted(1, "box", "boxes"), counted(0, "image")
    ('1 box', '0 images')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"
