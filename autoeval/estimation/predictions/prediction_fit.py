"""A fit on predictions: the estimator, how far off it is, and what is doubtful."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.predictions.memory import Memory
from autoeval.estimation.predictions.prediction_estimator import PredictionsEstimator
from autoeval.estimation.predictions.prediction_pairs import CONFIDENT
from autoeval.estimation.predictions.unseen_error import held_out_pairs, worse_than_constant


@dataclass(frozen=True)
class PredictionsFit:
    """A fitted estimator with the evidence for and against it.

    Parameters
    ----------
    estimator : PredictionsEstimator
    held_out : DataFrame
        See `held_out_pairs`.
    problems : tuple of str
        What was left out on the way, or is doubtful.
    """

    estimator: PredictionsEstimator
    held_out: pd.DataFrame
    problems: tuple[str, ...] = ()


def unlike(memories: Sequence[Memory], names: Sequence[str]) -> list[str]:
    """Say which sources' files look as if they came from another detector than the others."""
    floors = pd.Series([memory.floor for memory in memories], index=names)
    odd = floors[(floors > 3 * floors.median()) & (floors > 0.05)]
    return [
        f"{name}: its lowest score is {floor:.3g}, that of most others {floors.median():.3g}: "
        "another threshold, or another detector?"
        for name, floor in odd.items()
    ]


def joined(memories: Sequence[Memory]) -> Memory:
    """Say how the files of several sources look together."""
    words = dict.fromkeys(word for memory in memories for word in memory.categories)
    numbers = {k: word for memory in memories for k, word in memory.numbers.items()}
    return Memory(
        tuple(words),
        numbers,
        min(memory.floor for memory in memories),
        max(memory.most_boxes for memory in memories),
        all(memory.half_size for memory in memories),
        max(memory.highest for memory in memories),
        sum(memory.unseen for memory in memories) / len(memories),
    )


def fit_pairs(
    table: pd.DataFrame, memory: Memory, problems: Sequence[str], target: str, level: float
) -> PredictionsFit:
    """Fit on a pair table, and judge that on pairs that had no part in it.

    Raises
    ------
    InputError
        If no box is confident anywhere.
    """
    if 0 < memory.highest <= CONFIDENT:
        raise InputError(
            f"The highest score is {memory.highest:.3g}, and what the scores tell begins at "
            f"{CONFIDENT}: expected confidences in [0, 1] that are high where a box is right."
        )
    table = table.reset_index(drop=True)
    estimator = PredictionsEstimator(target=target, level=level).fit(table, memory)
    held_out = held_out_pairs(estimator.pairs_.rows_, target=target, level=level)
    useless = worse_than_constant(held_out)
    estimator.memory_ = memory.doubting(*useless)
    return PredictionsFit(estimator, held_out, (*problems, *useless))
