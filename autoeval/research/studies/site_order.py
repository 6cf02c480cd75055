"""Calibration of the probabilities that one site is worse than another, families left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.new_sites import NewSites
from autoeval.estimation.pair_table import pair_rows
from autoeval.monitoring.order.site_table import among_worst, worse_than

EDGES = np.array([0.0, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0])
FEWEST_FAMILIES = 6


def predicted_orders(
    table: pd.DataFrame,
    *,
    target: str = "mAP",
    draws: int = 40,
    share: float = 0.5,
    k: int = 3,
    samples: int = 4000,
    seed: int = 0,
) -> pd.DataFrame:
    """Leave out families at random and predict the order of their sites from the others.

    Returns
    -------
    DataFrame
        One row a statement: ``question`` (``"pair"``: is a place worse than another one of another
        family; ``"related pair"``: of the same family; ``"worst"``: is it among the k worst),
        ``of`` (the place, or the two places), ``draw``, ``probability``, ``true`` (bool), and of
        pairs ``gap``, the true difference.

    Raises
    ------
    InputError
        If there are fewer than six families.
    """
    rows = pair_rows(table)
    rows = rows[np.isfinite(rows[target])].reset_index(drop=True)
    families = sorted(rows["family"].astype(str).unique())
    if len(families) < FEWEST_FAMILIES:
        raise InputError(
            f"Expected {FEWEST_FAMILIES} families or more, to leave half of them out, but got "
            f"{len(families)}."
        )
    rng, parts = np.random.default_rng(seed), []
    n_out = max(2, round(share * len(families)))
    for draw in range(draws):
        out = rows["family"].isin(rng.choice(families, n_out, replace=False))
        fitted = BayesianRegression(target=target).fit(rows[~out])
        left_out = rows[out].reset_index(drop=True)
        single = fitted.categories_[0] if fitted.single else left_out["category"]
        places = NewSites(fitted, left_out.assign(site=left_out["source"], category=single))
        drawn = places.draw(draws=samples, seed=seed + draw)
        parts += [{**row, "draw": draw} for row in _statements(drawn, left_out, target, k)]
    return pd.DataFrame(parts)


def reliability(predicted: pd.DataFrame, edges: np.ndarray = EDGES) -> pd.DataFrame:
    """Compare probabilities with observed frequencies, in bins.

    Parameters
    ----------
    predicted : DataFrame
        From `predicted_orders`.
    edges : ndarray of shape (B + 1,)
        Of the bins of probabilities.

    Returns
    -------
    DataFrame
        One row a question and bin: ``n``, ``distinct`` (places or pairs of places that these are
        of), ``predicted`` (mean probability), ``true`` (share), and ``lower`` and ``upper``,
        the 5th and 95th percentile of that share over draws of families.
    """
    bins = np.clip(
        np.searchsorted(edges, predicted["probability"], side="right") - 1, 0, len(edges) - 2
    )
    rows = []
    for (question, k), own in predicted.assign(bin=bins).groupby(["question", "bin"]):
        by_draw = own.groupby("draw")["true"].mean()
        rows.append(
            {
                "question": question,
                "from": edges[int(k)],
                "to": edges[int(k) + 1],
                "n": len(own),
                "distinct": own["of"].nunique(),
                "predicted": own["probability"].mean(),
                "true": own["true"].mean(),
                "lower": by_draw.quantile(0.05),
                "upper": by_draw.quantile(0.95),
            }
        )
    return pd.DataFrame(rows)


def related_pairs(predicted: pd.DataFrame) -> pd.DataFrame:
    """Average the predictions for each two sites of one family over the draws that leave them out.

    Returns
    -------
    DataFrame
        One row a pair: ``of`` (the site that is predicted to be worse first), ``draws``,
        ``predicted`` (mean probability, one half at least) and ``apart`` (how much worse it really
        is, in units of the accuracy; negative where the order is wrong).
    """
    rows = []
    related = predicted[predicted["question"] == "related pair"]
    for (a, b), own in related.groupby("of"):
        p_worse, apart = own["probability"].mean(), own["gap"].iloc[0]
        turned = p_worse < 0.5
        rows.append(
            {
                "of": f"{b}, {a}" if turned else f"{a}, {b}",
                "draws": len(own),
                "predicted": 1 - p_worse if turned else p_worse,
                "apart": -apart if turned else apart,
            }
        )
    return pd.DataFrame(rows, columns=["of", "draws", "predicted", "apart"])


def skill(predicted: pd.DataFrame) -> pd.DataFrame:
    """Summarise each question.

    Returns
    -------
    DataFrame
        ``question``, ``n``, ``distinct`` (see `reliability`), ``right`` (share of pairs, or of
        places, on the right side of one half), ``brier`` (mean squared error of the probability;
        Brier 1950), ``brier_none`` (that of the share alone, which knows no scores),
        ``calibration`` (mean absolute distance of predicted and true over bins, weighted).
    """
    rows = []
    for question, own in predicted.groupby("question"):
        p, true = own["probability"].to_numpy(), own["true"].to_numpy(float)
        table = reliability(own)
        off = (table["predicted"] - table["true"]).abs()
        rows.append(
            {
                "question": question,
                "n": len(own),
                "distinct": own["of"].nunique(),
                "right": float(((p > 0.5) == (true > 0.5)).mean()),
                "brier": float(((p - true) ** 2).mean()),
                "brier_none": float(true.mean() * (1 - true.mean())),
                "calibration": float((off * table["n"]).sum() / table["n"].sum()),
            }
        )
    return pd.DataFrame(rows)


def _statements(
    drawn: np.ndarray, left_out: pd.DataFrame, target: str, k: int
) -> Iterator[dict[str, object]]:
    true, family = left_out[target].to_numpy(), left_out["family"].to_numpy(object)
    names = (left_out["source"].astype(str) + " " + left_out["category"].astype(str)).tolist()
    worse = worse_than(drawn, np.arange(len(true)))
    for a in range(len(true)):
        for b in range(a):  # each pair once, in an order that knows nothing of the truth
            question = "related pair" if family[a] == family[b] else "pair"
            row = {"question": question, "of": (names[a], names[b]), "probability": worse[a, b]}
            yield {**row, "gap": true[b] - true[a], "true": bool(true[a] < true[b])}
    if len(true) <= k:
        return
    worst = set(np.argsort(true, kind="stable")[:k])
    for place, probability in enumerate(among_worst(drawn, k)):
        row = {"question": "worst", "of": (names[place],), "probability": probability}
        yield {**row, "true": place in worst}
