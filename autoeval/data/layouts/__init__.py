"""Readers for the layouts in which data sets were published, each read where it is named."""
