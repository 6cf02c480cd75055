"""One interface for everything that counts, and its adapters."""

from autoeval.counting.counters.base import Counter, CountResult

__all__ = ["CountResult", "Counter"]
