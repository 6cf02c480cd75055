"""Fit how a detector that was trained on one site does elsewhere, and measure it.

    python -m benchmarks.fine_tuned_prior prior
    python -m benchmarks.fine_tuned_prior evaluate

`prior` fits `autoeval.model.Away` on what ``benchmarks/fine_tuned_panel.py`` measured and
writes ``configs/trained_here_prior.json``. `evaluate` fits it on the other detectors and prints the
errors of each, with ``trained_here=yes`` and without; precision is left as it is. Whether a measure
has a fall at all is chosen by the errors on detectors left out, and so is by how much the errors
exceed the stated ones.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.stats import norm
from scipy.stats import t as student
from tqdm import tqdm

from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.pair_table import CATEGORY, features_at
from autoeval.model import Away, Mixture, predict_intervals
from autoeval.model.calibrated_features import FEATURES
from autoeval.report.tables import to_markdown
from autoeval.targets import AP_TARGETS, MEASURES, OperatingPoint
from benchmarks.fine_tuned_panel import TABLE, THRESHOLDS, folds, priors
from benchmarks.panel import ROOT, enough, tabulated

PRIOR = ROOT / "configs/trained_here_prior.json"
TARGETS = (*AP_TARGETS, *(f"{of}@{at:g}" for of in MEASURES for at in THRESHOLDS))
DOF, LEVEL = 8, 0.9
START = (1.5, -3.5, -1.0)  # fall, and the logarithms of the two parts of the standard deviation
PULL = (1.5, 0.7, 0.7)  # standard deviations around it
WIDEST = 1.6
NOT_CORRECTED = "precision"  # corrected, its intervals are too wide for an estimate


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("prior")
    commands.add_parser("evaluate")
    return parser.parse_args()


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    rows = predictions(pd.read_csv(TABLE))
    groups = rows.groupby("measure", sort=False)
    if args.command == "prior":
        fitted = {name: rounded(fit(own)) for name, own in groups if name != NOT_CORRECTED}
        PRIOR.write_text(json.dumps(fitted, indent=1) + "\n", encoding="utf-8")
        return
    found = pd.concat([left_out(own) for _, own in tqdm(groups, "measures")])
    found["declared"] = "yes"
    every = pd.concat([found, with_intervals(rows, None).assign(declared="no")])
    shown = every[every["target"].isin(["mAP", *(of for of in TARGETS if "@" in of)])]
    shown = shown.dropna(subset=["estimate"])
    for by in (["target", "declared"], ["target", "detector", "declared"]):
        table = tabulated(shown, by, "carried over", shown["carried"]).round(1).reset_index()
        print(to_markdown(table) + "\n")


def predictions(table: pd.DataFrame, targets: Sequence[str] = TARGETS) -> pd.DataFrame:
    """Predict every site of each detector as if nothing were known of its training.

    Columns are ``mean`` and ``std`` of the prediction, ``true``, ``home`` (mean accuracy at home),
    ``carried``, ``measure``, ``target``, ``detector``, ``group``. By priors that have seen neither
    the parent nor the groups of home and site.
    """
    found = []
    for name, own in tqdm(table.groupby("detector", sort=False), "detectors"):
        home, others = own[own["kind"] == CATEGORY], own[own["kind"] != CATEGORY]
        others = others[enough(others)]
        for fold, groups in enumerate(folds()):
            asked = others[others["group"].isin([*groups, *(["coco"] if fold == 0 else [])])]
            of_fold = priors(home["group"].iloc[0], fold) if len(asked) else {}
            for target in targets if len(asked) else ():
                _, scaling, prior = of_fold[target]
                features = features_at(target) if OperatingPoint.of(target) else FEATURES
                model = BayesianRegression(
                    target=target, features=features, scaling=scaling, prior=prior
                ).fit(home)
                at_home = home.set_index("category")[target]
                for k in np.flatnonzero(asked[target].notna()).tolist():
                    row = asked.iloc[[k]]
                    predicted = model.distribution(row)
                    category = str(row["category"].iloc[0])
                    usual = category in ("person", "vehicle")
                    found.append(
                        {
                            "measure": target.partition("@")[0],
                            "target": target,
                            "detector": name,
                            "category_group": category if usual else "other",
                            "source": row["source"].iloc[0],
                            "mean": float(predicted.mean[0]),
                            "std": float(predicted.std[0]),
                            "true": float(row[target].iloc[0]),
                            "home": float(at_home.mean()),
                            "carried": float(at_home.get(category, at_home.mean())),
                        }
                    )
    return pd.DataFrame(found)


def fit(rows: pd.DataFrame) -> Away:
    """Fit by likelihood, each detector alike, with the width that detectors left out ask for."""
    fall = chosen_fall(rows)
    return replace_width(likeliest(rows, fall), widening(rows, fall))


def chosen_fall(rows: pd.DataFrame) -> bool:
    """Return whether the errors on detectors left out are smaller with a fall."""
    errors = []
    for fall in (True, False):
        parts = [with_intervals(own, likeliest(others, fall)) for others, own in without_each(rows)]
        every = pd.concat(parts)
        own = (every["estimate"] - every["true"]).abs().groupby(every["detector"]).mean()
        errors.append(float(own.mean()))
    return errors[0] < errors[1]


def without_each(rows: pd.DataFrame) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Return the rows of other detectors and those of each detector."""
    return [(rows[rows["detector"] != name], own) for name, own in rows.groupby("detector")]


def likeliest(rows: pd.DataFrame, fall: bool) -> Away:
    """Fit the fall and the standard deviation, each detector alike."""
    sizes = rows.groupby("detector")["true"].transform("size").to_numpy()
    weights = len(rows) / rows["detector"].nunique() / sizes
    mean, home, y = (rows[name].to_numpy() for name in ("mean", "home", "true"))

    def loss(values: np.ndarray) -> float:
        away = as_away(values, fall)
        value = np.exp(-away.fall * home) * np.maximum(mean, 0)
        std = away.least_std + away.std_share * value
        errors = student.logpdf((y - np.clip(value, 0, 1)) / std, DOF) - np.log(std)
        pull = np.sum(((values - START) / PULL) ** 2)
        return float(0.5 * pull - weights @ errors)

    return as_away(minimize(loss, START, method="Nelder-Mead").x, fall)


def as_away(values: Sequence[float] | np.ndarray, fall: bool) -> Away:
    """Read the values that are optimised."""
    return Away(max(float(values[0]), 0.0) * fall, *np.exp(values[1:]).tolist())


def widening(rows: pd.DataFrame, fall: bool) -> float:
    """Return what the errors on detectors left out exceed the stated ones by, at the level."""
    z, shares = [], []
    for others, own in without_each(rows):
        predicted = away_from_home(own, likeliest(others, fall))
        z.append(np.abs(own["true"] - np.clip(predicted.mean, 0, 1)) / predicted.std)
        shares.append(np.full(len(own), 1 / len(own)))
    every = np.concatenate(z)
    order = np.argsort(every)
    total = np.cumsum(np.concatenate(shares)[order])
    at = np.searchsorted(total, LEVEL * total[-1])
    return float(np.clip(every[order][at] / norm.ppf((1 + LEVEL) / 2), 1.0, WIDEST))


def replace_width(away: Away, factor: float) -> Away:
    """Multiply the standard deviation."""
    return replace(away, least_std=factor * away.least_std, std_share=factor * away.std_share)


def away_from_home(rows: pd.DataFrame, away: Away | None) -> Mixture:
    """Correct the predictions of rows, or leave them as they are."""
    mean, std, home = (rows[name].to_numpy() for name in ("mean", "std", "home"))
    predicted = Mixture(np.ones(1), mean[None], std[None])
    return predicted if away is None else away.predict(predicted, home)


def with_intervals(rows: pd.DataFrame, away: Away | None) -> pd.DataFrame:
    """Add ``estimate``, ``lower`` and ``upper``."""
    found = predict_intervals(away_from_home(rows, away), LEVEL)
    return rows.assign(
        estimate=[of.value for of in found],
        lower=[of.lower for of in found],
        upper=[of.upper for of in found],
    )


def left_out(rows: pd.DataFrame) -> pd.DataFrame:
    """Estimate the sites of each detector by what was fitted on the others."""
    if (rows["measure"] == NOT_CORRECTED).all():
        return with_intervals(rows, None)
    return pd.concat([with_intervals(own, fit(others)) for others, own in without_each(rows)])


def rounded(away: Away) -> dict[str, float]:
    """Return plain values with four digits after the point."""
    return {name: round(value, 4) for name, value in asdict(away).items()}


if __name__ == "__main__":
    main()
