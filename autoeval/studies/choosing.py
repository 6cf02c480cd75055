"""Which scores and which prior? Chosen on some detectors, evaluated on another, never by looking.

All functions take one pair table a detector, of places and maybe of a labelled set; see
`autoeval.estimation.pair_table`. Every way of settings leaves out the families that it evaluates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.pair_table import FEATURES, OF_BOXES
from autoeval.estimation.score_table import SEED
from autoeval.regression import Prior
from autoeval.studies import transfer

SIZES = (1, 3, 8)
ROUNDS = 2
MISSED = 0.1  # share of truths that an interval may miss


@dataclass(frozen=True)
class Choice:
    """Scores, of which those are read that a table has, and a prior."""

    features: tuple[str, ...] = FEATURES
    prior: Prior = field(default_factory=Prior)


FIRST = ("ac", "box_share@0.30", "confident_images@0.20", "scale_ap@0.30")
START = Choice(
    FIRST,
    Prior(
        intercept=0.35,
        intercept_std=0.15,
        rise=0.24,
        slopes=(0.04, 0.08, 0.16),
        spread=0.11,
        spread_log_std=0.35,
        shares=((0.7, 0.1, 0.05, 0.15), (0.5, 0.2, 0.1, 0.2), (0.3, 0.2, 0.1, 0.4)),
        bending=0.05,
        least=0.35,
    ),
)
"""The first guess, by hand."""

Evaluated = Callable[[Choice], pd.DataFrame]

STEPS: Mapping[str, Sequence[Any]] = {
    "slopes": (
        (0.04, 0.08, 0.16),
        (0.02, 0.04),
        (0.01, 0.02),
        (0.01, 0.02, 0.04),
    ),
    "features": (
        FIRST,
        FEATURES,
        (*FEATURES, "ac"),
        ("atc@0.50", *FEATURES[1:]),
        (*FEATURES, "best_box"),
        (*FEATURES, "scale_count@0.30"),
        (*FEATURES[:2], *FEATURES[3:]),
    ),
    "rise": (0.22, 0.24, 0.26, 0.28, 0.3),
    "least": (0.35, 0.8, 1.0),
    "shares": (
        ((0.7, 0.1, 0.05, 0.15), (0.5, 0.2, 0.1, 0.2), (0.3, 0.2, 0.1, 0.4)),
        ((0.5, 0.2, 0.1, 0.2), (0.3, 0.2, 0.1, 0.4), (0.2, 0.1, 0.1, 0.6)),
        ((0.3, 0.2, 0.1, 0.4), (0.2, 0.1, 0.1, 0.6), (0.2, 0.1, 0.3, 0.4)),
    ),
    "intercept_std": (0.07, 0.1, 0.15),
    "bending": (0.0, 0.05, 0.1),
    "spread": (0.08, 0.09, 0.1, 0.11),
    "spread_log_std": (0.2, 0.35),
}
"""What is chosen, one after the other, and its options."""


def with_option(choice: Choice, step: str, option: Any) -> Choice:
    """Replace the scores of a choice, or one number of its prior."""
    if step == "features":
        return replace(choice, features=tuple(option))
    return replace(choice, prior=replace(choice.prior, **{step: option}))


def evaluate_all(
    tables: Mapping[str, pd.DataFrame],
    choice: Choice,
    *,
    sizes: Sequence[int] = SIZES,
    draws: int = 2,
    seed: int = 0,
    estimator: Callable[..., Any] = BayesianRegression,
) -> pd.DataFrame:
    """Evaluate a choice on every detector, in every way that its table allows.

    Returns
    -------
    DataFrame
        One row for each detector, way and category: ``loss``
        (`weighted_interval_score`) and the figures of
        `autoeval.studies.transfer.figures`.
    """
    rows = []
    for detector, table in tables.items():
        options: dict[str, Any] = {"features": _read(choice, table), "prior": choice.prior}
        options["estimator"] = estimator
        for way, evaluated in _ways(table, sizes, draws, seed, options):
            scored = evaluated.assign(loss=weighted_interval_score(evaluated))
            for category, own in scored.groupby("category", sort=False):
                named = {"detector": detector, "way": way, "category": category}
                keys = ["family", *(["draw"] if "draw" in own else [])]
                loss = float(own.groupby(keys)["loss"].mean().mean())
                rows.append({**named, "loss": loss, **transfer.figures(own)})
    return pd.DataFrame(rows)


def check_families(tables: Mapping[str, pd.DataFrame]) -> None:
    """Make sure that every table holds places of three families or more."""
    for name, table in tables.items():
        n_families = table.loc[table["kind"] == SEED, "family"].nunique()
        if n_families < 3:
            raise InputError(f"{name}: expected places of 3 families or more, got {n_families}.")


def weighted_interval_score(evaluated: pd.DataFrame) -> np.ndarray:
    r"""Price a value and its interval of level 90 % together.

    .. math:: WIS = \frac{1}{1.5} \left(\tfrac12 |y - m| + \tfrac{\alpha}{2} \Big(u - l +
              \tfrac{2}{\alpha} \big(\max(l - y, 0) + \max(y - u, 0)\big)\Big)\right)

    with the value m, the interval l to u and :math:`\alpha = .1` (Bracher et al. 2021, equation 1,
    with one interval): near the mean over all quantiles of what each is off by, and least on
    average for who tells the true ones. Where nothing is told, the interval is all that is possible
    and the value what the sources have on average.

    Examples
    --------
    >>> evaluated = pd.DataFrame({"true": [.5, .5], "lower": [.4, .6], "upper": [.6, .7]})
    >>> weighted_interval_score(evaluated.assign(estimate=[.5, .65], constant=.5)).round(4)
    array([0.0067, 0.12  ])
    """
    low, high, true = (
        evaluated["lower"].fillna(0.0),
        evaluated["upper"].fillna(1.0),
        evaluated["true"],
    )
    off = (evaluated["estimate"].fillna(evaluated["constant"]) - true).abs()
    outside = (low - true).clip(lower=0) + (true - high).clip(lower=0)
    interval = high - low + 2 / MISSED * outside
    return ((off + MISSED * interval) / 3).to_numpy(np.float64)


def mean_loss(evaluated: pd.DataFrame, base: pd.DataFrame, detectors: Collection[str]) -> float:
    """Return the loss relative to that of another choice; each detector counts the same."""
    means = (table.groupby("detector")["loss"].mean() for table in (evaluated, base))
    mine, other = means
    return float((mine / other)[list(detectors)].mean())


def choose(
    evaluated: Evaluated, detectors: Collection[str], steps: Mapping[str, Sequence[Any]] = STEPS
) -> Choice:
    """Take the steps from `START` on, and of each the best option by the loss on some detectors.

    All steps are taken `ROUNDS` times, since what is best in one goes with what the others are.

    Parameters
    ----------
    evaluated : callable
        `evaluate_all` of a choice.
    detectors : collection of str
        Those that count.
    steps : mapping
        Options of each step.
    """
    best = START
    base = evaluated(best)
    for step, options in chain(*[steps.items()] * ROUNDS):
        tried = [with_option(best, step, option) for option in options]
        best = min(tried, key=lambda choice: mean_loss(evaluated(choice), base, detectors))
    return best


def nested(
    tables: Mapping[str, pd.DataFrame],
    *,
    steps: Mapping[str, Sequence[Any]] = STEPS,
    advance: Callable[[], object] = lambda: None,
    **options: Any,
) -> tuple[dict[str, Choice], Evaluated]:
    """Choose without each detector, and on all of them (key ``""``).

    Returns
    -------
    choices : dict of str to Choice
        By the detector that was left out.
    evaluated : callable
        `evaluate_all` of these tables, which remembers its answers.
    """

    @cache
    def evaluated(choice: Choice) -> pd.DataFrame:
        advance()
        return evaluate_all(tables, choice, **options)

    left_out = list(tables) if len(tables) > 1 else []
    choices = {
        name: choose(evaluated, [other for other in tables if other != name], steps)
        for name in (*left_out, "")
    }
    return choices, evaluated


def _read(choice: Choice, table: pd.DataFrame) -> tuple[str, ...]:
    """Return the scores of a choice that a table has; those of boxes alone it has to have."""
    return tuple(name for name in choice.features if name in table or name in OF_BOXES)


def _ways(
    table: pd.DataFrame, sizes: Sequence[int], draws: int, seed: int, options: dict[str, Any]
) -> Iterator[tuple[str, pd.DataFrame]]:
    places, sets = transfer.places_of(table), transfer.labelled_of(table)
    yield "families left out", transfer.families_left_out(places, **options)
    if len(sets):
        yield "0 and a set", transfer.by_labelled_set(sets, places, **options)
    for m in (m for m in sizes if m < places["family"].nunique() - 1):
        for known in (None, sets) if len(sets) else (None,):
            drawn = transfer.few_families(places, known, m=m, draws=draws, seed=seed, **options)
            yield f"{m}{'' if known is None else ' and a set'}", drawn
