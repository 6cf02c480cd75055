"""Options that the commands of counting share, those of counters included."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands.run_options import read_cfg_options
from autoeval.counting import DEFAULT_MODE, MODES

if TYPE_CHECKING:
    from autoeval.counting.counters import Counter

BATCH_SIZE = 8  # as in `autoeval.counting.prompting`


def add_mode(parser: Any, details: str = "") -> None:
    """Declare ``--mode``; `parser` is a parser or a group of one."""
    parser.add_argument(
        "--mode",
        choices=MODES,
        default=DEFAULT_MODE,
        help="measure by the formulas as printed, or as the authors' code does"
        f"{details and '; '}{details} (default: %(default)s)",
    )


def add_work_dir(parser: argparse.ArgumentParser, default: str) -> None:
    """Declare ``--work-dir``, the folder that a command writes to."""
    parser.add_argument(
        "--work-dir",
        type=Path,
        default=Path(default),
        metavar="DIR",
        help="where to write (default: %(default)s)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare ``--json``."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


REPEATABLE: dict[str, Any] = {"type": Path, "nargs": "+", "action": "extend", "default": []}


def add_predictions(parser: Any, details: str) -> None:
    """Declare ``--predictions``; `parser` is a parser or a group of one."""
    parser.add_argument("--predictions", **REPEATABLE, metavar="DIR", help=details)


def add_exclude(parser: argparse.ArgumentParser) -> None:
    """Declare ``--exclude``, lists of image ids."""
    details = "lists of image ids to leave out, such as images of several classes"
    parser.add_argument("--exclude", **REPEATABLE, metavar="FILE", help=details)


def add_counter_options(
    group: argparse._ActionsContainer, *, example: str, required: bool = True
) -> None:
    """Declare which counters are asked."""
    group.add_argument(
        "--counter",
        action="append",
        required=required,
        default=None if required else [],
        metavar="FILE",
        help=f"counter's config, such as {example}; repeatable",
    )
    group.add_argument(
        "--cfg-options",
        nargs="+",
        metavar="KEY=VALUE",
        help="changes to every counter's config, such as counter.checkpoint=FILE",
    )


def add_run_options(parser: argparse.ArgumentParser, items: str, *, batches: bool = True) -> None:
    """Declare how many ``items`` are asked about, and how many at once."""
    parser.add_argument(
        "--limit", type=positive, metavar="N", help=f"ask about the first N {items} only"
    )
    parser.add_argument(
        "--workers",
        type=positive,
        default=1,
        metavar="N",
        help="threads that read images and ask; counters that are not `concurrent` answer one at "
        "a time (default: %(default)s)",
    )
    if batches:
        parser.add_argument(
            "--batch-size",
            type=positive,
            default=BATCH_SIZE,
            metavar="N",
            help="images at once, of counters that take several (default: %(default)s)",
        )


def load_counters(args: argparse.Namespace) -> list[tuple[Counter, dict[str, Any]]]:
    """Build the counters that the options name, with settings, or raise `InputError`."""
    from autoeval.counting.counters.build import load_counter
    from autoeval.counting.prompting import check_names

    options = read_cfg_options(args.cfg_options)
    loaded = [load_counter(path, options) for path in args.counter]
    check_names([counter.name for counter, _ in loaded])
    return loaded


def positive(text: str) -> int:
    """Read a whole number from 1 up."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 up but got '{text}'")
    return number
