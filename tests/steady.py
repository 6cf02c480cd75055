"""Hypothesis with the same examples in every run, however long they take.

Few tests need it, and to import it takes each process of the others .3 s.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

__all__ = ["given", "st"]

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
