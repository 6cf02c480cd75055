"""What a command is: a module that imports next to nothing, so that the program starts at once."""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """What a command runs.

    Parameters
    ----------
    about : str
        What it does, in a line of the list of commands.
    function : str
        ``module:name`` of the public function that makes the result. Without `show` it prints, too,
        and returns the status of the program.
    show : str
        ``module:name`` of what prints and writes the result and returns the status of the program;
        its keyword-only parameters are options, too, and its defaults go before.
    positional : tuple of str
        Parameters that are given without their names, in this order.
    in_python : tuple of str
        Parameters of the function that are no options.
    around : str
        ``module:name`` of a context manager around the call of the function; it takes the
        `Invocation`, refuses options of `show` before anything is read, and yields arguments that
        the function gets in place of what was typed.
    more : str
        ``module:name`` of a function that returns what the help says below the options.
    """

    about: str
    function: str
    show: str = ""
    positional: tuple[str, ...] = ()
    in_python: tuple[str, ...] = ()
    around: str = ""
    more: str = ""
