"""Commands of the published methods."""
