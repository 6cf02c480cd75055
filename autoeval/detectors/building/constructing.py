"""Building models, with the errors of mmdet's own constructors explained."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.error import URLError

from mmengine.config import Config

from autoeval.detectors import ops
from autoeval.detectors.causes import first_line
from autoeval.errors import InputError

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

#: Packages that some detectors need and that come with no other, and how they are installed.
EXTRAS = {
    "transformers": "pip install 'autoeval[open-vocabulary]'",
    "nltk": "pip install nltk",
    "mmpretrain": "pip install mmpretrain model-index, beside a torchvision that fits torch",
    "modelindex": "pip install model-index",
    "timm": "pip install timm",
    "detectron2": "see https://github.com/facebookresearch/detectron2",
    "torchvision": "a torchvision that fits torch",
    "skimage": "pip install scikit-image",
}
LOCAL_ENCODER = (
    "Name a folder that has the text encoder: --cfg-options model.language_model.name=FOLDER, for "
    "GLIP model.bbox_head.lang_model_name=FOLDER, too."
)


def build_model(config: Config) -> BaseDetector:
    """Build the model of a config with random weights.

    Raises `InputError` if mmdet cannot, it has no backbone, or it needs an operator that is not
    there.
    """
    ops.register()
    import mmdet.models  # noqa: F401  (fills the registry)
    from mmdet.registry import MODELS
    from mmengine.model.utils import revert_sync_batchnorm
    from mmengine.registry import init_default_scope

    init_default_scope(config.get("default_scope") or "mmdet")
    try:
        model = _mend(revert_sync_batchnorm(MODELS.build(config.model)))
    except Exception as error:  # constructors read files, download, import: they fail in any way
        raise InputError(
            f"mmdet cannot build the detector of {config.filename}: {explained(error)}"
        ) from error
    _check(model, config)
    return model


def explained(error: BaseException) -> str:
    """Put an error of a config or a constructor in words, with what to do about it."""
    message = first_line(_first_import_error(error))
    extra = _missing_package(message)
    if extra:
        return f"{message.rstrip('.')}. It needs {extra}: {EXTRAS[extra]}."
    if "huggingface.co" in message:
        return f"{message.rstrip('.')}. {LOCAL_ENCODER}"
    if isinstance(error, FileNotFoundError):
        return f"{message.rstrip('.')}. The config names this file: give its whole path there."
    if isinstance(error, URLError | ConnectionError | TimeoutError):
        return f"a download failed ({message}): the config should name a local file in its place."
    if "registry" in message:
        return f"{message.rstrip('.')}. Import what defines it with `custom_imports` in the config."
    return message


def _first_import_error(error: BaseException) -> BaseException:
    """Return the import that failed first, where one led to the error."""
    while isinstance(error.__context__, ImportError):
        error = error.__context__
    return error


def _missing_package(message: str) -> str | None:
    """Return which of `EXTRAS` a message says is not installed."""
    absent = re.search(r"No module named|not installed|install|Failed to import", message)
    return next((name for name in EXTRAS if absent and name in message.lower()), None)


def _mend(model: BaseDetector) -> BaseDetector:
    """Mend what mmdet 3.3 and its configs take for granted.

    The SSD head reads ``loss_cls``, which it never sets; CrowdDet asks for RoIAlign of torchvision,
    which is mmcv's by another hand.
    """
    from mmcv.ops import RoIAlign
    from mmdet.models import SSDHead

    for module in model.modules():
        if isinstance(module, SSDHead) and not hasattr(module, "loss_cls"):
            module.loss_cls = None
        if isinstance(module, RoIAlign) and ops.torchvision_ops("cpu") is None:
            module.use_torchvision = False
    return model


def _check(model: BaseDetector, config: Config) -> None:
    name = type(model).__name__
    if not hasattr(model, "backbone"):
        raise InputError(
            f"{name}, the model of {config.filename}, has no `backbone` of mmdet's kind: put the "
            "detector within it there, or use its predictions."
        )
    ops.check_needs(model)


def fill_registries() -> None:
    """Register every model, data set, hook and loop of mmdet, and make its scope the default."""
    from mmdet.utils import register_all_modules

    register_all_modules()
