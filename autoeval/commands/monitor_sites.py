"""What `autoeval monitor` does at sites, by its arguments: observe or read, compare."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands import given_words, run_options
from autoeval.errors import InputError
from autoeval.io.wording import listed
from autoeval.runtime.job import Executor

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.monitoring.monitored import Monitored, MonitorSettings

SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet")  # of results files


def watch_images(
    args: argparse.Namespace, estimator: AccuracyEstimator, executor: Executor
) -> tuple[Monitored, dict[str, Path]]:
    """Run the detector on images that it has not seen yet; the path of each by its name, too."""
    from autoeval.estimation.given_boxes import Detector
    from autoeval.io.find_images import find_images
    from autoeval.io.image_folder import ImageFile
    from autoeval.monitoring.monitor import monitor_images
    from autoeval.monitoring.monitor_store import MonitorStore
    from autoeval.monitoring.windows import Clock

    clock, settings = Clock(args.time), _settings(args)
    listed = find_images(args.images, args.img_dir)
    spec = run_options.named_detector(args, estimator.loading_.get("detector"))
    files = [image for image in listed.images if isinstance(image, ImageFile)]
    monitored = monitor_images(
        files,
        estimator,
        Detector(
            spec or estimator.load_detector(),
            reference=run_options.named_reference(args),
            batch_size=args.batch_size,
            executor=executor,
        ),
        MonitorStore(args.work_dir),
        settings,
        clock=clock,
        categories=given_words.named_categories(args.category),
        site_categories=_of_sites(args),
        present=args.present,
    )
    for skipped in listed.skipped:
        print(f"note: {skipped}", file=sys.stderr)
    return monitored, {image.image_id: image.path for image in files}


def watch_predictions_at(args: argparse.Namespace, estimator: AccuracyEstimator) -> Monitored:
    """Read the files of predictions that have changed."""
    from autoeval.estimation.given_boxes import Predictions
    from autoeval.monitoring.monitor import monitor_predictions
    from autoeval.monitoring.monitor_store import MonitorStore

    return monitor_predictions(
        Predictions(
            args.predictions,
            reference=_one_reference(args),
            names=args.names or {},
            complete=args.complete,
            reference_names=args.reference_names or {},
            numbering=args.numbering,
        ),
        estimator,
        MonitorStore(args.work_dir),
        _settings(args),
        images_list=args.images,
        categories=given_words.named_categories(args.category),
        site_categories=_of_sites(args),
        present=args.present,
        time_form=args.time,
    )


def observe_other(
    args: argparse.Namespace,
    files: dict[str, Path],
    executor: Executor,
) -> None:
    """Run the other detector on the images that it has not seen yet."""
    from autoeval.api import load_estimator
    from autoeval.detectors.detector_spec import DetectorSpec
    from autoeval.estimation.given_boxes import Detector
    from autoeval.io.image_folder import ImageFile
    from autoeval.model.features import REFERENCE_AP
    from autoeval.monitoring.candidate import CANDIDATE
    from autoeval.monitoring.monitor import observe_candidate
    from autoeval.monitoring.monitor_store import MonitorStore
    from autoeval.monitoring.windows import Clock

    estimator = load_estimator(args.against)
    kept = estimator.loading_.get("detector")
    with_one = REFERENCE_AP in estimator.table_
    observe_candidate(
        [ImageFile(name, path) for name, path in files.items()],
        estimator,
        Detector(
            DetectorSpec.from_dict(kept) if kept else estimator.load_detector(),
            reference=run_options.named_reference(args) if with_one else None,
            batch_size=args.batch_size,
            executor=executor,
        ),
        MonitorStore(args.work_dir / CANDIDATE),
        clock=Clock(args.time),
        depth=args.depth,
    )


def compare_with_other(
    args: argparse.Namespace, current: AccuracyEstimator
) -> tuple[pd.DataFrame, tuple[str, ...]] | None:
    """Compare another detector with this one at every site, where one is named."""
    from autoeval.api import load_estimator
    from autoeval.monitoring.candidate import (
        CANDIDATE,
        compare_at_sites,
        sites_of_predictions,
        sites_of_records,
    )
    from autoeval.monitoring.monitor_store import MonitorStore
    from autoeval.monitoring.site_windows import SiteCategories

    if not args.against:
        return None
    candidate = load_estimator(args.against)
    categories = given_words.named_categories(args.category)
    of_sites = SiteCategories((), current.words_, categories, _of_sites(args), args.present)
    lost: tuple[str, ...] = ()
    if args.predictions:
        sites, lost = sites_of_predictions(
            current,
            candidate,
            args.predictions,
            args.against_predictions,
            images_list=args.images,
            reference=_one_reference(args),
            reference_names=_words_in(args.reference_names),
            categories=categories,
            site_categories=of_sites.of_site,
            present=args.present,
        )
    else:
        stores = MonitorStore(args.work_dir), MonitorStore(args.work_dir / CANDIDATE)
        sites = sites_of_records(*stores, of_sites)
    table, not_compared = compare_at_sites(
        current, candidate, sites, categories=categories, known=args.against_known
    )
    return table, (*lost, *not_compared)


def _one_reference(args: argparse.Namespace) -> str | None:
    """Return the results of the reference detector; `InputError` for those of several."""
    if not args.reference:
        return None
    if len(args.reference) > 1:
        raise InputError(f"Expected one --reference but got {listed(args.reference)}.")
    return args.reference[0]


def _words_in(path: str | None) -> dict[str, str] | None:
    from autoeval.io.predictions.category_words import read_names

    return read_names(Path(path)) if path else None


def _of_sites(args: argparse.Namespace) -> dict[str, dict[str, list[str]]]:
    """Return the categories of single sites."""
    given: dict[str, list[str]] = {}
    for site, category in args.site_category:
        given.setdefault(site, []).append(category)
    return {
        site: given_words.named_categories(categories) or {} for site, categories in given.items()
    }


def _settings(args: argparse.Namespace) -> MonitorSettings:
    from autoeval.monitoring.monitored import MonitorSettings, labelled_level

    labelled = given_words.named_pairs(
        args.labelled, "--labelled", "SITE=FILE, such as gate=gate.json,"
    )
    return MonitorSettings(
        by=args.by,
        depth=args.depth,
        baseline=args.baseline,
        false_alarms=args.false_alarms,
        alarm_below=args.alarm_below,
        alarm_on_changed=args.alarm_on == "changed",
        keep=args.keep,
        k=args.worst,
        seed=args.seed,
        score_thr=args.score_thr,
        iou=args.iou,
        known=dict(
            given_words.named_pairs(args.site, "--site", "SITE=NAME, such as gate=gate_2025,")
        ),
        labelled={site: labelled_level(path) for site, path in labelled},
    )


def label_commands(args: argparse.Namespace, monitored: Monitored) -> dict[str, str]:
    """Return the command that plans labels of each site with an alarm, where it has one source."""
    folder = Path(args.predictions or "")
    commands = {}
    for site in monitored.alarms:
        words = ["autoeval", "label", "plan", "--estimator", args.estimator]
        if args.predictions:
            files = [
                path for path in (folder / f"{site.name}{end}" for end in SUFFIXES) if path.exists()
            ]
            if not files:
                continue
            words += ["--predictions", files[0]]
        elif (Path(args.images) / site.name).is_dir():
            words += ["--images", Path(args.images) / site.name]
        else:
            continue
        words += ["--work-dir", Path("work_dirs") / f"labels_{site.name.replace('/', '_')}"]
        commands[site.name] = shlex.join(map(str, words))
    return commands
