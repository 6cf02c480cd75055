"""A detector that is also run with feature dropout, and shows what a pass leaves on the way."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from mmengine.config import Config
from scipy.special import softmax
from torch import nn
from typing_extensions import Unpack

from autoeval.detections import FRAMEWORK, Classified, Detections, Evidence
from autoeval.detectors.detector import MMDetector
from autoeval.detectors.predicting import Batch, Later
from autoeval.stability.network.capture import CAPTURED, capture, final_head
from autoeval.stability.network.forward.dropout import sample_seed
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.forward.passes import (
    StagedPasses,
    choose_passes,
    part_costs,
    stage_names,
    take_samples,
)
from autoeval.stability.network.viewed_black_box import MorePasses, views_of

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

REWEIGHTED, VIEWED = "reweighted", "views"
STACKED = 4  # as many perturbed samples as images go through what is left of the network at once
Perturbed = dict[DropoutSpec, list[Detections]]
OfImage = tuple[Detections, Perturbed, dict[str, Any]]  # the last are fields of `Evidence`
STEP = 1.0  # length of the change of all weights, as one vector (Yu et al. 2024)


class PerturbableDetector(MMDetector):
    """An `MMDetector` with the passes that published scores read beside the clean one.

    For `stages` see `choose_passes`.
    """

    gives = (*CAPTURED, VIEWED, REWEIGHTED)  # fields of `Evidence` beside the clean boxes

    def __init__(
        self,
        model: BaseDetector,
        config: Config,
        categories: Sequence[str],
        *,
        stages: Sequence[str] = (),
        precision: str = FRAMEWORK,
    ) -> None:
        super().__init__(model, config, categories, precision=precision)
        self._passes = choose_passes(model, stages)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What the boxes depend on, field by field; see `autoeval.detectors.settings.describe`.

        The stages are among it where they are not given by the family of the backbone.
        """
        described = dict(super().settings)
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

    def observe(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        **passes: Unpack[MorePasses],
    ) -> list[Evidence]:
        """Run the detector once on each image, and again as `MorePasses` says.

        Images are (H, W, 3), uint8, BGR; their sizes may differ.

        Returns evidence in the order of ``images``, boxes in pixels of the image as given. Raises
        ValueError for arguments that do not fit together, and `InputError` if the backbone lacks a
        stage that ``dropout`` names.
        """
        return self.launch(images, image_ids, **passes)()

    def launch(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        **passes: Unpack[MorePasses],
    ) -> Later[list[Evidence]]:
        """Begin to observe images, as `observe`; what is returned waits, and gives the evidence."""
        dropout, repeats = passes.get("dropout"), passes.get("repeats", 0)
        seed = passes.get("seed", 0)
        if repeats and dropout is None:
            raise ValueError(f"Expected {repeats} repeats with a `dropout`, got none.")
        specs, wants = [dropout] if dropout and repeats else [], {*passes.get("wants", ())}
        if REWEIGHTED in wants:
            wants.add("logits")
        launched = self._all_passes(images, image_ids, specs, repeats, seed, wants)
        views: list[tuple[Detections, ...]] = [()] * len(images)
        if VIEWED in wants:
            views = views_of(images, lambda altered: self._clean(altered)())

        def evidence() -> list[Evidence]:
            seen = [
                replace(image_passes.evidence(dropout), views=image_views)
                for image_passes, image_views in zip(launched(), views, strict=True)
            ]
            return self._reweighted(images, seen, seed) if REWEIGHTED in wants else seen

        return evidence

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
        return [{spec: seen.evidence(spec) for spec in dropouts} for seen in passes()]

    def part_costs(self, image: np.ndarray) -> tuple[float, ...]:
        """Say how the cost of a pass is shared among the parts of the network; see `part_costs`."""
        ((_, batch),) = self._batches([image])
        return part_costs(self._passes, batch)

    def _all_passes(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        dropouts: Sequence[DropoutSpec],
        repeats: int,
        seed: int,
        wants: Collection[str] = (),
    ) -> Later[list[_Passes]]:
        """Launch the passes of all images, those of one size together."""
        self._check(images, image_ids)
        unknown = sorted(set(wants) - set(self.gives))
        if unknown:
            raise ValueError(
                f"Expected `wants` among {', '.join(self.gives)}, got {', '.join(unknown)}."
            )
        if repeats < 0:
            raise ValueError(f"Expected `repeats` 0 or more, got {repeats}.")

        def launch() -> list[tuple[list[int], Later[list[OfImage]]]]:
            launched = []
            for rows, batch in self._batches(images):
                seeds = [sample_seed(seed, image_ids[i], k) for k in range(repeats) for i in rows]
                launched.append(
                    (rows, self._run(self._launch_batch, batch, dropouts, seeds, wants))
                )
            return launched

        launched, sizes = self._halving_batches(launch), [image.shape[:2] for image in images]

        def passes() -> list[_Passes]:
            found: dict[int, _Passes] = {}
            for rows, of_batch in launched:
                for i, (clean, perturbed, captured) in zip(rows, self._run(of_batch), strict=True):
                    found[i] = _Passes(image_ids[i], sizes[i], clean, perturbed, captured)
            return [found[i] for i in range(len(sizes))]

        return passes

    def _launch_batch(
        self,
        batch: Batch,
        dropouts: Sequence[DropoutSpec],
        seeds: Sequence[int],
        wants: Collection[str],
    ) -> Later[list[OfImage]]:
        """Launch all passes of n images; seeds come in rounds of n."""
        n_images = len(batch.samples)
        with capture(self.model, wants) as captured:
            clean, prefixes = self._passes.clean(batch, dropouts if seeds else ())
        repeats: list[tuple[list[int], DropoutSpec, Later[list[Detections]]]] = []
        at_once = self.max_batch if self.max_batch == 1 else STACKED * self.max_batch
        for start in range(0, len(seeds) if dropouts else 0, at_once):
            part = seeds[start : start + at_once]
            rows = [(start + i) % n_images for i in range(len(part))]
            begun = {layer: prefix.take(rows) for layer, prefix in prefixes.items()}
            again = take_samples(batch, rows)
            for spec, detections in self._passes.perturbed(again, begun, dropouts, part):
                repeats.append((rows, spec, detections))

        def found() -> list[OfImage]:
            perturbed: list[Perturbed] = [{spec: [] for spec in dropouts} for _ in range(n_images)]
            for rows, spec, detections in repeats:
                for row, boxes in zip(rows, detections(), strict=True):
                    perturbed[row][spec].append(boxes)
            fields = [captured.fields(i) for i in range(n_images)]
            return list(zip(clean(), perturbed, fields, strict=True))

        return found

    def _reweighted(
        self, images: Sequence[np.ndarray], evidence: Sequence[Evidence], seed: int
    ) -> list[Evidence]:
        """Add what is found with perturbed weights, or the reason why nothing is."""
        names = [one.image_id for one in evidence]
        with perturbed_weights(self.model, seed):
            perturbed = self.observe(images, names, wants=["logits"])
        n_categories = getattr(final_head(self.model), "num_classes", len(self.categories))

        def both(clean: Evidence, other: Evidence) -> Evidence:
            for one in (clean, other):
                if reason := one.why_missing("logits"):
                    return replace(clean, missing={**clean.missing, REWEIGHTED: reason})
            pair = [classified(e.clean, e.require("logits"), n_categories) for e in (clean, other)]
            return replace(clean, reweighted=tuple(pair))

        return [both(*pair) for pair in zip(evidence, perturbed, strict=True)]


@dataclass(frozen=True)
class _Passes:
    """What all passes over one image have found."""

    image_id: str
    image_size: tuple[int, int]
    clean: Detections
    perturbed: Perturbed
    captured: dict[str, Any]

    def evidence(self, dropout: DropoutSpec | None) -> Evidence:
        """Put together the clean boxes and those under one dropout."""
        perturbed = tuple(self.perturbed[dropout]) if dropout in self.perturbed else ()
        return Evidence(self.image_id, self.image_size, self.clean, perturbed, **self.captured)


@contextmanager
def perturbed_weights(model: nn.Module, seed: int, *, step: float = STEP) -> Iterator[None]:
    """Perturb the weights of a model while the body runs; afterwards they are as before, exactly.

    All parameters together are one vector, to which ``step * r / ||r||`` is added, r uniform on [0,
    1) in every coordinate, drawn on the CPU by `seed`, so that it is the same on any device.
    """
    weights = [weight.data for weight in model.parameters()]
    before = [weight.clone() for weight in weights]
    drawn = torch.Generator().manual_seed(seed)
    change = [torch.rand(weight.shape, generator=drawn) for weight in weights]
    norm = float(torch.stack([part.double().square().sum() for part in change]).sum().sqrt())
    try:
        for weight, part in zip(weights, change, strict=True):
            weight += (step / norm * part).to(weight)
        yield
    finally:
        for weight, kept in zip(weights, before, strict=True):
            weight.copy_(kept)


def classified(detections: Detections, logits: np.ndarray, n_categories: int) -> Classified:
    """Add the probabilities of all K categories to N boxes: the softmax of their logits.

    Logits (N, K), without a column for the background, as heads of sigmoids give them, have 0
    there: a single category then has its sigmoid.
    """
    if logits.shape[1] == n_categories:
        logits = np.pad(logits, ((0, 0), (0, 1)))
    probabilities = softmax(logits.astype(np.float64), axis=1).astype(np.float32)
    return Classified(detections.boxes, detections.scores, detections.labels, probabilities)
