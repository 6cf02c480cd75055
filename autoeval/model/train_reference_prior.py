"""Train the shipped prior of what agreement with a reference detector adds.

    python -m autoeval.model.train_reference_prior

writes ``configs/reference_prior.json``, the numbers of `ReferencePrior`. A row of the table
``meta_sets/panel/references.csv`` is a student with a reference at a site and category, both
calibrated on the same labelled set; `benchmarks/panel.py` makes it from boxes. Every student with
every reference is estimated by each candidate, without a quarter of the groups in turn, by a prior
that was fitted without both and their kin. The weight is chosen by the mean absolute error, then
the spread by the interval score.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.model import Prior
from autoeval.model.pair_table import CATEGORY, REFERENCE_TRUE
from autoeval.model.priors import REFERENCE_PRIOR, ReferencePrior, ReferenceStrength
from autoeval.model.regression import Regression
from autoeval.model.train_prior import (
    COMMON,
    QUARTERS,
    TABLES,
    enough,
    fit_prior,
    kin,
    quarters,
    read_scores,
)
from autoeval.runtime.files import shipped_config, write_json

TABLE = TABLES / "references.csv"
PAIR = ["student", "reference"]
MAKERS = {"yolo26": "ultralytics", "yolov8": "ultralytics"}
"""Who made detectors that are kin though their names do not say so."""
CERTAIN = 0.02  # a fifth of a usual difference between two detectors of the panel
STARTS = ((-0.1, 0.1), (-0.05, 0.05), (-0.05, 0.15), (0.0, 0.1), (0.0, 0.2))
NARROWER = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
LEVEL = 0.9


def main() -> None:
    """Read the table, choose, and write the prior."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    cells = pd.concat(estimated(pd.read_csv(TABLE)), ignore_index=True)
    write_json(shipped_config(REFERENCE_PRIOR), asdict(chosen(cells)), indent=1)


def maker(detector: str) -> str:
    """Name what detectors of one architecture and maker share.

    Parameters
    ----------
    detector : str
        Its name in the panel.

    Examples
    --------
    >>> maker("yolov8"), maker("yolox_416")
    ('ultralytics', 'yolox')
    """
    return MAKERS.get(detector, kin(detector))


def priors() -> Iterator[ReferencePrior]:
    """Yield the candidates."""
    for start, full in STARTS:
        for narrower in NARROWER:
            yield ReferencePrior(start, full, CERTAIN, narrower)


def estimated(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Estimate each pair without and by every candidate, each quarter of the groups left out.

    Parameters
    ----------
    rows : DataFrame
        Of `TABLE`.

    Yields
    ------
    DataFrame
        A row an estimate, with the `fold` of its group and the candidate in `start`, `full`
        and `narrower`, NaN without the reference.
    """
    panel, quarter = read_scores(), quarters(rows)
    fold_priors: dict[tuple[frozenset[str], int], Prior] = {}
    for (student, reference), pair_rows in tqdm([*rows.groupby(PAIR)], "pairs", disable=None):
        labelled = pair_rows[pair_rows["kind"] == CATEGORY]
        sites = pair_rows[pair_rows["kind"] != CATEGORY]
        sites = sites[enough(pair_rows).loc[sites.index]]
        left, strength = frozenset(map(maker, (student, reference))), ReferenceStrength.of(labelled)
        for fold in range(QUARTERS):
            held = sites[sites["group"].map(quarter) == fold]
            if held.empty:
                continue
            if (left, fold) not in fold_priors:
                in_fit = ~panel["detector"].map(maker).isin(left)
                in_fit &= panel["group"].map(quarter) != fold
                fold_priors[left, fold] = fit_prior(panel[in_fit])
            named = {"student": student, "reference": reference, "fold": fold}
            named["stronger"] = strength is not None and strength.stronger
            without = predicted(labelled, held, fold_priors[left, fold], None)
            yield without.assign(**named)
            for candidate in priors():
                rows_with = without
                if candidate.weight(strength):
                    rows_with = predicted(labelled, held, fold_priors[left, fold], candidate)
                yield rows_with.assign(
                    **named,
                    start=candidate.start,
                    full=candidate.full,
                    narrower=candidate.narrower,
                )


def predicted(
    labelled: pd.DataFrame,
    held: pd.DataFrame,
    prior: Prior,
    with_reference: ReferencePrior | None,
) -> pd.DataFrame:
    """Fit on the labelled pairs and estimate others, each as a site of its own.

    Parameters
    ----------
    labelled, held : DataFrame
        Pairs of the labelled set, and of sites.
    prior : Prior
        Fitted without both detectors and without these sites.
    with_reference : ReferencePrior, optional
        A candidate; None for an estimate without a reference.
    """
    if with_reference is None:
        labelled = labelled.drop(columns=REFERENCE_TRUE)
    fitted = Regression(prior=prior, reference_prior=with_reference).fit(labelled)
    intervals = [fitted.predict(held.iloc[[k]])[0] for k in range(len(held))]
    common = held["category"].isin(COMMON)
    return pd.DataFrame(
        {
            "category_group": np.where(common, held["category"], "other"),
            "source": held["source"].to_numpy(),
            "category": held["category"].to_numpy(),
            "true": held["mAP"].to_numpy(),
            "reference_true": held[REFERENCE_TRUE].to_numpy(),
            "agreement": held["reference_ap"].to_numpy(),
            "estimate": [interval.value for interval in intervals],
            "lower": [interval.lower for interval in intervals],
            "upper": [interval.upper for interval in intervals],
        }
    )


def chosen(cells: pd.DataFrame) -> ReferencePrior:
    """Choose the weight by the MAE, then the spread by the interval score.

    Every pair of student and reference and kind of category counts alike; only references that are
    stronger count, since others have no weight. Source of the score: Gneiting & Raftery 2007,
    section 6.2.

    Parameters
    ----------
    cells : DataFrame
        Of `estimated`.
    """
    cells = cells[cells["stronger"] & cells["start"].notna()]
    below, above = cells["lower"] - cells["true"], cells["true"] - cells["upper"]
    outside = below.clip(lower=0) + above.clip(lower=0)
    scored = cells.assign(
        error=(cells["estimate"] - cells["true"]).abs(),
        interval=cells["upper"] - cells["lower"] + 2 / (1 - LEVEL) * outside,
    )
    by = ["start", "full", "narrower"]
    means = scored.groupby([*by, *PAIR, "category_group"])[["error", "interval"]].mean()
    means = means.groupby(level=by).mean()
    start, full = means["error"].groupby(level=by[:2]).mean().idxmin()
    narrower = means["interval"].loc[start, full].idxmin()
    return ReferencePrior(float(start), float(full), CERTAIN, float(narrower))


if __name__ == "__main__":
    main()
