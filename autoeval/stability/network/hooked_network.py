"""A network of another framework that is also run with feature dropout, by forward hooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from typing_extensions import Unpack

from autoeval.detections import Detections, Evidence
from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.stability.network.forward.dropout import feature_dropout, sample_seed
from autoeval.stability.network.forward.dropout_spec import N_STAGES, DropoutSpec
from autoeval.stability.network.forward.stages import hook_points
from autoeval.stability.network.viewed_black_box import MorePasses, ViewedBlackBox


class HookedNetwork(ViewedBlackBox):
    """A black box with a network of torch, whose features are dropped at named modules.

    Each perturbed pass is the framework's own call on one image, with hooks on the modules while it
    runs; batches would need a seed for each image, in an order that only the framework knows.

    Parameters
    ----------
    detector : BlackBoxDetector
        With a `network`.
    stages : sequence of str
        One to four modules, in the order they run, each by its whole name (``model.4``) or an end
        of it that no other module has (``layer1`` for ``backbone.body.layer1``).

    Raises
    ------
    InputError
        If a name fits no module, or several, or a module is named twice.
    """

    def __init__(self, detector: BlackBoxDetector, stages: Sequence[str]) -> None:
        super().__init__(detector)
        self.stages = tuple(stages)
        self._points = hook_points(self.network, stages)

    @property
    def settings(self) -> dict[str, Any]:
        """What its boxes depend on, with the stages."""
        return {**super().settings, "dropout_stages": list(self.stages)}

    def observe(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
        **passes: Unpack[MorePasses],
    ) -> list[Evidence]:
        """Run the detector once on each image, and again with feature dropout.

        Parameters
        ----------
        images : sequence of ndarray of shape (H, W, 3), uint8, BGR
            Sizes may differ.
        image_ids : sequence of str
            One for each image; masks of dropout depend on it.
        **passes
            See `MorePasses`; what a black box does not give is missing, with the reason.

        Returns
        -------
        list of Evidence
            In the order of ``images``, boxes xyxy in pixels of the image as given.

        Raises
        ------
        ValueError
            For repeats without a dropout.
        InputError
            If there are fewer stages than the dropout names, or one of them never ran.
        """
        dropout, repeats = passes.get("dropout"), passes.get("repeats", 0)
        if repeats and dropout is None:
            raise ValueError(f"Expected {repeats} repeats with a `dropout`, got none.")
        plain = super().observe(images, image_ids, wants=passes.get("wants", ()))
        evidence = []
        for seen, image in zip(plain, images, strict=True):
            perturbed: tuple[Detections, ...] = ()
            if dropout is not None:
                seed = passes.get("seed", 0)
                perturbed = self._perturbed(image, seen.image_id, dropout, repeats, seed)
            missing = {name: reason for name, reason in seen.missing.items() if name != "perturbed"}
            evidence.append(replace(seen, perturbed=perturbed, missing=missing))
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
        """Observe images under several dropouts; they share the clean pass.

        Parameters
        ----------
        images, image_ids
            See `observe`.
        dropouts : sequence of DropoutSpec
            All different.
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
        InputError
            See `observe`.
        """
        evidence_by_image = []
        for image, seen in zip(images, self.observe(images, image_ids), strict=True):
            perturbed = {
                spec: self._perturbed(image, seen.image_id, spec, repeats, seed)
                for spec in dropouts
            }
            evidence_by_image.append(
                {spec: replace(seen, perturbed=p) for spec, p in perturbed.items()}
            )
        return evidence_by_image

    def part_costs(self, image: np.ndarray) -> tuple[float, ...]:
        """Return equal shares of stem, stages, neck and head: each pass runs all of them.

        Parameters
        ----------
        image : ndarray
            Not used.
        """
        return (1 / (N_STAGES + 2),) * (N_STAGES + 2)

    def _perturbed(
        self, image: np.ndarray, image_id: str, dropout: DropoutSpec, repeats: int, seed: int
    ) -> tuple[Detections, ...]:
        detections = []
        for repeat in range(repeats):
            seeds = [sample_seed(seed, image_id, repeat)]
            with feature_dropout(self._points, dropout, seeds):
                detections += self._detect([image], [image_id])
        return tuple(detections)
