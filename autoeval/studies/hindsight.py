"""The oracle linear model: fitted on the very sites that it is evaluated by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.linear_model import QuantileRegressor

from autoeval.estimation.pair_table import values_of
from autoeval.studies.transfer import KEYS


def in_hindsight(
    places: pd.DataFrame, *, target: str = "mAP", features: Sequence[str]
) -> pd.DataFrame:
    """Evaluate sites by the line of least absolute error on themselves, a family counting once.

    No one line of these scores errs less on these places, whatever it was fitted on: a bound for
    what is told by one fit and within [0, 1], and an optimistic one, since it knows every truth.
    Who fits anew for each family, or cuts at 0, could in principle err less.
    Source: Koenker & Bassett 1978 (median regression), by scikit-learn.

    Returns
    -------
    DataFrame
        As of `autoeval.studies.transfer.evaluate`, without intervals.
    """
    x, y = values_of(places, features).to_numpy(), places[target].to_numpy(np.float64)
    weights = 1 / places.groupby(["family", "category"])[target].transform("size").to_numpy()
    line = QuantileRegressor(quantile=0.5, alpha=0.0).fit(x, y, sample_weight=weights)
    return places[KEYS].assign(
        true=y,
        estimate=line.predict(x),
        lower=np.nan,
        upper=np.nan,
        constant=y.mean(),
        inside=True,
    )
