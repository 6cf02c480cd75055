"""The report of a fit on pairs of place and category: of a labelled set, or of joined fits."""

from __future__ import annotations

from collections.abc import Sequence

from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.pairs.pair_regression import PairRegression
from autoeval.estimation.predictions.unseen_error import by_family, held_out_pairs
from autoeval.report.sections import Report
from autoeval.results.estimate.doubts import LeftOut
from autoeval.results.estimate.labelled_pairs import LabelledPairs
from autoeval.results.predictions.predictions_report import Cautions
from autoeval.results.predictions.unseen_pairs import UnseenPairs
from autoeval.targets import find_target


def pairs_report(
    title: str,
    estimator: MapEstimator,
    *,
    doubts: Sequence[str] = (),
    problems: Sequence[str] = (),
) -> Report:
    """Compose what a fit has to say: why to doubt it, how far off it is, and what it rests on.

    Parameters
    ----------
    title : str
    estimator : MapEstimator
        With the method ``bayes``.
    doubts, problems : sequence of str
        Reasons not to trust it, and what was left out.
    """
    regression, target = estimator.regression_, find_target(estimator.target)
    assert isinstance(regression, PairRegression)
    table = estimator.table_
    held_out = held_out_pairs(table, target=estimator.target, level=estimator.level)
    sections = [
        LeftOut(problems),
        UnseenPairs(held_out, by_family(table), target),
        LabelledPairs(table, regression.features_, target),
    ]
    return Report(title, [*([Cautions(doubts)] if doubts else []), *sections])
