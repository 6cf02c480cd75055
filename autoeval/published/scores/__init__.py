"""Published scores beside those that the default reads; see `autoeval.scores.registry`."""
