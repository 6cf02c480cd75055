"""Images as the detector's own configuration wants them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from mmengine.config import Config
from torch import Tensor

from autoeval.errors import InputError

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector


STRIDE = 32


class Preprocessor:
    """The test pipeline of a detector, fed with decoded images.

    The step that reads a file is replaced by one that takes an array, as mmdet's
    ``inference_detector`` does, and the steps that read annotations are left out.

    Parameters
    ----------
    config : Config
        The detector's configuration.
    scale : float
        Multiple of the configuration's input size.

    Raises
    ------
    InputError
        If it has no test pipeline, one that does not begin by reading an image, or, for another
        scale than 1, one that does not resize.
    """

    def __init__(self, config: Config, *, scale: float = 1.0) -> None:
        from mmcv.transforms import Compose

        steps = adapt_pipeline(test_pipeline(config))
        self._run = Compose(steps if scale == 1 else rescale_pipeline(steps, scale))

    def __call__(self, image: np.ndarray) -> dict[str, Any]:
        """Prepare one image (H, W, 3), uint8, BGR.

        Returns
        -------
        dict
            ``inputs``, a Tensor (3, H', W'), and ``data_samples``, which remembers the scale.
        """
        return self._run({"img": image, "img_id": 0})


def collate(model: BaseDetector, prepared: Sequence[dict[str, Any]]) -> tuple[Tensor, list[Any]]:
    """Pad, normalise and stack prepared images with the model's own data preprocessor.

    Returns
    -------
    Tensor of shape (N, 3, H, W)
        On the model's device.
    list of DetDataSample
    """
    batch = {key: [one[key] for one in prepared] for key in ("inputs", "data_samples")}
    data = model.data_preprocessor(batch, False)
    return data["inputs"], data["data_samples"]


def test_pipeline(config: Config) -> list[dict[str, Any]]:
    """Return the steps that the configuration applies to test images."""
    from mmdet.utils import get_test_pipeline_cfg

    try:
        steps = get_test_pipeline_cfg(config.copy())
    except (AttributeError, KeyError, RuntimeError) as error:
        raise InputError(
            "The detector's config has no test pipeline: expected "
            "`test_dataloader.dataset.pipeline`, as in mmdet's configs."
        ) from error
    return [dict(step) for step in steps]


def adapt_pipeline(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take an array in place of a file, and read no annotations."""
    if not steps or not step_name(steps[0]).startswith("LoadImage"):
        found = step_name(steps[0]) if steps else "nothing"
        raise InputError(
            f"Expected the test pipeline to begin with LoadImageFromFile, but found {found} there."
        )
    first = {**steps[0], "type": "mmdet.LoadImageFromNDArray"}
    rest = [step for step in steps[1:] if not _reads_annotations(step)]
    return [first, *rest]


def rescale_pipeline(steps: Sequence[dict[str, Any]], scale: float) -> list[dict[str, Any]]:
    """Multiply the sizes that images are resized to, and those they are padded to.

    The latter are rounded up to what `STRIDE` divides: some necks can take nothing else.

    Raises
    ------
    InputError
        If no step resizes.
    """
    rescaled, found = [], False
    for step in map(dict, steps):
        if step_name(step) in ("Resize", "FixScaleResize"):
            found = True
            step |= {k: _times(step[k], scale) for k in ("scale", "scale_factor") if step.get(k)}
        elif step_name(step) == "Pad" and step.get("size"):
            step["size"] = tuple(math.ceil(n * scale / STRIDE) * STRIDE for n in step["size"])
        rescaled.append(step)
    if not found:
        raise InputError("its test pipeline has no step that resizes")
    return rescaled


def step_name(step: dict[str, Any]) -> str:
    """Return the bare name of a pipeline step's type, given as a class or a scoped string."""
    kind = step["type"]
    return kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__


def _times(size: Any, scale: float) -> Any:
    """Multiply pixels, which stay whole, or a factor."""
    if isinstance(size, list | tuple):
        return tuple(_times(side, scale) for side in size)
    return max(1, round(size * scale)) if isinstance(size, int) else size * scale


def _reads_annotations(step: dict[str, Any]) -> bool:
    name = step_name(step)
    return name.startswith("Load") and name.endswith("Annotations")
