"""What any detector has found, read from a COCO results file into flat arrays."""

from autoeval.io.image_lists import read_image_list
from autoeval.io.predictions.reading import read_predictions

__all__ = ["read_image_list", "read_predictions"]
