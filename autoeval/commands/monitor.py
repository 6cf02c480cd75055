"""Watch many places: which is worst, and which has changed, from unlabelled images of each.

Images that an earlier run has observed are not observed again, so the same command from cron goes
on where the last one ended. Status 3 says with --fail-on-alarm that a place has changed, for
the worse or not known to be.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands.detector_options import add_detector_options, load_named_detector
from autoeval.commands.estimate import named_categories
from autoeval.commands.execution_options import add_execution_options, launched, make_executor
from autoeval.commands.remembered_detector import recall_detector
from autoeval.errors import InputError
from autoeval.runtime.shards import Shards

if TYPE_CHECKING:
    from autoeval.monitoring.changes.anchor import Anchor
    from autoeval.monitoring.changes.place_changes import ChangeSettings
    from autoeval.monitoring.watched import Watched

ALARM = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--estimator", required=True, metavar="FILE", help="estimator.parquet of estimate-map"
    )
    _add_places(parser)
    _add_changes(parser)
    _add_outputs(parser)
    add_detector_options(parser)
    parser.add_argument("--batch-size", type=int, default=4, help="changes no number")
    add_execution_options(parser)


def run(args: argparse.Namespace) -> int:
    """Observe what is new, tell how all places stand."""
    if args.changes is None and (args.fail_on_alarm or args.webhook):
        raise InputError("--fail-on-alarm and --webhook tell of changes: they need --changes.")
    with launched(args) as shards, _quietly(args.quiet) as complaints:
        watched, files = _watch(args, shards)
    if watched is None:
        return 0
    return _tell(args, watched, files, complaints)


def _add_places(parser: argparse.ArgumentParser) -> None:
    places = parser.add_argument_group("places")
    places.add_argument(
        "--images",
        required=True,
        metavar="ROOT",
        help="folder with a folder for each place, COCO JSON, pattern or list of paths",
    )
    places.add_argument("--img-dir", metavar="DIR", help="where the files of that COCO JSON lie")
    places.add_argument(
        "--depth",
        type=int,
        metavar="N",
        help="folders that name a place, such as 1 for camera/2026/03/02/ (default: all)",
    )
    places.add_argument(
        "--category",
        action="append",
        metavar="NAME[=WORD,...]",
        help="a category to expect everywhere, with the detector's words for it; may be given "
        "several times (default: those of the estimator's task)",
    )
    places.add_argument(
        "--by",
        default="folder",
        metavar="HOW",
        help="rows also for each day, hour or every:200 images of a place (default: %(default)s)",
    )
    places.add_argument(
        "--time",
        default="auto",
        metavar="FROM",
        help="exif, file, or a form of the time in file names such as %%Y%%m%%d_%%H%%M%%S "
        "(default: EXIF where there is one, else the file's time)",
    )
    places.add_argument(
        "--worst", type=int, default=3, metavar="K", help="how many are asked for (%(default)s)"
    )
    places.add_argument("--seed", type=int, default=0, help="of every draw (%(default)s)")


def _add_changes(parser: argparse.ArgumentParser) -> None:
    changes = parser.add_argument_group("changes, each place against its own baseline")
    changes.add_argument(
        "--changes",
        nargs="?",
        const="",
        metavar="FILE",
        help="tell changes, by the slopes that fit-change wrote; without FILE by shipped ones",
    )
    changes.add_argument(
        "--labelled",
        nargs="+",
        default=(),
        metavar="PLACE=FILE",
        help="what label estimate --json said of a place's baseline: its level, not an estimate",
    )
    changes.add_argument(
        "--baseline",
        default="7d",
        metavar="WHAT",
        help="the first 7d or 200 images of each place, or all before 2026-03-01 (%(default)s)",
    )
    changes.add_argument(
        "--false-alarms",
        type=float,
        default=0.05,
        metavar="P",
        help="probability of a false alarm at a place, however long it is watched (%(default)s)",
    )


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("output")
    out.add_argument(
        "--work-dir",
        type=Path,
        default=Path("work_dirs/monitor"),
        metavar="DIR",
        help="what was observed, the report and its tables (%(default)s)",
    )
    out.add_argument("--report", type=Path, metavar="FILE", help="default: report.html there")
    out.add_argument("--json-lines", action="store_true", help="print a line of JSON for each row")
    out.add_argument(
        "--prometheus", type=Path, metavar="FILE", help="write gauges for its textfile collector"
    )
    out.add_argument("--fail-on-alarm", action="store_true", help=f"end with status {ALARM} then")
    out.add_argument("--webhook", metavar="URL", help="send new alarms there as JSON (POST)")
    out.add_argument("--quiet", action="store_true", help="print alarms and problems alone")


def _watch(args: argparse.Namespace, shards: Shards) -> tuple[Watched | None, dict[str, Path]]:
    from autoeval.data.find_images import find_images
    from autoeval.data.image_folder import ImageFile
    from autoeval.estimation.estimator import MapEstimator
    from autoeval.monitoring.observing.signals import image_signals
    from autoeval.monitoring.records.record_store import RecordStore
    from autoeval.monitoring.times.clock import Clock
    from autoeval.monitoring.watch_places import WatchPlan, watch_places

    executor, clock = make_executor(args), Clock(args.time)
    plan = WatchPlan(args.by, args.depth, args.worst, args.seed, _changes(args))
    estimator = MapEstimator.load(args.estimator)
    found = find_images(args.images, args.img_dir)
    options = {**vars(args), **recall_detector(Path(args.estimator), args)}
    load = partial(load_named_detector, argparse.Namespace(**options))
    files = [image for image in found.images if isinstance(image, ImageFile)]
    watched = watch_places(
        files,
        estimator,
        load(),
        RecordStore(args.work_dir),
        plan,
        clock=clock,
        signals=image_signals,
        categories=named_categories(args.category),
        batch_size=args.batch_size,
        executor=executor,
        shards=shards,
        load=load,
    )
    for skipped in found.skipped:
        print(f"note: {skipped}", file=sys.stderr)
    return watched, {image.image_id: image.path for image in files}


def _changes(args: argparse.Namespace) -> ChangeSettings | None:
    from autoeval.monitoring.changes.change_file import read_change_model
    from autoeval.monitoring.changes.place_changes import ChangeSettings
    from autoeval.monitoring.times.baseline import Baseline

    if args.changes is None:
        return None
    model = read_change_model(args.changes or None)
    if not args.changes and not args.quiet:
        print(f"note: slopes of change of {model.origin}", file=sys.stderr)
    return ChangeSettings(
        model,
        Baseline(args.baseline),
        args.false_alarms,
        seed=args.seed,
        anchors=dict(map(_anchor, args.labelled)),
    )


def _anchor(text: str) -> tuple[str, Anchor]:
    from autoeval.monitoring.changes.anchor import Anchor

    place, equals, path = text.partition("=")
    if not equals:
        raise InputError(
            f"Expected --labelled PLACE=FILE, such as gate=gate.json, but got {text!r}."
        )
    return place, Anchor.read(path)


def _tell(
    args: argparse.Namespace, watched: Watched, files: dict[str, Path], complaints: Sequence[str]
) -> int:
    from autoeval.monitoring.records.record_store import RecordStore
    from autoeval.report.sections import written_files
    from autoeval.results.monitoring.place_board import place_board
    from autoeval.results.monitoring.place_pictures import PlacePictures
    from autoeval.results.monitoring.places_report import Alarms, Strange, places_report
    from autoeval.results.monitoring.plain_rows import json_lines
    from autoeval.results.monitoring.prometheus import prometheus_text
    from autoeval.runtime.files import write_text
    from autoeval.runtime.writers import write_table

    pictures = PlacePictures(watched, RecordStore(args.work_dir), files)
    report = places_report(watched, place_board(watched, pictures))
    written = report.write(args.work_dir, args.report)
    rows = watched.table.rows.drop(columns=["digest"])
    written.append(write_table(args.work_dir / "groups.parquet", rows))
    if args.prometheus:
        text = prometheus_text(watched.table.places, target=watched.target, finished_s=time.time())
        write_text(args.prometheus, text)
        written.append(args.prometheus)
    if args.json_lines:
        print(json_lines(watched.table.rows))
    elif args.quiet:
        loud = (Alarms(watched).text(), *complaints, Strange(watched.problems).text())
        print("\n".join(filter(None, loud)), end="\n" if any(loud) else "")
    else:
        print(f"{report.text()}\n\n{written_files(written)}")
    failed = args.webhook and not _sent(args, watched)
    if args.fail_on_alarm and len(watched.alarms):
        return ALARM
    return int(bool(failed))


def _sent(args: argparse.Namespace, watched: Watched) -> bool:
    """Send the alarms that were not sent before; False where that did not work."""
    from autoeval.results.monitoring.new_alarms import NewAlarms
    from autoeval.results.monitoring.webhook import post_json

    news = NewAlarms(args.work_dir, watched)
    if not news.rows:
        return True
    try:
        post_json(args.webhook, {"images": str(args.images), "alarms": news.rows})
    except OSError as error:
        print(f"error: {error}; the next run tries again", file=sys.stderr)
        return False
    news.remember()
    return True


@contextlib.contextmanager
def _quietly(quiet: bool) -> Iterator[list[str]]:
    """Keep progress to itself, and collect warnings, where asked to be quiet."""
    complaints: list[str] = []
    if not quiet:
        yield complaints
        return
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("always", UserWarning)
        yield complaints
    complaints += [f"caution: {w.message}" for w in caught if w.category is UserWarning]
