"""torchvision: ``torchvision:fasterrcnn_resnet50_fpn_v2``, or a module of its detection models."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autoeval.detectors.adapters import chosen, in_batches, needs, usable_device
from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.detectors.detector_spec import CLASSES_OPTION, LOW_SCORE, DetectorSpec
from autoeval.detectors.settings import hash_json, hash_weights
from autoeval.errors import InputError, first_line
from autoeval.words import listed

FORM = "torchvision:NAME"
EXTRA = "torchvision"
PACKAGE = "torchvision"
FRAMEWORK = "torchvision"
SCORE_THRESHOLD = "score_thresh"
SETTINGS = ("checkpoint", "device", "cfg_options", "classes", "trust_checkpoint")
OBJECTS = ("torchvision.models.detection.",)

PREFIX = "torchvision:"
# What boxes depend on besides weights and modules, by the names of attributes.
OF_HEAD = ("score_thresh", "nms_thresh", "detections_per_img", "topk_candidates")
BOX_THRESHOLDS = ("score_thresh", "box_score_thresh")  # as options; another is of proposals
OF_PROPOSALS = ("score_thresh", "nms_thresh", "min_size", "_pre_nms_top_n", "_post_nms_top_n")
OF_TRANSFORM = ("fixed_size", "size_divisible", "_skip_resize")  # sizes and means: in its text
OF_BOX_CODER = ("weights",)  # ``bbox_reg_weights``, by which offsets are divided
OF_ANCHORS = ("sizes", "aspect_ratios")
BACKGROUND = "__background__"


def named(name: str) -> bool:
    """Whether it begins with ``torchvision:``.

    Parameters
    ----------
    name : str
        Of the detector.
    """
    return name.startswith(PREFIX)


def load(spec: DetectorSpec) -> BlackBoxDetector:
    """Build a model with the weights of a file, or the newest that torchvision publishes for it.

    Options are keyword arguments of torchvision's function of that name, such as ``num_classes``,
    ``min_size`` or ``box_score_thresh``; boxes are given from a score of .01 on unless that, or
    ``score_thresh`` of a model of one stage, is among them.

    Parameters
    ----------
    spec : DetectorSpec
        With the name of the model.

    Raises
    ------
    InputError
        If torchvision has no such detector or option, the checkpoint does not fit, or the
        categories are not known.
    """
    with needs(EXTRA):
        from torchvision.models import (
            detection,
            get_model,
            get_model_builder,
            get_model_weights,
            list_models,
        )
    from autoeval.detectors.building.checkpoints import (
        find_checkpoint,
        load_weights,
        read_checkpoint,
    )

    name, options = spec.name.removeprefix(PREFIX), dict(spec.cfg_options or {})
    names = list_models(module=detection)
    if name not in names:
        raise InputError(f"torchvision has no detector {name!r}: expected {listed(names, 30)}.")
    published = get_model_weights(name).DEFAULT
    try:
        model = get_model(name, weights=None, weights_backbone=None, **options)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"torchvision cannot build {name} with {listed(sorted(options))}: {first_line(error)}"
        ) from error
    chosen({**_parameters(get_model_builder(name)), **_parameters(type(model))}, options, name)
    path = find_checkpoint(spec.checkpoint or published.url)
    weights = read_checkpoint(path, trust=spec.trust_checkpoint)["state_dict"]
    n_in_model, n_in_weights = _number_of_labels(model), _labels_of_weights(weights, model)
    if n_in_model != n_in_weights:
        raise InputError(
            f"The checkpoint {path} has {n_in_weights} labels but {name} was built for "
            f"{n_in_model}: --cfg-options num_classes={n_in_weights}, and their words by "
            f"{CLASSES_OPTION}."
        )
    load_weights(model, weights, path)
    if not spec.checkpoint:  # around its own weights torchvision builds other norms, of another eps
        model = get_model(name, weights=published, **options)
    part = _post_processing(model)
    if options.keys().isdisjoint(BOX_THRESHOLDS):
        part.score_thresh = min(part.score_thresh, LOW_SCORE)
    return from_torchvision(model.to(usable_device(spec.device)), spec.words)


def wrap(model: Any) -> BlackBoxDetector:
    """Take a module as it is, with the categories of COCO where it has as many.

    Parameters
    ----------
    model : torch.nn.Module
        See `from_torchvision`.

    Raises
    ------
    InputError
        If it has another number of labels than COCO.
    """
    return from_torchvision(model)


def from_torchvision(model: Any, categories: Sequence[str] = ()) -> BlackBoxDetector:
    """Make a detector of a module of torchvision's detection models.

    Parameters
    ----------
    model : torch.nn.Module
        It is switched to eval mode whenever it is run; its thresholds stay as they are. Where its
        user changes weights or thresholds, it is another detector from then on.
    categories : sequence of str
        Its words by label, with or without the background, label 0, in front. By default those of
        torchvision's COCO weights, where it has 91 labels.

    Raises
    ------
    InputError
        If it has another number of labels.
    """
    kind = type(model).__name__
    labels = _number_of_labels(model)
    words = _words(categories, labels, kind)
    place = next(model.parameters()).device

    def settings() -> dict[str, Any]:
        return {
            "framework": FRAMEWORK,
            "model": hash_json(repr(model)),  # with the sizes and means of its transform
            "weights": hash_weights(model),
            **_of_test(model),
        }

    def find(images: Sequence[np.ndarray]) -> tuple[list, list, list]:
        import torch

        from autoeval.detectors.predicting import to_device, to_host

        model.eval()  # its user may have trained it since
        with torch.inference_mode():
            tensors = [torch.from_numpy(image[:, :, ::-1].copy()) for image in images]
            outputs = model([to_device(t, place).permute(2, 0, 1) / 255 for t in tensors])
            columns = [f[key] for key in ("boxes", "scores", "labels") for f in outputs]
            arrays, n = to_host(columns), len(images)
        return arrays[:n], arrays[n : 2 * n], arrays[2 * n :]

    return BlackBoxDetector(
        in_batches(find, str(place)), words, name=kind, settings=settings, network=model
    )


def _parameters(build: Callable) -> Mapping[str, Any]:
    """Return the named parameters of a function; torchvision's swallow others in silence."""
    return inspect.signature(build).parameters


def _post_processing(model: Any) -> Any:
    """Return what holds the thresholds: the box head of a two-stage model, else the model."""
    return getattr(model, "roi_heads", model)


def _of_test(model: Any) -> dict[str, Any]:
    """Return what boxes depend on besides weights and modules, such as thresholds."""
    proposals = getattr(model, "rpn", None)
    anchors = getattr(model if proposals is None else proposals, "anchor_generator", None)
    head = _post_processing(model)
    parts = (
        ("", head, OF_HEAD),
        ("box_coder.", getattr(head, "box_coder", None), OF_BOX_CODER),
        ("rpn.", proposals, OF_PROPOSALS),
        ("transform.", getattr(model, "transform", None), OF_TRANSFORM),
        ("anchors.", anchors, OF_ANCHORS),
    )
    values = {
        f"{place}{key.removeprefix('_')}": getattr(part, key)
        for place, part, keys in parts
        for key in keys
        if hasattr(part, key)
    }
    # The proposals of training are other ones.
    return {k: v["testing"] if isinstance(v, dict) else v for k, v in values.items()}


def _number_of_labels(model: Any) -> int | None:
    """Count the labels that a head gives, where it is one of torchvision's."""
    predictor = getattr(getattr(model, "roi_heads", None), "box_predictor", None)
    if predictor is not None:
        return getattr(getattr(predictor, "cls_score", None), "out_features", None)
    head = getattr(getattr(model, "head", None), "classification_head", None)
    return getattr(head, "num_classes", None) or getattr(head, "num_columns", None)


def _labels_of_weights(weights: Mapping[str, Any], model: Any) -> int | None:
    """Count the labels that weights are of: heads have as many biases, or so many an anchor.

    The number of the model where they do not differ from its own.
    """
    labels = _number_of_labels(model)
    for name, model_bias in model.state_dict().items():
        if labels and name.endswith("bias") and ("cls_score" in name or "classif" in name):
            biases = [value for key, value in weights.items() if key.endswith(name)]
            if biases and len(biases[0]) != len(model_bias):
                return labels * len(biases[0]) // len(model_bias)
    return labels


def _words(categories: Sequence[str], labels: int | None, kind: str) -> list[str]:
    """Return a word for each label, the background first where the head has one label more.

    Raises
    ------
    InputError
        If the words are not known, or of another number.
    """
    words = list(categories)
    if not words:
        from torchvision.models import detection

        words = detection.FasterRCNN_ResNet50_FPN_Weights.DEFAULT.meta["categories"]
        if labels != len(words):
            number = labels or "an unknown number of"
            raise InputError(
                f"{kind} gives {number} labels, and their words are not known: {CLASSES_OPTION}, "
                "a word a line, or `from_torchvision(model, categories)`."
            )
    if labels == len(words) + 1:
        return [BACKGROUND, *words]
    if labels is not None and labels != len(words):
        raise InputError(
            f"Expected {labels} categories, or {labels - 1} without the background, as {kind} "
            f"has, but got {len(words)}. For a checkpoint of other categories: --cfg-options "
            "num_classes=N."
        )
    return words
