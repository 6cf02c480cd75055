"""The side of ``estimate-map`` that needs no network: predictions of each source and new ones."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from autoeval.commands.predictions_options import files_by_source, files_of


def run_on_predictions(args: argparse.Namespace) -> int:
    """Fit on the sources of a task, estimate the new images where there are any, and tell."""
    from autoeval.estimation.predictions.fit_predictions import fit_sources
    from autoeval.estimation.predictions.new_predictions import ask
    from autoeval.metasets.task import load_task
    from autoeval.report.sections import told
    from autoeval.results.predictions.predictions_report import task_report

    task = load_task(args.task, args.data_root)
    fit = fit_sources(task, files_by_source(args), target=args.target)
    work_dir = args.work_dir or Path("work_dirs") / f"{task.name}_{Path(args.predictions).name}"
    work_dir.mkdir(parents=True, exist_ok=True)
    fit.estimator.save(work_dir / "estimator.parquet")
    asked = None
    if args.images_predictions:
        files = replace(files_of(args), clean=args.images_predictions, half_size=None)
        words = {name: [name] for name in task.categories}
        for word, name in task.detector_mapping.items():
            words[name].append(word)
        asked = ask(fit.estimator, files, images=args.images, categories=words)
    report = task_report(f"{Path(args.predictions).name} on {task.name}", fit, asked)
    written = [work_dir / "estimator.parquet", *report.write(work_dir, args.report)]
    print(told(report, written, as_json=args.json))
    return 0
