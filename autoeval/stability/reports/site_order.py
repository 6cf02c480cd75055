"""Calibration of the probabilities of the order of sites: reliability tables and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.new_sites import NewSites
from autoeval.estimation.pair_table import pair_rows
from autoeval.monitoring.monitor import among_worst
from autoeval.report.sections import Part
from autoeval.stability.reports.study_report import StudyReport

GAPS = (0.0, 0.05, 0.1, 0.2, 1.0)
ABOUT = (
    "Of each task {share:.0%} of the groups are left out at random, {draws} times; the others "
    "predict the probability that one site is worse than another of another group (*pair*) or of "
    "the same (*related pair*), and that it is among the {worst} worst left out (*worst*). "
    "*predicted*: mean probability in a bin; *true*: observed share; *right*: share on "
    "the right side of one half; *brier*: Brier score of the probability, and that of "
    "the mere share; *off*: mean calibration error over the bins; *distinct*: sites or pairs. "
    "Then pairs by the difference of their true values; and each pair of one group, the site "
    "predicted to be worse first: the mean probability, and the true difference in points."
)
COLORS = {"pair": "tab:blue", "related pair": "0.6", "worst": "tab:orange"}
EDGES = np.array([0.0, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0])
FEWEST_GROUPS = 6


def places_report(
    tables: Sequence[pd.DataFrame],
    *,
    target: str = "mAP",
    draws: int = 40,
    share: float = 0.5,
    worst: int = 3,
    seed: int = 0,
) -> StudyReport:
    """Leave groups out and predict the order of their sites."""
    if not 0 < share < 1:
        raise InputError(f"Expected share= over 0 and under 1 but got {share}.")
    options = {"target": target, "draws": draws, "share": share, "k": worst, "seed": seed}
    parts = [
        predicted_orders(table, **options).assign(task=k)  # type: ignore[arg-type]
        for k, table in enumerate(tables)
    ]
    predicted = pd.concat(parts, ignore_index=True)
    predicted["draw"] += draws * predicted.pop("task")
    by_bin, summary, by_gap = reliability(predicted), skill(predicted), _by_gap(predicted)
    return StudyReport(
        "place_order",
        "Are the probabilities of the order of sites right",
        ABOUT.format(share=share, draws=draws, worst=worst),
        _figure(by_bin),
        [
            Part("place_order_skill", summary, _rounded(summary)),
            Part("place_order", by_bin, _for_people(by_bin)),
            Part("place_order_gaps", by_gap, by_gap.assign(right=_percent(by_gap["right"]))),
            *([_related_part(related)] if len(related := related_pairs(predicted)) else []),
        ],
    )


def _for_people(table: pd.DataFrame) -> pd.DataFrame:
    percent = {n: _percent(table[n]) for n in ("predicted", "true")}
    bins = [f"{a:.0%} to {b:.0%}" for a, b in zip(table["from"], table["to"], strict=True)]
    counts = {name: table[name] for name in ("n", "distinct")}
    return table[["question"]].assign(probability=bins, **counts, **percent)


def _related_part(table: pd.DataFrame) -> Part:
    shown = {
        "predicted to be worse, than": table["of"],
        "draws": table["draws"],
        "predicted": _percent(table["predicted"]),
        "worse by, points": [f"{100 * value:.1f}" for value in table["apart"]],
    }
    return Part("place_order_related", table, pd.DataFrame(shown))


def _rounded(summary: pd.DataFrame) -> pd.DataFrame:
    exact = {name: [f"{v:.3f}" for v in summary[name]] for name in ("brier", "brier_none")}
    off = _percent(summary["calibration"])
    counts = summary[["question", "n", "distinct"]]
    shown = counts.assign(right=_percent(summary["right"]), **exact, off=off)
    return shown.rename(columns={"brier_none": "brier of the share"})


def _percent(values: pd.Series) -> list[str]:
    return [f"{100 * value:.0f} %" for value in values]


def _by_gap(predicted: pd.DataFrame) -> pd.DataFrame:
    pairs = predicted[predicted["question"] == "pair"]
    right = (pairs["probability"] > 0.5) == pairs["true"].astype(bool)
    bins = pd.cut(pairs["gap"].abs(), GAPS, include_lowest=True)
    rows = [
        {
            "apart by, points": f"{100 * max(edge.left, 0):.0f} to {100 * edge.right:.0f}",
            "n": int(in_bin.sum()),
            "right": float(right[in_bin].mean()),
        }
        for edge in bins.cat.categories
        if (in_bin := bins == edge).any()
    ]
    return pd.DataFrame(rows)


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(6, 6), layout="constrained")
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color="0.7", lw=1)
    for question, answers in table.groupby("question"):
        color = COLORS[str(question)]
        ax.plot(answers["predicted"], answers["true"], "o-", color=color, label=str(question))
    ax.set(xlabel="predicted probability", ylabel="how often it was so", xlim=(0, 1), ylim=(0, 1))
    ax.legend(frameon=False)
    return figure


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
    """Leave out groups at random and predict the order of their sites from the others.

    One row a statement: ``question`` (``"pair"``: is a site worse than one of another group;
    ``"related pair"``: of the same group; ``"worst"``: is it among the k worst), ``of`` (the site,
    or the two sites), ``draw``, ``probability``, ``true``, and of pairs ``gap``, the true
    difference.
    """
    rows = pair_rows(table)
    rows = rows[np.isfinite(rows[target])].reset_index(drop=True)
    groups = sorted(rows["group"].astype(str).unique())
    if len(groups) < FEWEST_GROUPS:
        raise InputError(
            f"Expected {FEWEST_GROUPS} groups or more, to leave half of them out, but got "
            f"{len(groups)}."
        )
    rng, parts = np.random.default_rng(seed), []
    n_out = max(2, round(share * len(groups)))
    for draw in range(draws):
        out = rows["group"].isin(rng.choice(groups, n_out, replace=False))
        fitted = BayesianRegression(target=target).fit(rows[~out])
        left_out = rows[out].reset_index(drop=True)
        single = fitted.categories_[0] if fitted.single else left_out["category"]
        places = NewSites(fitted, left_out.assign(site=left_out["source"], category=single))
        drawn = places.draw(draws=samples, seed=seed + draw)
        parts += [{**row, "draw": draw} for row in _statements(drawn, left_out, target, k)]
    return pd.DataFrame(parts)


def reliability(predicted: pd.DataFrame, edges: np.ndarray = EDGES) -> pd.DataFrame:
    """Compare probabilities of `predicted_orders` with observed frequencies, in bins of `edges`.

    ``distinct`` are sites or pairs of sites; ``lower`` and ``upper`` the 5th and 95th percentile of
    the share ``true`` over draws of groups.
    """
    bins = np.clip(
        np.searchsorted(edges, predicted["probability"], side="right") - 1, 0, len(edges) - 2
    )
    rows = []
    for (question, k), in_bin in predicted.assign(bin=bins).groupby(["question", "bin"]):
        by_draw = in_bin.groupby("draw")["true"].mean()
        rows.append(
            {
                "question": question,
                "from": edges[int(k)],
                "to": edges[int(k) + 1],
                "n": len(in_bin),
                "distinct": in_bin["of"].nunique(),
                "predicted": in_bin["probability"].mean(),
                "true": in_bin["true"].mean(),
                "lower": by_draw.quantile(0.05),
                "upper": by_draw.quantile(0.95),
            }
        )
    return pd.DataFrame(rows)


def related_pairs(predicted: pd.DataFrame) -> pd.DataFrame:
    """Average the predictions for each two sites of one group over the draws that leave them out.

    ``of`` names the site that is predicted to be worse first; ``apart`` is how much worse it really
    is, in units of the accuracy; negative where the order is wrong.
    """
    rows = []
    related = predicted[predicted["question"] == "related pair"]
    for (a, b), draws in related.groupby("of"):
        p_worse, apart = draws["probability"].mean(), draws["gap"].iloc[0]
        turned = p_worse < 0.5
        rows.append(
            {
                "of": f"{b}, {a}" if turned else f"{a}, {b}",
                "draws": len(draws),
                "predicted": 1 - p_worse if turned else p_worse,
                "apart": -apart if turned else apart,
            }
        )
    return pd.DataFrame(rows, columns=["of", "draws", "predicted", "apart"])


def skill(predicted: pd.DataFrame) -> pd.DataFrame:
    """Summarise each question.

    ``right`` is the share on the right side of one half, ``brier`` the mean squared error of the
    probability (Brier 1950), ``brier_none`` that of the share alone, ``calibration`` the mean
    absolute distance of predicted and true over bins, weighted.
    """
    rows = []
    for question, answers in predicted.groupby("question"):
        p, true = answers["probability"].to_numpy(), answers["true"].to_numpy(float)
        table = reliability(answers)
        off = (table["predicted"] - table["true"]).abs()
        rows.append(
            {
                "question": question,
                "n": len(answers),
                "distinct": answers["of"].nunique(),
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
    true, group = left_out[target].to_numpy(), left_out["group"].to_numpy(object)
    names = (left_out["source"].astype(str) + " " + left_out["category"].astype(str)).tolist()
    worse = worse_than(drawn, np.arange(len(true)))
    for a in range(len(true)):
        for b in range(a):  # each pair once, in an order that knows nothing of the truth
            question = "related pair" if group[a] == group[b] else "pair"
            row = {"question": question, "of": (names[a], names[b]), "probability": worse[a, b]}
            yield {**row, "gap": true[b] - true[a], "true": bool(true[a] < true[b])}
    if len(true) <= k:
        return
    worst = set(np.argsort(true, kind="stable")[:k])
    for place, probability in enumerate(among_worst(drawn, k)):
        row = {"question": "worst", "of": (names[place],), "probability": probability}
        yield {**row, "true": place in worst}


def worse_than(drawn: np.ndarray, sites: np.ndarray) -> np.ndarray:
    """Return the probability of M sites, as (draws, K) indexes them, to be worse than each of K.

    One half where a site is compared with itself.

    >>> worse_than(np.array([[.1, .5], [.4, .2]]), np.array([0]))
    array([[0.5, 0.5]])
    """
    probabilities = np.array([(drawn[:, [site]] < drawn).mean(axis=0) for site in sites])
    probabilities[np.arange(len(sites)), sites] = 0.5
    return probabilities
