"""Files that survive a kill, jobs, progress."""
