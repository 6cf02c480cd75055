"""Measure and correct detectors that were each trained on one site, at other sites.

    python -m benchmarks.fine_tuned table DATA OUT [--reference PREDICTIONS]
    python -m benchmarks.fine_tuned predict FILE
    python -m benchmarks.fine_tuned prior FILE
    python -m benchmarks.fine_tuned evaluate FILE
    python -m benchmarks.fine_tuned categories FILE
    python -m benchmarks.fine_tuned labels DATA OUT FILE

`table` reads what `benchmarks/trained_detectors.py` wrote into OUT. Each detector is calibrated
on the images of its home that it was not trained on, as its user would, by the usual calibration
of the panel without YOLOX; home and the sites of other groups are scored and written into
``meta_sets/panel/fine_tuned.csv``, in place of the rows of the same detectors, with the agreement
with a reference detector where its boxes are given, laid out as those of `benchmarks/panel.py`, and
calibrated at home as well.

`predict` predicts every site of that table as if nothing were known of the training, by priors that
have seen neither YOLOX nor the groups of home and site, and writes FILE, a CSV. `prior` fits
`autoeval.model.DomainShift` on it, each measure for itself, and writes
``configs/trained_here_prior.json``. `evaluate` fits it without each detector, others of the same
group of homes, and a quarter of the groups of sites, and prints the errors on these, with
``--trained-here`` and without: over all and of each detector. `categories` does so with the mean
over the categories of each site that has several: predicted as one quantity whose error is as large
as that of a single category, and as `DomainShift.predict` does it, by the correlation of the errors
in the regression.

`labels` measures what labels of a second site say of the others; see `labelled_away`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit
from tqdm import tqdm

from autoeval.accuracy.measures import AP_TARGETS, MEASURES, OperatingPoint, points_at
from autoeval.comparison.train_differences import TUNED, TUNED_TABLE
from autoeval.errors import InputError
from autoeval.estimation.calibrating import calibrated_rows, cross_fitted, fit_calibration
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.labelled_sets import labelled_site
from autoeval.io.coco import read_coco
from autoeval.model import DomainShift, Mixture, Prior, predict_intervals
from autoeval.model.pair_table import (
    CATEGORY,
    EXPECTED,
    FEATURES,
    REFERENCE_FEATURES,
    REFERENCE_TRUE,
    with_target,
)
from autoeval.model.priors import REFERENCE_PRIOR, ReferencePrior, shipped
from autoeval.model.regression import Regression
from autoeval.model.train_prior import (
    QUARTERS,
    enough,
    fit_prior,
    kin,
    operating_point_prior,
    read_operating_points,
    read_scores,
)
from autoeval.report.page import to_markdown
from autoeval.runtime.files import shipped_config
from autoeval.sites.site import Site
from benchmarks.panel import (
    ACCURACIES,
    COLUMNS,
    LEVEL,
    PARENT,
    WORDS,
    calibration_without,
    common,
    ends,
    group_of,
    interval_score,
    read_site,
    tabulated,
    with_held,
)
from benchmarks.trained_detectors import HOMES, MORE_HOMES, home_categories, site_images
from benchmarks.trained_detectors import sites as read_sites

PRIOR = shipped_config("trained_here_prior.json")
THRESHOLDS = (0.3, 0.5)
TARGETS = (*AP_TARGETS, *(f"{of}@{at:g}" for of in MEASURES for at in THRESHOLDS))
WITH = "mAP of these, with a reference detector"
SHOWN = ("mAP", "mAP of these", WITH, *(of for of in TARGETS if "@" in of))
# Starts, as `as_domain_shift` reads them, and standard deviations of the pull towards them.
START = (-1.5, 0.6, -0.7, -1.0, -2.0, 0.0, -0.3, -4.0, -1.2)
PULL = (1.0, 0.7, 0.5, 0.5, 1.0, 5.0, 0.4, 0.7, 0.5)
# That a detector counts as in the fit: the categories of a site are not independent.
MOST_SITES = 15
FEWEST_CELLS = 15  # of a detector whose coverage is stated for itself
FEW = (20, 50)  # labelled images of each second site
SECOND_SITES = 5


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    table = commands.add_parser("table")
    predict = commands.add_parser("predict")
    prior = commands.add_parser("prior")
    evaluate = commands.add_parser("evaluate")
    categories = commands.add_parser("categories")
    labels = commands.add_parser("labels")
    for of in (table, labels):
        of.add_argument("data", type=Path)
        of.add_argument("boxes", type=Path, metavar="OUT", help="of trained_detectors.py")
    for of in (predict, prior, evaluate, categories, labels):
        of.add_argument("file", type=Path, help="CSV of `predict`")
    table.add_argument("--reference", type=Path, help="boxes of a reference detector")
    return parser.parse_args()


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    if args.command == "table":
        write_table(args)
    elif args.command == "predict":
        predictions(pd.read_csv(TUNED_TABLE)).to_csv(args.file, index=False)
    elif args.command == "prior":
        groups = pd.read_csv(args.file).groupby("measure", sort=False)
        fitted = {name: rounded(fit(own)) for name, own in groups}
        PRIOR.write_text(json.dumps(fitted, indent=1) + "\n", encoding="utf-8")
    elif args.command == "evaluate":
        evaluate(pd.read_csv(args.file))
    elif args.command == "categories":
        evaluate_means(pd.read_csv(args.file))
    else:
        labels(args)


def write_table(args: argparse.Namespace) -> None:
    """Score all detectors whose boxes are there."""
    homes = [home for home in (*HOMES, *MORE_HOMES) if folder_of(args.boxes, home).exists()]
    scored_homes = [
        scored(args.data, args.boxes, home, args.reference)
        for home in tqdm(homes, "detectors", disable=None)
    ]
    table = pd.concat(scored_homes)
    if TUNED_TABLE.exists():
        known = pd.read_csv(TUNED_TABLE)
        table = pd.concat([known[~known["detector"].isin(set(table["detector"]))], table])
    table.to_csv(TUNED_TABLE, index=False, float_format="%.5f")


def evaluate(rows: pd.DataFrame) -> None:
    """Print the errors of all detectors together and of each."""
    groups = rows.groupby("measure", sort=False)
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
    every = every[every["target"].isin(SHOWN)]
    shown = every.dropna(subset=["estimate"])
    table = tabulated(shown, ["target", "declared"], "carried over", shown["carried"])
    score = interval_scores(every).groupby([every["target"], every["declared"]]).mean()
    table = table.join(of_detectors(shown, ["target", "declared"])).join(
        score.rename("interval score")
    )
    print(to_markdown(table.round(1).reset_index()) + "\n")
    shown = shown[shown["target"] == "mAP"]
    table = tabulated(shown, ["detector", "declared"], "carried over", shown["carried"])
    home = shown.groupby(["detector", "declared"])["home"].first() * 100
    print(to_markdown(table.assign(home=home).round(1).reset_index()))


def interval_scores(rows: pd.DataFrame) -> pd.Series:
    """Return the interval score of each row, in points of 100; lower is better.

    Without an estimate the interval is that of all that is possible: 100 points.
    """
    return 100 * interval_score(rows.fillna({"lower": 0.0, "upper": 1.0}))


def folder_of(boxes: Path, home: str) -> Path:
    """Return where `benchmarks/fine_tuned.py` wrote the boxes of a detector."""
    return boxes / "predictions" / Path(home).name


def read_sets(
    data: Path, folder: Path, categories: Sequence[str], home: str = ""
) -> Iterator[Site]:
    """Read the sites with the boxes of a detector, ``<task>/<site>.json``, in some categories.

    Images are those of `site_images`, for the detector of a home.
    """
    for site, content in read_sites(data):
        names = tuple(name for name in content.categories if name in categories)
        file = folder / f"{site}.json"
        if not names or not file.exists():
            continue
        words = {word: name for word, name in WORDS.items() if name in names}
        words |= {name: name for name in names}
        found = read_site(file, content, names, words)
        found = found.on_images(site_images(data, site, content, home))
        name = Path(site).name
        try:
            yield labelled_site(replace(found, name=name, group=group_of(name), everywhere=True))
        except InputError as error:
            print(f"{file}: {error}")


def labelled(home: Site) -> Site:
    """Return a home as a user's labelled set: each category on the images that hold it."""
    return replace(home, everywhere=False)


def with_reference(sets: dict[str, Site], others: dict[str, Site], home: str) -> dict[str, Site]:
    """Add the boxes of a reference detector, calibrated at home by the usual calibration."""
    own, prior = [labelled(others[home])], calibration_without(PARENT)
    calibration = fit_calibration(own, [np.ones(len(own[0]), bool)], prior)
    found = dict(sets)
    for name, of in sets.items():
        if name in others:
            boxes = others[name].boxes
            p = (
                cross_fitted(own, prior)[0]
                if name == home
                else calibration.probabilities(boxes.scores)
            )
            found[name] = replace(
                of,
                reference=boxes,
                reference_calibration=calibration,
                reference_probabilities=p[0],
            )
    return found


def scored(data: Path, boxes: Path, home: str, reference: Path | None) -> pd.DataFrame:
    """Score a detector's home and the sites of other groups, calibrated at home."""
    known = home_categories(read_coco(data / home / "annotations.json"))
    sets = {of.name: of for of in read_sets(data, folder_of(boxes, home), known, home)}
    if reference:
        of_reference = {of.name: of for of in read_sets(data, reference, known, home)}
        sets = with_reference(sets, of_reference, Path(home).name)
    own = labelled(sets.pop(Path(home).name))
    rows, calibration = calibrated_rows([own], prior=calibration_without(PARENT))
    others = [of for of in sets.values() if of.group != own.group]
    parts = [with_held(own, rows).assign(kind=CATEGORY)]
    for of in others:
        found = with_held(of, labelled_rows(of, calibration))
        parts.append(found[common(found)])
    table = pd.concat(parts, ignore_index=True).assign(detector=f"tuned_{own.name}")
    columns = [*COLUMNS, *FEATURES, *ACCURACIES]
    for target in (name for at in THRESHOLDS for name in points_at(at)):
        table = pd.DataFrame(with_target(table, target))
        columns += [target, f"{EXPECTED}{target}"]
    return table.reindex(columns=[*columns, *REFERENCE_FEATURES, REFERENCE_TRUE])


@cache
def prior_without(home_group: str, fold: int, target: str = "mAP", kind: str = PARENT) -> Prior:
    """Fit the prior of a target without a kind of detector, a group and a quarter of the groups."""
    at_point = OperatingPoint.of(target) is not None
    rows = read_operating_points() if at_point else read_scores()
    left_out = {home_group, *folds()[fold]}
    rows = rows[(rows["detector"].map(kin) != kind) & ~rows["group"].isin(left_out)]
    if at_point:
        return operating_point_prior(target.partition("@")[0], rows)
    return fit_prior(rows, target=target)


@cache
def folds() -> list[list[str]]:
    """Divide the groups of the panel as `benchmarks/panel.py` does."""
    groups = sorted(set(read_scores()["group"]) - {"coco"})
    np.random.default_rng(0).shuffle(groups)
    return [groups[k::QUARTERS] for k in range(QUARTERS)]


def by_fold(rows: pd.DataFrame) -> Iterator[tuple[int, pd.DataFrame]]:
    """Yield each quarter of the groups that has rows, with these; COCO's are in the first."""
    for fold, groups in enumerate(folds()):
        own = rows[rows["group"].isin([*groups, *(["coco"] if fold == 0 else [])])]
        if len(own):
            yield fold, own


def predictions(table: pd.DataFrame, targets: Sequence[str] = TARGETS) -> pd.DataFrame:
    """Predict every site of each detector as if nothing were known of its training.

    Columns are ``mean`` and ``std`` of the prediction, ``true``, ``home`` (mean accuracy at home),
    ``confidence`` (by how much that of the boxes exceeds that at home), ``carried``, ``measure``,
    ``target``, ``detector``, ``fold``; ``average_std``, of the prediction of the mean over the
    categories of the site, where there are several; ``mean_reference`` and ``std_reference`` with a
    reference detector that has a weight. By priors that have seen neither the parent nor the groups
    of home and site.
    """
    found = []
    for name, own in tqdm(table.groupby("detector", sort=False), "detectors"):
        home, others = own[own["kind"] == CATEGORY], own[own["kind"] != CATEGORY]
        others = others[enough(others)]
        for fold, asked in by_fold(others):
            for target in targets:
                prior = prior_without(home["group"].iloc[0], fold, target)
                alone = home.drop(columns=REFERENCE_TRUE)
                model = Regression(target=target, prior=prior).fit(alone)
                helped = fit_with_reference(home, prior) if target == "mAP" else None
                at_home = home.set_index("category")[target]
                expected = model.features_[0]
                confidence = asked[expected] - home[expected].mean()
                average_std = {}
                for source, site in asked.dropna(subset=[target]).groupby("source"):
                    if len(site) > 1:
                        weights = np.full((1, len(site)), 1 / len(site))
                        average_std[source] = float(model.distribution(site, weights).std[0])
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
                            "average_std": average_std.get(row["source"].iloc[0], np.nan),
                            "true": float(row[target].iloc[0]),
                            "home": float(at_home.mean()),
                            "confidence": float(confidence.iloc[k]),
                            "carried": float(at_home.get(category, at_home.mean())),
                            "mean_reference": float(reference.mean[0]) if reference else np.nan,
                            "std_reference": float(reference.std[0]) if reference else np.nan,
                        }
                    )
    return pd.DataFrame(found)


def fit_with_reference(home: pd.DataFrame, prior: Prior) -> Regression | None:
    """Fit with the agreement with a reference detector; None where it has no weight."""
    if home[REFERENCE_FEATURES[0]].isna().all():
        return None
    fitted = Regression(
        prior=prior, reference_prior=ReferencePrior(**shipped(REFERENCE_PRIOR))
    ).fit(home)
    return fitted if fitted.reference_weight_ else None


def fit(rows: pd.DataFrame) -> DomainShift:
    """Fit by maximum likelihood; the fall is one of a detector, integrated out."""
    rows = rows.sort_values(["target", "detector"], kind="stable")
    mean, std, home = rows["mean"].to_numpy(), rows["std"].to_numpy(), rows["home"].to_numpy()
    confidence, y = rows["confidence"].to_numpy(), rows["true"].to_numpy()
    detectors = (rows["target"] + rows["detector"]).to_numpy()
    _, first, sizes = np.unique(detectors, return_index=True, return_counts=True)
    # A measure at two thresholds holds each detector twice.
    counts = np.minimum(1, MOST_SITES / sizes)
    parts = rows["target"].nunique()

    def loss(values: np.ndarray) -> float:
        domain_shift = as_domain_shift(values)
        likelihood = domain_shift.densities(y, mean, std, home)
        of_sites = np.log((domain_shift.weights(confidence) * likelihood).sum(axis=1) + 1e-9)
        of_detectors = np.add.reduceat(of_sites, first, axis=1) * counts  # (K, detectors)
        highest = of_detectors.max(axis=0)
        total = highest + np.log(domain_shift.falls[1] @ np.exp(of_detectors - highest))
        pull = np.sum(((values - START) / PULL) ** 2)
        return float(0.5 * pull - total.sum() / parts)

    return as_domain_shift(minimize(loss, START, method="L-BFGS-B").x)


def as_domain_shift(values: Sequence[float] | np.ndarray) -> DomainShift:
    """Read the values that are optimised."""
    constant, fall, fall_log_std, site_log_std, alike, slope, alike_std, least, share = values
    return DomainShift(
        constant=float(expit(constant)),
        fall=float(np.exp(fall)),
        fall_log_std=float(np.exp(fall_log_std)),
        site_log_std=float(np.exp(site_log_std)),
        like_home=float(alike),
        like_home_slope=float(slope),
        like_home_std=float(np.exp(alike_std)),
        least_std=float(np.exp(least)),
        std_share=float(np.exp(share)),
    )


def with_domain_shift(rows: pd.DataFrame, domain_shift: DomainShift | None) -> Mixture:
    """Correct the predictions of rows, or leave them as they are."""
    mean, std, home = rows["mean"].to_numpy(), rows["std"].to_numpy(), rows["home"].to_numpy()
    predicted = Mixture(np.ones((1, 1)), mean[None], std[None])
    if domain_shift is None:
        return predicted
    return domain_shift.predict(predicted, home, rows["confidence"].to_numpy())


def with_intervals(rows: pd.DataFrame, domain_shift: DomainShift | None) -> pd.DataFrame:
    """Add ``estimate``, ``lower`` and ``upper``."""
    return rows.assign(**ends(predict_intervals(with_domain_shift(rows, domain_shift), LEVEL)))


def left_out(rows: pd.DataFrame, requested: pd.DataFrame | None = None) -> pd.DataFrame:
    """Estimate the sites of each detector, or those requested, by other detectors and groups.

    rows: of one measure.
    """
    requested = rows if requested is None else requested
    parts = []
    for (detector, fold), own in requested.groupby(["detector", "fold"]):
        domain_shift = fit(without(group_of(detector.removeprefix(TUNED)), fold, rows))
        parts.append(with_intervals(own, domain_shift))
    return pd.concat(parts)


def evaluate_means(rows: pd.DataFrame) -> None:
    """Print the errors of the mean over the categories of a site, in two forms of the interval."""
    rows = rows[rows["target"].isin(AP_TARGETS)]
    several = rows.dropna(subset=["average_std"])
    parts = []
    for (target, detector, fold), own in several.groupby(["target", "detector", "fold"]):
        others = rows[rows["target"] == target]
        domain_shift = fit(without(group_of(str(detector).removeprefix(TUNED)), fold, others))
        parts += [of_mean(site, domain_shift) for _, site in own.groupby("source")]
    found = pd.concat(parts, ignore_index=True)
    found["interval score"] = interval_scores(found)
    by = ["target", "errors of categories"]
    table = tabulated(found, by, "carried over", found["carried"])
    score = found.groupby(by)["interval score"].mean()
    print(to_markdown(table.join(score).round(1).reset_index()))


def of_mean(site: pd.DataFrame, domain_shift: DomainShift) -> pd.DataFrame:
    """Estimate the mean over the categories of a site of one detector, a row for each form."""
    mean, std, home = site["mean"].to_numpy(), site["std"].to_numpy(), float(site["home"].iloc[0])
    confidence, average = site["confidence"].to_numpy(), np.full((1, len(site)), 1 / len(site))
    average_std, normal = site["average_std"].to_numpy()[:1], np.ones((1, 1))
    each = Mixture(normal, mean[None], std[None])
    whole = Mixture(normal, (average @ mean)[None], average_std[None])
    forms = {
        "as one": domain_shift.predict(whole, home, average @ confidence),
        "as of the regression": domain_shift.predict(
            each, home, confidence, average=(average, average_std)
        ),
    }
    value = np.clip(domain_shift.predict(each, home, confidence).mean, 0, 1).mean(keepdims=True)
    rows = []
    for name, predicted in forms.items():
        rows.append(
            {
                "target": site["target"].iloc[0],
                "errors of categories": name,
                **{k: v[0] for k, v in ends(predict_intervals(predicted, LEVEL, value)).items()},
                "true": site["true"].mean(),
                "carried": site["carried"].mean(),
            }
        )
    return pd.DataFrame(rows)


def without(home_group: str, fold: int, rows: pd.DataFrame) -> pd.DataFrame:
    """Leave out the detectors whose homes are of a group, and a quarter of the groups of sites."""
    homes = rows["detector"].str.removeprefix(TUNED).map(group_of)
    return rows[(homes != home_group) & (rows["fold"] != fold)]


def of_detectors(shown: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the lowest and the highest coverage of a detector, and how many are under 80 %."""
    inside = 100.0 * shown["true"].between(shown["lower"], shown["upper"])
    groups = inside.groupby([*(shown[name] for name in by), shown["detector"]])
    coverage = groups.mean()[groups.size() >= FEWEST_CELLS].groupby(level=list(range(len(by))))
    columns = {"lowest": coverage.min(), "highest": coverage.max()}
    columns |= {"under 80": coverage.apply(lambda of: (of < 80).sum()), "of": coverage.size()}
    return pd.DataFrame(columns).rename_axis(list(by))


def rounded(domain_shift: DomainShift) -> dict[str, float]:
    """Return plain values with four digits after the point."""
    numbers: dict[str, Any] = asdict(domain_shift)
    return {name: round(value, 4) for name, value in numbers.items() if name != "posterior"}


def labels(args: argparse.Namespace) -> None:
    """Print the errors at other sites without and with labels of a second site."""
    rows = pd.read_csv(args.file)
    rows = rows[rows["measure"] == "mAP"]
    homes = [home for home in (*HOMES, *MORE_HOMES) if folder_of(args.boxes, home).exists()]
    parts = [of for home in tqdm(homes, "detectors") for of in labelled_away(args, home, rows)]
    found = pd.concat(parts, ignore_index=True).dropna(subset=["estimate"])
    for by in (["labels"], ["detector", "labels"]):
        table = tabulated(found, by, "labelled", found["labelled"])
        print(to_markdown(table.join(of_detectors(found, by)).round(1).reset_index()) + "\n")


def labelled_away(
    args: argparse.Namespace, home: str, rows: pd.DataFrame
) -> Iterator[pd.DataFrame]:
    """Yield the estimates of a detector with labels of images of a second site.

    It is fitted on its home, declared (``--trained-here``), and joined (`fit --join`) with some
    images of another site, drawn at random, for `SECOND_SITES` other sites in turn. All are
    estimated at the sites of groups other than both, by `autoeval.model.DomainShift` and priors
    that have seen neither the detector nor the groups, as of `left_out`. Columns ``labels`` (0,
    `FEW`, or ``whole site``) and ``labelled`` (the accuracy on these images, carried over).
    """
    known = home_categories(read_coco(args.data / home / "annotations.json"))
    sets = {of.name: of for of in read_sets(args.data, folder_of(args.boxes, home), known, home)}
    own = replace(labelled(sets.pop(Path(home).name)), trained_here=True)
    prior = calibration_without(PARENT)
    at_home, calibration = calibrated_rows([own], prior=prior)
    others = [of for of in sets.values() if of.group != own.group]
    requested = pd.concat([with_held(of, labelled_rows(of, calibration)) for of in others])
    requested = requested[common(requested) & enough(requested)].dropna(subset=["mAP"])
    shifts = [fit(without(own.group, fold, rows)) for fold in range(QUARTERS)]
    rng = np.random.default_rng(list(home.encode()))
    usable = [of for of in others if len(of) > max(FEW)]
    for site in [usable[k] for k in rng.permutation(len(usable))[:SECOND_SITES]]:
        order = rng.permutation(len(site))
        fits = {"0": at_home}
        try:
            for name, n in {**{str(n): n for n in FEW}, "whole site": len(order)}.items():
                images = np.sort(order[:n])
                second = labelled(site.on_images(images))
                fits[name] = calibrated_rows([own, second], prior=prior)[0]
        except InputError:
            continue  # too few labels on them
        rest = requested[requested["group"] != site.group]
        few = fits[str(FEW[0])]
        accuracy = float(few.loc[few["source"] == site.name, "mAP"].mean())
        for name, fitted in fits.items():
            found = estimated(fitted, rest, own.group, shifts)
            yield found.assign(labels=name, detector=f"{TUNED}{own.name}", labelled=accuracy)


def estimated(
    fitted: pd.DataFrame, requested: pd.DataFrame, group: str, shifts: Sequence[DomainShift]
) -> pd.DataFrame:
    """Estimate sites by a fit on some rows, and numbers that have seen neither group nor site.

    shifts: of each quarter of the groups, that without it.
    """
    alone, parts = fitted.drop(columns=REFERENCE_TRUE, errors="ignore"), []
    for fold, own in by_fold(requested):
        prior = prior_without(group, fold)
        model = Regression(prior=prior, domain_shift=shifts[fold]).fit(alone)
        found = [model.predict(own.iloc[[k]])[0] for k in range(len(own))]
        parts.append(own[["source", "category"]].assign(true=own["mAP"], **ends(found)))
    return pd.concat(parts)


if __name__ == "__main__":
    main()
