"""Files that survive a kill, jobs, progress; and how a job, a question or an item ended.

What ended how is written into the column ``status``.
"""

OK = "ok"
FAILED = "failed"
"""Where a reason is known it follows, behind a colon."""

SKIPPED = "skipped"
"""Asked, and declined to answer."""

MISSING = "missing"
"""Never asked."""
