"""Options that belong to another option, such as ``--names`` to ``--predictions``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

INPUTS = "inputs"  # attribute of an action: the options of which it needs one


@dataclass(frozen=True)
class Detail:
    """An option that says more of an input.

    Parameters
    ----------
    name : str
        Attribute of the parsed arguments; the option is named alike, with dashes.
    about : str
        Its help.
    read : callable
        From text to a value; `ValueError` where the text has none. Of `bool` a flag, which turns
        `default` around.
    default : object
        Where it is not given.
    option : str
        Where the flag is not named after the attribute, such as ``--incomplete``.
    metavar : str, optional
        How the value is called in the help.
    """

    name: str
    about: str
    read: Callable[[str], Any] = str
    default: Any = None
    option: str = ""
    metavar: str | None = None


def add_input(
    group: argparse._ActionsContainer,
    option: str,
    details: Sequence[Detail],
    *,
    alone: bool = False,
    **declared: Any,
) -> None:
    """Declare an input and the options that belong to it.

    Parameters
    ----------
    group : argparse container
    option : str
    details : sequence of Detail
        One that another input has, too, is declared once, and may be given with either.
    alone : bool
        Whether they may be given without the input, which then has a default.
    **declared
        Of the input; see `argparse.ArgumentParser.add_argument`.
    """
    group.add_argument(option, **declared)
    if isinstance(group, argparse._MutuallyExclusiveGroup):
        group = group._container  # what says more of one of them excludes none
    needed = not alone and declared.get("default") is None
    for detail in details:
        name = detail.option or f"--{detail.name.replace('_', '-')}"
        action = group._option_string_actions.get(name)
        if action is None:
            action = _declare(group, name, detail)
            setattr(action, INPUTS, set())
        if needed and hasattr(action, INPUTS):
            getattr(action, INPUTS).add(option)


def without_input(
    parser: argparse.ArgumentParser, typed: Sequence[str]
) -> tuple[str, list[str]] | None:
    """Return an option that was typed without the input that it belongs to, and these inputs.

    `typed` are options as they are named.
    """
    for action in parser._actions:
        inputs = getattr(action, INPUTS, ())
        name = next((option for option in action.option_strings if option in typed), None)
        if name and inputs and not inputs & {*typed}:
            return name, sorted(inputs)
    return None


def _reader(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a reader whose own message is printed where a text has no value."""

    def value_of(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return value_of


def _declare(group: argparse._ActionsContainer, option: str, detail: Detail) -> argparse.Action:
    if detail.read is bool:
        action = "store_false" if detail.default else "store_true"
        return group.add_argument(option, dest=detail.name, action=action, help=detail.about)
    return group.add_argument(
        option,
        dest=detail.name,
        type=_reader(detail.read),
        default=detail.default,
        metavar=detail.metavar or detail.name.rpartition("_")[2].upper(),
        help=detail.about,
    )
