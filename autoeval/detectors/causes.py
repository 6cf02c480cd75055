"""What went wrong inside torch or mmdet, distinguished and explained."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from autoeval.errors import InputError

#: How torch says that a tensor is too small for a layer, or that maps of two depths do not meet.
UNSUITABLE = re.compile(
    r"Kernel size can't be greater than actual input size"
    r"|Output size is too small"
    r"|Input and output sizes should be greater than 0"
    r"|Padding size should be less than the corresponding input dimension"
    r"|Sizes of tensors must match except in dimension"
    r"|The size of tensor a \(\d+\) must match the size of tensor b \(\d+\)"
    r"|shape '\[.*\]' is invalid for input of size"
    r"|selected index k out of range"
)


class UnsuitableSize(InputError):
    """Images of this size do not go through the network."""


@contextmanager
def size_errors() -> Iterator[None]:
    """Raise `UnsuitableSize` where torch says that the network cannot take a size.

    Every other error, such as one of memory, passes as it is.
    """
    try:
        yield
    except RuntimeError as error:
        if not UNSUITABLE.search(str(error)):
            raise
        raise UnsuitableSize(first_line(error)) from error


def first_line(error: BaseException) -> str:
    """Return an error's message up to its first line break; a `KeyError` without its quotes."""
    message = error.args[0] if isinstance(error, KeyError) and error.args else error
    line = (str(message).strip() or type(error).__name__).splitlines()[0]
    return re.sub(r"\s+", " ", line)
