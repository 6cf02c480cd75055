"""Watch many sites: the state of each, from unlabelled images, window by window.

Boxes come from a detector or from results files. Images that an earlier run has seen are left
alone, so the same command from cron goes on where the last one ended. Status 3 means with
--fail-on-alarm that a site fell against its own baseline, or is below --alarm-below.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands import execution_options, run_options, site_options
from autoeval.commands.monitor_options import ALARM, add_changes, add_keep, add_outputs, add_sites
from autoeval.commands.monitor_sites import (
    compare_with_other,
    label_commands,
    observe_other,
    watch_images,
    watch_predictions_at,
)
from autoeval.commands.typed_options import refuse_beside
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.monitoring.monitored import Monitored

RARE = (
    *("time", "worst", "target", "score_thr", "site", "seed", "labelled", "against", "json_lines"),
    *("keep", "alarm_on", "false_alarms", "present", "prometheus", "webhook", "quiet"),
    *("checkpoint", "cfg_options", "device", "detector", "batch_size", "ray"),
    *("site_category", "verbose", "reference"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--estimator",
        required=True,
        metavar="PATH",
        help="what fit or estimate-map wrote: a work dir, or estimator.parquet",
    )
    add_sites(parser)
    run_options.add_predictions_options(
        parser,
        "folder with COCO results, one file a site, or one file with a folder a site",
        (),
    )
    add_changes(parser)
    add_keep(parser)
    add_outputs(parser)
    run_options.add_detector_options(parser)
    run_options.add_reference_options(parser)
    about = "boxes of all images, report and tables (%(default)s)"
    run_options.add_run_options(parser, "work_dirs/monitor", about, json=False)


def run(args: argparse.Namespace) -> int:
    """Observe or read what is new, and report on all sites."""
    if not args.images and not args.predictions:
        raise InputError("Expected --images ROOT, or --predictions PATH.")
    _refuse_unused(args)
    wanted = bool(args.against and args.predictions)
    if wanted != bool(args.against_predictions):
        raise InputError(
            "--against FILE takes --against-predictions DIR where --predictions are given, the "
            "boxes of both detectors at each site, and runs its own detector on --images."
        )
    files: dict[str, Path] = {}
    with _quietly(args.quiet) as caught:
        estimator = site_options.load_for_target(args)
        executor = execution_options.make_executor(args)
        if args.predictions:
            monitored = watch_predictions_at(args, estimator)
        else:
            monitored, files = watch_images(args, estimator, executor)
            if args.against:
                observe_other(args, files, executor)
    return _report(args, estimator, monitored, files, caught)


def _refuse_unused(args: argparse.Namespace) -> None:
    """Refuse options that have no effect beside, or without, others."""
    site_options.refuse_of_other_inputs(args)
    if args.predictions:
        reason = "is about images that a detector is run on, and --predictions need none of it."
        refuse_beside(args, ["img_dir"], reason)
    if args.quiet + args.json_lines + args.verbose > 1:
        raise InputError(
            "--json-lines prints every row, --quiet alarms and warnings alone, --verbose "
            "everything: give one of them."
        )


def _report(
    args: argparse.Namespace,
    estimator: AccuracyEstimator,
    monitored: Monitored,
    files: dict[str, Path],
    caught: Sequence[str],
) -> int:
    from autoeval.monitoring.monitor_store import MonitorStore
    from autoeval.report.alarms import json_lines, prometheus_text
    from autoeval.report.monitor import (
        Pictures,
        alarm_lines,
        monitored_page,
        monitored_text,
        monitored_values,
        site_pictures,
    )
    from autoeval.report.text import written_files
    from autoeval.runtime.files import write_json, write_table, write_text
    from autoeval.runtime.json_values import plain
    from autoeval.words import warning_lines

    given = site_options.site_facts(args, estimator)
    candidate = compare_with_other(args, estimator)
    commands = label_commands(args, monitored)
    if args.json_lines:
        print(json_lines(monitored.to_pandas()), flush=True)
    elif args.quiet:
        alarms = [f"ALARM: {line}" for line in alarm_lines(monitored)]
        lines = [*alarms, *caught, *warning_lines(monitored.warnings)]
        print("\n".join(lines), end="\n" if lines else "", flush=True)
    else:
        print(monitored_text(monitored, candidate, commands, verbose=args.verbose), flush=True)
    pictures: Pictures = {}
    if files:
        pictures = site_pictures(monitored, MonitorStore(args.work_dir), files)
    page = monitored_page(monitored, candidate, commands, pictures=pictures, about=given)
    written = page.write(args.work_dir / "report.html")
    values = monitored_values(monitored, candidate, given)
    written.append(write_json(args.work_dir / "result.json", plain(values)))
    written.append(write_table(args.work_dir / "windows.parquet", monitored.windows()))
    if args.prometheus:
        write_text(args.prometheus, prometheus_text(monitored, finished_s=time.time()))
        written.append(args.prometheus)
    if not (args.json_lines or args.quiet):
        print(f"\n{written_files(written)}")
    failed = args.webhook and not _sent(args, monitored)
    if args.fail_on_alarm and monitored.alarms:
        return ALARM
    return int(bool(failed))


def _sent(args: argparse.Namespace, monitored: Monitored) -> bool:
    """Send the alarms that were not sent before; False where that did not work."""
    from autoeval.monitoring.monitor_store import MonitorStore
    from autoeval.report.alarms import new_alarms, post_json, remember

    store = MonitorStore(args.work_dir)
    alarms = new_alarms(store, monitored)
    if not alarms:
        return True
    message = {"images": str(args.images or args.predictions), "alarms": alarms}
    try:
        post_json(args.webhook, message)
    except OSError as error:
        print(f"error: {error}; the next run tries again", file=sys.stderr)
        return False
    remember(store, monitored)
    return True


@contextlib.contextmanager
def _quietly(quiet: bool) -> Iterator[list[str]]:
    """Suppress progress and collect warnings, with --quiet."""
    collected: list[str] = []
    if not quiet:
        yield collected
        return
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("always", UserWarning)
        yield collected
    collected += [f"warning: {w.message}" for w in caught if w.category is UserWarning]
