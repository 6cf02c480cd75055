"""Fit the prior of the default on a panel of detectors, and measure it on detectors left out.

    python -m benchmarks.panel table DATA NAME=PREDICTIONS ...
    python -m benchmarks.panel prior
    python -m benchmarks.panel evaluate [--out FILE]
    python -m benchmarks.panel sites DATA NAME=PREDICTIONS ... [--out FILE]

`table` scores the labelled sets under DATA (``<task>/<site>/annotations.json``, for the tasks
vehicle, person, two and all) by the predictions of each detector (``<task>/<site>.json``),
calibrated on the `val` images of ``all/coco_mini``, and writes ``meta_sets/panel/scores.csv`` and
``calibrations.json``; detectors that are there already are kept or replaced. `prior` fits
``configs/panel_prior.json`` on them, and writes the pairs that it is fitted on, numbers alone, to
``configs/panel_pairs.json``, which pages show. `evaluate` fits it for each detector on the others,
without a quarter of the groups in turn, and prints the errors there. `sites` fits on one site of
one category in turn, the calibration learned there, too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize, minimize_scalar
from tqdm import tqdm

from autoeval.errors import InputError
from autoeval.estimation.calibrating import calibrated_rows, fit_calibration
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.given_boxes import Predictions
from autoeval.io.coco import read_coco
from autoeval.io.labels.truth import Truth
from autoeval.model import Pairs, Prior, Scaling
from autoeval.model.calibrated_features import FEATURES
from autoeval.model.calibration import CalibrationPrior, ScoreCalibration, Usual
from autoeval.model.pair_table import CATEGORY, pairs_of
from autoeval.model.priors import read_calibration_prior
from autoeval.model.regression import Regression
from autoeval.model.variances import Shared, Variances, possible_variances
from autoeval.report.tables import to_markdown
from autoeval.sites.labelled_set import LabelledSet, labelled_set
from autoeval.targets import AP_TARGETS
from benchmarks.panel_widths import by_estimate, interval_score, widened

ROOT = Path(__file__).resolve().parents[1]
FOLDER, PRIOR = ROOT / "meta_sets/panel", ROOT / "configs/panel_prior.json"
PAIRS = ROOT / "configs/panel_pairs.json"
ROWS_ABOVE, MISSED = FOLDER / "floors.csv", FOLDER / "missed.json"
LOWEST = 0.05
FLOORS = (LOWEST, 0.1, 0.25, 0.3, 0.5)
"""Scores from which on boxes are in the files; the first stands for the files as they come."""
WORDS = {name: "vehicle" for name in ("car", "bus", "truck", "vehicle")} | {"person": "person"}
TASKS = {"vehicle": ("vehicle",), "person": ("person",), "two": ("vehicle", "person"), "all": ()}
ORIGINS = ("bdd", "hituav", "dawn", "coco", "trafficcam", "highway_id")
LABELLED = "coco_mini"
DIGITS = 3  # of the pairs that pages show
KNOWN_BY_NAME = "person"
"""The category whose mean effect is in the prior: it has sites enough. That of vehicles was tried
and made other detectors and groups worse."""

# A prior so wide that the table of the panel does not depend on the panel.
WIDE = CalibrationPrior(
    (Usual(np.array([0.0, 1.0, 1.0]), 9 * np.eye(3), 1e-9 * np.eye(3)),) * 10,
    Usual(np.array([-1.0, 0.0, 0.0]), 9 * np.eye(3), 1e-9 * np.eye(3)),
)
# For the calibrations of single sites, which have few boxes.
WEAK = CalibrationPrior(
    (Usual(np.array([0.0, 1.5, 1.5]), np.diag([4.0, 1.0, 1.0]), 1e-9 * np.eye(3)),) * 10,
    Usual(np.array([-1.0, -2.0, 3.0]), np.eye(3), 1e-9 * np.eye(3)),
)
FEWEST_LABELS = 100  # of a site whose calibration is fitted alone
EFFECTS = ("group", "place", "category", "pair", "bending")
USUAL = np.log([0.06, 0.04, 0.04, 0.07, 0.02, 0.05, 0.02])  # with the intercept and the slopes
HYPER_STD = 0.6  # of these logarithms
SLOPE_STD, MEAN_STD = 0.08, 0.08
LEAST_SCALE = {"likely_share": 0.17}
"""About the scale of this score in files as they come: over a high floor nearly all boxes of most
detectors are likely ones, and one of another score scale would lie many of their scales away."""
GROUPS = 4
EQUAL_PARTS = 2.0
"""Both parameters of the beta prior of `Prior.alike`: few groups of the panel have several sites,
and these are parts of one data set each, more alike than the cameras of one owner may be."""
UNLIKE = 3
"""Times the variance from detector to detector that so few show: that of the predictive t
distribution is 2.4 times as large for five detectors, 3.75 times for four (Gelman et al. 2013,
section 3.2)."""
FEWEST_BOXES, FEWEST_IMAGES = 15, 10  # of other categories, to be evaluated


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("table", "prior", "evaluate", "sites"):
        own = commands.add_parser(name)
        if name in ("table", "sites"):
            add_detectors(own)
        if name in ("evaluate", "sites"):
            own.add_argument("--out", type=Path, help="CSV of every estimate")
    return parser.parse_args()


def add_detectors(parser: argparse.ArgumentParser) -> None:
    """Add DATA and NAME=PREDICTIONS ..., read as pairs of a name and a folder."""
    parser.add_argument("data", type=Path)
    parser.add_argument("detectors", nargs="+", type=named_folder, metavar="NAME=PREDICTIONS")


def named_folder(text: str) -> tuple[str, Path]:
    """Read NAME=PREDICTIONS."""
    name, _, folder = text.partition("=")
    return name, Path(folder)


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    if args.command == "table":
        for name, folder in args.detectors:
            add_detector(name, args.data, folder)
    elif args.command == "prior":
        of_boxes = fit_calibration_prior(read_panel()[1])
        content = {"boxes": of_boxes["boxes"], "floors": [*map(fit_floor, FLOORS)]}
        PRIOR.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        shown = {"floors": [*map(shown_pairs, FLOORS)]}
        PAIRS.write_text(json.dumps(shown, separators=(",", ":")) + "\n", encoding="utf-8")
    else:
        if args.command == "evaluate":
            estimates = Nested(read_panel()[0]).every()
        else:
            estimates = pd.concat([one_site(n, args.data, of) for n, of in args.detectors])
        if args.out:
            estimates.to_csv(args.out, index=False)
        for table in (summary(estimates), of_classes(estimates), scored(estimates)):
            print(to_markdown(table.round(1).reset_index()) + "\n")


def group_of(site: str) -> str:
    """Name the origin that a site shares with others."""
    return next((origin for origin in ORIGINS if site.startswith(origin)), site)


def read_sets(data: Path, predictions: Path) -> Iterator[LabelledSet]:
    """Read the labelled sets with the boxes of one detector; of coco_mini the `val` images."""
    for task, categories in TASKS.items():
        for path in sorted((predictions / task).glob("*.json")):
            file = data / task / path.stem / "annotations.json"
            if not file.exists():
                continue
            content = read_coco(file)
            names = categories or content.categories
            known = categories or set(names) <= set(WORDS.values())
            words = WORDS if known else {name: name for name in names}
            numbers = dict(zip(content.numbers, content.categories, strict=True))
            boxes = Predictions(path).read(content.images, where=str(path), numbers=numbers)
            boxes, truth = boxes.as_categories(names, words), Truth.of(content, names)
            if path.stem == LABELLED:
                entries = json.loads(file.read_bytes())["images"]
                kept = np.flatnonzero([entry["coco_split"] == "val" for entry in entries])
                boxes, truth = boxes.on_images(kept), truth.on_images(kept)
            elif group_of(path.stem) == "coco":
                continue
            site = path.stem != LABELLED
            try:
                yield labelled_set(
                    boxes, truth, name=path.stem, group=group_of(path.stem), everywhere=site
                )
            except InputError as error:
                print(f"{path}: {error}")


def add_detector(name: str, data: Path, predictions: Path) -> None:
    """Score all sites by one detector, calibrated on the labelled set."""
    sets = list(read_sets(data, predictions))
    own = [of for of in sets if of.name == LABELLED]
    rows, calibration = calibrated_rows(own, prior=WIDE)
    others = [of for of in sets if of.name != LABELLED]
    parts = [
        evaluable(own[0], rows),
        *(evaluable(of, labelled_rows(of, calibration)) for of in others),
    ]
    of_sites = [
        fit_calibration([of], [np.ones(len(of.boxes), bool)], WEAK)
        for of in others
        if sum(r.n_true.sum() for r in of.rankings) >= FEWEST_LABELS
    ]
    table = pd.concat(parts, ignore_index=True).assign(detector=name)
    known, calibrations = read_panel() if (FOLDER / "scores.csv").exists() else (None, {})
    if known is not None:
        table = pd.concat([known[known["detector"] != name], table], ignore_index=True)
    columns = ["detector", "kind", "group", "source", "category", "n_images", "n_held", "n_boxes"]
    columns += [*FEATURES, "mAP", "mAP50", "mAP75"]
    FOLDER.mkdir(parents=True, exist_ok=True)
    table.reindex(columns=columns).to_csv(FOLDER / "scores.csv", index=False, float_format="%.5f")
    calibrations = calibrations | {name: [calibration, *of_sites]}
    lines = [f'"{k}": {json.dumps(shortened(own))}' for k, own in calibrations.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (FOLDER / "calibrations.json").write_text(text, encoding="utf-8")


def evaluable(of: LabelledSet, rows: pd.DataFrame) -> pd.DataFrame:
    """Add ``n_held``, see `with_held`, and leave out what is too rare."""
    rows = with_held(of, rows)
    return rows[common(rows)]


def common(rows: pd.DataFrame) -> pd.Series:
    """Return which pairs have labels enough."""
    return (rows["n_boxes"] >= 8) & (rows["n_held"] >= 5)


def with_held(of: LabelledSet, rows: pd.DataFrame) -> pd.DataFrame:
    """Add ``n_held``, the number of images with a category."""
    held = {
        category: int(np.sum(ranking.n_true > 0))
        for category, ranking in zip(of.truth.categories, of.rankings, strict=True)
    }
    return rows.assign(n_held=rows["category"].map(held))


def kin(detector: str) -> str:
    """Name what detectors share that are the same but for their input size."""
    return detector.split("_")[0]


def shortened(calibrations: Sequence[ScoreCalibration]) -> list[dict[str, Any]]:
    """Return plain values with four digits after the point."""
    return [
        {name: np.round(value, 4).tolist() for name, value in of.to_dict().items()}
        for of in calibrations
    ]


def read_panel(
    floor: float = LOWEST,
) -> tuple[pd.DataFrame, dict[str, list[ScoreCalibration]]]:
    """Read the table of the panel, and each detector's calibrations: on the set, on sites.

    floor: one of `FLOORS`, at which the rows are taken; the calibrations are of all boxes.
    """
    rows = pd.read_csv(FOLDER / "scores.csv")
    if floor != LOWEST:
        rows = pd.read_csv(ROWS_ABOVE)
        rows = rows[rows["floor"] == floor].reset_index(drop=True)
    content = json.loads((FOLDER / "calibrations.json").read_text(encoding="utf-8"))
    return rows, {k: [ScoreCalibration.from_dict(of) for of in own] for k, own in content.items()}


def fit_prior(
    rows: pd.DataFrame,
    *,
    target: str = "mAP",
    features: Sequence[str] = FEATURES,
) -> tuple[Sequence[str], Scaling, Prior]:
    """Fit the prior by the marginal likelihood of the accuracies of all detectors.

    Each detector is a draw of an intercept and of slopes; effects are particular to it. What sites
    of one group have in common for a category is fitted last, see `fit_alike`, so that it changes
    no estimate where no group of a fit has two sites.
    """
    rows = fitted_rows(rows, features)
    location, scale = (rows[list(features)].agg(of).to_numpy() for of in ("mean", "std"))
    scaling = Scaling(location, np.maximum(scale, [LEAST_SCALE.get(of, 0.0) for of in features]))
    n = len(features)
    blocks = []
    for _, own in rows.groupby("detector"):
        pairs = pairs_of(own, features, Prior(()).of_one_image)
        x = scaling.apply(pairs.x)
        named = (own["category"] == KNOWN_BY_NAME).to_numpy(float)
        blocks.append((pairs, x, named, own[target].to_numpy()))
    shares = [Shared.of(pairs, pairs, (x, x)) for pairs, x, *_ in blocks]

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        mean, logs = values[: 2 + n], values[2 + n :]
        variances, intercept_std = variances_of(logs)
        off = (logs - USUAL) / HYPER_STD
        widths = np.array([np.inf, MEAN_STD, *[SLOPE_STD] * n])
        total = 0.5 * float(np.sum(off**2) + np.sum((mean / widths) ** 2))
        gradient = np.concatenate([mean / widths**2, off / HYPER_STD])
        for (pairs, x, named, y), shared in zip(blocks, shares, strict=True):
            covariance = shared.covariance(variances, intercept_std**2)
            single = np.diag(variances.pair + pairs.sampling)
            factor = cho_factor(covariance + single, lower=True)
            terms = np.column_stack([np.ones(len(y)), named, x])
            residual = y - terms @ mean
            solved = cho_solve(factor, residual)
            total += 0.5 * residual @ solved + np.log(np.diag(factor[0])).sum()
            # Rasmussen & Williams 2006, equation 5.9
            rest = cho_solve(factor, np.eye(len(y))) - np.outer(solved, solved)
            same = (shared.group, shared.place, shared.category, np.eye(len(y)))
            parts = (*same, shared.line * shared.group, np.ones_like(rest), shared.line)
            gradient[: 2 + n] -= terms.T @ solved
            gradient[2 + n :] += [np.sum(rest * of) for of in parts] * np.exp(2 * logs)
        return total, gradient

    start = np.concatenate([[0.3, 0.0], np.full(n, 0.15 / n), USUAL])
    found = minimize(loss, start, jac=True, method="L-BFGS-B").x
    variances, intercept_std = variances_of(found[2 + n :])
    effects = [variances.group, variances.place, variances.category, variances.pair]
    total = sum(effects)
    prior = Prior(
        tuple(found[2 : 2 + n].tolist()),
        intercept=float(found[0]),
        intercept_std=intercept_std,
        slope_std=float(np.sqrt(variances.slope)),
        categories={KNOWN_BY_NAME: float(found[1])},
        spread=float(np.sqrt(total)),
        shares=tuple(float(of / total) for of in effects),  # type: ignore[arg-type]
        bending=variances.bending / total,
    )
    alike = fit_alike(
        prior, [(pairs, x, y - mean_of(prior, pairs, x)) for pairs, x, _, y in blocks]
    )
    return features, scaling, widened(replace(prior, alike=alike))


def fitted_rows(rows: pd.DataFrame, features: Sequence[str] = FEATURES) -> pd.DataFrame:
    """Return the rows of the panel that a prior is fitted on."""
    return rows[enough(rows) | (rows["kind"] == CATEGORY)].dropna(subset=list(features))


def mean_of(prior: Prior, pairs: Pairs, x: np.ndarray) -> np.ndarray:
    """Return what the prior expects of pairs (N,) with scaled scores `x` (N, P)."""
    named = np.array([prior.of_category(name) for name in pairs.category])
    return prior.intercept + x @ np.array(prior.slopes) + named


def fit_alike(prior: Prior, blocks: Sequence[tuple[Pairs, np.ndarray, np.ndarray]]) -> float:
    """Fit `Prior.alike`, all else being known, to each detector's pairs.

    blocks: pairs, their scaled scores (N, P) and their residuals (N,).

    The likelihood is the geometric mean over detectors: they are measured at the same sites, whose
    errors are largely the same for all of them, so they do not count as that many observations.
    """
    known = []
    for pairs, x, residual in blocks:
        known.append((pairs, Shared.of(pairs, pairs, (x, x)), residual))

    def loss(alike: float) -> float:
        of_pairs = replace(prior, alike=alike)
        (variances,) = possible_variances(of_pairs, [prior.spread])
        total = 0.0
        for pairs, shared, residual in known:
            covariance = shared.covariance(variances, prior.intercept_std**2)
            single = np.diag(variances.pair + pairs.sampling)
            factor = cho_factor(covariance + single, lower=True)
            total += 0.5 * residual @ cho_solve(factor, residual)
            total += np.log(np.diag(factor[0])).sum()
        weight = EQUAL_PARTS - 1
        return total / len(blocks) - weight * (np.log(alike) + np.log1p(-alike))

    return float(minimize_scalar(loss, bounds=(1e-3, 1 - 1e-3), method="bounded").x)


def variances_of(logs: np.ndarray) -> tuple[Variances, float]:
    """Read the logarithms of standard deviations; the second result is of the intercept."""
    *effects, intercept, slope = np.exp(logs)
    of = dict(zip(EFFECTS, (e**2 for e in effects), strict=True))
    return Variances(**of, slope=slope**2), float(intercept)


def described(features: Sequence[str], scaling: Scaling, prior: Prior) -> dict[str, Any]:
    """Return what `autoeval.model.priors` reads."""
    units = zip(features, scaling.location, scaling.scale, prior.slopes, strict=True)
    fields = {name: value for name, value in asdict(prior).items() if name != "slopes"}
    return {
        "scores": {name: [round(float(v), 4) for v in values] for name, *values in units},
        "prior": {name: rounded(value) for name, value in fields.items()},
    }


def rounded(value: Any) -> Any:
    """Round numbers to four digits after the point."""
    if isinstance(value, dict):
        return {name: rounded(of) for name, of in value.items()}
    return [rounded(of) for of in value] if isinstance(value, tuple) else round(value, 4)


def fit_floor(floor: float) -> dict[str, Any]:
    """Fit what the prior knows of files with boxes from a score on."""
    rows, calibrations = read_panel(floor)
    missed = [[of.missed for of in own] for own in calibrations.values()]
    if floor != LOWEST:
        known = json.loads(MISSED.read_text(encoding="utf-8"))
        missed = [[np.array(of) for of in own[f"{floor:g}"]] for own in known.values()]
    return {
        "floor": floor,
        "missed": usual(missed),
        "regressions": [
            {"target": target, **described(*fit_prior(rows, target=target))}
            for target in AP_TARGETS
        ],
    }


def shown_pairs(floor: float) -> dict[str, Any]:
    """Return scores and accuracies of the pairs of a floor, without names, as pages show them."""
    rows = fitted_rows(read_panel(floor)[0])
    columns = (*FEATURES, *AP_TARGETS)
    return {"floor": floor, **{name: rows[name].round(DIGITS).tolist() for name in columns}}


def fit_calibration_prior(calibrations: Mapping[str, Sequence[ScoreCalibration]]) -> dict[str, Any]:
    """Describe how coefficients vary from detector to detector and from site to site.

    Parameters
    ----------
    calibrations : mapping of str to sequence of ScoreCalibration
        Of each detector: on the labelled set, and on each site alone.
    """
    boxes = [[of.boxes for of in own] for own in calibrations.values()]
    missed = [[of.missed for of in own] for own in calibrations.values()]
    rows = [usual([[of[k] for of in own] for own in boxes]) for k in range(len(boxes[0][0]))]
    return {"boxes": rows, "missed": usual(missed)}


def usual(coefficients: Sequence[Sequence[np.ndarray]]) -> dict[str, list]:
    """Describe three coefficients of each detector: on the labelled set, and on sites."""
    labelled = np.array([own[0] for own in coefficients])
    sites = [np.array(own[1:]) - own[0] for own in coefficients]
    return {
        "mean": np.round(labelled.mean(0), 3).tolist(),
        "detectors": np.round(UNLIKE * np.diag(labelled.var(axis=0, ddof=1)), 4).tolist(),
        "sites": np.round(np.mean([of.T @ of / len(of) for of in sites], axis=0), 4).tolist(),
    }


def enough(rows: pd.DataFrame) -> pd.Series:
    """Return which sites are evaluated: of other categories those with boxes enough."""
    several = rows["source"].map(rows.groupby("source")["category"].nunique())
    other = ~rows["category"].isin(["vehicle", "person"]) | (several > 2)
    return ~other | ((rows["n_boxes"] >= FEWEST_BOXES) & (rows["n_held"] >= FEWEST_IMAGES))


def quarters(rows: pd.DataFrame) -> dict[str, int]:
    """Return, for each group, the number of the quarter that it is left out with."""
    groups = sorted(set(rows["group"]) - {"coco"})
    np.random.default_rng(0).shuffle(groups)
    return {name: k % GROUPS for k, name in enumerate(groups)}


def left_out(rows: pd.DataFrame) -> Iterator[tuple[str, pd.Series, pd.Series]]:
    """Yield each detector, rows of its kin, and rows of a quarter of the groups in turn."""
    quarter = rows["group"].map(quarters(rows))
    folds = [(name, k) for name in dict.fromkeys(rows["detector"]) for k in range(GROUPS)]
    for name, k in tqdm(folds, "leaving detectors and groups out"):
        yield name, rows["detector"].map(kin) == kin(name), quarter == k


class Nested:
    """Estimates of every site by priors that have seen neither the detector nor its group.

    rows: table of the panel. panel: rows of the same pairs that the priors are fitted on, where
        they are others. Fits are kept, since corrections need each several times.
    """

    def __init__(self, rows: pd.DataFrame, panel: pd.DataFrame | None = None) -> None:
        self.rows, self.panel = rows, rows if panel is None else panel
        self.names = list(dict.fromkeys(rows["detector"]))
        of_groups = quarters(rows)
        self.quarter = rows["group"].map(of_groups)
        self.kins, self.quarters = (
            self.panel["detector"].map(kin),
            self.panel["group"].map(of_groups),
        )
        self.fitted: dict[tuple, tuple[Scaling, Prior]] = {}

    def estimate(self, name: str, k: int, without: Sequence[tuple[str, int]] = ()) -> pd.DataFrame:
        """Estimate a quarter of the groups for one detector.

        without: kinds of detectors and quarters that the prior has not seen either.
        """
        kinds = frozenset({kin(name), *(of for of, _ in without)})
        places = frozenset({k, *(of for _, of in without)})
        key = (kinds, places)
        if key not in self.fitted:
            known = self.panel[~self.kins.isin(kinds) & ~self.quarters.isin(places)]
            self.fitted[key] = fit_prior(known)[1:]
        scaling, prior = self.fitted[key]
        own = self.rows["detector"] == name
        requested = self.rows[own & (self.quarter == k) & enough(self.rows)]
        if requested.empty:
            return pd.DataFrame()
        labelled = self.rows[own & (self.rows["kind"] == CATEGORY)]
        found = evaluated(labelled, requested, scaling, prior)
        return found.assign(detector=name)

    def every(self) -> pd.DataFrame:
        """Estimate all."""
        parts = []
        folds = [(name, k) for name in self.names for k in range(GROUPS)]
        for name, k in tqdm(folds, "leaving detectors and groups out"):
            parts.append(self.estimate(name, k))
        return pd.concat(parts, ignore_index=True)


def nested(rows: pd.DataFrame, panel: pd.DataFrame | None = None) -> pd.DataFrame:
    """Estimate every site; see `Nested`."""
    return Nested(rows, panel).every()


def one_site(name: str, data: Path, predictions: Path) -> pd.DataFrame:
    """Fit on each site of one category, estimate the others; the prior without this detector."""
    rows, calibrations = read_panel()
    _, scaling, prior = fit_prior(rows[rows["detector"].map(kin) != kin(name)])
    not_kin = {k: of for k, of in calibrations.items() if kin(k) != kin(name)}
    of_boxes = read_calibration_prior(fit_calibration_prior(not_kin))
    sets = [of for of in read_sets(data, predictions) if of.everywhere]
    parts = []
    for of in tqdm(sets, name):
        if of.truth.categories not in (("vehicle",), ("person",)):
            continue
        known, calibration = calibrated_rows([of], prior=of_boxes)
        others = [
            labelled_rows(other, calibration)
            for other in sets
            if other.group != of.group and of.truth.categories[0] in other.truth.categories
        ]
        requested = pd.concat(others)
        requested = requested[
            (requested["category"] == of.truth.categories[0]) & (requested["n_boxes"] >= 8)
        ]
        parts.append(evaluated(known, requested, scaling, prior).assign(fitted=of.name))
    return pd.concat(parts, ignore_index=True).assign(detector=name)


def evaluated(
    known: pd.DataFrame,
    new: pd.DataFrame,
    scaling: Scaling,
    prior: Prior,
    *,
    target: str = "mAP",
    features: Sequence[str] = FEATURES,
) -> pd.DataFrame:
    """Fit on some pairs and estimate others, each as a site of its own."""
    regression = Regression(target=target, features=features, scaling=scaling, prior=prior)
    fitted = regression.fit(known)
    predicted = fitted.predict(new)  # each on its own
    group = np.where(new["category"].isin(["person", "vehicle"]), new["category"], "other")
    return pd.DataFrame(
        {
            "category_group": group,
            "source": new["source"].to_numpy(),
            "category": new["category"].to_numpy(),
            "true": new[target].to_numpy(),
            "estimate": [of.value for of in predicted],
            "lower": [of.lower for of in predicted],
            "upper": [of.upper for of in predicted],
            "raw": [of.raw for of in predicted],
            "reach": [of.reach for of in predicted],
        }
    )


def summary(estimates: pd.DataFrame) -> pd.DataFrame:
    """Tabulate errors, that of a constant, coverage and half-widths, in points."""
    by = ["category_group", "detector"]
    mean = estimates.groupby(by)["true"].transform("mean")
    return tabulated(estimates, by, "constant", mean)


def of_classes(estimates: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the same by kind of category and by estimate."""
    kinds = np.where(estimates["category_group"] == "other", "other", "vehicle, person")
    rows = estimates.assign(categories=kinds, points=by_estimate(estimates))
    by = ["categories", "points"]
    mean = rows.groupby("category_group")["true"].transform("mean")
    return tabulated(rows, by, "constant", mean)


def scored(estimates: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the interval score, in points, and what it weighs by group and of all pairs."""
    mean = estimates.groupby(["category_group", "detector"])["true"].transform("mean")
    rows = pd.concat([estimates, estimates.assign(category_group="all")], ignore_index=True)
    rows = rows.assign(score=100 * interval_score(rows))
    table = tabulated(
        rows, ["category_group"], "constant", pd.concat([mean, mean], ignore_index=True)
    )
    return table.join(rows.groupby("category_group")["score"].mean())


def tabulated(
    estimates: pd.DataFrame, by: list[str], name: str, reference: pd.Series
) -> pd.DataFrame:
    """Tabulate errors, that of a reference by its name, coverage and half-widths, in points."""
    rows = estimates.assign(
        mae=100 * (estimates["estimate"] - estimates["true"]).abs(),
        bias=100 * (estimates["estimate"] - estimates["true"]),
        reference=100 * (reference - estimates["true"]).abs(),
        coverage=100.0 * estimates["true"].between(estimates["lower"], estimates["upper"]),
        half_width=50 * (estimates["upper"] - estimates["lower"]),
        n=1,
    )
    names = ["mae", "bias", "reference", "coverage", "half_width"]
    table = rows.groupby(by, observed=True)[names].mean().rename(columns={"reference": name})
    return table.join(rows.groupby(by, observed=True)["n"].sum())


if __name__ == "__main__":
    main()
