"""What `autoeval monitor` does at sites, by its arguments: observe or read, compare."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands import given_words, run_options
from autoeval.runtime.job import Executor
from autoeval.runtime.shards import Shards

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.monitoring.changes.site_changes import ChangeSettings
    from autoeval.monitoring.site_categories import SiteCategories
    from autoeval.monitoring.watch_plan import WatchPlan
    from autoeval.monitoring.watched import Watched


def watch_images(
    args: argparse.Namespace, estimator: AccuracyEstimator, executor: Executor, shards: Shards
) -> tuple[Watched | None, dict[str, Path]]:
    """Run the detector on images that it has not seen yet; the path of each by its name, too."""
    from autoeval.estimation.given_boxes import Detector
    from autoeval.io.find_images import find_images
    from autoeval.io.image_folder import ImageFile
    from autoeval.monitoring.observing.signals import image_signals
    from autoeval.monitoring.periods import Clock
    from autoeval.monitoring.site_records import RecordStore
    from autoeval.monitoring.watch_sites import watch_sites

    clock, plan = Clock(args.time), _plan(args)
    listed = find_images(args.images, args.img_dir)
    spec = run_options.named_detector(args, estimator.loading_.get("detector"))
    files = [image for image in listed.images if isinstance(image, ImageFile)]
    watched = watch_sites(
        files,
        estimator,
        Detector(
            spec or estimator.load_detector(),
            reference=run_options.named_reference(args),
            batch_size=args.batch_size,
            executor=executor,
        ),
        RecordStore(args.work_dir),
        plan,
        clock=clock,
        signals=image_signals,
        categories=given_words.named_categories(args.category),
        site_categories=_of_sites(args),
        present=args.present,
        shards=shards,
    )
    for skipped in listed.skipped:
        print(f"note: {skipped}", file=sys.stderr)
    return watched, {image.image_id: image.path for image in files}


def watch_predictions_at(args: argparse.Namespace, estimator: AccuracyEstimator) -> Watched:
    """Read the files of predictions that have changed."""
    from autoeval.estimation.given_boxes import Predictions
    from autoeval.monitoring.site_records import RecordStore
    from autoeval.monitoring.watch_sites import watch_predictions

    return watch_predictions(
        Predictions(
            args.predictions,
            args.half_size_predictions,
            args.reference_predictions,
            args.names or {},
            complete=args.complete,
            reference_names=args.reference_names or {},
            numbering=args.numbering,
        ),
        estimator,
        RecordStore(args.work_dir),
        _plan(args),
        images_list=args.images_list,
        categories=given_words.named_categories(args.category),
        site_categories=_of_sites(args),
        present=args.present,
        time_form=args.time,
    )


def observe_other(
    args: argparse.Namespace,
    files: dict[str, Path],
    executor: Executor,
    shards: Shards,
) -> None:
    """Run the other detector on the images that it has not seen yet."""
    from autoeval.api import load_estimator
    from autoeval.detectors.detector_spec import DetectorSpec
    from autoeval.estimation.given_boxes import Detector
    from autoeval.io.image_folder import ImageFile
    from autoeval.model.reference_features import REFERENCE_AP
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
        Detector(
            DetectorSpec.from_dict(kept) if kept else estimator.load_detector(),
            reference=run_options.named_reference(args) if with_one else None,
            batch_size=args.batch_size,
            executor=executor,
        ),
        RecordStore(args.work_dir / CANDIDATE),
        clock=Clock(args.time),
        depth=args.depth,
        shards=shards,
    )


def compare_with_other(
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
    categories = given_words.named_categories(args.category)
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
            present=args.present,
        )
    else:
        stores = RecordStore(args.work_dir), RecordStore(args.work_dir / CANDIDATE)
        sites = sites_of_records(*stores, of_sites)
    table, not_compared = compare_at_sites(
        current, candidate, sites, categories=categories, known=args.against_known
    )
    return table, (*lost, *not_compared)


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


def _plan(args: argparse.Namespace) -> WatchPlan:
    from autoeval.monitoring.watch_plan import WatchPlan

    return WatchPlan(
        args.by,
        args.depth,
        args.worst,
        args.seed,
        _changes(args),
        args.score_thr,
        dict(given_words.named_pairs(args.site, "--site", "SITE=NAME, such as gate=gate_2025,")),
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
    labelled = given_words.named_pairs(
        args.labelled, "--labelled", "SITE=FILE, such as gate=gate.json,"
    )
    anchors = {site: Anchor.read(path) for site, path in labelled}
    baseline = Baseline(args.baseline)
    return ChangeSettings(model, baseline, args.false_alarms, seed=args.seed, anchors=anchors)
