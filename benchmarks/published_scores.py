"""Published scores of clean passes side by side, on a few images of every site.

    python -m benchmarks.published_scores scores DATA DETECTOR CHECKPOINT OUT.csv
    python -m benchmarks.published_scores table OUT.csv

`scores` runs a detector on at most 16 images of each site of ``configs/tasks/vehicle_22.py`` and
``person_19.py`` under DATA: a pass over the images, over three views and with
perturbed weights; no dropout. The images of ``coco_vehicle`` and ``coco_person`` stand for the
training domain. `table` regresses mAP on each score alone, and leaves out one group in turn.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import ConstantInputWarning, spearmanr
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict
from tqdm import tqdm

from autoeval.detectors import load_detector
from autoeval.detectors.detector import MMDetector
from autoeval.estimation.observation.observing import Observer
from autoeval.io.tasks.task import load_task
from autoeval.report.tables import format_cells, to_markdown
from autoeval.stability.fitting.kept_domain import kept_source_domain
from autoeval.stability.fitting.meta_set import sample_set_jobs
from autoeval.stability.metasets.recipe import own_images
from autoeval.stability.passes.presets import BY_PRODUCTS, light
from autoeval.stability.passes.tally import scored_rows

ROOT = Path(__file__).resolve().parents[1]
TASKS = {"vehicle": "vehicle_22", "person": "person_19"}
MOST = 16  # images of a site
WANTS = (*BY_PRODUCTS, "views", "reweighted", "prototypes")
ALONE = (
    "ac",
    "atc@0.30",
    "box_share@0.30",
    "ps@0.30",
    "es_mean@0.30",
    "contrastive_confidence",
    "view_consistency",
    "energy",
    "fd",
)
SCORES = {
    "ccs": ["ccs"],
    "das_flatness": ["das_flatness"],
    "das_prototypes": ["das_prototypes"],
    "both parts of das": ["das_flatness", "das_prototypes"],
    "pcr": ["pcr_consistency", "pcr_reliability"],
    **{name: [name] for name in ALONE},
    "constant": [],
}


def main() -> None:
    """Run one of the steps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    scores = commands.add_parser("scores")
    scores.add_argument("data", type=Path)
    scores.add_argument("detector")
    scores.add_argument("checkpoint")
    scores.add_argument("out", type=Path)
    commands.add_parser("table").add_argument("out", type=Path)
    args = parser.parse_args()
    if args.command == "scores":
        detector = load_detector(args.detector, checkpoint=args.checkpoint)
        parts = [site_scores(detector, name, args.data, args.out.parent) for name in TASKS]
        pd.concat(parts).to_csv(args.out, index=False)
    else:
        errors = table(pd.read_csv(args.out))
        formats = {name: "{:.2f}" if "ρ" in name else "{:.1f}" for name in errors.columns[1:]}
        print(to_markdown(format_cells(errors, formats)))


def site_scores(detector: MMDetector, category: str, data: Path, folder: Path) -> pd.DataFrame:
    """Return scores and mAP of each site of a category, one row a site."""
    task = load_task(ROOT / f"configs/tasks/{TASKS[category]}.py", data)
    seed_sets = task.load_seed_sets()
    settings = replace(light(), wants=WANTS)
    domain = next(of for of in seed_sets if of.name == f"coco_{category}")
    observer = Observer(detector, task, settings)
    settings = replace(settings, domain=kept_source_domain(observer, domain, folder / "domains"))
    observer = Observer(detector, task, settings)
    recipes = [own_images(of, n_images=MOST) for of in seed_sets]
    rows = [
        {"site": job.columns["source"], **scored_rows(observer, job.payload)[0]}
        for job in tqdm(sample_set_jobs(observer, seed_sets, recipes), category)
    ]
    return pd.DataFrame(rows).assign(
        category=category, group=lambda of: of["site"].map(task.groups)
    )


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate MAE in points, each group counting once, and Spearman's ρ, for each category."""
    cells = []
    for name, columns in SCORES.items():
        cell: dict[str, object] = {"score": name}
        for category in TASKS:
            own = rows[rows["category"] == category].dropna(subset=["mAP"])
            x, y = own[columns].to_numpy(float), own["mAP"].to_numpy()
            model = LinearRegression() if columns else DummyRegressor()
            x = np.where(np.isnan(x), np.nanmin(x, axis=0), x) if columns else np.zeros((len(y), 1))
            predicted = cross_val_predict(model, x, y, groups=own["group"], cv=LeaveOneGroupOut())
            errors = 100 * np.abs(np.clip(predicted, 0, 1) - y)
            cell[f"{category}s"] = pd.Series(errors).groupby(own["group"].to_numpy()).mean().mean()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstantInputWarning)
                cell[f"ρ, {category}s"] = spearmanr(predicted, y).statistic
        cells.append(cell)
    return pd.DataFrame(cells)


if __name__ == "__main__":
    main()
