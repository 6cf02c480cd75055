"""Calibration of the probabilities of the order of sites: reliability tables and a picture."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from autoeval.errors import InputError
from autoeval.report.sections import Part, StudyReport
from autoeval.research.studies.site_order import predicted_orders, related_pairs, reliability, skill

GAPS = (0.0, 0.05, 0.1, 0.2, 1.0)
ABOUT = (
    "Of each task {share:.0%} of the families are left out at random, {draws} times; the others "
    "say how likely it is that one place is worse than another of another family (*pair*), or of "
    "the same (*related pair*), and that it is among the {worst} worst left out (*worst*). "
    "*predicted* is the mean probability in a bin, *true* how often it was so. *right*: share on "
    "the right side of one half; *brier*: Brier score of the probability, and that of "
    "the mere share; *off*: mean distance of predicted and true over the bins. *distinct*: places "
    "or pairs of places that the statements are of, each again in every draw that leaves it out. "
    "Then pairs by how far apart the true values are; and each pair of one family, the place "
    "predicted to be worse first: the mean probability, and by how many points it really is worse."
)
COLORS = {"pair": "tab:blue", "related pair": "0.6", "worst": "tab:orange"}


def places_report(
    tables: Sequence[pd.DataFrame],
    *,
    target: str = "mAP",
    draws: int = 40,
    share: float = 0.5,
    worst: int = 3,
    seed: int = 0,
) -> StudyReport:
    """Leave families out and predict the order of their sites.

    Raises
    ------
    InputError
        If a table has fewer than six families, or the share leaves nothing.
    """
    if not 0 < share < 1:
        raise InputError(f"Expected --share over 0 and under 1 but got {share}.")
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
        "Are the probabilities of the order of places right",
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
            "n": int(own.sum()),
            "right": float(right[own].mean()),
        }
        for edge in bins.cat.categories
        if (own := bins == edge).any()
    ]
    return pd.DataFrame(rows)


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(6, 6), layout="constrained")
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color="0.7", lw=1)
    for question, own in table.groupby("question"):
        color = COLORS[str(question)]
        ax.plot(own["predicted"], own["true"], "o-", color=color, label=str(question))
    ax.set(xlabel="predicted probability", ylabel="how often it was so", xlim=(0, 1), ylim=(0, 1))
    ax.legend(frameon=False)
    return figure
