"""Make the tables of the paper on box stability with its own data sets, printed figures beside.

Partial data gives partial tables, marked. Needs no converter: the sets are read as published.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands.detector_options import add_detector_options, load_named_detector
from autoeval.commands.execution_options import add_execution_options, launched, make_executor
from autoeval.commands.meta_set_options import (
    add_pass_options,
    add_size_options,
    make_observer,
)
from autoeval.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.estimation.observing import Observer
    from autoeval.metasets.config import MetaSetConfig
    from autoeval.results.reproduce.at_hand import AtHand
    from autoeval.results.reproduce.printed import PrintedTable

FEWEST, TIMED_IMAGES = 3, 4
REFERENCE = "coco"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--table", nargs="+", default=["1"], metavar="N", help="1, 2, 3, 4 (default: 1)"
    )
    data = parser.add_argument_group("data")
    data.add_argument("--data-root", metavar="DIR", help="folder with the data sets")
    data.add_argument(
        "--max-images", type=int, metavar="N", help="of each source, at equal distances"
    )
    data.add_argument("--metaset", metavar="FILE", help="default: as configs/metasets/mild.py")
    add_size_options(data)
    add_detector_options(parser)
    parser.add_argument(
        "--checkpoints", type=Path, metavar="DIR", help="weights as ALIAS.pth, for table 4"
    )
    add_pass_options(parser)
    add_execution_options(parser)
    parser.add_argument("--dry-run", action="store_true", help="tell data and cost, and stop")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Tell what is there and what it costs; run what is missing; print the tables."""
    from autoeval.metasets import load_metaset_config, load_task
    from autoeval.report.sections import Report, Section, written_files
    from autoeval.results.reproduce.at_hand import data_at_hand
    from autoeval.results.reproduce.cost import Cost, images_to_observe
    from autoeval.results.reproduce.printed import load_printed
    from autoeval.results.reproduce.side_by_side import SideBySide

    printed = load_printed("bos", args.table)
    meta_set = load_metaset_config(args.metaset, n_sets=args.n_sets, n_images=args.n_images)
    tasks = {
        table.task: load_task(f"configs/tasks/{table.task}.py", args.data_root)
        for table in printed.tables
    }
    data = {
        name: data_at_hand(task, printed.downloads, max_images=args.max_images)
        for name, task in tasks.items()
    }
    for at_hand in data.values():
        print(at_hand.text(), file=sys.stderr)
    work_dir = args.work_dir or Path("work_dirs/reproduce_bos")
    runs = _observers(args, printed.tables, data)
    names = {key: f"{_stand_in(args) or key[0]} on {key[1]}" for key in runs}
    sizes = {names[key]: images_to_observe(data[key[1]].seed_sets, meta_set) for key in runs}
    rates = {names[key]: _rate(runs[key], data[key[1]]) for key in runs}
    cost = Cost(sizes, args.repeats, rates)
    print(cost.text(), file=sys.stderr)
    scored: dict[tuple[str, str], pd.DataFrame] = {}
    if not args.dry_run:
        with launched(args):
            for key, observer in runs.items():
                scored[key] = _score(args, observer, key, data[key[1]], meta_set, work_dir)
    sections: list[Section] = [
        SideBySide(
            table,
            {detector: t for (detector, task), t in scored.items() if task == table.task},
            len(tasks[table.task].seed_sets),
            _stand_in(args),
        ).section()
        for table in printed.tables
    ]
    report = Report("Box stability, printed and own", [*sections, cost, *data.values()])
    written = report.write(work_dir)
    if args.json:
        print(json.dumps(report.to_dict(), indent=2))
    else:
        print(f"{report.text()}\n\n{written_files(written)}")
    return 0


def _observers(
    args: argparse.Namespace, tables: tuple[PrintedTable, ...], data: dict[str, AtHand]
) -> dict[tuple[str, str], Observer]:
    """Load each detector for the tasks that have enough data, telling which cannot be."""
    found: dict[tuple[str, str], Observer] = {}
    for detector, name in dict.fromkeys((d, t.task) for t in tables for d in t.detectors):
        at_hand = data[name]
        if len(at_hand.seed_sets) < FEWEST:
            print(f"note: {name}: fewer than {FEWEST} sources, so no table", file=sys.stderr)
            continue
        try:
            found[detector, name] = _observer(_options(args, detector), at_hand)
        except InputError as error:
            print(f"note: {detector} on {name} is left out: {error}", file=sys.stderr)
    return found


def _stand_in(args: argparse.Namespace) -> str:
    """Return the detector that was asked for in place of the tables' own; empty for none."""
    return args.detector or (Path(args.config).stem if args.config else "")


def _observer(args: argparse.Namespace, at_hand: AtHand) -> Observer:
    """Load the detector, with COCO as its training domain where COCO is there and serves."""
    detector, at_coco = load_named_detector(args), copy(args)
    if args.reference is None and any(s.name == REFERENCE for s in at_hand.seed_sets):
        at_coco.reference = REFERENCE
    try:
        return make_observer(at_coco, detector, at_hand.task)
    except InputError as error:
        if args.reference:
            raise
        print(f"note: no Fréchet distance: {error}", file=sys.stderr)
        return make_observer(args, detector, at_hand.task)


def _options(args: argparse.Namespace, detector: str) -> argparse.Namespace:
    """Return the options of one detector: the one given, or the table's own."""
    own = copy(args)
    if not (args.detector or args.config):
        own.detector = detector
    weights = args.checkpoints / f"{detector}.pth" if args.checkpoints else None
    if own.checkpoint is None and weights is not None and weights.is_file():
        own.checkpoint = str(weights)
    return own


def _rate(observer: Observer, at_hand: AtHand) -> float:
    """Return images a second, on a few images after a first one."""
    from autoeval.metasets import SampleSet, own_images

    samples = SampleSet(at_hand.seed_sets[0], own_images(at_hand.seed_sets[0]))
    numbers = range(min(len(samples), 1 + TIMED_IMAGES))
    list(observer.each(samples, numbers[:1]))
    start = time.perf_counter()
    n = len(list(observer.each(samples, numbers[1:])))
    return n / (time.perf_counter() - start) if n else math.nan


def _score(
    args: argparse.Namespace,
    observer: Observer,
    key: tuple[str, str],
    at_hand: AtHand,
    meta_set: MetaSetConfig,
    work_dir: Path,
) -> pd.DataFrame:
    from autoeval.estimation.fitting import fit_task

    folder = work_dir / f"{_stand_in(args) or key[0]}_{key[1]}"
    fit = fit_task(
        observer,
        at_hand.seed_sets,
        meta_set=meta_set,
        work_dir=folder,
        methods=["bos"],
        executor=make_executor(args),
        load=partial(load_named_detector, _options(args, key[0])),
    )
    for problem in fit.problems:
        print(f"note: {problem}", file=sys.stderr)
    return fit.table
