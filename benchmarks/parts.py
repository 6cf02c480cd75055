"""Programs of several parts: the first word names the part, the others are its own."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping


def run_part(about: str | None, parts: Mapping[str, Callable[[list[str]], None]]) -> None:
    """Run the part that the command line names, with the words behind its name.

    about: docstring of the program, whose first line is its help.
    """
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("part", choices=parts)
    parser.add_argument("words", nargs=argparse.REMAINDER, help="PART --help explains them")
    typed = parser.parse_args()
    parts[typed.part](typed.words)
