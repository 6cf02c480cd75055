"""Fitting the slopes of change on labelled sites under corruptions."""
