"""The one exception class for input that a person can put right."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: Parameters whose option is given several times, and so named in the singular.
SINGULAR = {"categories": "category", "site_categories": "site_category", "known_sites": "site"}


class InputError(ValueError):
    """Bad input from the user: says what was expected, what came, and what to do.

    Command-line programs print its message without a traceback and exit with status 2.
    """


class FailedOnImagesError(InputError):
    """A program of somebody else that failed on some images, and may not fail on others."""


class DownloadError(InputError):
    """A file that could not be fetched from its address."""


class TooFewLabelsError(InputError):
    """None of the categories of a labelled set has labels enough for the default."""


def option_of(name: str) -> str:
    """Return how a parameter is typed on the command line.

    >>> option_of("score_thr")
    '--score-thr'
    """
    return f"--{SINGULAR.get(name, name).replace('_', '-')}"


def is_given(value: object) -> bool:
    """Whether a value is another one than none, no, and an empty tuple."""
    return value is not None and value is not False and not (isinstance(value, tuple) and not value)


def refuse_given(values: Mapping[str, object], reason: str) -> None:
    """Raise `InputError` where one of these values is given.

    Parameters
    ----------
    values : mapping
        Parameters by name.
    reason : str
        Why it would have no effect and what to do; goes behind the name of the option.
    """
    for name, value in values.items():
        if is_given(value):
            raise InputError(f"{option_of(name)} {reason}")


def first_line(error: BaseException) -> str:
    """Return an error's message up to its first line break; a `KeyError` without its quotes."""
    message = error.args[0] if isinstance(error, KeyError) and error.args else error
    line = (str(message).strip() or type(error).__name__).splitlines()[0]
    return re.sub(r"\s+", " ", line)
