"""Label-free scores: one a file, all fed from the same evidence."""
