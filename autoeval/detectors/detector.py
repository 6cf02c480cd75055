"""A detector of mmdet as a pass over images sees it: decoded images in, boxes out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from mmengine.config import Config

from autoeval.detections import FRAMEWORK, Detections, Evidence, check_precision
from autoeval.detectors.adapters import ACCELERATOR_BATCH
from autoeval.detectors.building.category_names import prompt, takes_words_in_parts
from autoeval.detectors.predicting import (
    Batch,
    HostCopy,
    Later,
    QuickPooling,
    in_precision,
    predict,
)
from autoeval.detectors.preprocessing import Preprocessor, collate
from autoeval.detectors.settings import describe, fingerprint

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

Observed = TypeVar("Observed")


class MMDetector:
    """An mmdet model together with all that is needed to run it on decoded images.

    Made by `load_detector`.

    Parameters
    ----------
    model : mmdet.models.detectors.BaseDetector
        With its weights and on its device; it is switched to eval mode.
    config : Config
        Its config, with the test pipeline.
    categories : sequence of str
        What its labels index; for a model that takes words, what it looks for.
    precision : str
        One of `PRECISIONS`, see `in_precision`.

    Attributes
    ----------
    max_batch : int
        Samples that go through the network together: 1 on a CPU, where more brings nothing and
        rounds differently, and for a model that takes its words in parts; `ACCELERATOR_BATCH`
        elsewhere, and half as many each time that the memory of the device runs out. The numbers of
        a CPU therefore do not depend on how images are grouped, to the last bit; those of an
        accelerator agree to rounding.
    device : torch.device
        Where it runs.

    Raises
    ------
    InputError
        If there is no such precision, the test pipeline cannot be used, or the model reads fewer
        words at once than it is given.
    """

    def __init__(
        self,
        model: BaseDetector,
        config: Config,
        categories: Sequence[str],
        *,
        precision: str = FRAMEWORK,
    ) -> None:
        check_precision(precision)
        model.eval()
        self.precision = precision
        self.model = model
        self.config = config
        self.categories = tuple(categories)
        self.device = next(model.parameters()).device
        alone = self.device.type == "cpu" or takes_words_in_parts(model)
        self.max_batch = 1 if alone else ACCELERATOR_BATCH
        metainfo = prompt(model, self.categories)
        self._preprocess = Preprocessor(config, metainfo=metainfo)
        self._quick_pooling = QuickPooling(model)

    def __repr__(self) -> str:
        n, name = len(self.categories), type(self.model).__name__
        return (
            f"<{type(self).__name__} {name} on {self.backbone}, {n} categories, {self.fingerprint}>"
        )

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What the boxes depend on, field by field; see `autoeval.detectors.settings.describe`.

        Another precision than the framework's own is among it.
        """
        described = describe(self.model, self.config, self.categories)
        return described | ({} if self.precision == FRAMEWORK else {"precision": self.precision})

    @property
    def backbone(self) -> str:
        """Class name of the backbone."""
        return type(self.model.backbone).__name__

    @property
    def fingerprint(self) -> str:
        """A short name of `settings`: another for other weights, architecture or test settings."""
        return fingerprint(self.settings)

    def prepare(self, image: np.ndarray) -> None:
        """Prepare an image that will be observed soon; called in the threads that read images.

        Parameters
        ----------
        image : ndarray of shape (H, W, 3), uint8, BGR
            The same object as in `observe`.
        """
        self._preprocess.ahead(image)

    def observe(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
    ) -> list[Evidence]:
        """Run the detector once on each image.

        Parameters
        ----------
        images : sequence of ndarray of shape (H, W, 3), uint8, BGR
            Sizes may differ.
        image_ids : sequence of str
            One for each image.

        Returns
        -------
        list of Evidence
            In the order of ``images``, boxes xyxy in pixels of the image as given.

        Raises
        ------
        ValueError
            If the arguments do not fit together.
        InputError
            If the model gives no boxes.
        """
        return self.launch(images, image_ids)()

    def launch(
        self, images: Sequence[np.ndarray], image_ids: Sequence[str]
    ) -> Later[list[Evidence]]:
        """Begin to observe images, see `observe`.

        A pass launches a batch before it waits for the one before, so that a GPU is never idle
        while its boxes are copied.

        Parameters
        ----------
        images : sequence of ndarray of shape (H, W, 3), uint8, BGR
            Sizes may differ.
        image_ids : sequence of str
            One for each image.

        Returns
        -------
        callable
            Waits for the device, and gives the list of `Evidence`.

        Raises
        ------
        ValueError
            If the arguments do not fit together.
        InputError
            If the model gives no boxes.
        """
        self._check(images, image_ids)

        def launch() -> Later[list[Detections]]:
            copy = HostCopy()
            detections = self._clean(images, copy)
            copy.begin()
            return detections

        boxes, sizes = self._halving_batches(launch), [image.shape[:2] for image in images]
        return lambda: [Evidence(*one) for one in zip(image_ids, sizes, boxes(), strict=True)]

    def _clean(self, images: Sequence[np.ndarray], copy: HostCopy) -> Later[list[Detections]]:
        """Launch a plain pass, whose boxes are added to a copy to the host.

        What is returned waits for it, and gives the boxes of each image.
        """
        launched = [
            (rows, self._run(predict, self.model, batch))
            for rows, batch in self._batches(images, copy)
        ]

        def boxes() -> list[Detections]:
            boxes_of: dict[int, Detections] = {}
            for rows, of_batch in launched:
                boxes_of.update(zip(rows, of_batch(), strict=True))
            return [boxes_of[i] for i in range(len(images))]

        return boxes

    def _batches(
        self, images: Sequence[np.ndarray], copy: HostCopy
    ) -> Iterator[tuple[list[int], Batch]]:
        """Yield numbers of images of one size, `max_batch` at most, and what they become."""
        prepared = [self._preprocess(image) for image in images]
        by_size: dict[torch.Size, list[int]] = {}
        for i, one in enumerate(prepared):
            by_size.setdefault(one["inputs"].shape, []).append(i)
        for same_size in by_size.values():
            for start in range(0, len(same_size), self.max_batch):
                rows = same_size[start : start + self.max_batch]
                yield rows, Batch(*collate(self.model, [prepared[i] for i in rows]), copy)

    @torch.inference_mode()
    def _run(self, function: Callable, *args: Any) -> Any:
        """Call what runs the network."""
        with self._quick_pooling(), in_precision(self.precision, self.device):
            return function(*args)

    def _halving_batches(self, observe: Callable[[], Observed]) -> Observed:
        """Call what runs batches; where memory runs out, again with half as many samples in each.

        Numbers stay within rounding: a batch is only how samples are grouped. Raises torch's error
        where a single image does not fit.
        """
        while True:
            try:
                return observe()
            except torch.OutOfMemoryError:
                smaller = self._take_smaller_batches()
                if not smaller:
                    raise
            torch.cuda.empty_cache()
            warnings.warn(
                f"The memory of {self.device} does not hold the batches of "
                f"{type(self.model).__name__}: going on with {smaller} at a time.",
                stacklevel=2,
            )

    def _take_smaller_batches(self) -> str:
        """Halve the batches; return what is in them now, or nothing where it was one image."""
        if self.max_batch == 1:
            return ""
        self.max_batch = math.ceil(self.max_batch / 2)
        return f"{self.max_batch} images"

    def _check(self, images: Sequence[np.ndarray], image_ids: Sequence[str]) -> None:
        if len(images) != len(image_ids):
            raise ValueError(
                f"Expected one id for each image, got {len(image_ids)} for {len(images)}."
            )
        for name, image in zip(image_ids, images, strict=True):
            if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
                raise ValueError(
                    f"Expected image {name!r} as (H, W, 3) uint8, got {image.shape} {image.dtype}."
                )
