"""Measure whether it shows that a detector was trained at the labelled site, if nobody says so.

    python -m benchmarks.fine_tuned_seen

Of ``meta_sets/panel/fine_tuned_pairs.csv``: the detectors that were trained on one site, each
labelled at home, and detectors of COCO's images labelled at the same homes, estimated at sites of
other groups. What is seen is the accuracy on the labelled set and by how much the log-odds of the
estimate lie below it. A logistic regression on both predicts which detector is at home; a linear
one on the estimate, and on its product with either, predicts the true value. Both kinds count
alike. Each is fitted without the home, the detector's kin and a quarter of the groups. Prints the
area under the curve of the first and the errors of the second beside those of the estimate.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score

from autoeval.comparison.train_differences import (
    OF_PANEL,
    TUNED,
    accuracies_at_home,
    alike,
    read_rows,
)
from autoeval.report.tables import to_markdown

COLUMNS = ["source", "category", "fold", "category_group"]
SMALL = 0.02  # added where log-odds are taken


def main() -> None:
    """Print both tables."""
    rows = single_estimates()
    seen = {
        "accuracy on the labelled set": rows[["home"]],
        "fall of the estimate below it": rows[["gap"]],
        "both": rows[["home", "gap"]],
    }
    curves = {
        name: round(100 * roc_auc_score(rows["at_home"], left_out(rows, x.to_numpy(), True)), 0)
        for name, x in seen.items()
    }
    print(to_markdown(pd.Series(curves, name="area under the curve").reset_index()) + "\n")
    estimate = rows["estimate"].to_numpy()
    products = rows[["home", "gap"]].clip(-2, 2).to_numpy() * estimate[:, None]
    corrected = left_out(rows, np.column_stack([estimate, products]), False)
    plain = left_out(rows, estimate[:, None], False)
    values = {"as it is": estimate, "scaled": plain, "by what is seen": corrected}
    table = []
    for name, value in values.items():
        error = 100 * (np.clip(value, 0, 1) - rows["true"])
        own = pd.DataFrame({"mae": error.abs(), "bias": error, "kind": rows["kind"]})
        table.append(
            own.groupby("kind").mean().round(1).assign(estimate=name, n=rows.groupby("kind").size())
        )
    print(to_markdown(pd.concat(table).reset_index()))


def single_estimates() -> pd.DataFrame:
    """Return the estimates of detectors at home, and of COCO's at the same homes."""
    rows = read_rows()
    rows = rows[(rows["labelled"] != OF_PANEL) & rows["usual"]]
    parts = []
    for (labelled, _), own in rows.groupby(["labelled", "category_group"]):
        name = TUNED + str(labelled).rpartition("/")[2]
        at_home = float(accuracies_at_home()[name])
        for of, other, sign in (("a", "b", 1), ("b", "a", -1)):
            pairs = own[own[other] == name]  # the difference on the labelled set is known
            found = pairs[COLUMNS].assign(
                detector=pairs[of],
                estimate=pairs[f"estimate_{of}"],
                true=pairs[f"true_{of}"],
                home=at_home + sign * pairs["carried"],
            )
            itself = pairs[COLUMNS].assign(
                detector=name,
                estimate=pairs[f"estimate_{other}"],
                true=pairs[f"true_{other}"],
                home=at_home,
            )
            parts.append(pd.concat([found, itself]).assign(labelled=labelled))
    found = pd.concat(parts).drop_duplicates(["labelled", "detector", "source", "category"])
    found["at_home"] = found["detector"] == TUNED + found["labelled"].str.rpartition("/")[2]
    found = found[found["at_home"] | ~found["detector"].str.startswith(TUNED)]
    found["kind"] = np.where(found["at_home"], "trained at the labelled site", "COCO")
    found["gap"] = log_odds(found["home"]) - log_odds(found["estimate"])
    return found.reset_index(drop=True)


def log_odds(accuracy: pd.Series) -> pd.Series:
    """Return log-odds that stay finite."""
    p = accuracy.clip(0, 1)
    return np.log((p + SMALL) / (1 + SMALL - p))


def left_out(rows: pd.DataFrame, x: np.ndarray, which: bool) -> np.ndarray:
    """Predict each row, which detector is at home or its true value; see the module."""
    kin = rows["detector"].map(alike)
    at_home, true = rows["at_home"].to_numpy(), rows["true"].to_numpy()
    predicted = np.full(len(rows), np.nan)
    for _, own in rows.groupby(["labelled", kin, "fold"]):
        first = own.index[0]
        others = (rows["labelled"] != rows["labelled"][first]) & (kin != kin[first])
        others = (others & (rows["fold"] != rows["fold"][first])).to_numpy()
        shares = np.where(at_home[others], 1 / at_home[others].sum(), 1 / (~at_home[others]).sum())
        weights = shares / shares.mean()
        if which:
            model = LogisticRegression().fit(x[others], at_home[others], sample_weight=weights)
            predicted[own.index] = model.predict_proba(x[own.index])[:, 1]
        else:
            line = LinearRegression().fit(x[others], true[others], sample_weight=weights)
            predicted[own.index] = line.predict(x[own.index])
    return predicted


if __name__ == "__main__":
    main()
