"""Estimate accuracy from the labels of a plan, the boxes of all images, and label-free scores.

Labels that no plan drew are for `autoeval estimate --labels`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands import run_options, site_options
from autoeval.commands.next_step import larger_plan

if TYPE_CHECKING:
    from autoeval.labels.labelled_estimate import LabelledEstimate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--plan", type=Path, required=True, metavar="DIR", help="what `label plan` wrote"
    )
    site_options.add_labels_options(parser, required=True)
    parser.add_argument(
        "--until",
        type=run_options.above_zero,
        metavar="POINTS",
        help="wanted half-width: say whether it is reached, and how many to label next if not",
    )
    parser.add_argument(
        "--score-thr",
        type=float,
        metavar="S",
        help="estimate precision, recall and F1 at this score threshold, too",
    )
    run_options.add_work_dir(parser, None, "for the report (default: estimate/ in the plan)")
    run_options.add_printing(parser)


def run(args: argparse.Namespace) -> int:
    """Read the labels, estimate, and print."""
    from autoeval.api import estimate_with_labels

    estimate = estimate_with_labels(
        args.plan,
        args.labels,
        img_dir=args.img_dir,
        words=args.words,
        score_thr=args.score_thr,
    )
    # after what can fail: pages take a second to load
    from autoeval.report.labels import labelled_page, labelled_text, labelled_values
    from autoeval.report.text import about, next_command, print_result

    page = args.plan / "result.json"  # of the plan
    facts = json.loads(page.read_bytes()).get("about", {}) if page.exists() else {}
    of_plan = {name: facts[name] for name in facts if name not in ("date", "command")}
    given = {"plan": str(args.plan)} | of_plan | about(args.command_line, labels=args.labels)
    n, until = _more(estimate), ""
    values: dict[str, dict[str, float | None]] = {}
    if args.until:
        n, until, values = _until(estimate, args.until / 100)
    step = larger_plan(facts.get("command", ""), n) if n else ""
    print_result(
        labelled_text(estimate, until, verbose=args.verbose),
        labelled_values(estimate, given, **values),
        args.work_dir or args.plan / "estimate",
        lambda: labelled_page(estimate, given),
        as_json=args.json,
        next_step=next_command("images to label", step),
    )
    return 0


def _more(estimate: LabelledEstimate) -> int | None:
    """Return how many labels make the first of the half-widths that the headline has, if any do."""
    from autoeval.labels.labelled_estimate import GOALS
    from autoeval.sites.label_check import contradicted

    if contradicted(estimate.warnings):
        return None
    n = min(estimate.n_labelled + estimate.more_labels(GOALS[0]), estimate.n_pool)
    return n if n > estimate.n_labelled else None


def _until(
    estimate: LabelledEstimate, wanted: float
) -> tuple[int | None, str, dict[str, dict[str, float | None]]]:
    """Decide whether the wanted half-width is reached.

    Returns how many labels to go on with, None for none; a sentence; and what JSON has.
    """
    from autoeval.labels.sample_size import next_batch
    from autoeval.report.labels import until_text
    from autoeval.sites.label_check import contradicted

    stop = next_batch(
        estimate.recommended,
        wanted,
        n_labelled=estimate.n_labelled,
        needed=estimate.outlook.needed(wanted),
        level=estimate.level,
    )
    half: float | None = stop.half_width
    n = min(estimate.n_labelled + stop.more, estimate.n_pool)
    next_n = None if stop.reached or n <= estimate.n_labelled else n
    if contradicted(estimate.warnings):
        half = next_n = None
    values = {"wanted": wanted, "half_width": half, "next_n": next_n}
    return next_n, until_text(wanted, half, n, next_n), {"until": values}
