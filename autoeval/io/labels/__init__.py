"""Labelled boxes of a data set, whatever the format of its files."""
