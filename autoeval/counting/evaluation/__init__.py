"""Evaluating files of predicted counts: measures, comparison, charts, report."""

from autoeval.counting.evaluation.compare import CountComparison, compare_models
from autoeval.counting.evaluation.model_measures import CountEvaluation, evaluate_counts

__all__ = ["CountComparison", "CountEvaluation", "compare_models", "evaluate_counts"]
