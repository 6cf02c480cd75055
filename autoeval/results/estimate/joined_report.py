"""The report of several fits that were joined."""

from __future__ import annotations

from dataclasses import dataclass

from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.pairs.pair_regression import PairRegression
from autoeval.estimation.predictions.unseen_error import by_family, held_out_pairs
from autoeval.report.sections import Report
from autoeval.results.estimate.labelled_pairs import LabelledPairs
from autoeval.results.predictions.unseen_pairs import UnseenPairs
from autoeval.targets import find_target


def joined_report(title: str, estimator: MapEstimator) -> Report:
    """Compose what joined fits have to say: how far off they are, and what they rest on.

    Parameters
    ----------
    title : str
    estimator : MapEstimator
        From `autoeval.estimation.joining.join_fits`.
    """
    regression, target = estimator.regression_, find_target(estimator.target)
    assert isinstance(regression, PairRegression)
    table = estimator.table_
    held_out = held_out_pairs(table, target=estimator.target, level=estimator.level)
    unseen = UnseenPairs(held_out, by_family(table), target)
    return Report(title, [unseen, _OnThePage(table, regression.features_, target)])


@dataclass(frozen=True)
class _OnThePage(LabelledPairs):
    def text(self) -> str:
        """Say how many there are: on the terminal each is told when it is left out."""
        families = self.table["family"].nunique()
        return f"{len(self.table)} pairs of place and category, of {families} origins."
