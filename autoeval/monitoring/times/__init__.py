"""When images were taken, and which belong together in time."""
