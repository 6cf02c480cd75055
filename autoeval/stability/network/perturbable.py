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
from torch import Tensor, nn
from typing_extensions import Unpack

from autoeval.detections import FRAMEWORK, Classified, Detections, Evidence
from autoeval.detectors.detector import MMDetector
from autoeval.detectors.predicting import Batch, HostCopy, Later
from autoeval.stability.network.capture import CAPTURED, REWEIGHTED, capture
from autoeval.stability.network.forward.dropout import sample_seed
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.forward.passes import (
    StagedPasses,
    choose_passes,
    part_costs,
    stage_names,
)
from autoeval.stability.network.viewed_black_box import MorePasses, altered_images

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

VIEWED = "views"
# So many times as many perturbed samples as images go through what is left of the network at once,
# where memory allows.
STACKED = 4
STEP = 1.0  # length of the change of all weights, as one vector (Yu et al. 2024)


@dataclass(frozen=True)
class _Request:
    """What is run and kept beside a clean pass; see `MorePasses`."""

    dropouts: Sequence[DropoutSpec] = ()
    repeats: int = 0
    seed: int = 0
    wants: Collection[str] = ()


@dataclass(frozen=True)
class _Seen:
    """What the passes over one image have found.

    `captured` are fields of `Evidence`; `classified` the clean boxes with the probability of every
    category, or why these are not known.
    """

    clean: Detections
    perturbed: dict[DropoutSpec, list[Detections]]
    captured: dict[str, Any]
    classified: Classified | str

    def evidence(
        self, image_id: str, image: np.ndarray, dropout: DropoutSpec | None = None
    ) -> Evidence:
        """Put together the clean boxes and those under one dropout."""
        perturbed = tuple(self.perturbed[dropout]) if dropout in self.perturbed else ()
        return Evidence(image_id, image.shape[:2], self.clean, perturbed, **self.captured)


class PerturbableDetector(MMDetector):
    """An `MMDetector` with the passes that published scores read beside the clean one.

    Parameters
    ----------
    model, config, categories, precision
        See `MMDetector`.
    stages : sequence of str
        Modules of the backbone to take as its stages; see `choose_passes`.

    Attributes
    ----------
    gives : tuple of str
        Fields of `Evidence` beside the clean boxes that it can give.
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
        self._changes: dict[int, list[Tensor]] = {}
        self._stacked = STACKED
        self._repeats = 0  # of what was launched last

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What the boxes depend on, field by field; see `autoeval.detectors.settings.describe`.

        The stages are among it where they are not given by the family of the backbone.
        """
        described = dict(super().settings)
        if not self.splits_backbone and self.stages:
            described["dropout_stages"] = list(self.stages)
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

        Parameters
        ----------
        images : sequence of ndarray of shape (H, W, 3), uint8, BGR
            Sizes may differ.
        image_ids : sequence of str
            One for each image; masks of dropout depend on it.
        **passes
            See `MorePasses`.

        Returns
        -------
        list of Evidence
            In the order of ``images``, boxes xyxy in pixels of the image as given.

        Raises
        ------
        ValueError
            For arguments that do not fit together.
        InputError
            If the backbone lacks a stage that ``dropout`` names.
        """
        return self.launch(images, image_ids, **passes)()

    def launch(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        **passes: Unpack[MorePasses],
    ) -> Later[list[Evidence]]:
        """Begin to observe images, see `observe`.

        Parameters
        ----------
        images, image_ids, **passes
            See `observe`.

        Returns
        -------
        callable
            Waits for the device, and gives the list of `Evidence`.

        Raises
        ------
        ValueError
            For arguments that do not fit together.
        InputError
            If the backbone lacks a stage that ``dropout`` names.
        """
        dropout, repeats = passes.get("dropout"), passes.get("repeats", 0)
        if repeats and dropout is None:
            raise ValueError(f"Expected {repeats} repeats with a `dropout`, got none.")
        seed, wants = passes.get("seed", 0), {*passes.get("wants", ())}
        request = _Request([dropout] if dropout and repeats else [], repeats, seed, wants)
        self._check_request(images, image_ids, request)

        def launch() -> Later[list[Evidence]]:
            copy = HostCopy()
            passes_seen = self._all_passes(images, image_ids, request, copy)
            views: list[Later[list[Detections]]] = []
            if VIEWED in wants:
                views = [self._clean(altered, copy) for altered in altered_images(images)]
            again: Later[list[_Seen]] | None = None
            if REWEIGHTED in wants:
                with changed_weights(self.model, self._change_of_weights(seed)):
                    again = self._all_passes(images, image_ids, _Request(wants={REWEIGHTED}), copy)
            copy.begin()

            def evidence() -> list[Evidence]:
                seen = passes_seen()
                observed = list(
                    map(_Seen.evidence, seen, image_ids, images, [dropout] * len(images))
                )
                if views:
                    boxes = zip(*(of_view() for of_view in views), strict=True)
                    observed = [replace(e, views=v) for e, v in zip(observed, boxes, strict=True)]
                return (
                    observed if again is None else list(map(_reweighted, observed, seen, again()))
                )

            return evidence

        return self._halving_batches(launch)

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

        Parameters
        ----------
        images, image_ids
            See `observe`.
        dropouts : sequence of DropoutSpec
            At least one, all different.
        repeats : int
            Perturbed passes under each.
        seed : int
            Of the masks.

        Returns
        -------
        list of dict of DropoutSpec to Evidence
            One for each image.

        Raises
        ------
        ValueError
            For arguments that do not fit together.
        InputError
            If the backbone lacks a stage.
        """
        if not dropouts or len(set(dropouts)) < len(dropouts):
            raise ValueError(f"Expected different `dropouts`, at least one, got {dropouts}.")
        request = _Request(dropouts, repeats, seed)
        self._check_request(images, image_ids, request)

        def launch() -> Later[list[_Seen]]:
            copy = HostCopy()
            passes_seen = self._all_passes(images, image_ids, request, copy)
            copy.begin()
            return passes_seen

        passes = zip(self._halving_batches(launch)(), image_ids, images, strict=True)
        return [
            {spec: seen.evidence(name, image, spec) for spec in dropouts}
            for seen, name, image in passes
        ]

    def part_costs(self, image: np.ndarray) -> tuple[float, ...]:
        """Return the share of each part of the network in the cost of a pass.

        See `autoeval.stability.network.forward.passes.part_costs`.

        Parameters
        ----------
        image : ndarray of shape (H, W, 3), uint8, BGR
            Any.
        """
        ((_, batch),) = self._batches([image], HostCopy())
        return part_costs(self._passes, batch)

    def _check_request(
        self, images: Sequence[np.ndarray], image_ids: Sequence[str], request: _Request
    ) -> None:
        self._check(images, image_ids)
        unknown = sorted(set(request.wants) - set(self.gives))
        if unknown:
            raise ValueError(
                f"Expected `wants` among {', '.join(self.gives)}, got {', '.join(unknown)}."
            )
        if request.repeats < 0:
            raise ValueError(f"Expected `repeats` 0 or more, got {request.repeats}.")
        self._repeats = request.repeats

    def _all_passes(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        request: _Request,
        copy: HostCopy,
    ) -> Later[list[_Seen]]:
        """Launch the passes of all images, those of one size together."""
        launched = []
        for rows, batch in self._batches(images, copy):
            seeds = [
                sample_seed(request.seed, image_ids[i], repeat)
                for repeat in range(request.repeats)
                for i in rows
            ]
            launched.append((rows, self._run(self._launch_batch, batch, request, seeds)))

        def passes() -> list[_Seen]:
            seen_by_row: dict[int, _Seen] = {}
            for rows, of_batch in launched:
                seen_by_row.update(zip(rows, of_batch(), strict=True))
            return [seen_by_row[i] for i in range(len(images))]

        return passes

    def _launch_batch(
        self, batch: Batch, request: _Request, seeds: Sequence[int]
    ) -> Later[list[_Seen]]:
        """Launch all passes of n images; seeds come in rounds of n."""
        n_images, dropouts = len(batch.samples), request.dropouts
        with capture(self.model, request.wants, batch.copy) as captured:
            clean, prefixes = self._passes.clean(batch, dropouts if seeds else ())
        launched: list[tuple[DropoutSpec, Later[list[Detections]]]] = []
        at_once = 1 if self.max_batch == 1 else max(1, self._stacked * self.max_batch // n_images)
        for first in range(0, request.repeats if dropouts else 0, at_once):
            times = min(at_once, request.repeats - first)
            part = seeds[first * n_images :][: times * n_images]
            launched += self._passes.perturbed(batch, prefixes, dropouts, part)

        def found() -> list[_Seen]:
            perturbed: list[dict[DropoutSpec, list[Detections]]] = [
                {spec: [] for spec in dropouts} for _ in range(n_images)
            ]
            for spec, detections in launched:
                for number, boxes in enumerate(detections()):
                    perturbed[number % n_images][spec].append(boxes)
            return [
                _Seen(boxes, perturbed[i], captured.fields(i, boxes), captured.classified(i, boxes))
                for i, boxes in enumerate(clean())
            ]

        return found

    def _take_smaller_batches(self) -> str:
        """Halve what repeats are stacked into; where none are stacked, the batches of images."""
        if min(self._stacked, self._repeats) <= 1 or self.max_batch == 1:
            return super()._take_smaller_batches()
        self._stacked //= 2
        return f"{self._stacked * self.max_batch} perturbed images"

    def _change_of_weights(self, seed: int) -> list[Tensor]:
        """Return the change of the weights by a seed, which is drawn once for many batches."""
        if seed not in self._changes:
            self._changes = {seed: weight_change(self.model, seed)}
        return self._changes[seed]


def _reweighted(evidence: Evidence, seen: _Seen, again: _Seen) -> Evidence:
    """Add what is found with perturbed weights, or the reason why nothing is."""
    clean, perturbed = seen.classified, again.classified
    if isinstance(clean, Classified) and isinstance(perturbed, Classified):
        return replace(evidence, reweighted=(clean, perturbed))
    reason = clean if isinstance(clean, str) else str(perturbed)
    return replace(evidence, missing={**evidence.missing, REWEIGHTED: reason})


def weight_change(model: nn.Module, seed: int, *, step: float = STEP) -> list[Tensor]:
    """Draw a change of the weights of a model.

    All parameters together are one vector; the change is ``step * r / ||r||``, r uniform on [0, 1)
    in every coordinate, drawn on the CPU by `seed`, so that it is the same on any device.

    Parameters
    ----------
    model : nn.Module
        With these weights.
    seed : int
        Of the draw.
    step : float
        Length of the change.

    Returns
    -------
    list of Tensor
        Of the shapes of the parameters, on their device.
    """
    weights, drawn = list(model.parameters()), torch.Generator().manual_seed(seed)
    change = [torch.rand(weight.shape, generator=drawn) for weight in weights]
    norm = float(torch.stack([part.double().square().sum() for part in change]).sum().sqrt())
    return [
        (step / norm * part).to(weight.data) for weight, part in zip(weights, change, strict=True)
    ]


@contextmanager
def changed_weights(model: nn.Module, change: Sequence[Tensor]) -> Iterator[None]:
    """Return a context in which a change is added to the weights of a model.

    Afterwards they are as before, exactly. A GPU is not waited for.

    Parameters
    ----------
    model : nn.Module
        With these weights.
    change : sequence of Tensor
        See `weight_change`.
    """
    weights = [weight.data for weight in model.parameters()]
    before = [weight.clone() for weight in weights]
    try:
        for weight, part in zip(weights, change, strict=True):
            weight += part
        yield
    finally:
        for weight, kept in zip(weights, before, strict=True):
            weight.copy_(kept)
