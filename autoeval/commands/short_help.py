"""A help that fits on a screen; ``--help-all`` adds what is rarely needed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence
from typing import Any

from autoeval.commands.given_input import INPUTS

WIDEST_OPTION = 30  # columns: the help of a longer one starts on a line of its own


class CompactFormatter(argparse.HelpFormatter):
    """Leaves options more room in front of their help."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=WIDEST_OPTION)


def add_help(parser: argparse.ArgumentParser, rare: Collection[str]) -> None:
    """Declare ``--help``, without the `rare` options, and ``--help-all``.

    `rare` holds attributes of the parsed arguments. Where there are none, both print the same.
    """
    parser.add_argument("-h", "--help", action=_Help, rare=tuple(rare), help="print this")
    about = "print all options"
    parser.add_argument("--help-all", action=_Help, rare=(), help=about)


def short_help(parser: argparse.ArgumentParser, rare: Collection[str]) -> str:
    """Return the help of a parser without `rare` options, and those that belong to others."""
    formatter = CompactFormatter(parser.prog)
    positional = [a for a in parser._actions if not a.option_strings]
    needed = [a for a in parser._actions if a.required and a.option_strings]
    words = [_usage(formatter, a) for a in (*positional, *needed)]
    formatter.add_usage(" ".join([parser.prog, *words, "[options]"]), [], [])
    formatter.add_text(parser.description)
    for group in parser._action_groups:
        actions = group._group_actions
        shown = [a for a in actions if a.dest not in rare and not hasattr(a, INPUTS)]
        formatter.start_section(group.title)
        formatter.add_arguments(shown)
        formatter.end_section()
    return formatter.format_help()


class _Help(argparse.Action):
    """Prints the short help, or all of it where nothing is rare."""

    def __init__(
        self, option_strings: Sequence[str], dest: str, *, rare: tuple[str, ...], help: str
    ) -> None:
        nowhere = argparse.SUPPRESS
        super().__init__(option_strings, nowhere, nargs=0, default=nowhere, help=help)
        self.rare = rare

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        text = short_help(parser, self.rare) if self.rare else parser.format_help()
        sys.stdout.write(text)
        parser.exit()


def _usage(formatter: argparse.HelpFormatter, action: argparse.Action) -> str:
    arguments = formatter._format_args(action, action.dest.upper())
    return " ".join([*action.option_strings[:1], arguments])
