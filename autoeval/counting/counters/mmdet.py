"""Detectors as counters: of known categories, or of those that the prompt names."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from mmengine.config import Config

from autoeval.boxes import box_iou
from autoeval.counting.counters import COUNT, POINTS, Context, CountResult
from autoeval.counting.true_counts import find_category
from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector


class ObservingDetector(Protocol):
    """What this adapter needs of a detector; `autoeval.detectors` makes such.

    Attributes
    ----------
    categories : tuple of str
        Words of the labels.
    settings : dict
        By dotted name; see `box_limit`.
    """

    categories: tuple[str, ...]
    settings: dict[str, Any]

    def observe(
        self, images: Sequence[np.ndarray], image_ids: Sequence[str]
    ) -> list[Evidence]:  # pragma: no cover
        """Detect objects in images.

        Parameters
        ----------
        images : sequence of ndarray of shape (H, W, 3), uint8
            BGR.
        image_ids : sequence of str
            One an image.
        """
        ...


class DetectorCounter:
    """Counts the boxes of one category; one pass of the detector serves all prompts on an image.

    A result that may have been cut off at the detector's limit of boxes says so in its warnings.

    Parameters
    ----------
    detector : ObservingDetector
    score_thr : float
        Boxes with a higher score count.
    name : str
        Of the counter.
    merged : MergedCategories, optional
        The categories that prompts name; by default those of the detector.
    """

    capabilities = frozenset({COUNT, POINTS})

    def __init__(
        self,
        detector: ObservingDetector,
        *,
        score_thr: float = 0.3,
        name: str = "detector",
        merged: MergedCategories | None = None,
    ) -> None:
        self.detector = detector
        self.merged = merged
        self.score_thr = score_thr
        self.name = name
        self.max_per_img = box_limit(detector.settings)

    def count(self, image: np.ndarray, prompt: str, context: Context = None) -> CountResult:
        """Count what a prompt names in an image.

        Parameters
        ----------
        image, prompt, context
            As `Counter.count` takes them.

        Raises
        ------
        InputError
            As `find_category`.
        """
        return self.count_prompts(image, [prompt], context)[0]

    def count_prompts(
        self, image: np.ndarray, prompts: Sequence[str], context: Context = None
    ) -> list[CountResult]:
        """Count what each prompt names in one image.

        Parameters
        ----------
        image, prompts, context
            As `autoeval.counting.counters.count_prompts` takes them.

        Raises
        ------
        InputError
            As `find_category`.
        """
        return self.count_batch([image], [prompts], [context or {}])[0]

    def count_batch(
        self,
        images: Sequence[np.ndarray],
        prompts: Sequence[Sequence[str]],
        contexts: Sequence[Mapping[str, Any]],
    ) -> list[list[CountResult]]:
        """Count what the prompts of each image name; the detector sees the images together.

        Parameters
        ----------
        images : sequence of ndarray of shape (H, W, 3), uint8
            BGR.
        prompts : sequence of sequence of str
            Of each image.
        contexts : sequence of mapping
            Of each image; see `Counter.count`.

        Returns
        -------
        list of list of CountResult
            One a prompt, for each image.

        Raises
        ------
        InputError
            As `find_category`.
        """
        categories = self.merged.categories if self.merged else self.detector.categories
        labels = [
            [find_category(prompt, categories) for prompt in image_prompts]
            for image_prompts in prompts
        ]
        ids = [str(context.get("image_id", "")) for context in contexts]
        observed = self.detector.observe(images, ids)
        results = []
        for evidence, image_labels, context in zip(observed, labels, contexts, strict=True):
            counted = evidence.clean.above(self.score_thr)
            notes = self._warn_at_limit(counted)  # the limit is on boxes before they are merged
            counted = self.merged.of(counted) if self.merged else counted
            boxes_by_label = (counted[counted.labels == label] for label in image_labels)
            results.append([_result_of_boxes(boxes, context, notes) for boxes in boxes_by_label])
        return results

    def _warn_at_limit(self, counted: Detections) -> tuple[str, ...]:
        if self.max_per_img is None or len(counted) < self.max_per_img:
            return ()
        note = (
            f"The detector gave {len(counted)} boxes above the threshold, as many as its limit "
            f"max_per_img = {self.max_per_img} allows: objects may be missing from the count. "
            "Raise the limit in its test settings."
        )
        warnings.warn(note, stacklevel=4)
        return (note,)


def _result_of_boxes(
    boxes: Detections, context: Mapping[str, Any], notes: tuple[str, ...]
) -> CountResult:
    """Make a result of boxes that all count; their centres are the points.

    Parameters
    ----------
    boxes : Detections
    context : mapping
        What the result records.
    notes : tuple of str
        Its warnings.
    """
    corners = boxes.boxes
    return CountResult(
        float(len(boxes)),
        points=(corners[:, :2] + corners[:, 2:]) / 2,
        boxes=corners,
        scores=boxes.scores,
        context=context,
        warnings=notes,
    )


def box_limit(settings: Mapping[str, Any]) -> int | None:
    """Find the most boxes that a detector gives for an image.

    Parameters
    ----------
    settings : mapping
        By dotted name.

    Returns
    -------
    int or None
        The least ``max_per_img`` but for those of region proposals; None without one.
    """
    limits = []
    for name, value in settings.items():
        *path, last = name.split(".")
        if last == "max_per_img" and "rpn" not in path:
            limits.append(int(value))
    return min(limits, default=None)


class MergedCategories:
    """Categories of a detector, some of which carry one name.

    It may box one object as a car and as a truck: of boxes of merged categories that overlap by
    more than `iou_thr`, only the one with the highest score stays.

    Parameters
    ----------
    categories : sequence of str
        Of the detector.
    mapping : mapping of str to str
        New name of each category that gets one.
    iou_thr : float

    Raises
    ------
    InputError
        If the detector lacks one of the categories.
    """

    def __init__(
        self, categories: Sequence[str], mapping: Mapping[str, str], *, iou_thr: float = 0.65
    ) -> None:
        unknown = [name for name in mapping if name not in categories]
        if unknown:
            raise InputError(
                f"The categories to merge must be the detector's, but it has no "
                f"{', '.join(unknown)}. It knows: {', '.join(categories)}."
            )
        self.iou_thr = iou_thr
        names = [mapping.get(name, name) for name in categories]
        self.categories = tuple(dict.fromkeys(names))
        self._lookup = np.array([self.categories.index(name) for name in names])
        self._merged = np.bincount(self._lookup) > 1

    def of(self, boxes: Detections) -> Detections:
        """Return boxes by the new names, without those that a kept one of the same name overlaps.

        Parameters
        ----------
        boxes : Detections
            Of the detector.
        """
        boxes = boxes.relabel(self._lookup)
        same = boxes.labels[:, None] == boxes.labels
        same &= self._merged[boxes.labels]
        overlaps = same & (box_iou(boxes.boxes, boxes.boxes) > self.iou_thr)
        kept = np.zeros(len(boxes), bool)
        for i in np.argsort(-boxes.scores, kind="stable"):
            kept[i] = not overlaps[i, kept].any()
        return boxes[kept]


class OpenVocabularyCounter:
    """Counts the boxes that a detector finds for a prompt.

    Each prompt is a caption of its own (``chunked_size`` is set to 1), so that no answer depends on
    another; the backbone sees the image once. The model's `predict` reads ``text`` from the sample.

    Parameters
    ----------
    model : BaseDetector
        Of mmdet, with a language model.
    config : Config
        Of the model.
    score_thr : float
        Boxes with a higher score count.
    name : str
        Of the counter.

    Raises
    ------
    InputError
        If the model has no language model.
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
        """Count what a prompt names in an image.

        Parameters
        ----------
        image, prompt, context
            As `Counter.count` takes them.
        """
        return self.count_prompts(image, [prompt], context)[0]

    @torch.inference_mode()
    def count_prompts(
        self, image: np.ndarray, prompts: Sequence[str], context: Context = None
    ) -> list[CountResult]:
        """Count what each prompt names in one image.

        Parameters
        ----------
        image, prompts, context
            As `autoeval.counting.counters.count_prompts` takes them.
        """
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
            results.append(_result_of_boxes(prompt_boxes, context or {}, (note,) if full else ()))
        return results
