"""Which options a command was given, and refusing those that would do nothing there."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from autoeval.errors import InputError


def names_of(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return each option of a parser by its attribute, as it is typed.

    >>> parser = argparse.ArgumentParser(add_help=False)
    >>> _ = parser.add_argument("--batch-size", type=int, default=4)
    >>> names_of(parser)
    {'batch_size': '--batch-size'}
    """
    names = {}
    for action in parser._actions:
        if action.dest == argparse.SUPPRESS or (action.nargs == 0 and not action.option_strings):
            continue
        option = action.option_strings[0] if action.option_strings else action.dest.upper()
        names[action.dest] = option
    return names


def typed_options(parser: argparse.ArgumentParser, args: argparse.Namespace) -> dict[str, str]:
    """Return those of `names_of` whose value differs from the parser's default."""
    given = vars(args)
    return {
        dest: name
        for dest, name in names_of(parser).items()
        if dest in given and given[dest] != parser.get_default(dest)
    }


def refuse_beside(args: argparse.Namespace, names: Iterable[str], reason: str) -> None:
    """Raise `InputError` where one of these options was given; `reason` says why and what to do.

    Parameters
    ----------
    args : argparse.Namespace
        With `typed`, from `typed_options`.
    names : iterable of str
        Attributes of the parsed arguments; those that the command lacks are passed over.
    reason : str
        Goes behind the name of the option.
    """
    for name in names:
        if name in args.typed:
            raise InputError(f"{args.typed[name]} {reason}")
