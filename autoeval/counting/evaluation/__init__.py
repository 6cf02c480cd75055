"""Evaluating files of predicted counts: measures, comparison, charts, report."""

from autoeval.counting.evaluation.compare import CountComparison, compare_models
from autoeval.counting.evaluation.model_measures import CountEvaluation, evaluate_counts
from autoeval.counting.evaluation.streaming import CountScore

__all__ = [
    "CountComparison",
    "CountEvaluation",
    "CountScore",
    "compare_models",
    "evaluate_counts",
]
