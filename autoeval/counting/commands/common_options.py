"""Options that the commands of counting share, so that each means the same in all of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from autoeval.counting.modes import DEFAULT_MODE, MODES


def add_mode(parser: Any, details: str = "") -> None:
    """Declare ``--mode``; `parser` is a parser or a group of one."""
    parser.add_argument(
        "--mode",
        choices=MODES,
        default=DEFAULT_MODE,
        help="measure by the formulas as printed, or as the authors' code does"
        f"{details and '; '}{details} (default: %(default)s)",
    )


def add_out(parser: argparse.ArgumentParser, default: str) -> None:
    """Declare ``--out``, the folder that a command writes to."""
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(default),
        metavar="DIR",
        help="where to write (default: %(default)s)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare ``--json``."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_predictions(parser: Any, details: str) -> None:
    """Declare ``--predictions``; `parser` is a parser or a group of one."""
    parser.add_argument(
        "--predictions",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="DIR",
        help=details,
    )


def add_exclude(parser: argparse.ArgumentParser) -> None:
    """Declare ``--exclude``, lists of image ids."""
    parser.add_argument(
        "--exclude",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="lists of image ids to leave out, such as images of several classes",
    )
