"""Measure what labels of a second site tell of a detector that was trained on the first one.

    python -m benchmarks.fine_tuned_join DATA OUT

The detectors are those of `benchmarks/fine_tuned.py` in OUT. Each is fitted on its home, declared
(``trained_here=yes``), and joined (`fit --join`) with a fit on `LABELS` images of another site,
drawn at random: `DRAWS` times another site. All are estimated at the sites of groups other than
those two, by the shipped numbers of `autoeval.model.Away` and a prior without YOLOX, the group of
the home and a quarter of the groups. Prints the errors, in points of average precision.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.errors import InputError
from autoeval.estimation.calibrating import calibrated_rows
from autoeval.estimation.category_scores import labelled_rows
from autoeval.io.coco import read_coco
from autoeval.model import Prior, Scaling
from autoeval.model.calibrated_features import FEATURES
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.pair_table import TRAINED_HERE
from autoeval.model.regression import Regression
from autoeval.model.train_prior import enough
from autoeval.report.tables import to_markdown
from benchmarks.fine_tuned import HOMES, MORE_HOMES, home_categories
from benchmarks.fine_tuned_panel import (
    calibration_without_parent,
    folder_of,
    folds,
    labelled,
    priors,
    read_sets,
)
from benchmarks.panel import common, tabulated, with_held

LABELS, DRAWS = 20, 2


def main() -> None:
    """Print the errors with and without the second site."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("boxes", type=Path, metavar="OUT", help="of benchmarks/fine_tuned.py")
    args = parser.parse_args()
    homes = [home for home in (*HOMES, *MORE_HOMES) if folder_of(args.boxes, home).exists()]
    parts = [row for home in tqdm(homes, "detectors") for row in joined(args, home)]
    found = pd.concat(parts, ignore_index=True).dropna(subset=["estimate"])
    print(
        to_markdown(tabulated(found, ["fit"], "labelled", found["labelled"]).round(1).reset_index())
    )
    by = tabulated(found, ["detector", "fit"], "labelled", found["labelled"])
    print(to_markdown(by.round(1).reset_index()))


def joined(args: argparse.Namespace, home: str) -> Iterator[pd.DataFrame]:
    """Yield the estimates of a detector, without and with labels of another site."""
    known = home_categories(read_coco(args.data / home / "annotations.json"))
    sets = {of.name: of for of in read_sets(args.data, folder_of(args.boxes, home), known, home)}
    own = labelled(sets.pop(Path(home).name))
    at_home, of_home = calibrated_rows([own], prior=calibration_without_parent())
    at_home[TRAINED_HERE] = True
    others = [of for of in sets.values() if of.group != own.group]
    rng = np.random.default_rng(list(home.encode()))
    second = [others[k] for k in rng.permutation(len(others)) if len(others[k].boxes) > LABELS]
    for site in second[:DRAWS]:
        images = np.sort(rng.choice(len(site.boxes), LABELS, replace=False))
        try:
            few = labelled(site.on_images(images))
            away, of_away = calibrated_rows([few], prior=calibration_without_parent())
        except InputError:
            continue  # too few labels on them
        rest = [of for of in others if of.group != site.group]
        both = pd.concat([at_home, away], ignore_index=True)
        mean = ScoreCalibration.mean([of_home, of_away])
        accuracy = float(away["mAP"].mean())
        for name, rows, calibration in (("home", at_home, of_home), ("join", both, mean)):
            requested = pd.concat([with_held(of, labelled_rows(of, calibration)) for of in rest])
            requested = requested[common(requested) & enough(requested)].dropna(subset=["mAP"])
            found = estimated(rows, requested, own.group)
            yield found.assign(fit=name, detector=own.name, labelled=accuracy)


def estimated(rows: pd.DataFrame, requested: pd.DataFrame, group: str) -> pd.DataFrame:
    """Estimate sites by a fit on some rows and priors that have seen neither."""
    parts = []
    for fold, groups in enumerate(folds()):
        own = requested[requested["group"].isin([*groups, *(["coco"] if fold == 0 else [])])]
        if own.empty:
            continue
        scaling: Scaling
        prior: Prior
        _, scaling, prior = priors(group, fold)["mAP"]
        model = Regression(features=FEATURES, scaling=scaling, prior=prior).fit(rows)
        found = [model.predict(own.iloc[[k]])[0] for k in range(len(own))]
        parts.append(
            own[["source", "category"]].assign(
                true=own["mAP"],
                estimate=[of.value for of in found],
                lower=[of.lower for of in found],
                upper=[of.upper for of in found],
            )
        )
    return pd.concat(parts)


if __name__ == "__main__":
    main()
