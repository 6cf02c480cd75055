"""What any detector has found, read from files or objects in memory into one table of boxes."""

from autoeval.io.predictions.reading import read_predictions

__all__ = ["read_predictions"]
