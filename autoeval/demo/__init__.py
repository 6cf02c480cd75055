"""A rendered road world with exact boxes, for the demo that needs no data."""
