"""The default method: pairs of place and category as observations of one regression."""
