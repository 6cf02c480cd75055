"""Detectors that take words as a counter: Grounding DINO, GLIP and others of mmdet that do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from mmengine.config import Config

from autoeval.counting.counters import COUNT, POINTS, Context, CountResult
from autoeval.counting.counters.mmdet import result_of_boxes
from autoeval.detections import Detections
from autoeval.errors import InputError

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector


class OpenVocabularyCounter:
    """Counts the boxes that a detector finds for a prompt, where their score exceeds `score_thr`.

    Each prompt is a caption of its own (``chunked_size`` is set to 1), so that no answer depends on
    another; the backbone sees the image once. The model's `predict` reads ``text`` from the sample.
    """

    capabilities = frozenset({COUNT, POINTS})

    def __init__(
        self,
        model: BaseDetector,
        config: Config,
        *,
        score_thr: float = 0.3,
        name: str = "open_vocabulary",
    ) -> None:
        from autoeval.detectors.preprocessing import Preprocessor

        if not hasattr(model, "language_model"):
            raise InputError(
                f"{type(model).__name__} takes no words: expected a detector with a language "
                "model, such as Grounding DINO."
            )
        self.model = model.eval()
        self.model.test_cfg["chunked_size"] = 1
        self.config = config
        self.score_thr = score_thr
        self.name = name
        self._preprocess = Preprocessor(config)

    @cached_property
    def fingerprint(self) -> str:
        """Another for other weights, architecture or test settings."""
        from autoeval.detectors.settings import describe, fingerprint

        return fingerprint(describe(self.model, self.config, ()))

    def count(self, image: np.ndarray, prompt: str, context: Context = None) -> CountResult:
        """Count what `prompt` names in ``image`` (H, W, 3) uint8 BGR."""
        return self.count_prompts(image, [prompt], context)[0]

    @torch.inference_mode()
    def count_prompts(
        self, image: np.ndarray, prompts: Sequence[str], context: Context = None
    ) -> list[CountResult]:
        """Count what each prompt names."""
        from autoeval.detectors.preprocessing import collate

        inputs, samples = collate(self.model, [self._preprocess(image)])
        samples[0].set_metainfo({"text": tuple(prompts), "custom_entities": True})
        instances = self.model.predict(inputs, samples, rescale=True)[0].pred_instances
        parts = (instances[name].cpu().numpy() for name in ("bboxes", "scores", "labels"))
        boxes = Detections(*parts).above(self.score_thr)
        limit = self.model.test_cfg.get("max_per_img", None)
        note = f"as many boxes as max_per_img = {limit} allows: some may be missing"
        results = []
        for prompt_boxes in (boxes[boxes.labels == k] for k in range(len(prompts))):
            full = limit is not None and len(prompt_boxes) >= limit
            results.append(result_of_boxes(prompt_boxes, context or {}, (note,) if full else ()))
        return results
