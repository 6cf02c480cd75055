"""A rendered road world with exact boxes, and a small detector trained on it.

Modules for a picture, bottom to top: `camera`, `panels`, `vehicles` and `props` (shapes), `roads`,
`light`, `environments` (ranges), `traffic` and `scenery` (placing), `scene`, `ground`, `sky`,
`shadows`, `lamps`, `drawing`, `rendering`, `weather` (air and sensor), `labels`, `picture`,
`dataset`.
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
