"""Images as the detector's own configuration wants them, at its input size or half of it."""

from __future__ import annotations

import copy
import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from mmengine.config import Config
from torch import Tensor

from autoeval.detections import Detections
from autoeval.detectors.causes import UnsuitableSize, first_line, size_errors
from autoeval.detectors.half_images import on_half, shrink
from autoeval.errors import InputError

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

STRIDE = 32
MOST_THREADS = 8  # that prepare images ahead of the network
NO_PIPELINE = (
    "The detector's config has no test pipeline: expected `test_dataloader.dataset.pipeline`, "
    "as in mmdet's configs."
)

#: Steps without which a detector cannot do, and with which an image is not one image.
REFUSED = {
    "LoadProposals": (
        "the detector (Fast R-CNN) needs region proposals beside each image. Choose the config of "
        "a detector that makes its own, such as Faster R-CNN."
    ),
    "TestTimeAug": (
        "it makes several images of one, whose boxes `tta_model` would merge. Give the plain test "
        "pipeline as `test_dataloader.dataset.pipeline`."
    ),
}


def test_pipeline(config: Config) -> list[dict[str, Any]]:
    """Return the steps that the configuration applies to test images."""
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
    """Take an array in place of a file, and read no annotations."""
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


def rescale_pipeline(steps: Sequence[dict[str, Any]], scale: float) -> list[dict[str, Any]]:
    """Multiply the sizes that images are resized to, and those they are padded to.

    The latter are rounded up to what `STRIDE` divides: some necks can take nothing else. Where no
    step resizes (CornerNet), the image is resized once it is read.
    """
    rescaled: list[dict[str, Any]] = []
    resizes = False
    for step in map(dict, steps):
        if step_name(step) in ("Resize", "FixScaleResize"):
            resizes = True
            step |= {k: _times(step[k], scale) for k in ("scale", "scale_factor") if step.get(k)}
        elif step_name(step) == "Pad" and step.get("size"):
            step["size"] = tuple(math.ceil(n * scale / STRIDE) * STRIDE for n in step["size"])
        rescaled.append(step)
    if resizes:
        return rescaled
    first, *rest, last = rescaled
    if "meta_keys" in last:  # let it hand on by how much
        last = {**last, "meta_keys": (*last["meta_keys"], "scale_factor")}
    return [first, {"type": "mmdet.Resize", "scale_factor": scale}, *rest, last]


def step_name(step: dict[str, Any]) -> str:
    """Return the bare name of a pipeline step's type, given as a class or a scoped string."""
    kind = step["type"]
    return kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__


def _times(size: Any, scale: float) -> Any:
    """Multiply pixels, which stay whole, or a factor."""
    if isinstance(size, list | tuple):
        return tuple(_times(side, scale) for side in size)
    return max(1, round(size * scale)) if isinstance(size, int) else size * scale


class Preprocessor:
    """The test pipeline of a detector at a multiple of its input size, fed with decoded images.

    The step that reads a file is replaced by one that takes an array, as mmdet's
    ``inference_detector`` does, and the steps that read annotations are left out. `metainfo` is
    what the data samples carry besides sizes, such as words to look for.
    """

    def __init__(
        self, config: Config, *, scale: float = 1.0, metainfo: Mapping[str, Any] | None = None
    ) -> None:
        from mmcv.transforms import Compose

        self._metainfo = dict(metainfo or {})
        self._local = threading.local()
        self._begun: dict[int, tuple[np.ndarray, Future[dict[str, Any]]]] = {}
        steps = adapt_pipeline(test_pipeline(config))
        steps = steps if scale == 1 else rescale_pipeline(steps, scale)
        try:
            self._run = Compose(steps)
        except Exception as error:  # steps are programs: their constructors fail in any way
            raise InputError(
                f"mmdet cannot build the config's test pipeline: {first_line(error)}"
            ) from error

    def begin(self, image: np.ndarray) -> None:
        """Begin to prepare an image in another thread; a call with this image waits for it."""
        self._begun[id(image)] = image, self._threads.submit(self._prepare, image)

    def __call__(self, image: np.ndarray) -> dict[str, Any]:
        """Prepare one image (H, W, 3), uint8, BGR: ``inputs`` (3, H', W') and ``data_samples``."""
        begun = self._begun.pop(id(image), None)
        return self._prepare(image) if begun is None else begun[1].result()

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(
            min(MOST_THREADS, os.cpu_count() or 1), thread_name_prefix="prepare"
        )

    def _prepare(self, image: np.ndarray) -> dict[str, Any]:
        """Run the steps; each thread has a copy, since steps may note things of an image."""
        if not hasattr(self._local, "run"):
            self._local.run = copy.deepcopy(self._run)
        prepared = self._local.run({"img": image, "img_id": 0})
        prepared["data_samples"].set_metainfo(self._metainfo)
        return prepared


def collate(model: BaseDetector, prepared: Sequence[dict[str, Any]]) -> tuple[Tensor, list[Any]]:
    """Pad, normalise and stack prepared images with the model's own data preprocessor.

    Returns a Tensor (N, 3, H, W) on the model's device, and the data samples.
    """
    batch = {key: [one[key] for one in prepared] for key in ("inputs", "data_samples")}
    data = model.data_preprocessor(batch, False)
    return data["inputs"], data["data_samples"]


#: Takes images and a preprocessor (None for the usual one), and returns the boxes.
Find = Callable[[Sequence[np.ndarray], Preprocessor | None], list[Detections]]


class Halving:
    """Boxes at half the input size, for a network that takes one size only (SSD) on a canvas.

    `make` makes the preprocessor of half the size; `find` is a clean pass of the detector.
    """

    def __init__(self, make: Callable[[], Preprocessor], find: Find) -> None:
        self._make = make
        self._find = find

    @cached_property
    def _preprocess(self) -> Preprocessor:
        return self._make()

    def __call__(self, images: Sequence[np.ndarray]) -> list[Detections]:
        """Find boxes at half the input size, or on a canvas where an image does not go through."""
        try:
            return self.of_input(images)
        except UnsuitableSize:
            if len(images) == 1:
                return self.on_canvas(images)
        return [boxes for image in images for boxes in self([image])]

    def of_input(self, images: Sequence[np.ndarray]) -> list[Detections]:
        """Find boxes at half the input size; `UnsuitableSize` if the network cannot take it."""
        with size_errors():
            return self._find(images, self._preprocess)

    def on_canvas(self, images: Sequence[np.ndarray]) -> list[Detections]:
        """Find boxes on images at half their size, see `shrink`."""
        shrunk = self._find([shrink(image) for image in images], None)
        return [on_half(boxes, image.shape) for boxes, image in zip(shrunk, images, strict=True)]
