"""Watch many sites: which is worst, and which has changed, from unlabelled images of each.

Boxes come from a detector or from results files. Images that an earlier run has seen, and files
that have not changed, are left alone, so the same command from cron goes on where the last one
ended. Status 3 means with --fail-on-alarm that a site has changed, for the worse or not known to
be, or that its estimate is below --alarm-below.
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

from autoeval.commands import run_options, site_options
from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.typed_options import refuse_beside
from autoeval.errors import InputError
from autoeval.runtime.job import Executor
from autoeval.runtime.shards import Shards

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.monitoring.changes.site_changes import ChangeSettings
    from autoeval.monitoring.site_categories import SiteCategories
    from autoeval.monitoring.watch_sites import WatchPlan
    from autoeval.monitoring.watched import Watched

ALARM = 3
RARE = (
    *("time", "worst", "target", "score_thr", "site", "seed", "labelled", "against", "json_lines"),
    *("prometheus", "webhook", "quiet", "checkpoint", "cfg_options", "device", "detector"),
    *("batch_size", "launcher", "site_category", "images_list", "verbose"),
)
REFERENCE_FILES = (
    Detail(
        "reference",
        "the results of a reference detector, under the same names",
        "reference_predictions",
    ),
    Detail(
        "reference_names",
        "words of the detector for the numbers of its categories: data.yaml, or a text file",
    ),
)
REFERENCE_RUN = (
    Detail(
        "reference",
        "a reference detector that is run, too, an alias or FILE.py:NAME (default: that of the "
        "fit, where it had one)",
    ),
    Detail("reference_checkpoint", "its weights"),
)
SHIPPED = ""  # slopes of change, where --changes names no file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--estimator",
        required=True,
        metavar="PATH",
        help="what fit or estimate-map wrote: a work dir, or estimator.parquet",
    )
    _add_sites(parser)
    run_options.add_predictions_options(
        parser,
        "folder with COCO results, one file a site, or one file with a folder a site",
        REFERENCE_FILES,
    )
    parser.add_argument(
        "--images-list",
        metavar="PATH",
        help="with --predictions all images: a list of names in a folder a site, or for each file "
        "the images, or a list of them",
    )
    _add_changes(parser)
    _add_outputs(parser)
    run_options.add_detector_options(parser, REFERENCE_RUN)
    about = "boxes of all images, report and tables (%(default)s)"
    run_options.add_run_options(parser, "work_dirs/monitor", about, json=False)


def run(args: argparse.Namespace) -> int:
    """Observe or read what is new, and report on all sites."""
    if args.changes is None and args.alarm_below is None and (args.fail_on_alarm or args.webhook):
        raise InputError(
            "--fail-on-alarm and --webhook are about alarms: they need --changes or --alarm-below."
        )
    if bool(args.images) == bool(args.predictions):
        raise InputError("Expected either --images ROOT or --predictions PATH.")
    _refuse_unused(args)
    wanted = bool(args.against and args.predictions)
    if wanted != bool(args.against_predictions):
        raise InputError(
            "--against FILE takes predictions=DIR where --predictions are given, the boxes of "
            "both detectors at each site, and runs its own detector on --images."
        )
    watched: Watched | None
    files: dict[str, Path] = {}
    with run_options.launched(args) as shards, _quietly(args.quiet) as caught:
        estimator = site_options.load_for_target(args)
        executor = run_options.make_executor(args)
        if args.predictions:  # files are read by one process
            watched = _watch_predictions(args, estimator) if shards.leads else None
        else:
            watched, files = _watch_images(args, estimator, executor, shards)
            if args.against:
                _observe_candidate(args, files, executor, shards)
    if watched is None or not shards.leads:
        return 0
    return _report(args, estimator, watched, files, caught)


def _refuse_unused(args: argparse.Namespace) -> None:
    """Refuse options that have no effect beside, or without, others."""
    site_options.refuse_of_other_inputs(args)
    if args.predictions:
        reason = "is run on images: give its results as --predictions PATH reference=PATH."
        refuse_beside(args, ["reference"], reason)
    elif args.reference is None:
        reason = "is of a reference detector that is run: give reference=, too."
        refuse_beside(args, ["reference_checkpoint"], reason)
    if args.changes is None:
        refuse_beside(args, ["labelled"], "is the level of a baseline: give --changes, too.")
    if args.quiet + args.json_lines + args.verbose > 1:
        raise InputError(
            "--json-lines prints every row, --quiet alarms and warnings alone, --verbose "
            "everything: give one of them."
        )


def _add_sites(parser: argparse.ArgumentParser) -> None:
    sites = parser.add_argument_group("sites")
    add_input(
        sites,
        "--images",
        (
            Detail("img_dir", "where the files of a COCO JSON lie"),
            Detail(
                "depth",
                "folders that name a site, such as 1 for camera/2026/03/02/ (default: all)",
                read=int,
            ),
        ),
        metavar="ROOT",
        alone=None,  # folders that name a site, of --predictions
        help="folder with a folder for each site, COCO JSON, pattern or list of paths",
    )
    sites.add_argument(
        "--category",
        action="append",
        metavar="NAME[=WORD,...]",
        help="a category that counts where it is found, with the detector's words for it; may be "
        "given several times (default: those of the estimator's task at every site, or every "
        "category that is found there)",
    )
    sites.add_argument(
        "--site-category",
        action="append",
        nargs=2,
        default=[],
        metavar=("SITE", "NAME[=WORD,...]"),
        help="a category to expect at one site, found or not, in place of --category; may be given "
        "several times",
    )
    sites.add_argument(
        "--by",
        default="folder",
        metavar="HOW",
        help="also by day, hour or every:200 images (%(default)s)",
    )
    sites.add_argument(
        "--time",
        default="auto",
        metavar="FROM",
        help="exif, file, or a form of the time in file names such as %%Y%%m%%d_%%H%%M%%S "
        "(default: EXIF where there is one, else the file's time; with --predictions "
        "date_captured or datetime of the list of images)",
    )
    sites.add_argument(
        "--worst", type=int, default=3, metavar="K", help="how many count as worst (%(default)s)"
    )
    site_options.add_target_options(sites, "estimate recall and false alarms an image there, too")
    sites.add_argument(
        "--alarm-below",
        type=float,
        metavar="X",
        help="alarm at a site whose interval lies below it, such as .6; with --by that of its "
        "latest period",
    )
    sites.add_argument(
        "--site",
        nargs="+",
        default=(),
        metavar="SITE=NAME",
        help="labelled set, or source of a task, of the fit of which a site's images are new ones",
    )
    sites.add_argument("--seed", type=int, default=0, help="of every draw (%(default)s)")


def _add_changes(parser: argparse.ArgumentParser) -> None:
    changes = parser.add_argument_group("changes, each site against its own baseline")
    other = parser.add_argument_group("another detector (see `autoeval compare`)")
    add_input(
        other,
        "--against",
        (
            Detail(
                "predictions",
                "DIR with its boxes, SITE.json for each site; with --images it is run",
                "against_predictions",
            ),
            Detail(
                "known",
                "SITE=POINTS,...: its accuracy at sites where it was measured, of 100; then this "
                "detector's there follows, with the interval of the difference",
                "against_known",
                site_options.known_at_sites,
            ),
        ),
        metavar="FILE",
        help="its work dir or estimator.parquet: where it would be better, and where worse",
    )
    add_input(
        changes,
        "--changes",
        (
            Detail(
                "baseline",
                "the first 7d or 200 images of each site, or all before 2026-03-01 (7d)",
                default="7d",
            ),
            Detail(
                "false_alarms",
                "probability of a false alarm at a site, however long it is watched (0.05)",
                read=float,
                default=0.05,
            ),
        ),
        metavar="FILE",
        alone=SHIPPED,
        help="estimate changes by the slopes that fit-change wrote; without FILE by shipped ones",
    )
    changes.add_argument(
        "--labelled",
        nargs="+",
        default=(),
        metavar="SITE=FILE",
        help="what label estimate --json, or estimate --labels --json, printed for a site's "
        "baseline: its level, in place of an estimate",
    )


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("output")
    out.add_argument("--json-lines", action="store_true", help="print a line of JSON for each row")
    out.add_argument(
        "--prometheus", type=Path, metavar="FILE", help="write gauges for its textfile collector"
    )
    out.add_argument("--fail-on-alarm", action="store_true", help=f"end with status {ALARM} then")
    out.add_argument("--webhook", metavar="URL", help="send new alarms there as JSON (POST)")
    out.add_argument("--quiet", action="store_true", help="print alarms and warnings alone")


def _watch_images(
    args: argparse.Namespace, estimator: AccuracyEstimator, executor: Executor, shards: Shards
) -> tuple[Watched | None, dict[str, Path]]:
    from autoeval.data.find_images import find_images
    from autoeval.data.image_folder import ImageFile
    from autoeval.estimation.observation.reference_boxes import load_reference
    from autoeval.monitoring.observing.signals import image_signals
    from autoeval.monitoring.periods import Clock
    from autoeval.monitoring.site_records import RecordStore
    from autoeval.monitoring.watch_sites import watch_sites

    clock, plan = Clock(args.time), _plan(args)
    found = find_images(args.images, args.img_dir)
    load = run_options.named_detector(args, estimator.loading_.get("detector"))
    files = [image for image in found.images if isinstance(image, ImageFile)]
    watched = watch_sites(
        files,
        estimator,
        load() if load else estimator.load_detector(),
        RecordStore(args.work_dir),
        plan,
        clock=clock,
        signals=image_signals,
        categories=site_options.named_categories(args.category),
        site_categories=_of_sites(args),
        batch_size=args.batch_size,
        executor=executor,
        shards=shards,
        load=load,
        reference=load_reference(run_options.named_reference(args)),
    )
    for skipped in found.skipped:
        print(f"note: {skipped}", file=sys.stderr)
    return watched, {image.image_id: image.path for image in files}


def _watch_predictions(args: argparse.Namespace, estimator: AccuracyEstimator) -> Watched:
    from autoeval.monitoring.site_records import RecordStore
    from autoeval.monitoring.watch_sites import watch_predictions

    return watch_predictions(
        args.predictions,
        estimator,
        RecordStore(args.work_dir),
        _plan(args),
        half_size_predictions=args.half_size_predictions,
        reference_predictions=args.reference_predictions,
        images_list=args.images_list,
        categories=site_options.named_categories(args.category),
        site_categories=_of_sites(args),
        names=_words_in(args.names),
        reference_names=_words_in(args.reference_names),
        truncated=not args.complete,
        time_form=args.time,
    )


def _words_in(path: str | None) -> dict[str, str] | None:
    from autoeval.data.predictions.category_words import read_names

    return read_names(Path(path)) if path else None


def _of_sites(args: argparse.Namespace) -> dict[str, dict[str, list[str]]]:
    """Return the categories of single sites."""
    given: dict[str, list[str]] = {}
    for site, category in args.site_category:
        given.setdefault(site, []).append(category)
    return {site: site_options.named_categories(of) or {} for site, of in given.items()}


def _plan(args: argparse.Namespace) -> WatchPlan:
    from autoeval.monitoring.watch_sites import WatchPlan

    return WatchPlan(
        args.by,
        args.depth,
        args.worst,
        args.seed,
        _changes(args),
        args.score_thr,
        dict(site_options.named_pairs(args.site, "--site", "SITE=NAME, such as gate=gate_2025,")),
        args.iou,
        args.alarm_below,
    )


def _changes(args: argparse.Namespace) -> ChangeSettings | None:
    from autoeval.monitoring.changes.change_model import read_change_model
    from autoeval.monitoring.changes.site_changes import Anchor, ChangeSettings
    from autoeval.monitoring.periods import Baseline

    if args.changes is None:
        return None
    model = read_change_model(
        args.changes or None,
        signals=not args.predictions,
        half_size=bool(args.half_size_predictions or not args.predictions),
    )
    if not args.changes and not args.quiet:
        print(f"note: slopes of change of {model.origin}", file=sys.stderr)
    labelled = site_options.named_pairs(
        args.labelled, "--labelled", "SITE=FILE, such as gate=gate.json,"
    )
    anchors = {site: Anchor.read(path) for site, path in labelled}
    baseline = Baseline(args.baseline)
    return ChangeSettings(model, baseline, args.false_alarms, seed=args.seed, anchors=anchors)


def _report(
    args: argparse.Namespace,
    estimator: AccuracyEstimator,
    watched: Watched,
    files: dict[str, Path],
    caught: Sequence[str],
) -> int:
    from autoeval.monitoring.site_records import RecordStore
    from autoeval.report.terminal import written_files
    from autoeval.report.warning_lines import warning_lines
    from autoeval.results.monitoring.new_alarms import json_lines, prometheus_text
    from autoeval.results.monitoring.site_board import Pictures, site_board
    from autoeval.results.monitoring.sites_report import Alarms, run_warnings, sites_report
    from autoeval.runtime.files import write_table, write_text

    pictures: Pictures = {}
    if files:
        from autoeval.results.monitoring.site_pictures import site_pictures  # needs OpenCV

        pictures = site_pictures(watched, RecordStore(args.work_dir), files)
    board = site_board(watched, pictures)
    given = site_options.site_facts(args, estimator)
    candidate = _candidate(args, estimator, watched.table.categories)
    report = sites_report(watched, board, given, candidate)
    written = report.write(args.work_dir)
    rows = watched.table.rows.drop(columns=["digest"])
    written.append(write_table(args.work_dir / "groups.parquet", rows))
    if args.prometheus:
        text = prometheus_text(watched.table.sites, target=watched.target, finished_s=time.time())
        write_text(args.prometheus, text)
        written.append(args.prometheus)
    if args.json_lines:
        print(json_lines(watched.table.rows))
    elif args.quiet:
        lines = [Alarms(watched).headline(), *caught, *warning_lines(run_warnings(watched).lines)]
        print("\n".join(filter(None, lines)), end="\n" if any(lines) else "")
    else:
        print(f"{report.text(verbose=args.verbose)}\n\n{written_files(written)}")
    failed = args.webhook and not _sent(args, watched)
    if args.fail_on_alarm and len(watched.alarms):
        return ALARM
    return int(bool(failed))


def _candidate(
    args: argparse.Namespace, current: AccuracyEstimator, of_sites: SiteCategories
) -> tuple[pd.DataFrame, tuple[str, ...]] | None:
    """Compare another detector with this one at every site, where one is named."""
    from autoeval.api import load_estimator
    from autoeval.monitoring.candidate import (
        CANDIDATE,
        compare_at_sites,
        sites_of_predictions,
        sites_of_records,
    )
    from autoeval.monitoring.site_records import RecordStore

    if not args.against:
        return None
    candidate = load_estimator(args.against)
    categories = site_options.named_categories(args.category)
    lost: tuple[str, ...] = ()
    if args.predictions:
        sites, lost = sites_of_predictions(
            current,
            candidate,
            args.predictions,
            args.against_predictions,
            images_list=args.images_list,
            reference=args.reference_predictions,
            reference_names=_words_in(args.reference_names),
            categories=categories,
            site_categories=of_sites.of_site,
        )
    else:
        stores = RecordStore(args.work_dir), RecordStore(args.work_dir / CANDIDATE)
        sites = sites_of_records(*stores, of_sites)
    table, not_compared = compare_at_sites(
        current, candidate, sites, categories=categories, known=args.against_known
    )
    return table, (*lost, *not_compared)


def _observe_candidate(
    args: argparse.Namespace,
    files: dict[str, Path],
    executor: Executor,
    shards: Shards,
) -> None:
    """Run the other detector on the images that it has not seen yet."""
    from autoeval.api import load_estimator
    from autoeval.data.image_folder import ImageFile
    from autoeval.detectors.detector_spec import DetectorSpec
    from autoeval.estimation.observation.reference_boxes import load_reference
    from autoeval.estimation.pair_table import REFERENCE_AP
    from autoeval.monitoring.candidate import CANDIDATE
    from autoeval.monitoring.periods import Clock
    from autoeval.monitoring.site_records import RecordStore
    from autoeval.monitoring.watch_sites import observe_candidate

    estimator = load_estimator(args.against)
    kept = estimator.loading_.get("detector")
    with_one = REFERENCE_AP in estimator.table_
    observe_candidate(
        [ImageFile(name, path) for name, path in files.items()],
        estimator,
        estimator.load_detector(),
        RecordStore(args.work_dir / CANDIDATE),
        clock=Clock(args.time),
        depth=args.depth,
        batch_size=args.batch_size,
        executor=executor,
        shards=shards,
        load=DetectorSpec.from_dict(kept) if kept else None,
        reference=load_reference(run_options.named_reference(args)) if with_one else None,
    )


def _sent(args: argparse.Namespace, watched: Watched) -> bool:
    """Send the alarms that were not sent before; False where that did not work."""
    from autoeval.results.monitoring.new_alarms import new_alarms, post_json, remember

    alarms = new_alarms(args.work_dir, watched)
    if not alarms:
        return True
    message = {"images": str(args.images or args.predictions), "alarms": alarms}
    try:
        post_json(args.webhook, message)
    except OSError as error:
        print(f"error: {error}; the next run tries again", file=sys.stderr)
        return False
    remember(args.work_dir, watched)
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
