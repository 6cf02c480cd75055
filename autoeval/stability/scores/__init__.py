"""Label-free scores, each registered by its name; see `base`."""
