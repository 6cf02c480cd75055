"""What a label format is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autoeval.data.labels.content import LabelSet


def never(path: Path) -> bool:
    """Recognise nothing: for layouts that are read only where they are named."""
    return False


@dataclass(frozen=True)
class LabelFormat:
    """A format of label files.

    Parameters
    ----------
    name : str
        As in ``layout="voc"``.
    about : str
        One line for people.
    read : callable
        From the path of the labels, the image folder or None, and options by keyword.
    recognises : callable
        Whether a path looks like this format.
    """

    name: str
    about: str
    read: Callable[..., LabelSet]
    recognises: Callable[[Path], bool] = never
