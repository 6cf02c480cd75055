"""Export PrACo's negative-label test as a task for lmms-eval.

Run it with `lmms-eval --include_path OUT --tasks NAME ...`, in an environment that has this package
(`pip install --no-deps` and Pillow suffice). DATA is what `autoeval count praco --data` takes,
with its images. Language models give counts without locations, which the mosaic test needs.
"""

from __future__ import annotations

import argparse

from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.run_options import positive
from autoeval.counting.commands.common_options import (
    add_praco_data,
    add_work_dir,
    check_praco_data,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_praco_data(parser)
    add_work_dir(parser, "praco_tasks")
    add_input(
        parser,
        "--question",
        (Detail("max_tokens", "longest reply (256)", positive, 256, metavar="N"),),
        alone=True,  # of the usual question
        metavar="TEXT",
        help="template; {} is the class",
    )
    parser.add_argument("--limit", type=positive, metavar="N", help="the first N images only")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.lmms_eval_export import QUESTION, export_praco
    from autoeval.counting.praco.data import single_class
    from autoeval.counting.praco.data_kind import load_counting_set
    from autoeval.counting.praco.evaluation_page import data_notes

    check_praco_data(args)
    counting_set = load_counting_set(
        args.data, split=args.split, data_root=args.data_root, exclude=args.exclude
    )
    counting_set = single_class(counting_set).first(args.limit)
    question = QUESTION if args.question is None else args.question
    name = export_praco(counting_set, args.work_dir, question=question, max_tokens=args.max_tokens)
    n_images, n_classes = len(counting_set.kept), len(counting_set.classes)
    print(f"{n_images * n_classes} questions: {n_images} images, {n_classes} classes")
    for note in data_notes(counting_set):
        print(f"note: {note}")
    print(f"lmms-eval --include_path {args.work_dir} --tasks {name}")
    return 0
