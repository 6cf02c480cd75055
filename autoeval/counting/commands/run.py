"""Count in every image with any counter, and write predictions for `autoeval count evaluate`.

Results are kept one by one in DIR/COUNTER: the same command goes on where it was stopped, and asks
again only what failed. Writes predictions.csv (id, pred, status) and, where the counter says where
it counts, points.json.
"""

from __future__ import annotations

import argparse

from autoeval.commands.given_input import Detail, add_input
from autoeval.counting.commands.common_options import (
    add_counter_options,
    add_reading_options,
    add_run_options,
    add_work_dir,
    load_counters,
)

FAILURE = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_counter_options(parser, example="configs/counting/praco/yolox_nano.py")
    add_input(
        parser,
        "--images",
        (Detail("every", "frames of videos: 2s, or 10 for every tenth", metavar="STEP"),),
        metavar="DIR",
        required=True,
        help="a folder, a COCO JSON, a video, a list of paths or a pattern",
    )
    parser.add_argument(
        "--prompt",
        default="objects",
        help="what to count: a class, or the prompt of a language model; counters "
        "of one kind of object pass it over (default: %(default)s)",
    )
    add_reading_options(parser)
    add_run_options(parser, "images")
    add_work_dir(parser, "counts")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.journal import CellJournal, check_same_run, folder_name
    from autoeval.counting.prompting import PromptedCounter, count_images, write_counts
    from autoeval.io.find_images import find_images
    from autoeval.io.wording import listed

    listing = find_images(args.images, every=args.every)
    for note in listing.skipped:
        print(f"note: {note}")
    images, failures = listing.images[: args.limit], 0
    for counter, settings in load_counters(args):
        folder = args.work_dir / folder_name(counter.name)
        check_same_run(folder / "run.json", {**settings, "prompt": args.prompt})
        journal = CellJournal(folder / "answers.jsonl", ["image"])
        prompted = PromptedCounter(counter, workers=args.workers, batch_size=args.batch_size)
        table = count_images(prompted, images, args.prompt, journal)
        files = write_counts(folder, table)
        status = table["status"]
        failures_here = table[status.str.startswith("failed")]
        failed = failures_here["id"].tolist()
        print(
            f"{counter.name}: {table['pred'].sum():g} objects in {(status == 'ok').sum()} of "
            f"{len(table)} images, {(status == 'skipped').sum()} skipped, {len(failed)} failed"
            + (f" ({listed(failed)})" if failed else "")
        )
        for reason, n in failures_here["status"].value_counts().head(3).items():
            print(f"  {n} {reason}")
        print("\n".join(f"  {path}" for path in files))
        failures += len(failed)
    if failures:
        print(f"{failures} images failed; the same command counts them again.")
    return FAILURE if failures else 0
