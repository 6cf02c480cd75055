"""Watching another's work without ever failing it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from autoeval.detectors.causes import first_line


class Doubts:
    """What went wrong with watching a model, which itself has gone on.

    Attributes
    ----------
    reasons : list of str
        Different ones, in the order they came up.
    """

    def __init__(self) -> None:
        self.reasons: list[str] = []

    @contextmanager
    def around(self) -> Iterator[None]:
        """Note an error of the body instead of raising it; memory that runs out is raised."""
        try:
            yield
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # the body meets heads that nobody has seen
            reason = f"{type(error).__name__}: {first_line(error)}"
            if reason not in self.reasons:
                self.reasons.append(reason)

    def __str__(self) -> str:
        return f" ({'; '.join(self.reasons)})" if self.reasons else ""
