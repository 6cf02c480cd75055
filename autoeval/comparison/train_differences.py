"""Train the shipped prior of differences between two detectors on tables of pairs of detectors.

    python -m autoeval.comparison.train_differences

writes ``configs/compare_prior.json``, the numbers of `PairPrior`. A row of the tables is two
detectors at a site and category: what their boxes show, and both labelled accuracies.
``meta_sets/panel/pairs.csv`` holds detectors of COCO's images and RetinaNet
(`benchmarks/compare.py` makes it from boxes), ``meta_sets/panel/fine_tuned_pairs.csv`` detectors
that were trained on one site, and detectors of COCO's images labelled on such sites
(`benchmarks/fine_tuned_pairs.py`). RetinaNet, which was trained on part of the data, is in no fit.

The numbers maximise a penalised likelihood: errors have Student's distribution, kinds of pairs
weigh by `SHARES`, and within a kind each pair of detectors weighs the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import logsumexp

from autoeval.comparison.unlabelled_difference import (
    FEWEST_OBJECTS,
    DifferenceMixture,
    LinearDifference,
    PairPrior,
    pair_features,
    with_domain_shift,
)
from autoeval.labels.fit_assistance import fit_variance_prior
from autoeval.model.pair_table import CATEGORY, CONFIDENCE
from autoeval.model.priors import domain_shift_prior
from autoeval.model.train_prior import TABLES, kin, quarters, read_scores, rounded
from autoeval.runtime.files import shipped_config, write_json

PRIOR = "compare_prior.json"
PAIRS = TABLES / "pairs.csv"
TUNED_PAIRS = TABLES / "fine_tuned_pairs.csv"
TUNED_TABLE = TABLES / "fine_tuned.csv"
ROOTS = "_root"  # ends the name of a detector whose scores are square roots of another one's
TUNED = "tuned_"  # begins the name of a detector that was trained on one site
OF_PANEL = "coco"  # labelled set of the rows of `PAIRS`
TRAINED = ("retinanet",)
"""Detectors in no fit: trained on a part of the data."""
SHARES = (0.5, 0.25, 0.25)  # weight of pairs in which none, one and both were trained on one site
DOF = 8.0
# so near to the optimum that the printed digits are the same from another start
SEARCH = {"maxiter": 1000, "maxfun": 100_000, "ftol": 1e-13}
FEWEST_ROWS = 8  # of other categories
SHARED = 0.5  # without a site of several categories

# Starts and standard deviations of the pull towards them: slopes, exponent and the logarithms of
# τ, rare, κ, of each kind; the gate; the logarithms of f and c.
SAME_TRAINING = ((0.2, 0.2, 0.45, 1.0, -2.2, 0.59, -0.7), (0.2, 0.2, 0.2, 0.5, 9.0, 0.3, 0.5))
OTHER_TRAINING = ((0.0, 0.8, 0.1, 0.0, -1.4, 0.26, -0.7), (0.2, 0.3, 0.2, 1e-9, 9.0, 0.3, 0.7))
GATE = ((-1.0, 2.0, 1.5), (2.0, 1.0, 1.0))
COMMON = ((-5.8, 2.7), (0.5, 1.0))
HOME = ((0.0, 0.9, 0.15, 0.5, -1.6, 0.26, -1.2), (1e-9, 0.3, 0.3, 0.5, 9.0, 0.3, 0.5))


def main() -> None:
    """Read the tables, fit, and write the prior."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    write_json(shipped_config(PRIOR), plain_values(fit(read_rows())), indent=1)


def plain_values(prior: PairPrior) -> dict[str, Any]:
    """Return the numbers of a prior with four digits after the point, as its file has them.

    Parameters
    ----------
    prior : PairPrior
        As `fit` returns it, or `pair_prior` reads it.

    Returns
    -------
    dict of str to float, list or dict
        By the names of the fields, fit for JSON.
    """
    return {name: rounded(value) for name, value in asdict(prior).items()}


def read_rows() -> pd.DataFrame:
    """Read both tables, with what a user would know and how the rows are left out.

    Returns
    -------
    DataFrame
        The columns of the tables, and ``labelled``, the labelled set; ``home_a`` and ``home_b``,
        the accuracy there of a detector that was trained there, else NaN; ``confidence_a`` and
        ``confidence_b``, by how much the expected average precision exceeds that there; ``tuned``,
        how many of both were trained on one site; ``fold``, the quarter of the group, from 0;
        ``objects``; ``usual``.
    """
    tuned = pd.read_csv(TUNED_PAIRS).dropna(subset=["estimate_a", "estimate_b"])
    rows = pd.concat([pd.read_csv(PAIRS).assign(labelled=OF_PANEL), tuned], ignore_index=True)
    quarter = quarters(read_scores())
    rows["fold"] = [quarter.get(name, 0) for name in rows["group"]]
    rows["tuned"] = sum(rows[side].str.startswith(TUNED).astype(int) for side in "ab")
    for side in "ab":
        rows[f"home_{side}"] = [
            _home(*pair) for pair in zip(rows[side], rows["labelled"], strict=True)
        ]
        rows[f"confidence_{side}"] = _confidences(rows[side], rows)
    run = rows[["home_a", "home_b"]].notna().all(axis=1)  # checkpoints of one run, undeclared
    rows.loc[run, ["home_a", "home_b"]] = np.nan
    rows["objects"] = rows["n_true"] * rows["n_pool"]
    rows["usual"] = rows["category_group"] != "other"
    return rows


def _home(detector: str, labelled: str) -> float:
    """Return the accuracy on the labelled set of a detector that was trained there, else NaN."""
    if detector == TUNED + labelled.rpartition("/")[2] or kin(detector) in TRAINED:
        return float(accuracies_at_home()[detector if detector.startswith(TUNED) else TRAINED[0]])
    return float("nan")


def _confidences(detectors: pd.Series, rows: pd.DataFrame) -> np.ndarray:
    """Return by how much the confidence of detectors at sites exceeds that at home, (N,)."""
    scores = single_rows()
    at_home = scores[scores["kind"] == CATEGORY].groupby("detector")[CONFIDENCE].mean()
    key = ["detector", "source", "category"]
    of_sites = scores[scores["kind"] != CATEGORY].drop_duplicates(key).set_index(key)[CONFIDENCE]
    keys = pd.MultiIndex.from_arrays([detectors, rows["source"], rows["category"]])
    return of_sites.reindex(keys).to_numpy() - at_home.reindex(detectors).to_numpy()


@cache
def single_rows() -> pd.DataFrame:
    """Return the rows of single detectors: of the panel, and of those trained on one site."""
    return pd.concat([read_scores(), pd.read_csv(TUNED_TABLE)], ignore_index=True)


@cache
def accuracies_at_home() -> pd.Series:
    """Return the mean average precision of each detector on the labelled set of the panel."""
    scores = single_rows()
    return scores[scores["kind"] == CATEGORY].groupby("detector")["mAP"].mean()


def left_out_with(name: str) -> str:
    """Name what is left out of a fit with a detector, so that the fit has seen nothing like it.

    Parameters
    ----------
    name : str
        Of the detector, in the tables.

    Returns
    -------
    str
        Its `kin`; the name itself of a detector that was trained on one site.
    """
    return name if name.startswith(TUNED) else kin(name)


def undeclared(rows: pd.DataFrame) -> pd.DataFrame:
    """Forget which detectors were trained where they are labelled.

    Parameters
    ----------
    rows : DataFrame
        As `read_rows` returns them.

    Returns
    -------
    DataFrame
        A copy, in which ``home_a`` and ``home_b`` are NaN.
    """
    return rows.assign(home_a=np.nan, home_b=np.nan)


def in_fit(rows: pd.DataFrame) -> pd.Series:
    """Return which pairs are fitted on: not RetinaNet, nor detectors that differ in scores alone.

    The latter have the same boxes, so that their errors would be close to 0 and no other pair would
    count.

    Parameters
    ----------
    rows : DataFrame
        N rows with ``a`` and ``b``, see `read_rows`.

    Returns
    -------
    Series of shape (N,), bool
        True of rows to fit on.
    """
    trained = rows["a"].map(kin).isin(TRAINED) | rows["b"].map(kin).isin(TRAINED)
    return ~rows["b"].str.endswith(ROOTS) & ~trained


def fit(
    rows: pd.DataFrame, *, start: PairPrior | None = None, common_only: bool = False
) -> PairPrior:
    """Fit by maximum likelihood; kinds of pairs, and inside a kind all pairs, weigh equally.

    Parameters
    ----------
    rows : DataFrame
        As `read_rows` returns them.
    start : PairPrior, optional
        Where the search begins; what holds without a common labelled set is kept from it.
    common_only : bool
        With `start`, keep also what holds where one detector is at home.
    """
    used = rows[in_fit(rows)]
    weights = pair_weights(used)
    y = (used["true_a"] - used["true_b"]).to_numpy()
    seen = pair_features(used)
    first = np.concatenate([SAME_TRAINING[0], OTHER_TRAINING[0], GATE[0], COMMON[0]])
    pulls = np.concatenate([SAME_TRAINING[1], OTHER_TRAINING[1], GATE[1], COMMON[1]])
    begin = first if start is None else _numbers_of_mixture(start.common)
    common = _difference_mixture(
        likeliest(lambda x: _difference_mixture(x).predict(seen), y, weights, first, pulls, begin)
    )
    value, errors = common.predict(seen)
    shared = shared_variance(used, (y - value) / errors)
    influence = fit_influence(used, seen.level * (1 - seen.level) * seen.disagreement)
    if start is not None:
        prior = replace(start, common=common, shared=shared, **influence)
        return prior if common_only else replace(prior, home=fit_home(rows, common))
    unknown = replace(seen, terms=np.stack([np.full(len(y), np.nan), *seen.terms[1:]]))
    fixed = pulls.copy()
    fixed[[0, 7]] = 1e-9  # slopes of d0
    first[[0, 7]] = 0
    alone = _difference_mixture(
        likeliest(
            lambda x: _difference_mixture(x).predict(unknown), y, weights, first, fixed, first
        )
    )
    return PairPrior(
        common=common,
        alone=alone,
        home=fit_home(rows, common),
        shared=shared,
        dof=DOF,
        **influence,
    )


def fit_home(rows: pd.DataFrame, common: DifferenceMixture) -> LinearDifference:
    """Fit the differences of a detector at home and another one.

    Parameters
    ----------
    rows : DataFrame
        As `read_rows` returns them.
    common : DifferenceMixture
        What was fitted of other pairs, of which c and f hold here, too.
    """
    used = rows[in_fit(rows) & pair_features(rows).one_at_home]
    y = (used["true_a"] - used["true_b"]).to_numpy()
    seen, shares = with_domain_shift(used, domain_shift_prior("mAP"))

    def predict(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, variance = linear_difference(x).predict(seen, common.few, common.floor)
        return value.reshape(shares.shape), np.sqrt(variance).reshape(shares.shape)

    first, pulls = np.array(HOME[0]), np.array(HOME[1])
    return linear_difference(likeliest(predict, y, pair_weights(used), first, pulls, shares=shares))


def likeliest(
    predict: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    y: np.ndarray,
    weights: np.ndarray,
    first: np.ndarray,
    pulls: np.ndarray,
    begin: np.ndarray | None = None,
    shares: np.ndarray | None = None,
) -> np.ndarray:
    """Return the numbers of the highest penalised likelihood.

    Parameters
    ----------
    predict : callable
        Of all P numbers, (P,), makes N differences and the standard deviations of their errors.
    y : ndarray of shape (N,)
        True differences.
    weights : ndarray of shape (N,)
        Of the rows.
    first, pulls : ndarray of shape (P,)
        Mean and standard deviation of the prior of each number; under 1e-6 it stays at its mean.
    begin : ndarray of shape (P,), optional
        Where the search begins; by default at the mean.
    shares : ndarray of shape (G, N), optional
        Where `predict` returns G possibilities of each row, (G, N), their probabilities.
    """
    free = pulls > 1e-6

    def all_of(x: np.ndarray) -> np.ndarray:
        every = first.astype(float).copy()
        every[free] = x
        return every

    def loss(x: np.ndarray) -> float:
        value, errors = predict(all_of(x))
        # Student's distribution of variance errors^2, but for a constant
        squares = ((y - value) / errors) ** 2 / (DOF - 2)
        of_errors = -(DOF + 1) / 2 * np.log1p(squares) - np.log(errors)
        if shares is not None:
            of_errors = logsumexp(of_errors, axis=0, b=shares)
        pull = np.sum(((x - first[free]) / pulls[free]) ** 2)
        return float(0.5 * pull - weights @ of_errors)

    begin = first if begin is None else begin
    return all_of(minimize(loss, begin[free], method="L-BFGS-B", options=SEARCH).x)


def linear_difference(x: Sequence[float] | np.ndarray) -> LinearDifference:
    """Make the model of one kind of pairs of the seven numbers that are searched.

    Parameters
    ----------
    x : sequence of 7 floats
        Three slopes, the exponent γ, and the natural logarithms of τ, of the factor of τ in
        categories that are not usual, and of κ.
    """
    std, rare, contradiction = np.exp(x[4:]).tolist()
    slopes = (float(x[0]), float(x[1]), float(x[2]))
    return LinearDifference(slopes, std, float(x[3]), rare, contradiction)


def _difference_mixture(x: np.ndarray) -> DifferenceMixture:
    """Read nineteen numbers: seven of each kind, three of the gate, the logarithms of f and c."""
    floor, few = np.exp(x[17:]).tolist()
    gate = tuple(x[14:17].tolist())
    return DifferenceMixture(linear_difference(x[:7]), linear_difference(x[7:14]), gate, few, floor)


def _numbers_of_mixture(mixture: DifferenceMixture) -> np.ndarray:
    """Return the numbers that `_difference_mixture` reads."""

    def numbers_of_model(model: LinearDifference) -> list[float]:
        return [
            *model.slopes,
            model.exponent,
            *np.log([model.std, model.rare, model.contradiction]),
        ]

    same_training = numbers_of_model(mixture.same_training)
    other_training = numbers_of_model(mixture.other_training)
    return np.array(
        [*same_training, *other_training, *mixture.gate, *np.log([mixture.floor, mixture.few])]
    )


def pair_weights(rows: pd.DataFrame) -> np.ndarray:
    """Return the weights of rows: of kinds by `SHARES`, of pairs of one kind equal ones.

    Parameters
    ----------
    rows : DataFrame
        N rows with ``a``, ``b`` and ``tuned``, see `read_rows`. A kind is how many of both
        detectors were trained on one site, 0 to 2.

    Returns
    -------
    ndarray of shape (N,)
        With mean 1; the rows of one pair of detectors share its weight equally.
    """
    pair = rows["a"] + " " + rows["b"]
    sizes = pair.groupby(pair).transform("size")
    pairs = pair.groupby(rows["tuned"]).transform("nunique")
    weights = (np.array(SHARES)[rows["tuned"]] / pairs / sizes).to_numpy()
    return np.asarray(weights / weights.mean())


def shared_variance(rows: pd.DataFrame, errors: np.ndarray) -> float:
    """Return the share of the errors' variance that categories of a site have in common.

    It is the mean product of the errors of two categories over their mean square, in [0, 1];
    `SHARED` without a site of several categories.

    Parameters
    ----------
    rows : DataFrame
        N rows, see `read_rows`.
    errors : ndarray of shape (N,)
        Standardised: error over its expected standard deviation.
    """
    of_site = rows.assign(sum=errors, squares=errors**2, n=1)
    totals = of_site.groupby(["labelled", "a", "b", "source"])[["sum", "squares", "n"]].sum()
    totals = totals[totals["n"] > 1]
    if totals.empty:
        return SHARED
    cross = (totals["sum"] ** 2 - totals["squares"]).sum()
    return float(np.clip(cross / ((totals["n"] - 1) * totals["squares"]).sum(), 0, 1))


def fit_influence(rows: pd.DataFrame, size: np.ndarray) -> Mapping[str, Any]:
    """Fit how the predicted influence on a difference is used, and what variance it leaves.

    Parameters
    ----------
    rows : DataFrame
        N rows with the variances ``true`` and ``predicted`` of the influence, their covariance
        ``cross``, and ``noise``, see `fit_variance_prior`.
    size : ndarray of shape (N,)
        u m (1 - m), see `PairPrior`.

    Returns
    -------
    mapping of str to value
        ``influence``, ``per_image`` and ``per_image_dof`` of `PairPrior`: of persons and vehicles,
        and of other categories; of too few of these, of all.
    """
    units = size / np.maximum(rows["n_true"], FEWEST_OBJECTS)
    usable = (rows["predicted"] > 0) & (rows["true"] > 0) & (units > 0)
    rows, units = rows[usable], units[usable]
    noise = rows["noise"].fillna(rows["noise"].mean())

    def left(slope: float) -> pd.Series:
        return rows["true"] - 2 * slope * rows["cross"] + slope**2 * rows["predicted"]

    weights = pair_weights(rows)
    slope = min(
        np.linspace(0, 1, 21), key=lambda candidate: float(weights @ np.log(left(candidate)))
    )
    priors = []
    for members in (rows["usual"], ~rows["usual"]):
        members = members if members.sum() >= FEWEST_ROWS else members | True
        variances = (left(slope) / units)[members].tolist()
        priors.append(fit_variance_prior(variances, float(noise[members].mean())))
    return {
        "influence": float(slope),
        "per_image": tuple(prior.variance for prior in priors),
        "per_image_dof": tuple(prior.dof for prior in priors),
    }


if __name__ == "__main__":
    main()
