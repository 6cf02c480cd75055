"""Images as a detector wants them: its pipeline, half the size, other light."""
