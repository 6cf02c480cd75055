"""Files that survive a kill, jobs, progress; and how a job, a question or an item ended.

It knows nothing of what a job computes. `files` reads and writes whole files; `jobs` runs each job
once, here or by `ray_executor` on a cluster, and keeps its rows in a `store`; `progress` has the
bars; `python_file` lets a user's file import what lies beside it. What ended how is written into
the column ``status``, as one of the constants here.
"""

OK = "ok"
FAILED = "failed"
"""Where a reason is known it follows, behind a colon."""

SKIPPED = "skipped"
"""Asked, and declined to answer."""

MISSING = "missing"
"""Never asked."""
