"""A rendered road world with exact boxes: vehicles on roads, in environments that differ.

What detectors and estimates are tried on where there is no data: the demo (`autoeval.demo`) trains
a small detector on it, and published methods (`autoeval.stability`) run on its environments.

From bottom to top: `panels` (camera and polygons), `environments` (what is drawn from which range,
light), `ground` (roads and their colour), `vehicles` and `props` (shapes), `traffic` (vehicles on
roads), `scene` (all of one image), `air` (sky, rain and snow, the sensor), `rendering` (from a
scene to pixels), `dataset` (labels, and images on disk), `environments_task` (environments as a
task).
"""

from autoeval.roadworld.dataset import CATEGORY, Picture, make_picture, write_environment
from autoeval.roadworld.environments import ENVIRONMENTS, Environment

DETECTOR = "roadworld_nano"
"""Name under which `autoeval.detectors.load_detector` knows the detector trained on this world."""

__all__ = [
    "CATEGORY",
    "DETECTOR",
    "ENVIRONMENTS",
    "Environment",
    "Picture",
    "make_picture",
    "write_environment",
]
