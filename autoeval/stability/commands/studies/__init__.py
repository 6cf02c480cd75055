"""The studies of the method, one a file: what each starts from, its settings and its run."""
