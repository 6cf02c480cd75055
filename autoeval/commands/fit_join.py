"""`fit --join`: fits of one detector as one, without running it again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.report.sections import Report

ESTIMATOR = "estimator.parquet"
INSTEAD = ("labels", "img_dir", "family", "task", "detector", "config", "predictions")


def run_join(args: argparse.Namespace) -> int:
    """Join the fits of some work dirs, tell how far off that is, and save it."""
    from autoeval.estimation.artefact import read_artefact
    from autoeval.report.sections import told

    given = [name for name in INSTEAD if getattr(args, name)]
    if given:
        option = f"--{given[0].replace('_', '-')}"
        raise InputError(f"{option} is for a fit, and --join takes what was fitted: leave it out.")
    paths = [_file(Path(path)) for path in args.join]
    if len(set(paths)) < 2:
        raise InputError("--join takes two work dirs or more, of fits of one detector.")
    kinds = ["predictions" in read_artefact(path)[1]["context"] for path in paths]
    if len(set(kinds)) > 1:
        raise InputError("Fits on predictions and fits with a detector are not joined.")
    args.work_dir.mkdir(parents=True, exist_ok=True)
    report = (_join_predictions if kinds[0] else _join_detector)(paths, args)
    written = [args.work_dir / ESTIMATOR, args.work_dir / "scores.parquet"]
    written += report.write(args.work_dir)
    print(told(report, written, as_json=args.json))
    return 0


def _file(path: Path) -> Path:
    return (path / ESTIMATOR if path.is_dir() else path).resolve()


def _join_detector(paths: list[Path], args: argparse.Namespace) -> Report:
    from autoeval.commands.remembered_detector import NOTE
    from autoeval.estimation.artefact import read_artefact, write_artefact
    from autoeval.estimation.estimator import MapEstimator
    from autoeval.estimation.joining import join_fits
    from autoeval.results.estimate.pairs_report import pairs_report
    from autoeval.runtime.writers import write_table

    fits = {str(path): MapEstimator.load(path) for path in paths}
    joined, file = join_fits(fits, target=args.target, level=args.level), args.work_dir / ESTIMATOR
    joined.save(file)
    table, metadata = read_artefact(file)
    write_artefact(file, table, {**metadata, NOTE: read_artefact(paths[0])[1].get(NOTE)})
    write_table(args.work_dir / "scores.parquet", table)
    return pairs_report(_title(paths), joined)


def _join_predictions(paths: list[Path], args: argparse.Namespace) -> Report:
    from autoeval.estimation.predictions.join_predictions import join_predictions
    from autoeval.estimation.predictions.prediction_estimator import PredictionsEstimator
    from autoeval.results.predictions.predictions_report import fit_report
    from autoeval.runtime.writers import write_table

    fits = {str(path): PredictionsEstimator.load(path) for path in paths}
    fit = join_predictions(fits, target=args.target, level=args.level)
    fit.estimator.save(args.work_dir / ESTIMATOR)
    write_table(args.work_dir / "scores.parquet", fit.estimator.pairs_.rows_)
    return fit_report(_title(paths), fit)


def _title(paths: list[Path]) -> str:
    return f"Joined: {', '.join(path.parent.name for path in paths)}"
