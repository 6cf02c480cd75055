"""Detectors as a pass over images runs them: decoded images in, boxes out.

`DetectorSpec` (``detector_spec.py``) names one, and loads an `MMDetector` (``detector.py``, by
``loading.py``) of mmdet, or a `BlackBoxDetector` (``black_box.py``): any callable, or a model of
another framework by ``adapters/``. Both have ``categories``, ``settings``, ``fingerprint`` and
``observe(images, image_ids)``, which returns an `Evidence` an image;
`autoeval.estimation.observation` calls it. ``building/`` reads mmdet's configs and checkpoints,
``ops/`` supplies mmcv's operators where nothing is compiled. Of the core this package alone imports
mmdet.

Names are imported when they are used, so that black boxes do without torch and mmdet.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autoeval.detectors.black_box import BlackBoxDetector
    from autoeval.detectors.detector import MMDetector
    from autoeval.detectors.loading import load_detector

_HOMES = {
    "BlackBoxDetector": "black_box",
    "MMDetector": "detector",
    "load_detector": "loading",
}

# What mmengine's use of pkg_resources, mmdet's of autocast and meshgrid bring up says nothing to
# users. A context manager around each pass would make all other warnings come again with each.
warnings.filterwarnings("ignore", "pkg_resources is deprecated as an API", UserWarning)
warnings.filterwarnings(
    "ignore",
    r"`torch\.cuda\.amp\.autocast\(args\.\.\.\)` is deprecated",
    FutureWarning,
    module="mm(det|cv|engine)",
)
warnings.filterwarnings("ignore", r"torch\.meshgrid: in an upcoming release", UserWarning)

__all__ = ["BlackBoxDetector", "MMDetector", "load_detector"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
