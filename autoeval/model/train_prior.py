r"""Train the shipped priors of the default regression on the tables of a panel of detectors.

    python -m autoeval.model.train_prior [--tables meta_sets/panel]

writes ``configs/panel_prior.json`` (average precision, and the usual calibration),
``configs/operating_point_prior.json`` (precision, recall and F1 at a threshold) and
``configs/panel_pairs.json`` (the pairs that the first is fitted on, numbers alone, which pages
show). `benchmarks/panel.py` makes the tables from boxes:

- ``scores.csv``: a row for each detector, site and category, with `FEATURES` and the labelled
  average precisions; ``kind`` is ``category`` on the labelled set and ``seed`` at a site,
- ``floors.csv``: the same rows of boxes over each score of `FLOORS`,
- ``calibrations.json``, ``missed.json``: coefficients of each detector's calibrations, the first of
  the labelled set, the others of single sites; the second by floor, of missed objects alone,
- ``operating_points.csv``, ``operating_points_floors.csv``: true and expected values at thresholds.

Each detector of the panel is a draw of an intercept and of slopes around common ones:

.. math:: y_{ij} = (\beta_0 + b_{i0}) + x_{ij}^T (\beta + b_i) + u_{ij} + e_{ij}

for pair j of site and category by detector i, with effects u of its group, site and category, whose
slopes differ from group to group, too. Means and variances maximise the marginal likelihood times a
prior (Rasmussen & Williams 2006, section 5.4).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize, minimize_scalar

from autoeval.accuracy.measures import AP_TARGETS, MEASURES
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.mixed_model import Pairs, Prior, Shared, Variances, possible_variances
from autoeval.model.pair_table import EXPECTED, FEATURES
from autoeval.runtime.files import shipped_config, write_json, write_text

TABLES = Path(__file__).resolve().parents[2] / "meta_sets/panel"
LOWEST = 0.05
FLOORS = (LOWEST, 0.1, 0.25, 0.3, 0.5)
"""Scores from which on boxes are in the files; the first stands for the files as they come."""
LABELLED_KIND = "category"  # of the rows of the labelled set
ONE_ORIGIN = "coco"  # group of the labelled set, whose sites are in no quarter
KNOWN_BY_NAME = "person"
"""The category whose mean effect is in the prior: it has sites enough. That of vehicles was tried
and made other detectors and groups worse."""
COMMON = ("person", "vehicle")
FEWEST_BOXES = 15  # of another category, to count
FEWEST_IMAGES = 10  # of another category, to count
QUARTERS = 4
DIGITS = 3  # of the pairs that pages show

# Logarithms of the standard deviations of effects, of the intercept and of slopes.
EFFECTS = ("group", "site", "category", "pair", "group_slope")
USUAL = np.log([0.06, 0.04, 0.04, 0.07, 0.02, 0.05, 0.02])
HYPER_STD = 0.6  # of these logarithms
SLOPE_STD = 0.08
MEAN_STD = 0.08
LEAST_SCALE = {"likely_share": 0.17}
"""About the scale of this score in files as they come: over a high floor nearly all boxes of most
detectors are likely ones, and one of another score scale would lie many of their scales away."""
EQUAL_PARTS = 2.0
"""Both parameters of the beta prior of `Prior.group_category_share`: few groups of the panel have
several sites, and these are parts of one data set each, more alike than the cameras of one owner
may be."""
UNLIKE = 3
"""Times the variance from detector to detector that so few show: that of the predictive t
distribution is 2.4 times as large for five detectors, 3.75 times for four (Gelman et al. 2013,
section 3.2)."""

# What the marginal likelihood of a panel does not say of the width at another detector, by what
# coverage on detectors and groups left out asked for: sites of one data set are more alike than
# sites are, and a labelled set shows how its categories vary, not how sites do.
WIDER = 1.3
SPREAD_LOG_STD = 0.05

THRESHOLDS = (0.2, 0.3, 0.5)  # that the prior of operating points is fitted on, together
NARROWER = {"precision": 1.0, "recall": 0.85, "f1": 1.0}
"""Factor of the standard deviation of pairs, by the coverage on detectors left out."""


def main() -> None:
    """Read the tables, fit, and write the priors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tables", type=Path, default=TABLES, help="(%(default)s)")
    tables = parser.parse_args().tables
    of_boxes = calibration_coefficients(read_calibrations(tables))["boxes"]
    floors = [fit_floor(floor, tables) for floor in FLOORS]
    points = [_fit_operating_points(floor, tables) for floor in FLOORS]
    pairs = [shown_pairs(floor, tables) for floor in FLOORS]
    prior = {"boxes": of_boxes, "floors": floors}
    write_json(shipped_config("panel_prior.json"), prior, indent=1)
    write_json(shipped_config("operating_point_prior.json"), {"floors": points}, indent=1)
    table = json.dumps({"floors": pairs}, separators=(",", ":"))  # a number a row would be long
    write_text(shipped_config("panel_pairs.json"), table + "\n")


def read_scores(floor: float = LOWEST, tables: Path = TABLES) -> pd.DataFrame:
    """Read the rows of the panel for files that hold boxes from a score on.

    Parameters
    ----------
    floor : float
        One of `FLOORS`.
    tables : Path
        Folder of the tables.
    """
    return _at_floor("scores.csv", "floors.csv", floor, tables)


def read_operating_points(floor: float = LOWEST, tables: Path = TABLES) -> pd.DataFrame:
    """Read true and expected values at thresholds for files that hold boxes from a score on.

    Parameters
    ----------
    floor : float
        One of `FLOORS`.
    tables : Path
        Folder of the tables.
    """
    return _at_floor("operating_points.csv", "operating_points_floors.csv", floor, tables)


def _at_floor(whole: str, above: str, floor: float, tables: Path) -> pd.DataFrame:
    """Read the table `whole` at `LOWEST`, else the rows of a floor of the table `above`."""
    if floor == LOWEST:
        return pd.read_csv(tables / whole)
    rows = pd.read_csv(tables / above)
    return rows[rows["floor"] == floor].reset_index(drop=True)


def read_calibrations(tables: Path = TABLES) -> dict[str, list[ScoreCalibration]]:
    """Read the calibrations of each detector of the panel.

    Parameters
    ----------
    tables : Path
        Folder of the tables.

    Returns
    -------
    dict of str to list of ScoreCalibration
        By detector: on the labelled set, then on single sites.
    """
    content = json.loads((tables / "calibrations.json").read_text(encoding="utf-8"))
    return {
        name: [ScoreCalibration.from_dict(values) for values in calibrations]
        for name, calibrations in content.items()
    }


def kin(detector: str) -> str:
    """Name what detectors share that are the same but for their input size.

    Parameters
    ----------
    detector : str
        Its name in the panel.

    Examples
    --------
    >>> kin("yolox_416")
    'yolox'
    """
    return detector.split("_")[0]


def quarters(rows: pd.DataFrame) -> dict[str, int]:
    """Deal the groups of sites into quarters, by a fixed seed.

    Parameters
    ----------
    rows : DataFrame
        Of the panel, with ``group``.

    Returns
    -------
    dict of str to int
        Number of the quarter that each group is left out with; the group of the labelled set is in
        none.
    """
    groups = sorted(set(rows["group"]) - {ONE_ORIGIN})
    np.random.default_rng(0).shuffle(groups)
    return {name: k % QUARTERS for k, name in enumerate(groups)}


def enough(rows: pd.DataFrame) -> pd.Series:
    """Return which rows count.

    A row of a category of `COMMON` counts at a site of no more than so many categories; every other
    row counts with `FEWEST_BOXES` boxes on `FEWEST_IMAGES` images or more.

    Parameters
    ----------
    rows : DataFrame
        With ``n_boxes``, and ``n_held``, the images that hold the category.
    """
    n_categories = rows["source"].map(rows.groupby("source")["category"].nunique())
    uncommon = ~rows["category"].isin(COMMON) | (n_categories > len(COMMON))
    return ~uncommon | ((rows["n_boxes"] >= FEWEST_BOXES) & (rows["n_held"] >= FEWEST_IMAGES))


def fitted_rows(rows: pd.DataFrame, features: Sequence[str] = FEATURES) -> pd.DataFrame:
    """Return the rows of the panel that a prior is fitted on.

    Parameters
    ----------
    rows : DataFrame
        Of the panel; see `enough`. All rows of the labelled set are fitted on.
    features : sequence of str
        Columns of scores, all of which a row must have.
    """
    return rows[enough(rows) | (rows["kind"] == LABELLED_KIND)].dropna(subset=list(features))


def fit_floor(floor: float, tables: Path) -> dict[str, Any]:
    """Fit the priors of average precision for files that hold boxes from a score on.

    Parameters
    ----------
    floor : float
        One of `FLOORS`.
    tables : Path
        Folder of the tables.

    Returns
    -------
    dict
        An entry of ``floors`` in ``panel_prior.json``: ``floor``, ``missed`` and ``regressions``.
    """
    rows = read_scores(floor, tables)
    if floor == LOWEST:
        calibrations = read_calibrations(tables)
        missed = [
            [calibration.missed for calibration in calibrated]
            for calibrated in calibrations.values()
        ]
    else:
        content = json.loads((tables / "missed.json").read_text(encoding="utf-8"))
        missed = [
            [np.array(coefficients) for coefficients in by_floor[f"{floor:g}"]]
            for by_floor in content.values()
        ]
    regressions = [
        {"target": target, **described(fit_prior(rows, target=target))} for target in AP_TARGETS
    ]
    return {"floor": floor, "missed": usual(missed), "regressions": regressions}


def _fit_operating_points(floor: float, tables: Path) -> dict[str, Any]:
    """Fit the priors of precision, recall and F1 for files that hold boxes from a score on.

    Parameters
    ----------
    floor : float
        One of `FLOORS`; `THRESHOLDS` under it are left out.
    tables : Path
        Folder of the tables.

    Returns
    -------
    dict
        An entry of ``floors`` in ``operating_point_prior.json``: ``floor`` and ``regressions``.
    """
    rows = read_operating_points(floor, tables)
    above = tuple(threshold for threshold in THRESHOLDS if threshold >= floor)
    regressions = []
    for measure in MEASURES:
        prior = operating_point_prior(measure, rows, above)
        regressions.append({"target": measure, **described(prior)})
    return {"floor": floor, "regressions": regressions}


def shown_pairs(floor: float, tables: Path = TABLES) -> dict[str, Any]:
    """Return scores and accuracies of the pairs of a floor, without names, as pages show them.

    Parameters
    ----------
    floor : float
        One of `FLOORS`.
    tables : Path
        Folder of the tables.

    Returns
    -------
    dict
        An entry of ``floors`` in ``panel_pairs.json``: ``floor``, and each column as a list,
        rounded to `DIGITS` decimals.
    """
    rows = fitted_rows(read_scores(floor, tables))
    columns = (*FEATURES, *AP_TARGETS)
    return {"floor": floor, **{name: rows[name].round(DIGITS).tolist() for name in columns}}


def operating_point_prior(
    measure: str, rows: pd.DataFrame, thresholds: Sequence[float] = THRESHOLDS
) -> Prior:
    """Fit one prior on several thresholds, each detector at each of them one draw.

    Parameters
    ----------
    measure : str
        ``precision``, ``recall`` or ``f1``.
    rows : DataFrame
        From `read_operating_points`.
    thresholds : sequence of float
        Scores, of those in the table.
    """
    expected = f"{EXPECTED}{measure}"
    features = (expected, *FEATURES[1:])
    parts = [
        rows.assign(
            detector=rows["detector"] + f"@{threshold:g}",
            **{measure: rows[f"{measure}@{threshold:g}"]},
            **{expected: rows[f"{expected}@{threshold:g}"]},
        )
        for threshold in thresholds
    ]
    complete_rows = pd.concat(parts, ignore_index=True).dropna(subset=[measure])
    prior = fit_prior(complete_rows, target=measure, features=features)
    return replace(prior, spread=NARROWER[measure] * prior.spread)


def fit_prior(
    rows: pd.DataFrame, *, target: str = "mAP", features: Sequence[str] = FEATURES
) -> Prior:
    """Fit the prior by the marginal likelihood of the accuracies of all detectors.

    What sites of one group have in common for a category is fitted last, see
    `_fit_group_category_share`, so that it changes no estimate where no group of a fit has two
    sites.

    Parameters
    ----------
    rows : DataFrame
        Of the panel, one a detector, site and category; see the module.
    target : str
        Column that is regressed.
    features : sequence of str
        Columns of P scores.

    Returns
    -------
    Prior
        Its standard deviation of pairs is `WIDER` times that of the panel.
    """
    rows = fitted_rows(rows, features)
    values = rows[list(features)]
    location, scale = values.mean().to_numpy(), values.std().to_numpy()
    units = Prior(
        (0.0,) * len(features),
        location=tuple(location.tolist()),
        scale=tuple(np.maximum(scale, [LEAST_SCALE.get(name, 0.0) for name in features]).tolist()),
        features=tuple(features),
    )
    blocks = [
        DetectorPairs.of(detector_rows, features, units, target)
        for detector_rows in _by_detector(rows)
    ]
    n = len(features)
    mean_std = np.array([np.inf, MEAN_STD, *[SLOPE_STD] * n])

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        mean, logs = values[: 2 + n], values[2 + n :]
        variances, intercept_std = variances_of(logs)
        deviation = (logs - USUAL) / HYPER_STD
        total = 0.5 * float(np.sum(deviation**2) + np.sum((mean / mean_std) ** 2))
        gradient = np.concatenate([mean / mean_std**2, deviation / HYPER_STD])
        for block in blocks:
            shared, terms = block.shared, block.terms
            covariance = shared.covariance(variances, intercept_std**2)
            single = np.diag(variances.pair + block.pairs.sampling)
            factor = cho_factor(covariance + single, lower=True)
            residual = block.y - terms @ mean
            solved = cho_solve(factor, residual)
            total += 0.5 * residual @ solved + np.log(np.diag(factor[0])).sum()
            # Rasmussen & Williams 2006, equation 5.9, by the variances of `EFFECTS`, of the
            # intercept and of slopes
            rest = cho_solve(factor, np.eye(len(residual))) - np.outer(solved, solved)
            parts = (
                shared.group,
                shared.site,
                shared.category,
                np.eye(len(residual)),
                shared.line * shared.group,
                np.ones_like(rest),
                shared.line,
            )
            gradient[: 2 + n] -= terms.T @ solved
            gradient[2 + n :] += [np.sum(rest * part) for part in parts] * np.exp(2 * logs)
        return total, gradient

    start = np.concatenate([[0.3, 0.0], np.full(n, 0.15 / n), USUAL])
    best = minimize(loss, start, jac=True, method="L-BFGS-B").x
    variances, intercept_std = variances_of(best[2 + n :])
    total = variances.group + variances.site + variances.category + variances.pair
    prior = replace(
        units,
        slopes=tuple(best[2 : 2 + n].tolist()),
        intercept=float(best[0]),
        intercept_std=intercept_std,
        slope_std=float(np.sqrt(variances.slope)),
        categories={KNOWN_BY_NAME: float(best[1])},
        spread=float(np.sqrt(total)),
        shares=(
            float(variances.group / total),
            float(variances.site / total),
            float(variances.category / total),
            float(variances.pair / total),
        ),
        group_slope_share=variances.group_slope / total,
    )
    share = _fit_group_category_share(prior, blocks, best[: 2 + n])
    wider = replace(
        prior,
        group_category_share=share,
        spread=WIDER * prior.spread,
        group_slope_share=prior.group_slope_share
        / WIDER**2,  # the slopes of a group keep their variance
        spread_log_std=SPREAD_LOG_STD,
    )
    return wider


class DetectorPairs:
    """The pairs of one detector as the likelihood reads them.

    Parameters
    ----------
    pairs : Pairs
        N pairs of site and category.
    terms : ndarray of shape (N, 2 + P)
        1, whether the category is `KNOWN_BY_NAME`, and P scaled scores.
    y : ndarray of shape (N,)
        Accuracies.

    Attributes
    ----------
    shared : Shared
        What the pairs have in common.
    """

    def __init__(self, pairs: Pairs, terms: np.ndarray, y: np.ndarray) -> None:
        self.pairs, self.terms, self.y = pairs, terms, y
        self.shared = Shared.of(pairs, pairs, (terms[:, 2:], terms[:, 2:]))

    @classmethod
    def of(
        cls, rows: pd.DataFrame, features: Sequence[str], units: Prior, target: str
    ) -> DetectorPairs:
        """Read rows of a table of the panel.

        Parameters
        ----------
        rows : DataFrame
            Of one detector.
        features : sequence of str
            Columns of P scores.
        units : Prior
            Location and scale of the scores.
        target : str
            Column of the accuracies.
        """
        group = rows["group"].astype(str).to_numpy(object)
        site = rows["source"].astype(str).to_numpy(object)
        category = rows["category"].astype(str).to_numpy(object)
        sampling = Prior(()).of_one_image ** 2 / rows["n_images"].to_numpy(np.float64)
        x = rows[list(features)].to_numpy(np.float64)
        named = (category == KNOWN_BY_NAME).astype(float)
        terms = np.column_stack([np.ones(len(rows)), named, units.scaled(x)])
        pairs = Pairs(x, sampling, group, site, category)
        return cls(pairs, terms, rows[target].to_numpy(np.float64))


def _by_detector(rows: pd.DataFrame) -> Iterable[pd.DataFrame]:
    """Return the rows of each detector."""
    return (of_detector for _, of_detector in rows.groupby("detector"))


def _fit_group_category_share(
    prior: Prior, blocks: Sequence[DetectorPairs], mean: np.ndarray
) -> float:
    """Fit `Prior.group_category_share`, all else being known, to each detector's pairs.

    The likelihood is the geometric mean over detectors: they are measured at the same sites, whose
    errors are largely the same for all of them, so they do not count as that many observations.

    Parameters
    ----------
    prior : Prior
        All else of it.
    blocks : sequence of DetectorPairs
        Of each detector.
    mean : ndarray of shape (2 + P,)
        Coefficients of `DetectorPairs.terms`.

    Returns
    -------
    float
        Over 0 and under 1.
    """

    def loss(share: float) -> float:
        (variances,) = possible_variances(
            replace(prior, group_category_share=share, spreads=(prior.spread,))
        )
        total = 0.0
        for block in blocks:
            covariance = block.shared.covariance(variances, prior.intercept_std**2)
            single = np.diag(variances.pair + block.pairs.sampling)
            factor = cho_factor(covariance + single, lower=True)
            residual = block.y - block.terms @ mean
            total += 0.5 * residual @ cho_solve(factor, residual)
            total += np.log(np.diag(factor[0])).sum()
        weight = EQUAL_PARTS - 1
        return total / len(blocks) - weight * (np.log(share) + np.log1p(-share))

    return float(minimize_scalar(loss, bounds=(1e-3, 1 - 1e-3), method="bounded").x)


def variances_of(logs: np.ndarray) -> tuple[Variances, float]:
    """Read the parameters that the likelihood is maximised over.

    Parameters
    ----------
    logs : ndarray of shape (7,)
        Logarithms of standard deviations: of `EFFECTS`, of the intercept and of slopes.

    Returns
    -------
    tuple of Variances and float
        The second is the standard deviation of the intercept.
    """
    *effects, intercept, slope = np.exp(logs)
    by_name = dict(zip(EFFECTS, (effect**2 for effect in effects), strict=True))
    return Variances(**by_name, slope=slope**2), float(intercept)


def calibration_coefficients(
    calibrations: Mapping[str, Sequence[ScoreCalibration]],
) -> dict[str, Any]:
    """Describe how coefficients vary from detector to detector and from site to site.

    Parameters
    ----------
    calibrations : mapping of str to sequence of ScoreCalibration
        Of each detector: on the labelled set, and on each site alone.

    Returns
    -------
    dict
        What `autoeval.model.priors.read_calibration_prior` reads.
    """
    boxes = [
        [calibration.boxes for calibration in calibrated] for calibrated in calibrations.values()
    ]
    missed = [
        [calibration.missed for calibration in calibrated] for calibrated in calibrations.values()
    ]
    n_levels = len(boxes[0][0])  # IoU thresholds
    by_level = [
        usual([[levels[k] for levels in calibrated] for calibrated in boxes])
        for k in range(n_levels)
    ]
    return {"boxes": by_level, "missed": usual(missed)}


def usual(coefficients: Sequence[Sequence[np.ndarray]]) -> dict[str, list]:
    """Describe three coefficients of each detector: on the labelled set, and on sites.

    Parameters
    ----------
    coefficients : sequence of sequence of ndarray of shape (3,)
        Of each detector the first is of the labelled set, the others of single sites.

    Returns
    -------
    dict
        ``mean`` over detectors; ``detectors``, a diagonal covariance, `UNLIKE` times that of the
        panel; ``sites``, the mean covariance of sites around the labelled set.
    """
    labelled = np.array([calibrated[0] for calibrated in coefficients])
    sites = [np.array(calibrated[1:]) - calibrated[0] for calibrated in coefficients]
    return {
        "mean": np.round(labelled.mean(0), 3).tolist(),
        "detectors": np.round(UNLIKE * np.diag(labelled.var(axis=0, ddof=1)), 4).tolist(),
        "sites": np.round(
            np.mean([deviations.T @ deviations / len(deviations) for deviations in sites], axis=0),
            4,
        ).tolist(),
    }


def described(prior: Prior) -> dict[str, Any]:
    """Return what `autoeval.model.priors` reads of a regression.

    Parameters
    ----------
    prior : Prior

    Returns
    -------
    dict
        ``scores``: location, scale and slope of each score by its name; ``prior``: the other fields
        but the possible standard deviations. Rounded to four decimals.
    """
    of_scores = zip(prior.features, prior.location, prior.scale, prior.slopes, strict=True)
    apart = {"location", "scale", "slopes", "spreads", "features"}
    fields = {name: value for name, value in asdict(prior).items() if name not in apart}
    return {
        "scores": {name: [round(float(v), 4) for v in values] for name, *values in of_scores},
        "prior": {name: rounded(value) for name, value in fields.items()},
    }


def rounded(value: Any) -> Any:
    """Round numbers to four digits after the point.

    Parameters
    ----------
    value : float, or dict, list or tuple of such values
        Nested to any depth.

    Returns
    -------
    float, dict or list
        Tuples become lists.
    """
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(v) for v in value] if isinstance(value, list | tuple) else round(value, 4)


if __name__ == "__main__":
    main()
