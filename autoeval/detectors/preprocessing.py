"""Images as the detector's own configuration wants them."""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from mmengine.config import Config
from torch import Tensor

from autoeval.detectors.predicting import to_device
from autoeval.errors import InputError, first_line

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

NO_PIPELINE = (
    "The detector's config has no test pipeline: expected `test_dataloader.dataset.pipeline`, "
    "as in mmdet's configs."
)

#: Steps without which a detector cannot do, and with which an image is not one image.
REFUSED = {
    "LoadProposals": (
        "the detector (Fast R-CNN) needs region proposals with each image. Choose the config of "
        "a detector that makes its own, such as Faster R-CNN."
    ),
    "TestTimeAug": (
        "it makes several images of one, whose boxes `tta_model` would merge. Give the plain test "
        "pipeline as `test_dataloader.dataset.pipeline`."
    ),
}


def test_pipeline(config: Config) -> list[dict[str, Any]]:
    """Return the steps that the configuration applies to test images.

    Parameters
    ----------
    config : Config
        Of the detector.

    Raises
    ------
    InputError
        If it has none, or a step without a type.
    """
    from mmdet.utils import get_test_pipeline_cfg

    try:
        steps = get_test_pipeline_cfg(config.copy())
    except (AttributeError, KeyError, IndexError, TypeError, RuntimeError) as error:
        raise InputError(NO_PIPELINE) from error
    if not isinstance(steps, list | tuple):
        raise InputError(NO_PIPELINE)
    for step in steps:
        if not isinstance(step, Mapping) or "type" not in step:
            raise InputError(
                f"Expected each step of the test pipeline with a `type`, got {step!r}."
            )
    return [dict(step) for step in steps]


def adapt_pipeline(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take an array in place of a file, and read no annotations.

    Parameters
    ----------
    steps : sequence of dict
        Of a test pipeline.

    Returns
    -------
    list of dict
        The steps, the first one loading an array.

    Raises
    ------
    InputError
        If they do not begin with a step that loads an image, or have one of `REFUSED`.
    """
    if not steps or not step_name(steps[0]).startswith("LoadImage"):
        first_step = step_name(steps[0]) if steps else "nothing"
        raise InputError(
            "Expected the test pipeline to begin with LoadImageFromFile, but found "
            f"{first_step} there."
        )
    for name in map(step_name, steps):
        if name in REFUSED:
            raise InputError(f"The config's test pipeline has {name}: {REFUSED[name]}")
    first = {**steps[0], "type": "mmdet.LoadImageFromNDArray"}
    names = ((step_name(step), step) for step in steps[1:])
    return [
        first,
        *(s for n, s in names if not (n.startswith("Load") and n.endswith("Annotations"))),
    ]


def step_name(step: dict[str, Any]) -> str:
    """Return the bare name of the type of a pipeline step.

    Parameters
    ----------
    step : dict
        Whose ``type`` is a class, or a text with or without a scope.
    """
    kind = step["type"]
    return kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__


class Preprocessor:
    """The test pipeline of a detector, fed with decoded images.

    The step that reads a file is replaced by one that takes an array, as mmdet's
    ``inference_detector`` does, and the steps that read annotations are left out.

    Parameters
    ----------
    config : Config
        Of the detector.
    metainfo : mapping, optional
        What the data samples carry in addition to sizes, such as words to look for.

    Raises
    ------
    InputError
        If the pipeline cannot be built or used so.
    """

    def __init__(self, config: Config, *, metainfo: Mapping[str, Any] | None = None) -> None:
        from mmcv.transforms import Compose

        self._metainfo = dict(metainfo or {})
        self._local = threading.local()
        self._begun: dict[int, dict[str, Any]] = {}
        steps = adapt_pipeline(test_pipeline(config))
        try:
            self._run = Compose(steps)
        except Exception as error:  # steps are programs: their constructors fail in any way
            raise InputError(
                f"mmdet cannot build the config's test pipeline: {first_line(error)}"
            ) from error

    def ahead(self, image: np.ndarray) -> None:
        """Prepare an image for a later call, from any thread; an error is left to that call.

        Parameters
        ----------
        image : ndarray of shape (H, W, 3), uint8, BGR
            That will be called with.
        """
        try:
            prepared = self._prepare(image)
        except Exception:  # steps are programs: they fail in any way
            return
        self._begun[id(image)] = prepared
        # An image that nobody calls for, since the run was stopped, takes what was prepared along.
        weakref.finalize(image, self._begun.pop, id(image), None).atexit = False

    def __call__(self, image: np.ndarray) -> dict[str, Any]:
        """Prepare one image, or take what `ahead` has prepared.

        Parameters
        ----------
        image : ndarray of shape (H, W, 3), uint8, BGR
            The same object as in `ahead`.

        Returns
        -------
        dict
            ``inputs``, a Tensor of shape (3, H', W'), and ``data_samples``.
        """
        prepared = self._begun.pop(id(image), None)
        return self._prepare(image) if prepared is None else prepared

    def _prepare(self, image: np.ndarray) -> dict[str, Any]:
        """Run the steps; each thread has a copy, since steps may note things of an image."""
        if not hasattr(self._local, "run"):
            self._local.run = copy.deepcopy(self._run)
        prepared = self._local.run({"img": image, "img_id": 0})
        prepared["data_samples"].set_metainfo(self._metainfo)
        return prepared


def collate(model: BaseDetector, prepared: Sequence[dict[str, Any]]) -> tuple[Tensor, list[Any]]:
    """Pad, normalise and stack prepared images with the model's own data preprocessor.

    They go to the device in one copy, for which nobody waits.

    Parameters
    ----------
    model : mmdet.models.detectors.BaseDetector
        The model.
    prepared : sequence of N dicts
        As `Preprocessor` returns them, of one size.

    Returns
    -------
    inputs : Tensor of shape (N, 3, H, W)
        On the model's device.
    samples : list of DetDataSample
        Of each.
    """
    inputs = [one["inputs"] for one in prepared]
    samples = [one["data_samples"] for one in prepared]
    device = model.data_preprocessor.device
    if device.type != "cpu":
        inputs = list(to_device(torch.stack(inputs), device))
    data = model.data_preprocessor({"inputs": inputs, "data_samples": samples}, False)
    return data["inputs"], data["data_samples"]
