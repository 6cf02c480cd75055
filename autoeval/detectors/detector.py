"""A detector that says what it sees, with and without feature dropout, in one pass."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from mmengine.config import Config

from autoeval.detections import Detections, Evidence
from autoeval.detectors.altered_images import VIEWS, alter
from autoeval.detectors.building.category_names import prompt, takes_words_in_parts
from autoeval.detectors.capturing.capture import CAPTURED, capture
from autoeval.detectors.capturing.logits import final_head
from autoeval.detectors.capturing.wrapping import QuickPooling
from autoeval.detectors.fingerprint import fingerprint
from autoeval.detectors.forward.dropout import sample_seed
from autoeval.detectors.forward.dropout_spec import DropoutSpec
from autoeval.detectors.forward.passes import (
    Batch,
    StagedPasses,
    choose_passes,
    part_costs,
    stage_names,
)
from autoeval.detectors.forward.reweighting import classified, perturbed_weights
from autoeval.detectors.preprocessing import Halving, Preprocessor, collate
from autoeval.detectors.settings import describe
from autoeval.errors import InputError

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

ACCELERATOR_BATCH = 8
WANTS = (*CAPTURED, "views", "half_size", "reweighted")


class MMDetector:
    """An mmdet model together with all that is needed to run it on decoded images.

    The model, with its weights and on its device, is switched to eval mode. For `stages` see
    `choose_passes`. `halving` finds boxes at half the size. `max_batch` samples go through the
    network together: 1 on a CPU, where more brings nothing and rounds differently, and for a model
    that asks for its words in parts; `ACCELERATOR_BATCH` elsewhere. The numbers of a CPU therefore
    do not depend on how images are grouped, to the last bit; those of an accelerator agree to
    rounding.
    """

    def __init__(
        self,
        model: BaseDetector,
        config: Config,
        categories: Sequence[str],
        *,
        stages: Sequence[str] = (),
    ) -> None:
        model.eval()
        self.model = model
        self.config = config
        self.categories = tuple(categories)
        self.device = next(model.parameters()).device
        alone = self.device.type == "cpu" or takes_words_in_parts(model)
        self.max_batch = 1 if alone else ACCELERATOR_BATCH
        metainfo = prompt(model, self.categories)
        self._preprocess = Preprocessor(config, metainfo=metainfo)
        self.halving = Halving(
            lambda: Preprocessor(config, scale=0.5, metainfo=metainfo), self._clean
        )
        self._passes = choose_passes(model, stages)
        self._quick_pooling = QuickPooling(model)

    def __repr__(self) -> str:
        n, name = len(self.categories), type(self.model).__name__
        return f"<MMDetector {name} on {self.backbone}, {n} categories, {self.fingerprint}>"

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What the boxes depend on, field by field; see `autoeval.detectors.settings.describe`.

        The stages are among it where they are not given by the family of the backbone.
        """
        described = describe(self.model, self.config, self.categories)
        if not self.splits_backbone and self.stages:
            described["stages"] = list(self.stages)
        return described

    @property
    def splits_backbone(self) -> bool:
        """Whether perturbed passes start from the cached output of the last unperturbed layer."""
        return isinstance(self._passes, StagedPasses)

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the modules of the backbone at which features are dropped, none if not known."""
        return stage_names(self._passes)

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

        Images are (H, W, 3), uint8, BGR; their sizes may differ. The dropout masks derive from the
        name of the image, `seed` and the number of the repeat. `wants` names further fields of
        `Evidence`: ``candidates``, ``logits``, ``features`` and ``prototypes`` are by-products of
        the clean pass, ``views`` are one more clean pass for each of `VIEWS`, ``half_size`` is a
        clean pass at half the input size (see `Halving`), and ``reweighted`` one with perturbed
        weights, the same ones for a seed, which adds ``logits``. What the detector does not give is
        missing from the evidence, with the reason.

        Returns evidence in the order of ``images``, boxes in pixels of the image as given. Raises
        ValueError for arguments that do not fit together, and `InputError` if the backbone lacks a
        stage that ``dropout`` names.
        """
        if repeats and dropout is None:
            raise ValueError(f"Expected {repeats} repeats with a `dropout`, got none.")
        specs = [dropout] if dropout and repeats else []
        wants = {*wants, "logits"} if "reweighted" in wants else wants
        passes = self._all_passes(images, image_ids, specs, repeats, seed, wants)
        views = [
            self._clean([alter(image, view) for image in images], image_ids)
            for view in (VIEWS if "views" in wants else ())
        ]
        found = [
            each.evidence(dropout, views=tuple(view[i] for view in views))
            for i, each in enumerate(passes)
        ]
        if "half_size" in wants:
            try:
                halves = self.halving(images, image_ids)
                found = [replace(e, half_size=half) for e, half in zip(found, halves, strict=True)]
            except InputError as error:
                reason = (
                    f"{type(self.model).__name__} gives nothing at half its input size: {error}"
                )
                found = [replace(e, missing={**e.missing, "half_size": reason}) for e in found]
        return self._reweighted(images, found, seed) if "reweighted" in wants else found

    def observe_each(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        dropouts: Sequence[DropoutSpec],
        *,
        repeats: int = 1,
        seed: int = 0,
    ) -> list[dict[DropoutSpec, Evidence]]:
        """Observe images under several dropouts, running what these share only once.

        They share the clean pass, the random draws, and, where they have the same rate, the stages
        up to the first dropout in which they differ. On a CPU the boxes are those of `observe` with
        each dropout alone, to the last bit.
        """
        if not dropouts or len(set(dropouts)) < len(dropouts):
            raise ValueError(f"Expected different `dropouts`, at least one, got {dropouts}.")
        passes = self._all_passes(images, image_ids, dropouts, repeats, seed)
        return [{spec: each.evidence(spec) for spec in dropouts} for each in passes]

    def part_costs(self, image: np.ndarray) -> tuple[float, ...]:
        """Say how the cost of a pass is shared among the parts of the network; see `part_costs`."""
        return part_costs(self._passes, Batch(*collate(self.model, [self._preprocess(image)])))

    def _all_passes(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        dropouts: Sequence[DropoutSpec],
        repeats: int,
        seed: int,
        wants: Collection[str] = (),
        preprocess: Preprocessor | None = None,
    ) -> list[_Passes]:
        """Run the passes of all images, those of one size together."""
        _check(images, image_ids, repeats, wants)
        prepared = [(preprocess or self._preprocess)(image) for image in images]
        passes: dict[int, _Passes] = {}
        by_size: dict[torch.Size, list[int]] = {}
        for i, one in enumerate(prepared):
            by_size.setdefault(one["inputs"].shape, []).append(i)
        starts = ((of, k) for of in by_size.values() for k in range(0, len(of), self.max_batch))
        for rows in (of[start : start + self.max_batch] for of, start in starts):
            seeds = [sample_seed(seed, image_ids[i], k) for k in range(repeats) for i in rows]
            with self._quick_pooling():
                found = self._run([prepared[i] for i in rows], dropouts, seeds, wants)
            for i, (clean, perturbed, captured) in zip(rows, found, strict=True):
                size = images[i].shape[:2]
                passes[i] = _Passes(image_ids[i], size, clean, perturbed, captured)
        return [passes[i] for i in range(len(images))]

    def _reweighted(
        self, images: Sequence[np.ndarray], found: Sequence[Evidence], seed: int
    ) -> list[Evidence]:
        """Add what is found with perturbed weights, or the reason why nothing is."""
        names = [evidence.image_id for evidence in found]
        with perturbed_weights(self.model, seed):
            perturbed = self.observe(images, names, wants=["logits"])
        n_categories = getattr(final_head(self.model), "num_classes", len(self.categories))

        def both(clean: Evidence, other: Evidence) -> Evidence:
            for one in (clean, other):
                if reason := one.why_missing("logits"):
                    return replace(clean, missing={**clean.missing, "reweighted": reason})
            pair = [classified(e.clean, e.require("logits"), n_categories) for e in (clean, other)]
            return replace(clean, reweighted=tuple(pair))

        return [both(*pair) for pair in zip(found, perturbed, strict=True)]

    def _clean(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        preprocess: Preprocessor | None = None,
    ) -> list[Detections]:
        """Return the boxes of a clean pass."""
        passes = self._all_passes(images, image_ids, [], 0, 0, preprocess=preprocess)
        return [each.clean for each in passes]

    @torch.inference_mode()
    def _run(
        self,
        prepared: Sequence[dict[str, Any]],
        dropouts: Sequence[DropoutSpec],
        seeds: Sequence[int],
        wants: Collection[str],
    ) -> list[tuple[Detections, dict[DropoutSpec, list[Detections]], dict[str, Any]]]:
        """Return the clean boxes, the perturbed ones and further fields of evidence of n images.

        Seeds come in rounds of n.
        """
        batch = Batch(*collate(self.model, prepared))
        with capture(self.model, wants) as captured:
            clean, prefixes = self._passes.clean(batch, dropouts if seeds else ())
        perturbed: list[dict] = [{spec: [] for spec in dropouts} for _ in prepared]
        for start in range(0, len(seeds) if dropouts else 0, self.max_batch):
            part = seeds[start : start + self.max_batch]
            rows = [(start + i) % len(prepared) for i in range(len(part))]
            begun = {layer: prefix.take(rows) for layer, prefix in prefixes.items()}
            for spec, found in self._passes.perturbed(batch.take(rows), begun, dropouts, part):
                for row, boxes in zip(rows, found, strict=True):
                    perturbed[row][spec].append(boxes)
        fields = [captured.fields(i) for i in range(len(prepared))]
        return list(zip(clean, perturbed, fields, strict=True))


@dataclass(frozen=True)
class _Passes:
    """What all passes over one image have found."""

    image_id: str
    image_size: tuple[int, int]
    clean: Detections
    perturbed: dict[DropoutSpec, list[Detections]]
    captured: dict[str, Any]

    def evidence(self, dropout: DropoutSpec | None, views: tuple[Detections, ...] = ()) -> Evidence:
        """Put together the clean boxes and those under one dropout."""
        perturbed = tuple(self.perturbed[dropout]) if dropout in self.perturbed else ()
        return Evidence(
            self.image_id, self.image_size, self.clean, perturbed, views=views, **self.captured
        )


def _check(
    images: Sequence[np.ndarray], image_ids: Sequence[str], repeats: int, wants: Collection[str]
) -> None:
    unknown = sorted(set(wants) - set(WANTS))
    if unknown:
        raise ValueError(f"Expected `wants` among {', '.join(WANTS)}, got {', '.join(unknown)}.")
    if len(images) != len(image_ids):
        raise ValueError(f"Expected one id for each image, got {len(image_ids)} for {len(images)}.")
    if repeats < 0:
        raise ValueError(f"Expected `repeats` 0 or more, got {repeats}.")
    for name, image in zip(image_ids, images, strict=True):
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
            raise ValueError(
                f"Expected image {name!r} as (H, W, 3) uint8, got {image.shape} {image.dtype}."
            )
