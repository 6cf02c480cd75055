"""Label-free accuracy of detectors, and honest measures of counting."""

__version__ = "0.1.0"
