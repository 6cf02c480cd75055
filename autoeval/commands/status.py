"""Show the progress of a run: jobs done, failed, running and left, and the rate."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "work_dir", type=Path, metavar="WORK_DIR", help="of estimate-map or another"
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(args: argparse.Namespace) -> int:
    """Read what is on disk, and print it."""
    from autoeval.runtime.status import run_statuses

    statuses = run_statuses(args.work_dir)
    if args.json:
        print(json.dumps([status.to_dict() for status in statuses], indent=2))
    else:
        print("\n\n".join(map(str, statuses)))
    return 0
