"""Fitting the slopes of change on labelled places under corruptions."""
