"""A detector that says what it sees, with and without feature dropout, in one pass."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from mmengine.config import Config

from autoeval.detections import Detections, Evidence
from autoeval.detectors.capture import CAPTURED, capture
from autoeval.detectors.dropout import DropoutSpec, sample_seed
from autoeval.detectors.passes import Batch, StagedPasses, choose_passes
from autoeval.detectors.preprocessing import Preprocessor, collate
from autoeval.detectors.settings import describe, fingerprint
from autoeval.detectors.views import VIEWS, alter

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

ACCELERATOR_BATCH = 8
WANTS = (*CAPTURED, "views")


class Detector:
    """An mmdet model together with all that is needed to run it on decoded images.

    Parameters
    ----------
    model : BaseDetector
        A model of mmdet with its weights, on its device. It is switched to eval mode.
    config : Config
        Its configuration.
    categories : sequence of str
        What its labels stand for.

    Attributes
    ----------
    categories : tuple of str
    max_batch : int
        Samples that go through the network together: 1 on a CPU, where more brings nothing and
        rounds differently, `ACCELERATOR_BATCH` elsewhere. The numbers of a CPU therefore do not
        depend on how images are grouped, to the last bit; those of an accelerator agree to
        rounding.
    """

    def __init__(self, model: BaseDetector, config: Config, categories: Sequence[str]) -> None:
        model.eval()
        self.model = model
        self.config = config
        self.categories = tuple(categories)
        self.device = next(model.parameters()).device
        self.max_batch = 1 if self.device.type == "cpu" else ACCELERATOR_BATCH
        self._preprocess = Preprocessor(config)
        self._passes = choose_passes(model)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What the boxes depend on, field by field; see `autoeval.detectors.settings.describe`."""
        return describe(self.model, self.config, self.categories)

    @property
    def splits_backbone(self) -> bool:
        """Whether perturbed passes start from the cached output of the last unperturbed layer."""
        return isinstance(self._passes, StagedPasses)

    @property
    def backbone(self) -> str:
        """Class name of the backbone."""
        return type(self.model.backbone).__name__

    @property
    def fingerprint(self) -> str:
        """A short name of `settings`: another for other weights, architecture or test settings."""
        return fingerprint(self.settings)

    def observe(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        *,
        dropout: DropoutSpec | None = None,
        repeats: int = 0,
        seed: int = 0,
        wants: Collection[str] = (),
    ) -> list[Evidence]:
        """Run the detector once on each image, and ``repeats`` times more with feature dropout.

        Parameters
        ----------
        images : sequence of ndarray of shape (H, W, 3), uint8, BGR
            Sizes may differ; only images that are preprocessed to the same size share a batch.
        image_ids : sequence of str
            Names of the images, from which the dropout masks derive.
        dropout : DropoutSpec, optional
            What to drop; needed where ``repeats`` is positive.
        repeats : int
            Number of perturbed passes, K.
        seed : int
            Together with the image's name and the number of the repeat, fixes all masks.
        wants : collection of {"candidates", "logits", "features", "views"}
            Further fields of `Evidence` to fill. The first three are by-products of the clean pass,
            ``views`` are one more clean pass for each of `autoeval.detectors.views.VIEWS`. What the
            detector does not give is missing from the evidence, with the reason.

        Returns
        -------
        list of Evidence
            In the order of ``images``, boxes in pixels of the image as given.

        Raises
        ------
        ValueError
            If the lengths differ, an image is of another type, ``repeats`` comes without
            ``dropout``, or ``wants`` holds an unknown name.
        InputError
            If the backbone lacks a stage that ``dropout`` names.
        """
        _check(images, image_ids, dropout, repeats)
        _check_wants(wants)
        prepared = [self._preprocess(image) for image in images]
        clean: dict[int, Detections] = {}
        perturbed: dict[tuple[int, int], Detections] = {}
        captured: dict[int, dict[str, Any]] = {}
        for rows in self._groups(prepared):
            seeds = {
                (i, k): sample_seed(seed, image_ids[i], k) for k in range(repeats) for i in rows
            }
            batch = [prepared[i] for i in rows]
            one, many, more = self._run(batch, dropout, list(seeds.values()), wants)
            clean.update(zip(rows, one, strict=True))
            perturbed.update(zip(seeds, many, strict=True))
            captured.update(zip(rows, more, strict=True))
        views = self._views(images, image_ids) if "views" in wants else []
        return [
            Evidence(
                image_ids[i],
                image.shape[:2],
                clean[i],
                tuple(perturbed[i, k] for k in range(repeats)),
                views=tuple(view[i].clean for view in views),
                **captured[i],
            )
            for i, image in enumerate(images)
        ]

    def _groups(self, prepared: Sequence[dict[str, Any]]) -> Iterator[list[int]]:
        """Yield the numbers of images that share a batch."""
        by_size: dict[torch.Size, list[int]] = {}
        for i, one in enumerate(prepared):
            by_size.setdefault(one["inputs"].shape, []).append(i)
        for rows in by_size.values():
            for start in range(0, len(rows), self.max_batch):
                yield rows[start : start + self.max_batch]

    def _views(
        self, images: Sequence[np.ndarray], image_ids: Sequence[str]
    ) -> list[list[Evidence]]:
        """Observe each view of all images."""
        return [self.observe([alter(image, v) for image in images], image_ids) for v in VIEWS]

    @torch.inference_mode()
    def _run(
        self,
        prepared: Sequence[dict[str, Any]],
        dropout: DropoutSpec | None,
        seeds: Sequence[int],
        wants: Collection[str],
    ) -> tuple[list[Detections], list[Detections], list[dict[str, Any]]]:
        """Return the clean boxes of n images, the perturbed ones, and further fields of evidence.

        Seeds come in rounds of n, and so do the perturbed boxes.
        """
        batch = Batch(*collate(self.model, prepared))
        with capture(self.model, wants) as captured:
            clean, prefix = self._passes.clean(batch, dropout if seeds else None)
        fields = [captured.fields(i) for i in range(len(prepared))]
        perturbed: list[Detections] = []
        if dropout is None:
            return clean, perturbed, fields
        for start in range(0, len(seeds), self.max_batch):
            part = seeds[start : start + self.max_batch]
            rows = [(start + i) % len(prepared) for i in range(len(part))]
            begun = prefix.take(rows) if prefix else None
            perturbed += self._passes.perturbed(batch.take(rows), begun, dropout, part)
        return clean, perturbed, fields


def _check_wants(wants: Collection[str]) -> None:
    unknown = sorted(set(wants) - set(WANTS))
    if unknown:
        raise ValueError(f"Expected `wants` among {', '.join(WANTS)}, got {', '.join(unknown)}.")


def _check(
    images: Sequence[np.ndarray],
    image_ids: Sequence[str],
    dropout: DropoutSpec | None,
    repeats: int,
) -> None:
    if len(images) != len(image_ids):
        raise ValueError(f"Expected one id for each image, got {len(image_ids)} for {len(images)}.")
    if repeats < 0 or (repeats and dropout is None):
        raise ValueError(
            f"Expected `repeats` 0 or more, with a `dropout` if positive, got {repeats} with "
            f"{dropout}."
        )
    for name, image in zip(image_ids, images, strict=True):
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
            raise ValueError(
                f"Expected image {name!r} as (H, W, 3) uint8, got {image.shape} {image.dtype}."
            )
