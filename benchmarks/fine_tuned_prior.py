"""Fit how a detector that was trained on one site does elsewhere, and measure it.

    python -m benchmarks.fine_tuned_prior predict FILE
    python -m benchmarks.fine_tuned_prior prior FILE
    python -m benchmarks.fine_tuned_prior evaluate FILE

`predict` predicts every site that ``benchmarks/fine_tuned_panel.py`` measured as if nothing were
known of the training, and writes FILE, a CSV. `prior` fits `autoeval.model.Away` on it, each
measure for itself, and writes ``configs/trained_here_prior.json``. `evaluate` fits it without each
detector, others of the same group of homes, and a quarter of the groups of sites, and prints the
errors on these, with ``trained_here=yes`` and without: over all and of each detector.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, ndtr
from tqdm import tqdm

from autoeval.comparison.train_differences import TUNED
from autoeval.io.config_file import shipped_config
from autoeval.model import Away, Mixture, Prior, Scaling, predict_intervals
from autoeval.model.calibrated_features import FEATURES
from autoeval.model.pair_table import CATEGORY, features_at
from autoeval.model.reference_features import REFERENCE_FEATURES
from autoeval.model.reference_prior import shipped_reference_prior
from autoeval.model.regression import Regression
from autoeval.model.train_prior import enough
from autoeval.report.tables import to_markdown
from autoeval.targets import AP_TARGETS, MEASURES, OperatingPoint
from benchmarks.fine_tuned_panel import TABLE, THRESHOLDS, folds, priors
from benchmarks.panel import group_of, tabulated

PRIOR = shipped_config("trained_here_prior.json")
TARGETS = (*AP_TARGETS, *(f"{of}@{at:g}" for of in MEASURES for at in THRESHOLDS))
WITH = "mAP of these, with a reference detector"
SHOWN = ("mAP", "mAP of these", WITH, *(of for of in TARGETS if "@" in of))
LEVEL = 0.9
NOT_CORRECTED = "precision"  # corrected, its intervals are too wide for an estimate
# Starts, as `as_away` reads them, and standard deviations of the pull towards them.
START = (-1.5, 0.6, -0.7, -1.0, -2.0, 0.0, -0.3, -4.0, -1.2)
PULL = (1.0, 0.7, 0.5, 0.5, 1.0, 5.0, 0.4, 0.7, 0.5)
MOST_SITES = (
    15  # that a detector counts as in the fit: the categories of a site are not independent
)
NOTHING = 0.004  # accuracies up to it count as no more than it
FEWEST_CELLS = 15  # of a detector whose coverage is stated for itself


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("predict", "prior", "evaluate"):
        commands.add_parser(name).add_argument("file", type=Path)
    return parser.parse_args()


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    if args.command == "predict":
        predictions(pd.read_csv(TABLE)).to_csv(args.file, index=False)
        return
    rows = pd.read_csv(args.file)
    groups = rows.groupby("measure", sort=False)
    if args.command == "prior":
        fitted = {name: rounded(fit(own)) for name, own in groups if name != NOT_CORRECTED}
        PRIOR.write_text(json.dumps(fitted, indent=1) + "\n", encoding="utf-8")
        return
    found = pd.concat([left_out(own) for _, own in tqdm(groups, "measures")])
    parts = [found.assign(declared="yes"), with_intervals(rows, None).assign(declared="no")]
    # The same detectors without and with their reference.
    rows = rows.dropna(subset=["mean_reference"])
    helped = rows.assign(mean=rows["mean_reference"], std=rows["std_reference"])
    few = found[found["detector"].isin(rows["detector"]) & (found["target"] == "mAP")]
    parts += [
        few.assign(target="mAP of these", declared="yes"),
        with_intervals(rows, None).assign(target="mAP of these", declared="no"),
        left_out(groups.get_group("mAP"), helped).assign(target=WITH, declared="yes"),
        with_intervals(helped, None).assign(target=WITH, declared="no"),
    ]
    every = pd.concat(parts)
    shown = every[every["target"].isin(SHOWN)].dropna(subset=["estimate"])
    table = tabulated(shown, ["target", "declared"], "carried over", shown["carried"])
    table = table.join(of_detectors(shown))
    print(to_markdown(table.round(1).reset_index()) + "\n")
    shown = shown[shown["target"] == "mAP"]
    table = tabulated(shown, ["detector", "declared"], "carried over", shown["carried"])
    home = shown.groupby(["detector", "declared"])["home"].first() * 100
    print(to_markdown(table.assign(home=home).round(1).reset_index()))


def predictions(table: pd.DataFrame, targets: Sequence[str] = TARGETS) -> pd.DataFrame:
    """Predict every site of each detector as if nothing were known of its training.

    Columns are ``mean`` and ``std`` of the prediction, ``true``, ``home`` (mean accuracy at home),
    ``confidence`` (by how much that of the boxes exceeds that at home), ``carried``, ``measure``,
    ``target``, ``detector``, ``fold``; ``mean_reference`` and ``std_reference`` with a reference
    detector that has a weight. By priors that have seen neither the parent nor the groups of home
    and site.
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
                model = Regression(
                    target=target, features=features, scaling=scaling, prior=prior
                ).fit(home)
                helped = with_reference(home, scaling, prior) if target == "mAP" else None
                at_home = home.set_index("category")[target]
                confidence = asked[features[0]] - home[features[0]].mean()
                for k in np.flatnonzero(asked[target].notna()).tolist():
                    row = asked.iloc[[k]]
                    predicted = model.distribution(row)
                    reference = helped.distribution(row) if helped else None
                    category = str(row["category"].iloc[0])
                    found.append(
                        {
                            "measure": target.partition("@")[0],
                            "target": target,
                            "detector": name,
                            "source": row["source"].iloc[0],
                            "category": category,
                            "fold": fold,
                            "mean": float(predicted.mean[0]),
                            "std": float(predicted.std[0]),
                            "true": float(row[target].iloc[0]),
                            "home": float(at_home.mean()),
                            "confidence": float(confidence.iloc[k]),
                            "carried": float(at_home.get(category, at_home.mean())),
                            "mean_reference": float(reference.mean[0]) if reference else np.nan,
                            "std_reference": float(reference.std[0]) if reference else np.nan,
                        }
                    )
    return pd.DataFrame(found)


def with_reference(home: pd.DataFrame, scaling: Scaling, prior: Prior) -> Regression | None:
    """Fit with the agreement with a reference detector; None where it has no weight."""
    if home[REFERENCE_FEATURES[0]].isna().all():
        return None
    fitted = Regression(
        scaling=scaling, prior=prior, reference_prior=shipped_reference_prior()
    ).fit(home)
    return fitted if fitted.reference_weight_ else None


def fit(rows: pd.DataFrame) -> Away:
    """Fit by maximum likelihood; the fall is one of a detector, integrated out."""
    rows = rows.sort_values(["target", "detector"], kind="stable")
    mean, std, home, confidence, y = (
        rows[name].to_numpy() for name in ("mean", "std", "home", "confidence", "true")
    )
    detectors = (rows["target"] + rows["detector"]).to_numpy()
    _, first, sizes = np.unique(detectors, return_index=True, return_counts=True)
    # A measure at two thresholds holds each detector twice.
    counts = np.minimum(1, MOST_SITES / sizes)
    parts = rows["target"].nunique()

    def loss(values: np.ndarray) -> float:
        away = as_away(values)
        means, stds = away.components(mean, std, home)
        errors = (np.maximum(y, NOTHING) - means) / stds
        # Of sites where nothing is found the probability counts, not the density.
        likelihood = np.where(
            y <= NOTHING,
            ndtr(errors) / (2.5 * NOTHING),
            np.exp(-0.5 * errors**2) / stds / np.sqrt(2 * np.pi),
        )
        of_sites = np.log((away.weights(confidence) * likelihood).sum(axis=1) + 1e-9)
        of_detectors = np.add.reduceat(of_sites, first, axis=1) * counts  # (K, detectors)
        highest = of_detectors.max(axis=0)
        total = highest + np.log(away.falls[1] @ np.exp(of_detectors - highest))
        pull = np.sum(((values - START) / PULL) ** 2)
        return float(0.5 * pull - total.sum() / parts)

    return as_away(minimize(loss, START, method="L-BFGS-B").x)


def as_away(values: Sequence[float] | np.ndarray) -> Away:
    """Read the values that are optimised."""
    constant, fall, fall_log_std, site_log_std, alike, slope, alike_std, least, share = values
    return Away(
        constant=float(expit(constant)),
        fall=float(np.exp(fall)),
        fall_log_std=float(np.exp(fall_log_std)),
        site_log_std=float(np.exp(site_log_std)),
        alike=float(alike),
        alike_slope=float(slope),
        alike_std=float(np.exp(alike_std)),
        least_std=float(np.exp(least)),
        std_share=float(np.exp(share)),
    )


def away_from_home(rows: pd.DataFrame, away: Away | None) -> Mixture:
    """Correct the predictions of rows, or leave them as they are."""
    mean, std, home = (rows[name].to_numpy() for name in ("mean", "std", "home"))
    predicted = Mixture(np.ones(1), mean[None], std[None])
    if away is None:
        return predicted
    return away.predict(predicted, home, rows["confidence"].to_numpy())


def with_intervals(rows: pd.DataFrame, away: Away | None) -> pd.DataFrame:
    """Add ``estimate``, ``lower`` and ``upper``."""
    found = predict_intervals(away_from_home(rows, away), LEVEL)
    return rows.assign(
        estimate=[of.value for of in found],
        lower=[of.lower for of in found],
        upper=[of.upper for of in found],
    )


def left_out(rows: pd.DataFrame, requested: pd.DataFrame | None = None) -> pd.DataFrame:
    """Estimate the sites of each detector, or those requested, by other detectors and groups.

    Others are detectors whose homes are of another group, at another quarter of the groups.
    """
    requested = rows if requested is None else requested
    if (rows["measure"] == NOT_CORRECTED).all():
        return with_intervals(requested, None)
    homes = rows["detector"].str.removeprefix(TUNED).map(group_of)
    parts = []
    for (detector, fold), own in requested.groupby(["detector", "fold"]):
        related = homes == group_of(detector.removeprefix(TUNED))
        parts.append(with_intervals(own, fit(rows[~related & (rows["fold"] != fold)])))
    return pd.concat(parts)


def of_detectors(shown: pd.DataFrame) -> pd.DataFrame:
    """Return the lowest and the highest coverage of a detector, and how many are under 80 %."""
    inside = 100.0 * shown["true"].between(shown["lower"], shown["upper"])
    by = inside.groupby([shown["target"], shown["declared"], shown["detector"]])
    coverage = by.mean()[by.size() >= FEWEST_CELLS].groupby(level=[0, 1])
    columns = {"lowest": coverage.min(), "highest": coverage.max()}
    columns |= {"under 80": coverage.apply(lambda of: (of < 80).sum()), "of": coverage.size()}
    return pd.DataFrame(columns).rename_axis(["target", "declared"])


def rounded(away: Away) -> dict[str, float]:
    """Return plain values with four digits after the point."""
    return {name: round(value, 4) for name, value in asdict(away).items()}


if __name__ == "__main__":
    main()
