"""Evaluating files of predicted counts: measures, comparison, charts, report."""
