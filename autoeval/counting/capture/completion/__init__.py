"""A counter without learning: fit a pattern to what is visible and continue it behind the box."""
