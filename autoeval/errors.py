"""The exceptions for input that a person can put right."""

from __future__ import annotations

import re
from pathlib import Path


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


def install_command(extra: str = "") -> str:
    """Return the command that installs the package as it was: in a checkout from there.

    Parameters
    ----------
    extra : str
        Extra of ``setup.cfg`` that is missing, or several with commas between them.
    """
    extras = f"[{extra}]" if extra else ""
    if (Path(__file__).resolve().parents[1] / "pyproject.toml").is_file():
        return f"pip install -e '.{extras}'" if extra else "pip install -e ."
    return f"pip install 'autoeval{extras}'" if extra else "pip install autoeval"


def first_line(error: BaseException) -> str:
    """Return an error's message up to its first line break.

    Parameters
    ----------
    error : BaseException
        One without a message gives the name of its class; the message of a `KeyError` is without
        its quotes.
    """
    message = error.args[0] if isinstance(error, KeyError) and error.args else error
    line = (str(message).strip() or type(error).__name__).splitlines()[0]
    return re.sub(r"\s+", " ", line)
