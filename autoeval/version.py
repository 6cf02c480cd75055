"""The version of the software, which the keys of jobs hold."""

__version__ = "0.1.0"
