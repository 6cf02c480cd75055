"""Show the method at work on a rendered road world: no data, no download, a few minutes on a CPU.

Renders ten environments, holds one back, fits an estimator on the other nine, estimates the mAP of
a small vehicle detector on the unlabelled images of the tenth, and compares with the truth there.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.errors import InputError
from autoeval.runtime.progress import progress_bar

if TYPE_CHECKING:
    from autoeval.estimation.observing import Observer
    from autoeval.metasets.task import Task

IMAGES, SAMPLE_SETS, SAMPLE_IMAGES, SEED = 60, 8, 20, 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/demo"), metavar="DIR")
    parser.add_argument("--held-back", default="dusk_city", metavar="NAME", help="environment")
    parser.add_argument("--repeats", type=int, default=2, help="dropout seeds (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Render, score, fit, estimate, compare."""
    from autoeval.data.image_folder import load_image_folder
    from autoeval.demo.roadworld import DETECTOR, ENVIRONMENTS
    from autoeval.detectors import load_detector
    from autoeval.estimation.fitting import fit_task
    from autoeval.estimation.observing import Observer
    from autoeval.estimation.presets import preset
    from autoeval.metasets import MetaSetConfig
    from autoeval.report.sections import written_files
    from autoeval.results.estimate.map_report import map_report
    from autoeval.results.estimate.observed import observe_unlabelled

    if args.held_back not in ENVIRONMENTS:
        raise InputError(f"--held-back is one of {', '.join(ENVIRONMENTS)}, got {args.held_back}.")
    known = [name for name in ENVIRONMENTS if name != args.held_back]
    _render(args.work_dir / "data", list(ENVIRONMENTS))
    task, new_world = (_task(args.work_dir / "data", names) for names in (known, [args.held_back]))
    settings = preset("paper", repeats=args.repeats, seed=SEED)
    observer = Observer(load_detector(DETECTOR), task, settings)
    fit = fit_task(
        observer,
        task.load_seed_sets(),
        meta_set=MetaSetConfig(n_sets=SAMPLE_SETS, n_images=SAMPLE_IMAGES),
        work_dir=args.work_dir,
        methods=["fused", "ac", "bos"],
    )
    files = load_image_folder(args.work_dir / "data" / args.held_back / "images")
    observed = observe_unlabelled(observer, fit.estimator, files)
    report = map_report(
        f"{DETECTOR} on road world", fit.estimator, detector=DETECTOR, fit=fit, observed=observed
    )
    written = [*fit.files, *report.write(args.work_dir)]
    print(f"{report.text()}\n\n{written_files(written)}")
    estimated = observed.estimate.value
    true = _true_map(observer, new_world)
    print(
        f"\nheld back: {args.held_back}, estimated mAP {100 * estimated:.1f}, "
        f"true mAP {100 * true:.1f}, error {100 * abs(estimated - true):.1f} points"
    )
    return 0


def _render(root: Path, names: list[str]) -> None:
    from autoeval.demo.roadworld import write_environment

    with progress_bar(len(names), "rendering environments", unit="environment") as bar:
        for name in names:
            write_environment(root, name, IMAGES, SEED)
            bar.update()


def _task(root: Path, names: list[str]) -> Task:
    from autoeval.demo.roadworld import CATEGORY
    from autoeval.metasets.task import SeedSetFiles, Task

    files = tuple(
        SeedSetFiles(
            name, root / name / "annotations.json", root / name / "images", {CATEGORY: CATEGORY}
        )
        for name in names
    )
    return Task("road world", (CATEGORY,), files)


def _true_map(observer: Observer, task: Task) -> float:
    from autoeval.metasets import SampleSet, own_images

    (seed_set,) = task.load_seed_sets()
    return observer.rows(SampleSet(seed_set, own_images(seed_set)))[0]["mAP"]
