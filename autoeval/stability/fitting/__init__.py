"""Fitting published methods on sample sets: every score of a detector, by rows of a store."""
