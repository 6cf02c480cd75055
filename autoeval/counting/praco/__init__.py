"""PrACo: whether a counter that is asked in words understands what it is asked for."""
