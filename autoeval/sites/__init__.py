"""Boxes on the images of a site, with its labels where it has them, and what they look like."""
