"""What is said of a reference detector: whether it is read, and where it has no box."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from autoeval.estimation.pair_table import REFERENCE_TRUE, pair_rows
from autoeval.estimation.reference_prior import PRECISION_OF
from autoeval.io.wording import listed
from autoeval.model.reference_features import REFERENCE_AP
from autoeval.notices import Notice
from autoeval.targets import OperatingPoint

if TYPE_CHECKING:
    from autoeval.estimation.bayesian_regression import BayesianRegression


def reference_of_fit(table: pd.DataFrame, regression: BayesianRegression) -> tuple[str, ...]:
    """Warn where the agreement with a reference detector is not read, of all or of some pairs.

    table: that of the fit, with columns that hold no value.
    """
    rows = pair_rows(table)
    if REFERENCE_TRUE not in rows:
        return ()
    point = OperatingPoint.of(regression.target)
    if point and not (point.measure == "precision" and rows["category"].isin(PRECISION_OF).any()):
        usual = listed(PRECISION_OF)
        why = f"it is evidence of average precision, and at a threshold of the precision of {usual}"
        return (_not_read(f"{why} alone"),)
    strength = regression.reference_strength_
    if strength is None:
        return (
            _not_read(
                "it has no box in any labelled category. Are its boxes of these images, and are "
                "its words those of the labels (--reference FILE names=FILE)?"
            ),
        )
    if not regression.reference_weight_:
        why = "it agrees with the detector more than with the labels, as detectors of one family do"
        if not strength.stronger:
            why = "it is no stronger than the detector"
        return (_not_read(f"{why} ({strength})"),)
    lacking = rows[rows[REFERENCE_AP].isna()]
    if lacking.empty:
        return ()
    names = [" of ".join(map(str, pair)) for pair in lacking[["category", "source"]].to_numpy()]
    return (_without(names, len(rows)),)


def reference_at_site(rows: pd.DataFrame, features: Sequence[str]) -> tuple[str, ...]:
    """Warn of categories of a site in which the reference detector has no box.

    features: those that the regression reads.
    """
    read = [name for name in features if name.startswith(REFERENCE_AP)]
    if not read or "category" not in rows:
        return ()
    lacking = ~np.isfinite(rows[read[0]].to_numpy(np.float64))
    names = [str(name) for name in rows.loc[lacking, "category"]]
    return (_without(names, len(rows)),) if names else ()


def _not_read(why: str) -> Notice:
    return Notice(
        "reference-not-read",
        f"the reference detector (--reference) is not read: {why}",
        severity="note",
    )


def _without(names: Sequence[str], n: int) -> Notice:
    return Notice(
        "reference-without-boxes",
        f"the reference detector has no box of {len(names)} of {n} categories, which are "
        f"estimated without it: {listed(names, 10)}",
        severity="note",
    )
