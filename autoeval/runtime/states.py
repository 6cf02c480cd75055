"""How a job, a question or an item ended; what is written into the column ``status``."""

OK = "ok"
FAILED = "failed"
"""Where a reason is known it follows, behind a colon."""

SKIPPED = "skipped"
"""Asked, and declined to answer."""

MISSING = "missing"
"""Never asked."""
