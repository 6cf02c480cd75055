"""Tasks for lmms-eval: their files, and functions that need the standard library alone."""
