"""What any detector has found, read from a COCO results file into flat arrays."""

from autoeval.data.predictions.box_columns import FoundBoxes
from autoeval.data.predictions.image_list import read_image_list
from autoeval.data.predictions.reading import read_predictions

__all__ = ["FoundBoxes", "read_image_list", "read_predictions"]
