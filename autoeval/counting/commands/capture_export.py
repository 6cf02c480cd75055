"""Export CAPTURe as tasks for lmms-eval.

Run them with `lmms-eval --include_path OUT --tasks NAME ...`, in an environment that has this
package (`pip install --no-deps` suffices: the scoring needs the standard library alone).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from autoeval.commands.given_input import Detail
from autoeval.commands.run_options import positive
from autoeval.counting.commands.common_options import add_prompts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("split", type=Path, metavar="SPLIT", help="folder of a split")
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--task", nargs="+", default=["total-original", "total-occluded"])
    add_prompts(parser, Detail("max_tokens", "longest answer (4096)", positive, 4096, metavar="N"))


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.capture.split import open_split
    from autoeval.counting.capture.tasks import get_task, load_prompts
    from autoeval.counting.lmms_eval_export import export_lmms_eval

    book = load_prompts(args.prompts, model=args.prompts_of)
    tasks = [get_task(name) for name in args.task]
    names = export_lmms_eval(
        open_split(args.split), tasks, book, args.out, max_tokens=args.max_tokens
    )
    print(f"lmms-eval --include_path {args.out} --tasks {','.join(names)}")
    return 0
