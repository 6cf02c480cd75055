"""Images as the detector's own configuration wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from mmengine.config import Config
from torch import Tensor

from autoeval.detectors.causes import first_line
from autoeval.detectors.inputs.pipelines import adapt_pipeline, rescale_pipeline, test_pipeline
from autoeval.errors import InputError

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector


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
    told : mapping of str to object, optional
        What the data samples carry besides sizes, such as words to look for.

    Raises
    ------
    InputError
        If it has no test pipeline, or one that cannot be built or does not begin by reading an
        image.
    """

    def __init__(
        self, config: Config, *, scale: float = 1.0, told: Mapping[str, Any] | None = None
    ) -> None:
        from mmcv.transforms import Compose

        self._told = dict(told or {})
        steps = adapt_pipeline(test_pipeline(config))
        steps = steps if scale == 1 else rescale_pipeline(steps, scale)
        try:
            self._run = Compose(steps)
        except Exception as error:  # steps are programs: their constructors fail in any way
            raise InputError(
                f"mmdet cannot build the config's test pipeline: {first_line(error)}"
            ) from error

    def __call__(self, image: np.ndarray) -> dict[str, Any]:
        """Prepare one image (H, W, 3), uint8, BGR.

        Returns
        -------
        dict
            ``inputs``, a Tensor (3, H', W'), and ``data_samples``, which remembers the scale.
        """
        prepared = self._run({"img": image, "img_id": 0})
        prepared["data_samples"].set_metainfo(self._told)
        return prepared


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
