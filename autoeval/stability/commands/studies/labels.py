"""How exact an estimate is with 5 to 50 labels, from score tables or from prediction files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.site_options import IMG_DIR
from autoeval.errors import InputError
from autoeval.stability.commands.studies.inputs import NO_NAMES, TARGET, task_sites
from autoeval.stability.commands.studies.registry import StudyRun, study

if TYPE_CHECKING:
    from autoeval.sites.labelled_set import LabelledSet
    from autoeval.stability.reports.study_report import StudyReport

ROOT = "data_root="  # behind --sites TASK PREDICTIONS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where labels and predictions lie in place of ``--scores``."""
    parser.add_argument(
        "--sites",
        nargs="+",
        action="append",
        metavar=("TASK", "PREDICTIONS"),
        help="labels, in place of --scores: a task, whose sources are evaluated, and a folder with "
        f"NAME.json for each of them, behind them {ROOT} folder with its data; once for each task",
    )
    add_input(
        parser,
        "--labels",
        (
            Detail("predictions", "boxes on the labelled set", metavar="PATH"),
            IMG_DIR,
            Detail("group", "origin of the labelled set, if sites share it", metavar="NAME"),
        ),
        metavar="PATH",
        help="labels, with --sites: the labelled set that is fitted on",
    )


@study(
    "labels",
    "error, coverage and width with a few labels",
    "few_labels.labels_report",
    {
        **TARGET,
        **{"fewest": 60, "draws": 200},
        "fit_on": NO_NAMES,
    },
    inputs=("scores", "sites", "labels"),
    add_arguments=add_arguments,
)
def labels(run: StudyRun) -> StudyReport:
    """Evaluate with groups left out of the score tables, or fitted on single labelled sets."""
    args, settings = run.args, dict(run.settings)
    if bool(args.scores) == bool(args.sites):
        raise InputError("Expected either --scores PATH, or --sites TASK PREDICTIONS.")
    target, fit_on = settings.pop("target"), settings.pop("fit_on")
    if not args.sites:
        if args.labels or fit_on or target != TARGET["target"]:
            raise InputError("--labels and --set fit_on=, target= go with --sites.")
        first, *also = args.scores
        return run.report(first, also=also, **settings)
    from autoeval.stability.reports.few_labels import labels_from_files_report

    labelled, sites = _labelled_files(args, fit_on)
    return labels_from_files_report(labelled, sites, target=target, **settings)


def _labelled_files(
    args: argparse.Namespace, fit_on: Sequence[str]
) -> tuple[list[LabelledSet], list[LabelledSet]]:
    """Read the labelled sets that are fitted on, and the sites, with their predictions."""
    from autoeval.estimation.given_boxes import Predictions
    from autoeval.estimation.labelled_files import labels_with_files

    if bool(args.labels) == bool(fit_on):
        raise InputError(
            "Expected with --sites either --labels LABELS --predictions FILE or --set fit_on=NAME."
        )
    sites = [site for words in args.sites for site in _named_sites(words)]
    if args.labels:
        if not args.predictions:
            raise InputError("--labels needs --predictions FILE: what was found there.")
        files = Predictions(args.predictions)
        origin = {"img_dir": args.img_dir, "group": args.group}
        return [labels_with_files(args.labels, files, **origin)], sites
    by_name = {site.name: site for site in sites}
    unknown = [name for name in fit_on if name not in by_name]
    if unknown:
        raise InputError(f"--set fit_on=: no site {', '.join(unknown)}, only {', '.join(by_name)}.")
    return [by_name[name] for name in fit_on], sites


def _named_sites(words: list[str]) -> list[LabelledSet]:
    """Read the sources of ``--sites TASK PREDICTIONS [data_root=DIR]``."""
    task, folder, root = [*words, "", ""][:3]
    if not folder or len(words) > 3 or (root and not root.startswith(ROOT)):
        raise InputError(
            f"Expected --sites TASK PREDICTIONS [{ROOT}DIR] but got {' '.join(words)!r}."
        )
    return task_sites(task, folder, root.removeprefix(ROOT) or None)
