"""Put CAPTURe's tasks to counters.

Every answer is kept as it comes, in OUT/MODEL/TASK.jsonl: the same command goes on where it was
stopped, and asks again only what failed. `autoeval count capture report` measures the answers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.typed_options import refuse_beside
from autoeval.counting.commands.common_options import (
    add_counter_options,
    add_prompts,
    add_reading_options,
    add_run_options,
    add_work_dir,
    load_counters,
    load_extractor,
)
from autoeval.errors import InputError

FAILURE = 1
OF_QUESTIONS = ("prompts", "prompts_of")
TASKS = (  # as in `autoeval.counting.capture.tasks`, which takes a second to import
    *("total-original", "total-occluded", "occluded-only", "pattern-original", "pattern-occluded"),
    *("oracle-all", "oracle-visible", "hybrid", "inpainted", "confidence-original"),
    *("confidence-occluded", "sampled-original", "sampled-occluded"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("split", type=Path, metavar="SPLIT", help="folder of a split")
    add_counter_options(parser, example="configs/counting/capture/endpoint.py")
    add_input(
        parser,
        "--task",
        (
            Detail(
                "found",
                "for hybrid: points.json of a counter that `count run` asked about SPLIT/occluded",
                metavar="FILE",
            ),
            Detail(
                "inpainter",
                "for inpainted: telea, navier-stokes or package.module.function",
                metavar="NAME",
            ),
        ),
        metavar="TASK",
        nargs="+",
        default=["total-original", "total-occluded"],
        help=f"one or more of {', '.join(TASKS)} (default: the two total ones)",
    )
    add_work_dir(parser, "capture")
    add_prompts(parser)
    add_reading_options(parser)
    add_run_options(parser, "items", batches=False)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.asking import BACKOFF
    from autoeval.counting.capture.render import load_inpainter
    from autoeval.counting.capture.results import note_limit
    from autoeval.counting.capture.split import INPAINTED, open_split, with_found
    from autoeval.counting.capture.task_run import RunOptions, run_task
    from autoeval.counting.capture.tasks import FOUND, get_task, load_prompts
    from autoeval.counting.counters import TEXT
    from autoeval.counting.journal import CellJournal, check_same_run, folder_name

    split = open_split(args.split).first(args.limit)
    tasks = [get_task(name) for name in args.task]
    loaded = load_counters(args)
    if not any(TEXT in counter.capabilities for counter, _ in loaded):
        reason = "is for counters that answer questions, and none of these does: leave it out."
        refuse_beside(args, OF_QUESTIONS, reason)
    if not any(task.variant == INPAINTED for task in tasks):
        refuse_beside(args, ["inpainter"], "is for --task inpainted: give that, too.")
    if args.found:
        split = with_found(split, args.found)
    elif any(task.oracle_fact == FOUND for task in tasks):
        raise InputError(
            "--task hybrid puts what another counter found into the question: run it with "
            f"`autoeval count run --images {args.split}/occluded` and give its points.json: "
            "--task hybrid --found FILE."
        )
    if not any(task.oracle_fact == FOUND for task in tasks):
        refuse_beside(args, ["found"], "is for --task hybrid: give that, too.")
    book = load_prompts(args.prompts, model=args.prompts_of)
    options = RunOptions(
        extractor=load_extractor(args.extractor, book.templates),
        temperatures=BACKOFF if args.backoff else (None,),
        workers=args.workers,
        inpainter=load_inpainter(args.inpainter) if args.inpainter else None,
    )
    failed = 0
    for counter, settings in loaded:
        folder = args.work_dir / folder_name(counter.name)
        settings |= {"extractor": args.extractor, "inpainter": args.inpainter}
        check_same_run(folder / "settings.json", settings)
        for task in tasks:
            note_limit(folder, task.name, args.limit)
            journal = CellJournal(folder / f"{task.name}.jsonl", ["key"])
            counts = run_task(split, task, counter, book, journal, options)
            print(
                f"{counter.name}, {task.name}: {counts.answered} answered, {counts.skipped} "
                f"skipped, {len(counts.failed)} failed, {counts.reused} from before"
            )
            for name, status in list(counts.failed.items())[:3]:
                print(f"  {name}: {status}")
            failed += len(counts.failed)
    if failed:
        print(f"{failed} questions failed; the same command asks them again.")
    return FAILURE if failed else 0
